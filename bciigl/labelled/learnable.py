"""What makes a dataset learnable: forests that tell from its meta-features whether AI-IGL succeeds.

AI-IGL succeeds on a dataset if its accuracy is at least 0.7 of the contextual bandit's, which sees
the reward. As in the paper's appendix, a random forest of 100 trees predicts this in a 10-fold
cross-validation over datasets, and says which meta-features it goes by.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from bciigl.base.errors import BciiglError, did_you_mean, shortened
from bciigl.labelled.meta_features import NAMES
from bciigl.study.published import lines

SUCCESS = 0.7
"""AI-IGL's accuracy by the contextual bandit's, from which on it counts as a success."""
TREES, FOLDS, SEED = 100, 10, 0
LEAST_CLASSES = 3
"""The paper's datasets have at least so many classes."""
SUBSETS = {"K>=3": math.inf, "N/K<=1000": 1000.0, "N/K<=200": 200.0}
"""The paper's subsets of datasets, and the most examples a class that are in them."""
ALL = "K>=3"
ALONE = "K>=3, n_by_k alone"
GROUPED = "K>=3, sets of equal N and K in one fold"
SIZES = ("n", "n_by_sqrt_k", "n_by_k")
"""The meta-features that follow from the numbers of examples and classes."""

F1 = tuple[float | None, float | None, float]
"""Of failures, of successes, and their mean; the paper has some means only."""


class LearnableError(BciiglError):
    """What is wrong with the datasets a forest is to be grown on."""


class PublishedSet(NamedTuple):
    """A dataset as Table 4 of the paper has it; accuracies are in percent."""

    openml_id: int
    n: int
    k: int
    best_constant: float
    cb: float
    cb_se: float
    igl_full_ci: float
    igl_full_ci_se: float
    ai_igl: float
    ai_igl_se: float

    def as_point(self) -> dict[str, float]:
        """Return the meta-features that are known of it, and ``relative``."""
        sizes = (self.n, self.n / math.sqrt(self.k), self.n / self.k)
        return {**dict(zip(SIZES, map(float, sizes), strict=True)), "relative": self.relative}

    @property
    def relative(self) -> float:
        """AI-IGL's accuracy by the contextual bandit's."""
        return self.ai_igl / self.cb


@dataclass(frozen=True)
class Forest:
    """How well a forest tells successes from failures, and by what.

    Attributes
    ----------
    subset : str
        Which datasets it is about.
    datasets, successes : int
    f1_failure, f1_success, f1 : float or None
        Of the predictions for datasets that the forest has not seen, all folds taken together; the
        last is the mean of the two. None where they cannot be had.
    importances : dict
        Of each meta-feature: the mean decrease in impurity, which is information gained, of a
        forest grown on all datasets. They add up to 1.
    published : tuple or None
        What the paper has of `f1_failure`, `f1_success` and `f1`.
    folds : int
        Fewer than 10 where there are fewer successes or failures.
    reason : str
        Why there is no F1.
    """

    subset: str
    datasets: int
    successes: int
    f1_failure: float | None = None
    f1_success: float | None = None
    f1: float | None = None
    importances: dict[str, float] = field(default_factory=dict)
    published: F1 | None = None
    folds: int = 0
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return asdict(self)


def forest(
    subset: str,
    features: Sequence[Mapping[str, float]],
    relative: Sequence[float],
    published: F1 | None = None,
    groups: Sequence[Hashable] | None = None,
) -> Forest:
    """Return how well a forest predicts success from meta-features.

    Parameters
    ----------
    subset : str
        What these datasets are called.
    features : sequence of mappings
        The meta-features of each dataset, the same for all.
    relative : sequence of float
        AI-IGL's accuracy by the contextual bandit's, of each.
    published : tuple, optional
        The figures to compare with.
    groups : sequence, optional
        Datasets with the same value are variants of the same data: they stay in one fold.
    """
    names, values = _matrix(features)
    relative = np.asarray(relative, float)
    if relative.shape != (len(values),):
        raise LearnableError(
            f"{subset}: should have one relative performance for each of {len(values)} datasets, "
            f"got {relative.size}"
        )
    if not np.isfinite(relative).all():
        place = int(np.flatnonzero(~np.isfinite(relative))[0])
        raise LearnableError(
            f"{subset}: relative performance of dataset {place + 1} should be a finite number, "
            f"got {relative[place]}"
        )
    success = relative >= SUCCESS
    groups = range(len(success)) if groups is None else groups
    folds, reason = _folds(success, groups)
    counts = (subset, len(success), int(success.sum()))
    if reason:
        return Forest(*counts, published=published, reason=reason)
    found = _predicted(values, success, groups, folds)
    failure, succeeded = (
        float(f1_score(success, found, pos_label=label, zero_division=0)) for label in (False, True)
    )
    weights = _grown(values, success).feature_importances_
    importances = dict(zip(names, weights.tolist(), strict=True))
    mean = (failure + succeeded) / 2
    return Forest(*counts, failure, succeeded, mean, importances, published, folds)


def learnable(datasets: Sequence[Mapping[str, Any]]) -> list[Forest]:
    """Return forests for the paper's three subsets of datasets, and two more for comparison.

    These two are of all datasets: by ``n_by_k`` alone, and with datasets that have the same numbers
    of examples and classes in one fold, as they may be variants of the same data. Datasets with
    two classes are left out, as in the paper.

    Parameters
    ----------
    datasets : sequence of mappings
        Of each: its meta-features as `meta_features` has them, and ``relative``, AI-IGL's
        accuracy by the contextual bandit's. Other fields are ignored.
    """
    return _forests(datasets, NAMES)


