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
        self._runs: list[tuple[Frames, list[Trial]]] = []

    def add(self, frames: Frames, trials: list[Trial]) -> None:
        """Keep a run that is over."""
        # 32 bits, as recordings have, need half of the memory.
        if isinstance(frames, Mapping):
            kept = {name: each.astype(np.float32) for name, each in frames.items()}
        else:
            kept = frames.astype(np.float32)
        self._runs.append((kept, trials))

    def estimates(self, calibration: Calibration) -> list[Estimates]:
        """Return contexts and feedback of each run; feedback is from whole runs."""
        given = (self._protocol, calibration)
        return [(contexts(each, *given), feedback(each, *given)) for each, _ in self._runs]

    def interactions(self, calibration: Calibration) -> Interactions:
        """Return all trials that have enough frames."""
        found = zip(self._runs, self.estimates(calibration), strict=True)
        arrays = {
            number: run_arrays(trials, *estimates)
            for number, ((_, trials), estimates) in enumerate(found, start=1)
        }
        return joined_session(self._protocol, arrays, [None]).interactions
