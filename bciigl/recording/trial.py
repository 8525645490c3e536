"""What is recorded of a trial and of a run: what the agent saw, did and got back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.recording.truth import Truth

Frames = np.ndarray | Mapping[str, np.ndarray]
"""A run's frames, (frames, voxels); by name where there are several series."""


class RunId(NamedTuple):
    """Which run it is: the session, ``"train"`` or ``"test"``, and the run's number, from 1."""

    session: str
    run: int


class Shown(NamedTuple):
    """The guess that is shown: an option from 0, how probable it was, whether drawn uniformly."""

    action: int
    propensity: float
    explored: bool
    catch: bool = False


class KeyPress(NamedTuple):
    """A judgment given by a key, seconds after judgment began; for scorers alone."""

    match: bool
    seconds: float


NOT_ESTIMATED = np.empty(0)
"""A context or feedback that nobody looks at before the run is over."""


class Trial(NamedTuple):
    """One trial, as the agent knows it.

    The context is estimated at the time of the decision, the feedback at the trial's end,
    (voxels,); not numbers where too many frames were missing.
    """

    context: np.ndarray
    action: int
    propensity: float
    explored: bool
    catch: bool
    feedback: np.ndarray

    @property
    def usable(self) -> bool:
        """Whether there were frames enough for context and feedback."""
        return bool(np.isfinite(self.context).all() and np.isfinite(self.feedback).all())

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, without loss; None stands for a value that is not a number."""
        plain = self._asdict()
        for name in ("context", "feedback"):
            plain[name] = [each if each == each else None for each in plain[name].tolist()]
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """Return the trial that `as_dict` made plain data of."""
        values = {name: data[name] for name in cls._fields}
        arrays = {name: np.array(values[name], float) for name in ("context", "feedback")}
        return cls(**{**values, **arrays})

    def same_as(self, other: "Trial") -> bool:
        """Tell whether two trials are equal to the last bit."""
        return self.as_dict() == other.as_dict()


class RecordedRun(NamedTuple):
    """A run that is over, with the calibration that its trials were estimated with.

    Frames are not numbers where missing or corrupt; `status` has that of each frame not ok, by
    index. `keys` has the key pressed in each trial, None for none.
    """

    frames: Frames
    trials: list[Trial]
    truth: Truth | None = None
    status: Mapping[int, str] = {}
    calibration: Calibration = UNCALIBRATED
    keys: Sequence[KeyPress | None] = ()


def run_arrays(
    trials: Sequence[Trial], context: np.ndarray, feedback: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the trials of a run as arrays, with contexts and feedback estimated anew."""
    names = ("action", "propensity", "catch")
    arrays = {name: np.array([getattr(each, name) for each in trials]) for name in names}
    return {"context": context, **arrays, "feedback": feedback}
