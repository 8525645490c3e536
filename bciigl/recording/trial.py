"""What is recorded of a trial and of a run: what the agent saw, did and got back."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bciigl.recording.truth import Truth

Frames = np.ndarray | Mapping[str, np.ndarray]
"""A run's frames, (frames, voxels); by name where there are several series."""


class RunId(NamedTuple):
    """Which run it is: the session, ``"train"`` or ``"test"``, and the run's number, from 1."""

    session: str
    run: int


class Shown(NamedTuple):
    """The guess that the person is shown.

    Attributes
    ----------
    action : int
        Which option, from 0.
    propensity : float
        How probable that guess was.
    explored : bool
        Whether it was drawn uniformly.
    catch : bool
        Whether the experimenter chose it, in a catch trial.
    """

    action: int
    propensity: float
    explored: bool
    catch: bool = False


class Trial(NamedTuple):
    """One trial, as the agent knows it.

    Attributes
    ----------
    context : array, (voxels,)
        Estimated at the time of the decision; not a number where too many frames were missing.
    action, propensity, explored, catch
        As in `Shown`.
    feedback : array, (voxels,)
        Estimated at the trial's end; not a number where too many frames were missing.
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
        arrays = {"context": self.context, "feedback": self.feedback}
        plain = {
            name: [each if each == each else None for each in array.tolist()]
            for name, array in arrays.items()
        }
        return {**self._asdict(), **plain}

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
    """A run that is over.

    Attributes
    ----------
    frames : array, (frames, voxels), or dict of arrays
        What was recorded; not a number where a frame was missing or corrupt.
    trials : list of Trial
    feedback : array, (trials, voxels)
        Estimated from the whole run.
    truth : Truth or None
        What was true, where it is known.
    status : dict
        The status of each frame that was not ok, by its index.
    """

    frames: Frames
    trials: list[Trial]
    feedback: np.ndarray
    truth: Truth | None = None
    status: Mapping[int, str] = {}


def run_arrays(trials: Sequence[Trial], feedback: np.ndarray) -> dict[str, np.ndarray]:
    """Return the trials of a run as arrays, with feedback estimated from the whole run."""
    return {
        "context": np.array([each.context for each in trials]),
        "action": np.array([each.action for each in trials]),
        "propensity": np.array([each.propensity for each in trials]),
        "catch": np.array([each.catch for each in trials]),
        "feedback": feedback,
    }
