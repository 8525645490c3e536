"""The person in the scanner: imagines an option, sees the agent's guess, judges it."""

from typing import NamedTuple

import numpy as np

from bciigl.brain.events import Event, trial_event
from bciigl.protocol import Protocol


class Judgment(NamedTuple):
    """The truth about a guess.

    Attributes
    ----------
    match : bool
        Whether the guess is the option meant.
    judged : bool
        What the person takes it for; the other one where judgment lapses.
    """

    match: bool
    judged: bool


class Human:
    """A person during one run, and the experimenter who cues the catch trials.

    What the person will mean is drawn when the run begins, so that it does not depend on the
    guesses. It is part of the truth, which no agent gets: an agent is given arrays, never a person.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    trials : int
        How many trials the run has.
    rng : numpy.random.Generator
        Of this run's person.
    catch : bool
        Whether there are catch trials, as the protocol plans them.

    Attributes
    ----------
    meant : array of int, (trials,)
        The option that each guess is judged against; on catch trials, the one cued.
    imagined : array of int, (trials,)
        The option that is imagined: another one where imagination lapses.
    catch : array of bool, (trials,)
        Which trials are catch trials.
    """

    def __init__(
        self, protocol: Protocol, trials: int, rng: np.random.Generator, *, catch: bool = True
    ) -> None:
        options, plan = len(protocol.task.options), protocol.task.catch
        self._protocol = protocol
        self.meant = rng.integers(options, size=trials)
        others = (self.meant + rng.integers(1, options, size=(2, trials))) % options
        chance = rng.random((4, trials))
        self.imagined = np.where(
            chance[0] < protocol.human.imagination_lapse, others[0], self.meant
        )
        self._lapses = chance[1] < protocol.human.judgment_lapse
        self.catch = (chance[2] < plan.share) & catch
        self._shown_on_cue = np.where(chance[3] < plan.match_rate, self.meant, others[1])

    def imagine(self, trial: int) -> Event:
        """Return how a trial begins."""
        option = self._option(self.imagined[trial])
        return trial_event(self._protocol, trial, "imagination", option)

    def guess_on_cue(self, trial: int) -> int | None:
        """Return what the experimenter shows in place of a guess; None if it is no catch trial."""
        return int(self._shown_on_cue[trial]) if self.catch[trial] else None

    def answer(self, trial: int, guess: int) -> list[Event]:
        """Return what a guess evokes: the person sees it, then judges it."""
        contents = {
            "perception": self._option(guess),
            "judgment": self.judge(trial, guess).judged,
        }
        return [
            trial_event(self._protocol, trial, kind, contents[kind])
            for kind in self._protocol.task.events[1:]
        ]

    def judge(self, trial: int, guess: int) -> Judgment:
        """Return whether a guess matches, and whether the person thinks so."""
        match = bool(self.meant[trial] == guess)
        return Judgment(match, match != bool(self._lapses[trial]))

    def _option(self, index: int) -> int | str:
        return self._protocol.task.options[index]
