"""Controls: the same analysis where it should find nothing, or the same with less."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bciigl.study.arrays import Recorded

SILENCED = "judgment silenced"
PERMUTED = "rewards permuted"
MEAN_REMOVED = "region mean removed"
_GUESS = ("action", "propensity", "catch", "feedback", "reward")


def _as_it_is(recorded: Recorded, rng: np.random.Generator) -> Recorded:
    return recorded


def permute_rewards(recorded: Recorded, rng: np.random.Generator) -> Recorded:
    """Return interactions in which guesses, with their answers, belong to other contexts.

    They are dealt out anew within each run, so all laws stay but that of contexts and answers
    together. Some stay where they are by chance; centring by run, which all learners do, makes up
    for exactly that: on average contexts and answers are then uncorrelated.
    """
    run = np.zeros(len(recorded.action), int) if recorded.run is None else recorded.run
    order = np.arange(len(run))
    for each in np.unique(run):
        rows = np.flatnonzero(run == each)
        order[rows] = rng.permutation(rows)
    arrays = {name: getattr(recorded, name) for name in _GUESS}
    return replace(
        recorded, **{name: array[order] for name, array in arrays.items() if array is not None}
    )


def remove_region_mean(recorded: Recorded, rng: np.random.Generator) -> Recorded:
    """Return interactions in which contexts and feedback have a mean of 0 over the voxels."""
    names = ("context", "feedback", "test_context")
    arrays = {name: getattr(recorded, name) for name in names}
    return replace(
        recorded,
        **{
            name: array - array.mean(axis=1, keepdims=True)
            for name, array in arrays.items()
            if array is not None
        },
    )


@dataclass(frozen=True)
class Control:
    """A control.

    Attributes
    ----------
    expected : str
        What it should show.
    changes : dict
        Of the protocol, where another experiment is simulated.
    apply : function
        From recorded interactions and random numbers to those that are learned from.
    """

    expected: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    apply: Callable[[Recorded, np.random.Generator], Recorded] = _as_it_is


CONTROLS = {
    # Regression lets events of one series leak into each other. So it is not enough that judgments
    # have no weight; and what was imagined must be kept out of the answers, too.
    SILENCED: Control(
        "at chance on average: nobody judges, and answers are recorded apart from imagination",
        changes={
            "task.events": ["imagination", "perception"],
            "feedback.perception": 1.0,
            "recording": "separate",
        },
    ),
    PERMUTED: Control(
        "at chance: guesses, with their answers, are dealt out anew among the trials of a run",
        apply=permute_rewards,
    ),
    MEAN_REMOVED: Control(
        "as without: what is learned is in the pattern, not in the region's mean signal",
        apply=remove_region_mean,
    ),
}
