"""How long a session must be: at which lengths to look, and when to stop.

Nothing here simulates anything: `search` is given a function that looks at a length.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from scipy.stats import beta

from bciigl.learn.diagnose import TRUST

FIRST, LEAST_STEP, STEP = 16, 4, 0.08
"""The shortest length in trials, and the steps to longer ones: trials at least, share of it."""
STRIDE = 4
"""While the target is missed, only every fourth length is looked at."""
IN_A_ROW = 5
"""Lengths that must be surely above the target: the bound allows for the test trials alone, and a
learner may still fall back. Of 48 people one did so after 3 lengths, none after 5, which was chosen
on the same 48 (benchmarks/planning.md has others)."""
ERROR = 0.005
"""The error rate of each bound by which a person is decided early."""


class Look(NamedTuple):
    """What was learned from the first trials of a session; accuracies in percent.

    `ceiling` is that of supervised learning from the same trials. The verdict and the accuracy
    that the learner itself estimates are None where it has none.
    """

    trials: int
    hours: float
    accuracy: float
    ceiling: float
    verdict: str | None = None
    estimated: float | None = None

    @property
    def trusted(self) -> bool:
        """Whether the learner trusts itself; True if it has no verdict."""
        return self.verdict in (None, TRUST)


class Goal(NamedTuple):
    """What a person should reach.

    Attributes
    ----------
    needed : float
        Accuracy in percent.
    tested : int
        Trials that it is measured on.
    trusted : bool
        Whether only a policy counts that the learner trusts, as in the closed loop.
    uniform : int
        Trials before which no policy is used there.
    """

    needed: float
    tested: int
    trusted: bool = False
    uniform: int = 0

    def reached(self, looks: Sequence[Look]) -> list[bool]:
        """Tell of each look, in order of length, whether the policy in force reaches the goal.

        An agent in the closed loop keeps to the last policy that was trusted.
        """
        found, force = [], None
        for each in looks:
            if not self.trusted or (each.trusted and each.trials >= self.uniform):
                force = each.accuracy
            found.append(force is not None and force >= self.needed)
        return found

    def surely(self, look: Look) -> bool:
        """Tell whether an accuracy is above the goal by its exact lower bound."""
        return accuracy_bounds(look.accuracy, self.tested)[0] > self.needed


def accuracy_bounds(accuracy: float, tested: int) -> tuple[float, float]:
    """Return the exact lower and upper bound, each with `ERROR`, of an accuracy in percent."""
    right = round(accuracy * tested / 100)
    low = beta.ppf(ERROR, right, tested - right + 1) if right else 0.0
    high = beta.ppf(1 - ERROR, right + 1, tested - right) if right < tested else 1.0
    return 100 * float(low), 100 * float(high)


def lengths(most: int) -> list[int]:
    """Return the lengths that may be looked at, in trials: steps of 8 %, up to `most`.

    Examples
    --------
    >>> lengths(60)
    [16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60]
    """
    found = [FIRST]
    while (longer := found[-1] + max(LEAST_STEP, round(STEP * found[-1]))) <= most:
        found.append(longer)
    if found[-1] < most:  # the hours are used up to their end, by no step that is shorter
        found[-1 if most - found[-1] < LEAST_STEP and len(found) > 1 else len(found) :] = [most]
    return found


def search(
    grid: Sequence[int], goal: Goal, look: Callable[[int], Look], *, to_end: bool = False
) -> tuple[list[Look], int | None]:
    """Look at growing lengths until a person is decided; return all looks, and when that was.

    A person is decided when the accuracy is surely above the goal at five lengths in a row; the
    search then goes on to a length at which the learner is trusted. Where a length misses the
    goal, no shorter one matters, so those in between are left out.

    Parameters
    ----------
    grid : sequence of int
        Lengths in trials, growing.
    goal : Goal
    look : function
        Returns what is learned from that number of trials. A shorter length may come after a longer
        one.
    to_end : bool
        Look on to the end, in long steps, to see whether deciding was right.
    """
    looks: dict[int, Look] = {}

    def hits(place: int) -> bool:
        if place not in looks:
            looks[place] = look(grid[place])
        before = [looks[each] for each in sorted(looks) if each <= place]
        return goal.reached(before)[-1]

    def sure(place: int) -> bool:
        row = [looks.get(place - back) for back in range(IN_A_ROW)]
        return all(each is not None and goal.surely(each) for each in row)

    last, decided_at = len(grid) - 1, None
    place, missed, decided = min(STRIDE, last), True, False
    while True:
        if hits(place):
            if missed:  # which of the lengths left out was the first?
                for _ in takewhile(hits, range(place - 1, -1, -1)):
                    pass
            missed, decided = False, decided or sure(place)
        else:
            missed, decided = True, False
        if decided and looks[place].trusted and decided_at is None:
            decided_at = grid[place]
        if place == last or (decided_at and not to_end):
            return [looks[each] for each in sorted(looks)], decided_at
        step = STRIDE if missed or decided else 1
        place = min(place + (2 * STRIDE if decided_at else step), last)


def first_reached(looks: Sequence[Look], goal: Goal) -> Look | None:
    """Return the first look from which on the goal is reached at all that follow; None if none."""
    found = None
    for look, reached in zip(looks, goal.reached(looks), strict=True):
        found = (found or look) if reached else None
    return found