def published_forests() -> list[Forest]:
    """Return what the published accuracies of all 271 datasets say: no data are needed.

    The forests are those of `learnable`, but by the three meta-features that follow from the
    numbers of examples and classes. The paper's F1 beside them is by all 15.
    """
    return list(_of_table4())


@cache
def _of_table4() -> tuple[Forest, ...]:
    return tuple(_forests([each.as_point() for each in published_table4()], SIZES))


def published_table4() -> list[PublishedSet]:
    """Return the datasets of the paper's Table 4, in its order."""
    kinds = PublishedSet.__annotations__
    return [
        PublishedSet(*(kind(line[name]) for name, kind in kinds.items()))
        for line in lines("table4")
    ]


def published_f1() -> dict[str, F1]:
    """Return the paper's F1 of failures, of successes and their mean, by subset."""
    return {
        line["subset"]: tuple(
            float(line[name]) if line[name] else None for name in ("f1_failure", "f1_success", "f1")
        )
        for line in lines("features_f1")
    }


def _forests(datasets: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Forest]:
    points = [_point(each, number, names) for number, each in enumerate(datasets, 1)]
    # Divided and rounded, as classes are not among the meta-features.
    points = [each for each in points if _classes(each) >= LEAST_CLASSES]
    paper = published_f1()
    found = [
        _forest(subset, [each for each in points if each["n_by_k"] <= most], names, paper[subset])
        for subset, most in SUBSETS.items()
    ]
    equal = [(each["n"], _classes(each)) for each in points]
    return [
        *found,
        _forest(ALONE, points, ["n_by_k"], paper[ALONE]),
        _forest(GROUPED, points, names, groups=equal),
    ]


def _forest(
    subset: str,
    points: Sequence[Mapping[str, float]],
    names: Sequence[str],
    published: F1 | None = None,
    groups: Sequence[Hashable] | None = None,
) -> Forest:
    features = [{name: each[name] for name in names} for each in points]
    return forest(subset, features, [each["relative"] for each in points], published, groups)


def _point(dataset: Mapping[str, Any], number: int, names: Sequence[str]) -> Mapping[str, Any]:
    for name in (*names, "relative"):
        if name not in dataset:
            near = did_you_mean(name, map(str, dataset))
            raise LearnableError(f"dataset {number} should have {name!r}{near}")
    if not (dataset["n"] > 0 and dataset["n_by_k"] > 0):
        wrong = "n" if not dataset["n"] > 0 else "n_by_k"
        raise LearnableError(
            f"dataset {number}: {wrong} should be greater than 0, got {shortened(dataset[wrong])}"
        )
    return dataset


def _classes(point: Mapping[str, float]) -> int:
    return round(point["n"] / point["n_by_k"])


def _matrix(features: Sequence[Mapping[str, float]]) -> tuple[list[str], np.ndarray]:
    """Return the names of meta-features, and their values, (datasets, meta-features)."""
    names = list(features[0]) if features else []
    for number, each in enumerate(features, 1):
        if set(each) != set(names):
            odd = sorted(map(str, set(each) ^ set(names)))[0]
            raise LearnableError(
                f"dataset {number} should have the meta-features of the first; {odd!r} is in one "
                "of the two only"
            )
        for name in names:
            if not math.isfinite(each[name]):
                raise LearnableError(
                    f"dataset {number}: {name} should be a finite number, got {each[name]}"
                )
    return names, np.array([[each[name] for name in names] for each in features], float)


def _folds(success: np.ndarray, groups: Sequence[Hashable]) -> tuple[int, str]:
    """Return how many folds can have successes and failures each, or why there are none."""
    least = FOLDS
    for name, wanted in (("success", True), ("failure", False)):
        mine = {group for group, each in zip(groups, success, strict=True) if each == wanted}
        count = int(np.sum(success == wanted))
        if count < 2:
            return 0, f"needs at least 2 {_plural(name)} to predict one from another, has {count}"
        if len(mine) < 2:
            return 0, f"all {count} {_plural(name)} are variants of one dataset"
        least = min(least, len(mine))
    return least, ""


def _plural(name: str) -> str:
    return {"success": "successes", "failure": "failures"}[name]


def _predicted(
    values: np.ndarray, success: np.ndarray, groups: Sequence[Hashable], folds: int
) -> np.ndarray:
    """Return what forests say of the datasets that they have not seen."""
    found = np.zeros(len(success), bool)
    for train, test in _splits(success, groups, folds):
        found[test] = _grown(values[train], success[train]).predict(values[test])
    return found


def _splits(
    success: np.ndarray, groups: Sequence[Hashable], folds: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    group = np.array([numbers[each] for each in groups])
    if len(numbers) == len(success):
        return StratifiedKFold(folds, shuffle=True, random_state=SEED).split(group, success)
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=SEED)
    # Large groups can leave a fold with nothing in it.
    return (each for each in splitter.split(group, success, group) if len(each[1]))


def _grown(values: np.ndarray, success: np.ndarray) -> RandomForestClassifier:
    # Entropy: a split is chosen, and a meta-feature weighed, by information gain.
    trees = RandomForestClassifier(TREES, criterion="entropy", random_state=SEED)
    return trees.fit(values, success)
