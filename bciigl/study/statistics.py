"""What repeats add up to: means that never come alone."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, norm, random_table, t

RESAMPLES = 10_000
PERMUTATIONS = 2_000
TAIL = 0.025
LEAST_SKILL, LEAST_CEILING = 0.5, 10
"""A policy is good with this share of what the ceiling has above chance, which must be at least
this many points: as in benchmarks/verdicts.py."""


class Mean(NamedTuple):
    """A mean over repeats, with its 95 % interval; one repeat has neither error nor interval."""

    mean: float
    standard_error: float | None
    interval: tuple[float, float] | None


class Chance(NamedTuple):
    """What permuted test labels give in percent, with the 95 % interval of its mean."""

    mean: float
    interval: tuple[float, float]


class Difference(NamedTuple):
    """How much better one learner is than another on the same sessions; `p` is by random signs."""

    mean: float
    standard_error: float | None
    interval: tuple[float, float] | None
    p: float | None


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of repeats with its standard error and interval.

    The interval has the percentiles of resampled means, further from the mean by what they are too
    near it for few repeats: resamples vary less than the population does, and its spread is not
    known (the narrowness bias of Hesterberg, "What Teachers Should Know About the Bootstrap", The
    American Statistician 69 (4), 2015).
    """
    mean, error, _ = mean_and_error(values)
    if error is None:
        return Mean(mean, None, None)
    n = len(values)
    resampled = _rng().integers(n, size=(RESAMPLES, n))
    # Sorted, so that the order of repeats does not change a bit of the result.
    means = np.sort(np.asarray(values, float))[resampled].mean(axis=1)
    wider = np.sqrt(n / (n - 1)) * t.ppf(TAIL, n - 1) / norm.ppf(TAIL)
    low, high = (mean + wider * (each - mean) for each in _interval(means))
    return Mean(mean, error, (float(low), float(high)))


def mean_and_error(values: Sequence[float]) -> Mean:
    """Return the mean of values with its standard error, but no interval."""
    array = np.asarray(values, float)
    error = float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else None
    return Mean(float(array.mean()), error, None)


AnyMean = TypeVar("AnyMean", Mean, Difference)


def within(found: AnyMean, lowest: float) -> AnyMean:
    """Return a mean whose interval ends where percentages or their differences do."""
    if found.interval is None:
        return found
    low, high = (min(max(each, lowest), 100.0) for each in found.interval)
    return found._replace(interval=(low, high))


def difference_of(values: Sequence[float], others: Sequence[float]) -> Difference:
    """Return the mean difference between two learners, repeat by repeat."""
    differences = np.asarray(values, float) - np.asarray(others, float)
    mean = mean_of(differences)
    if len(differences) < 2:
        return Difference(*mean, None)
    by_chance = np.abs((_signs(len(differences)) * differences).mean(axis=1))
    return Difference(*mean, float(np.mean(by_chance >= abs(mean.mean) - 1e-9)))


def _signs(count: int) -> np.ndarray:
    """Return all combinations of signs, or some at random with that of no change: no p is 0."""
    if 2**count <= RESAMPLES:
        return np.array(list(product([1.0, -1.0], repeat=count)))
    drawn = _rng().choice([1.0, -1.0], size=(RESAMPLES, count))
    return np.vstack([np.ones(count), drawn])


def share_with_interval(true: int, count: int) -> tuple[float, tuple[float, float]]:
    """Return how many percent are true, and their 95 % interval by Wilson's method."""
    interval = binomtest(int(true), int(count)).proportion_ci(method="wilson")
    return 100 * float(true / count), (100 * interval.low, 100 * interval.high)


def percent(true: Iterable[bool]) -> float | Any:
    """Return how many percent are true; None of nothing."""
    true = list(true)
    return 100 * sum(true) / len(true) if true else None


def accuracy(confusion: ArrayLike) -> float:
    """Return how many percent of the test trials were right."""
    return 100 * float(np.trace(confusion) / np.sum(confusion))


def failed_option(confusion: ArrayLike) -> bool:
    """Tell whether there is an option that is recognised no better than by guessing."""
    table = np.asarray(confusion)
    tested = table.sum(axis=1)
    recognised = np.diag(table)[tested > 0] / tested[tested > 0]
    return bool((recognised <= 1 / len(table)).any())


def permutation_chance(confusions: Sequence[ArrayLike]) -> Chance:
    """Return the mean accuracy over repeats if the test labels were permuted in each of them.

    Permuting them leaves how often each option was meant and chosen: tables with these margins are
    drawn at random.
    """
    rng = _rng()
    permuted = np.zeros((len(confusions), PERMUTATIONS))
    for place, confusion in enumerate(np.asarray(each) for each in confusions):
        margins = confusion.sum(axis=1), confusion.sum(axis=0)
        tables = random_table(*margins).rvs(PERMUTATIONS, random_state=rng)
        permuted[place] = 100 * np.trace(tables, axis1=1, axis2=2) / confusion.sum()
    means = permuted.mean(axis=0)
    return Chance(float(means.mean()), _interval(means))


def _interval(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(draws, (TAIL, 1 - TAIL))
    return float(low), float(high)


def _rng() -> np.random.Generator:
    # The same draws for the same repeats: a table does not change when it is printed again.
    return np.random.default_rng(0)


def is_good(accuracy: float, ceiling: float, chance: float) -> bool:
    """Tell whether a policy is good enough for trust in it to be right; all in percent."""
    above = ceiling - chance
    return above >= LEAST_CEILING and accuracy - chance >= LEAST_SKILL * above
