"""What makes a dataset learnable: forests that tell from its meta-features whether AI-IGL succeeds.

AI-IGL succeeds on a dataset if its accuracy is at least 0.7 of the contextual bandit's, which sees
the reward. As in the paper's appendix, a random forest of 100 trees predicts this in a 10-fold
cross-validation over datasets, and says which meta-features it goes by.
"""

import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from bciigl import __version__
from bciigl.base.files import write_text
from bciigl.base.json_files import read_json
from bciigl.base.progress import Progress, silent
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.labelled.meta_features import NAMES, meta_features
from bciigl.labelled.rows import LabelledRow
from bciigl.labelled.study import Dataset, LabelledStudy
from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.bandit import BANDIT
from bciigl.study.grid import StudyError
from bciigl.study.published import lines
from bciigl.study.results import Kept

FILE = "features.json"
PUBLISHED = "published"
"""What the paper's own results on the datasets at hand are called."""
TABLE4 = "published, all sets"
"""What its results on all its datasets are called, of which only N and K are known here."""
SUCCESS = 0.7
"""AI-IGL's accuracy by the contextual bandit's, from which on it counts as a success."""
TREES, FOLDS, SEED = 100, 10, 0
SUBSETS = {"K>=3": math.inf, "N/K<=1000": 1000.0, "N/K<=200": 200.0}
"""The paper's subsets of datasets, and the most examples a class that are in them."""
ALONE = "K>=3, n_by_k alone"
GROUPED = "K>=3, sets of equal N and K in one fold"

F1 = tuple[float | None, float | None, float | None]
"""Of failures, of successes, and their mean; the paper has some means only."""
MetaFeatures = dict[str, dict[str, float]]
"""The meta-features of each dataset, by its digest."""
Point = Mapping[str, Any]
"""A dataset: some of its meta-features, and ``relative``, AI-IGL's accuracy by the bandit's."""


@dataclass(frozen=True)
class Forest:
    """How well a forest tells successes from failures of unseen datasets, and by what."""

    subset: str
    datasets: int
    successes: int
    f1_failure: float | None = None  # F1 are of all folds taken together
    f1_success: float | None = None
    f1: float | None = None
    importances: dict[str, float] = field(default_factory=dict)  # information gain, of 1 in all
    published: F1 | None = None
    folds: int = 0  # fewer than 10 where successes or failures are fewer
    reason: str = ""  # why there is no F1


@dataclass(frozen=True)
class Learnability:
    """What results say about what makes a dataset learnable."""

    results: str  # a feedback rule's name, `PUBLISHED` or `TABLE4`
    datasets: list[dict[str, Any]]  # each a `Point`, with its ``dataset`` (id) and ``name``
    forests: list[Forest]


class _Document(Kept):
    """What `FILE` has: meta-features, and what was found with them in which finished cells."""

    bciigl: str
    features: MetaFeatures
    cells: str = ""
    learnability: list[Learnability] = []


def measured(
    study: LabelledStudy, folder: str | os.PathLike, progress: Progress = silent
) -> MetaFeatures:
    """Return meta-features of a study's datasets; what is measured anew is kept in its folder."""
    found = dict(_read(folder).features)
    for number, dataset in enumerate(study.datasets):
        progress(number, len(study.datasets))
        if dataset.digest not in found:
            with one_thread():
                rng = Seed(0).rng(dataset.digest)
                found[dataset.digest] = meta_features(dataset.load(), rng)
            _write(folder, features=found)
    progress(len(study.datasets), len(study.datasets))
    return found


def keep_learnability(folder: str | os.PathLike, found: Sequence[Learnability], cells: str) -> None:
    """Write what was found beside the meta-features, and the digest of the cells that it is of."""
    documents = [asdict(each) for each in found]
    _write(folder, features=_read(folder).features, cells=cells, learnability=documents)


def read_learnability(folder: str | os.PathLike, cells: str) -> list[Learnability] | None:
    """Return what was found with these finished cells; None if it was found with others."""
    document = _read(folder)
    if document.cells == cells:
        return document.learnability
    return None if document.features else []


def _read(folder: str | os.PathLike) -> _Document:
    path, empty = Path(folder) / FILE, _Document(bciigl=__version__, features={})
    try:
        document = read_json(path, _Document, error=StudyError) if path.exists() else empty
        if any(set(each) != set(NAMES) for each in document.features.values()):
            raise StudyError("other meta-features")
    except StudyError:
        raise StudyError(f"{path}: is damaged; delete it to have it made again") from None
    return document if document.bciigl == __version__ else empty


def _write(folder: str | os.PathLike, **document: Any) -> None:
    text = json.dumps({"bciigl": __version__, **document}, indent=1)
    write_text(Path(folder) / FILE, text + "\n", overwrite=True)


