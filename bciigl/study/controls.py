"""Controls: the same analysis where it should find nothing, or the same with less."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bciigl.tasks.arrays import Recorded

SILENCED = "judgment silenced"
PERMUTED = "rewards permuted"
MEAN_REMOVED = "region mean removed"


def _as_it_is(recorded: Recorded, rng: np.random.Generator) -> Recorded:
    return recorded


def permute_rewards(recorded: Recorded, rng: np.random.Generator) -> Recorded:
    """Return interactions in which every answer to an action goes to another trial of that action.

    Of the same run, but for one in each run. Each action keeps its answers, and so their law and
    the match rate; but no answer belongs to its context. (In a plain permutation some would stay
    where they are, which is enough to learn from.)
    """
    run = np.zeros(len(recorded.action), int) if recorded.run is None else recorded.run
    shuffled = rng.permutation(len(recorded.action))
    shuffled = shuffled[np.lexsort((run[shuffled], recorded.action[shuffled]))]
    order = np.arange(len(recorded.action))
    for action in np.unique(recorded.action):
        rows = shuffled[recorded.action[shuffled] == action]
        order[rows] = np.roll(rows, 1)
    reward = None if recorded.reward is None else recorded.reward[order]
    return replace(recorded, feedback=recorded.feedback[order], reward=reward)


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
    # Not a weight of 0: regression lets a judgment that is there leak into perception's estimate.
    SILENCED: Control(
        "near chance: nobody judges, but in one series regression leaks a little of what was"
        " imagined into the answer",
        changes={"task.events": ["imagination", "perception"], "feedback.perception": 1.0},
    ),
    PERMUTED: Control(
        "at chance: every answer goes to another trial with the same guess",
        apply=permute_rewards,
    ),
    MEAN_REMOVED: Control(
        "as without: what is learned is in the pattern, not in the region's mean signal",
        apply=remove_region_mean,
    ),
}
