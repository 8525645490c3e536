"""Runs that are over, whose trials are estimated anew as more becomes known."""

from collections.abc import Mapping

import numpy as np

from bciigl.estimate import Calibration, contexts, feedback
from bciigl.learn.interactions import Interactions
from bciigl.protocol import Protocol
from bciigl.recording.dataset import joined_session
from bciigl.recording.trial import Frames, Trial, run_arrays

Estimates = tuple[np.ndarray, np.ndarray]
"""Contexts and feedback of a run, (trials, voxels)."""


class FinishedRuns:
    """The runs of a session so far: frames and trials, without the truth.

    All their estimates are in the same units when they are made with the same calibration. A
    context is estimated from frames before its own guess all the same.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._runs: list[tuple[Frames, list[Trial], Calibration]] = []

    def add(self, frames: Frames, trials: list[Trial], calibration: Calibration) -> None:
        """Keep a run that is over, and what its contexts were estimated with."""
        # 32 bits, as recordings have, need half of the memory.
        if isinstance(frames, Mapping):
            kept = {name: each.astype(np.float32) for name, each in frames.items()}
        else:
            kept = frames.astype(np.float32)
        self._runs.append((kept, trials, calibration))

    def estimates(self, calibration: Calibration) -> list[Estimates]:
        """Return contexts and feedback of each run; feedback is from whole runs."""
        given, found = (self._protocol, calibration), []
        for frames, trials, known in self._runs:
            if known is calibration:
                context = np.array([each.context for each in trials])
            else:
                context = contexts(frames, *given)
            found.append((context, feedback(frames, *given)))
        return found

    def interactions(self, calibration: Calibration) -> Interactions:
        """Return all trials that have enough frames."""
        found = zip(self._runs, self.estimates(calibration), strict=True)
        arrays = {
            number: run_arrays(trials, *estimates)
            for number, ((_, trials, _), estimates) in enumerate(found, start=1)
        }
        return joined_session(self._protocol, arrays, [None]).interactions
