"""One run, trial by trial: the brain imagines, waits for a guess, and answers it."""

from collections.abc import Callable

import numpy as np

from bciigl.brain import Brain
from bciigl.estimate import context, feedback_so_far
from bciigl.loop.person import Human
from bciigl.protocol.schedule import decision_time, frames_complete, trial_seconds, trial_start


class LiveRun:
    """A run in progress.

    In each trial `imagine` gives the context of the decision, and `answer` takes the guess and
    gives the feedback. Frames are rounded to 32 bits, as the recording keeps them: what is
    estimated while the run goes on is what would be estimated from the recording.

    Parameters
    ----------
    brain : Brain
        Who is in the scanner.
    human : Human
        What that person means, in this run.
    session : str
        ``"train"`` or ``"test"``.
    run : int
        Which run of the session, from 0.

    Attributes
    ----------
    frames : array, (frames, voxels)
        Of the whole run; those not taken yet are 0.
    trial : int
        The trial that is on, from 0.
    wait : function or None
        Called before each frame is taken with the seconds, from the beginning of the run, by which
        it is complete. With None frames are taken as fast as possible.
    """

    def __init__(self, brain: Brain, human: Human, session: str, run: int) -> None:
        self._protocol = brain.protocol
        self._human = human
        self._scanner = brain.scan(session, run, trials=len(human.meant))
        self.frames = np.zeros((self._scanner.frames, len(brain.region)))
        self.trial = 0
        self.wait: Callable[[float], None] | None = None

    def imagine(self) -> np.ndarray:
        """Let the trial begin; return its context at the time of the decision, (voxels,)."""
        self._scanner.announce(self._human.imagine(self.trial))
        seen = self._until(decision_time(self._protocol.timing))
        return context(seen, self._protocol, self.trial)

    def answer(self, guess: int) -> np.ndarray:
        """Show a guess, and go on to the trial's end; return its feedback, (voxels,)."""
        for event in self._human.answer(self.trial, guess):
            self._scanner.announce(event)
        seen = self._until(trial_seconds(self._protocol))
        feedback = feedback_so_far(seen, self._protocol, self.trial)
        self.trial += 1
        return feedback

    def finish(self) -> np.ndarray:
        """Take the frames that are left, and return those of the whole run, (frames, voxels)."""
        self._take(self._scanner.frames)
        return self.frames

    def _until(self, since: float) -> np.ndarray:
        """Return the frames complete so many seconds after the trial began."""
        seconds = trial_start(self._protocol, self.trial) + since
        self._take(min(frames_complete(seconds, self._scanner.tr), self._scanner.frames))
        return self.frames[: self._scanner.taken]

    def _take(self, stop: int) -> None:
        """Take frames, all at once or each when it is complete, until so many have been taken."""
        scanner = self._scanner
        while scanner.taken < stop:
            first = scanner.taken
            upto = stop if self.wait is None else first + 1
            if self.wait is not None:
                self.wait(upto * scanner.tr)
            self.frames[first:upto] = scanner.until(upto * scanner.tr).astype(np.float32)