def learnability(rows: Sequence[LabelledRow], features: MetaFeatures) -> list[Learnability]:
    """Return what the results say: of each feedback rule, then of the paper's own."""

    def point(dataset: Dataset, relative: float) -> dict[str, Any]:
        about = {"dataset": dataset.id, "name": dataset.name}
        return {**about, **features[dataset.digest], "relative": relative}

    mine = [row for row in rows if row.learner == AI_IGL.id and row.dataset.digest in features]
    paper = {each["dataset"]: each for each in published_points()}
    found = {
        feedback: [
            point(row.dataset, row.relative)
            for row in mine
            if row.feedback == feedback and row.relative is not None
        ]
        for feedback in dict.fromkeys(row.feedback for row in mine)
    }
    known = dict.fromkeys(row.dataset for row in mine if row.dataset.openml_id in paper)
    if known:
        found[PUBLISHED] = [point(each, paper[each.openml_id]["relative"]) for each in known]
    ours = [Learnability(name, points, forests(points)) for name, points in found.items()]
    return [*ours, Learnability(TABLE4, list(paper.values()), list(published_forests()))]


def published_points() -> list[dict[str, Any]]:
    """Return the datasets of the paper's Table 4, in its order, with what is known of them."""
    return [
        {
            "dataset": int(line["openml_id"]),
            "n": float(line["n"]),
            "n_by_sqrt_k": int(line["n"]) / math.sqrt(int(line["k"])),
            "n_by_k": int(line["n"]) / int(line["k"]),
            "relative": float(line[AI_IGL.published_as]) / float(line[BANDIT.published_as]),
        }
        for line in lines("table4")
    ]


@cache
def published_forests() -> tuple[Forest, ...]:
    """Return what the published accuracies say by sizes alone; the paper's F1 is by all 15."""
    return tuple(forests(published_points(), ("n", "n_by_sqrt_k", "n_by_k")))


def forests(points: Sequence[Point], names: Sequence[str] = NAMES) -> list[Forest]:
    """Return forests for the paper's subsets of datasets, `ALONE` and `GROUPED`; K is 3 or more.

    Datasets of the same numbers of examples and classes may be variants of the same data.
    """

    def classes(point: Point) -> int:
        # Divided and rounded, as classes are not among the meta-features.
        return round(point["n"] / point["n_by_k"])

    points = [each for each in points if classes(each) >= 3]

    def score(line: dict[str, str], name: str) -> float | None:
        return float(line[name]) if line[name] else None

    paper = {
        line["subset"]: (score(line, "f1_failure"), score(line, "f1_success"), score(line, "f1"))
        for line in lines("features_f1")
    }
    found = [
        forest(subset, [each for each in points if each["n_by_k"] <= most], names, paper[subset])
        for subset, most in SUBSETS.items()
    ]
    equal = [(each["n"], classes(each)) for each in points]
    alone = forest(ALONE, points, ["n_by_k"], paper[ALONE])
    return [*found, alone, forest(GROUPED, points, names, groups=equal)]


def forest(
    subset: str,
    points: Sequence[Point],
    names: Sequence[str],
    published: F1 | None = None,
    groups: Sequence[Hashable] | None = None,
) -> Forest:
    """Return how well a forest predicts success; datasets of one group stay in one fold."""
    values = np.array([[each[name] for name in names] for each in points], float)
    success = np.array([each["relative"] >= SUCCESS for each in points], bool)
    groups = range(len(success)) if groups is None else groups
    numbers = {each: number for number, each in enumerate(dict.fromkeys(groups))}
    group = np.array([numbers[each] for each in groups], int)
    folds, reason = _folds(success, group)
    counts = (subset, len(success), int(success.sum()))
    if reason:
        return Forest(*counts, published=published, reason=reason)
    alone = len(numbers) == len(success)
    kind = StratifiedKFold if alone else StratifiedGroupKFold
    splits = kind(folds, shuffle=True, random_state=SEED)
    found = np.zeros(len(success), bool)
    for train, test in splits.split(group, success, None if alone else group):
        if len(test):  # large groups can leave a fold with nothing in it
            found[test] = _grown(values[train], success[train]).predict(values[test])
    failure, succeeded = (
        float(f1_score(success, found, pos_label=label, zero_division=0)) for label in (False, True)
    )
    weights = _grown(values, success).feature_importances_
    importances = dict(zip(names, weights.tolist(), strict=True))
    mean = (failure + succeeded) / 2
    return Forest(*counts, failure, succeeded, mean, importances, published, folds)


def _folds(success: np.ndarray, group: np.ndarray) -> tuple[int, str]:
    """Return how many folds can have successes and failures each, or why there are none."""
    least = FOLDS
    for name, mine in (("successes", group[success]), ("failures", group[~success])):
        if len(mine) < 2:
            return 0, f"needs at least 2 {name} to predict one from another, has {len(mine)}"
        if len(np.unique(mine)) < 2:
            return 0, f"all {len(mine)} {name} are variants of one dataset"
        least = min(least, len(np.unique(mine)))
    return least, ""


def _grown(values: np.ndarray, success: np.ndarray) -> RandomForestClassifier:
    # Entropy: a split is chosen, and a meta-feature weighed, by information gain.
    trees = RandomForestClassifier(TREES, criterion="entropy", random_state=SEED)
    return trees.fit(values, success)
