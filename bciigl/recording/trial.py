"""What is recorded of a trial: what the agent saw, did and got back. No truth."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Trial(NamedTuple):
    """One trial, as the agent knows it.

    Attributes
    ----------
    context : array, (voxels,)
        Estimated at the time of the decision.
    action : int
        Which option was guessed, from 0.
    propensity : float
        How probable that guess was.
    explored : bool
        Whether it was drawn uniformly.
    catch : bool
        Whether the experimenter chose it, in a catch trial.
    feedback : array, (voxels,)
        Estimated at the trial's end.
    """

    context: np.ndarray
    action: int
    propensity: float
    explored: bool
    catch: bool
    feedback: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, without loss."""
        return {
            **self._asdict(),
            "context": self.context.tolist(),
            "feedback": self.feedback.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Trial":
        """Return the trial that `as_dict` made plain data of."""
        values = {name: data[name] for name in cls._fields}
        arrays = {name: np.array(values[name], float) for name in ("context", "feedback")}
        return cls(**{**values, **arrays})

    def same_as(self, other: "Trial") -> bool:
        """Tell whether two trials do not differ in a bit."""
        return self.as_dict() == other.as_dict()


def interactions(trials: Sequence[Trial], feedback: np.ndarray) -> dict[str, np.ndarray]:
    """Return the trials of a run as arrays, with feedback estimated from the whole run."""
    return {
        "context": np.array([each.context for each in trials]),
        "action": np.array([each.action for each in trials]),
        "propensity": np.array([each.propensity for each in trials]),
        "catch": np.array([each.catch for each in trials]),
        "feedback": feedback,
    }
