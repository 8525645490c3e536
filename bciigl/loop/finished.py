"""Runs that are over, whose trials are estimated anew as more becomes known."""

from collections.abc import Callable, Iterator

import numpy as np

from bciigl.estimate import Calibration, contexts, feedback
from bciigl.learn.interactions import Interactions
from bciigl.protocol import Protocol
from bciigl.recording.dataset import joined_session
from bciigl.recording.trial import Frames, Trial, run_arrays


class FinishedRuns:
    """The runs of a session so far, without the truth.

    All their estimates are in the same units when they are made with the same calibration. A
    context is estimated from frames before its own guess all the same.

    Parameters
    ----------
    protocol : Protocol
        The experiment.
    frames : function
        Returns the frames of a finished run, given its number from 1.
    """

    def __init__(self, protocol: Protocol, frames: Callable[[int], Frames]) -> None:
        self._protocol, self._frames = protocol, frames
        self._runs: list[tuple[list[Trial], Calibration]] = []

    def add(self, trials: list[Trial], calibration: Calibration) -> None:
        """Keep the trials of a run that is over, and what they were estimated with."""
        self._runs.append((trials, calibration))

    def estimates(self, calibration: Calibration) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield contexts and, from the whole run, feedback of each run, (trials, voxels)."""
        for run, (trials, known) in enumerate(self._runs, start=1):
            given = (self._frames(run), self._protocol, calibration)
            same = known is calibration
            context = np.array([each.context for each in trials]) if same else contexts(*given)
            yield context, feedback(*given)

    def interactions(self, calibration: Calibration) -> Interactions:
        """Return all trials that have enough frames."""
        found = zip(self._runs, self.estimates(calibration), strict=True)
        arrays = {
            run: run_arrays(trials, *estimates)
            for run, ((trials, _), estimates) in enumerate(found, start=1)
        }
        return joined_session(self._protocol, arrays, [None]).interactions
