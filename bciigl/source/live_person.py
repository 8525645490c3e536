"""The person in a scanner, as far as a session knows them."""

import numpy as np

from bciigl.base.seeds import run_seed
from bciigl.brain.events import Event, trial_event
from bciigl.protocol import Protocol
from bciigl.recording.trial import KeyPress, Shown
from bciigl.source.display import Display
from bciigl.source.interface import Participant


class LivePerson(Participant):
    """The person in the scanner, whose thoughts nobody knows, and who is cued in catch trials."""

    def __init__(
        self, protocol: Protocol, trials: int, session: str, run: int, display: Display
    ) -> None:
        super().__init__(protocol, trials, session, run)
        self._display = display
        rng = run_seed(protocol.seed, session, run).rng("experimenter")
        options, plan = len(protocol.task.options), protocol.task.catch
        self._cues, others = rng.integers(options, size=trials), rng.integers(1, options, trials)
        chance = rng.random((2, trials))
        self._catch = (chance[0] < plan.share) & (session == "train")
        wrong = (self._cues + others) % options
        self._guesses = np.where(chance[1] < plan.match_rate, self._cues, wrong)

    def imagine(self, trial: int) -> Event:
        """Return how a trial begins; in a catch trial with the option to imagine."""
        cue = self._protocol.task.options[self._cues[trial]] if self._catch[trial] else None
        return trial_event(self.when, trial, "imagination", cue)

    def shown(self, trial: int) -> Shown | None:
        """Return what the experimenter shows in a catch trial; None in all others."""
        if not self._catch[trial]:
            return None
        chance = 1 / len(self._protocol.task.options)
        return Shown(int(self._guesses[trial]), chance, explored=False, catch=True)

    def key(self, trial: int, guess: int) -> KeyPress | None:
        """Return the key that was pressed."""
        if "judgment" not in self.when.onsets:
            return None
        return self._display.keys.get(float(self.when.onsets["judgment"][trial]))
