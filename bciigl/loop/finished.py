"""Runs that are over, whose trials are estimated anew as more becomes known."""

from collections.abc import Callable, Iterator

import numpy as np

from bciigl.estimate import Calibration, contexts, feedback
from bciigl.learn.interactions import Interactions
from bciigl.protocol import Protocol
from bciigl.protocol.timetable import Timetable
from bciigl.recording.dataset import joined_session
from bciigl.recording.trial import Frames, RunId, Trial, run_arrays


class FinishedRuns:
    """The runs of a session so far, without the truth.

    All their estimates are in the same units when they are made with the same calibration. A
    context is estimated from frames before its own guess all the same.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    session : str
        ``"train"`` or ``"test"``.
    frames : function
        Returns the frames of a finished run.
    """

    def __init__(self, protocol: Protocol, session: str, frames: Callable[[RunId], Frames]) -> None:
        self._protocol, self._session, self._frames = protocol, session, frames
        self._runs: list[tuple[list[Trial], Timetable]] = []
        # What the last runs were estimated with, and how many there were before.
        self._present: tuple[Calibration | None, int] = None, 0

    def add(self, trials: list[Trial], calibration: Calibration, when: Timetable) -> None:
        """Keep the trials of a run that is over, what they were estimated with, and its times."""
        if calibration is not self._present[0]:
            self._present = calibration, len(self._runs)
        self._runs.append((trials, when))

    def estimates(self, calibration: Calibration) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield contexts and, from the whole run, feedback of each run, (trials, voxels)."""
        known, before = self._present
        for run, (trials, when) in enumerate(self._runs, start=1):
            given = (self._frames(RunId(self._session, run)), self._protocol, calibration, when)
            same = calibration is known and run > before and trials[0].context.size
            context = np.array([each.context for each in trials]) if same else contexts(*given)
            answer = feedback(*given)
            context[list(when.left_out)] = answer[list(when.left_out)] = np.nan
            yield context, answer

    def interactions(self, calibration: Calibration) -> Interactions:
        """Return all trials that have enough frames."""
        found = zip(self._runs, self.estimates(calibration), strict=True)
        arrays = {
            run: run_arrays(trials, *estimates)
            for run, ((trials, _), estimates) in enumerate(found, start=1)
        }
        return joined_session(self._protocol, arrays, [None]).interactions
