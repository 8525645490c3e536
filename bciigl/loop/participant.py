"""Who lies in the scanner: what happens to a person, and what only a scorer may know."""

from collections.abc import Sequence

import numpy as np

from bciigl.brain.events import Event, trial_event
from bciigl.protocol import Protocol
from bciigl.recording.trial import KeyPress, Shown
from bciigl.recording.truth import Truth
from bciigl.source.interface import Participant

# Seconds, and the SD of its logarithm: about those of simple yes-or-no judgments.
REACTION_TIME, REACTION_SPREAD = 0.7, 0.3


class Volunteer(Participant):
    """A person whose thoughts nobody knows: the events have times, but no content and no truth."""


class SimulatedPerson(Participant):
    """A simulated participant during one run, and the experimenter who cues the catch trials.

    What the person will mean is drawn when the run begins, so that it does not depend on the
    guesses. It is part of the truth, which no agent gets: an agent is given arrays, never a person.

    Parameters
    ----------
    protocol, trials, session, run
        As in `Participant`.
    rng : numpy.random.Generator
        Random numbers of this run's person.
    catch : bool
        Whether there are catch trials, as the protocol plans them.

    Attributes
    ----------
    meant, imagined : array of int, (trials,)
        The option that each guess is judged against, which is cued on catch trials, and the one
        that is imagined: another one where imagination lapses.
    catch : array of bool, (trials,)
        Which trials are catch trials.
    """

    def __init__(
        self,
        protocol: Protocol,
        trials: int,
        rng: np.random.Generator,
        session: str | None = None,
        run: int = 1,
        *,
        catch: bool = True,
    ) -> None:
        super().__init__(protocol, trials, session, run)
        options, plan, human = len(protocol.task.options), protocol.task.catch, protocol.human
        self.meant = rng.integers(options, size=trials)
        others = (self.meant + rng.integers(1, options, size=(2, trials))) % options
        chance = rng.random((4, trials))
        self.imagined = np.where(chance[0] < human.imagination_lapse, others[0], self.meant)
        self._lapses = chance[1] < human.judgment_lapse
        self.catch = (chance[2] < plan.share) & catch
        times = REACTION_TIME * np.exp(REACTION_SPREAD * rng.standard_normal(trials))
        self._reaction_times = np.round(times, 3)
        self._shown_on_cue = np.where(chance[3] < plan.match_rate, self.meant, others[1])

    def imagine(self, trial: int) -> Event:
        """Return how a trial begins."""
        option = self._protocol.task.options[self.imagined[trial]]
        return trial_event(self.when, trial, "imagination", option)

    def shown(self, trial: int) -> Shown | None:
        """Return what the experimenter shows on a catch trial; None on all others."""
        if not self.catch[trial]:
            return None
        chance = 1 / len(self._protocol.task.options)
        return Shown(int(self._shown_on_cue[trial]), chance, explored=False, catch=True)

    def answer(self, trial: int, guess: int, judged: bool | None = None) -> list[Event]:
        """Return what a guess evokes: the person sees it, then judges it."""
        return super().answer(
            trial, guess, self._judged(trial, guess) if judged is None else judged
        )

    def key(self, trial: int, guess: int) -> KeyPress | None:
        """Return the key that is pressed, where judgments are given by one."""
        if not self._protocol.human.key_press or "judgment" not in self._protocol.task.events:
            return None
        return KeyPress(self._judged(trial, guess), float(self._reaction_times[trial]))

    def _judged(self, trial: int, guess: int) -> bool:
        """Return whether a guess is judged a match: the other way in a lapse."""
        return bool((self.meant[trial] == guess) != self._lapses[trial])

    def truth(self, actions: Sequence[int]) -> Truth:
        """Return what was meant and judged, given the guesses shown."""
        match = self.meant == np.asarray(actions)
        return Truth(self.meant, match, self.imagined, match != self._lapses)
