"""What makes the datasets at hand learnable: their meta-features and what was reached on them."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bciigl import __version__
from bciigl.base.files import write_text
from bciigl.base.progress import Progress, silent
from bciigl.base.seeds import Seed
from bciigl.base.threads import one_thread
from bciigl.labelled.learnable import Forest, learnable, published_forests, published_table4
from bciigl.labelled.meta_features import NAMES, meta_features
from bciigl.labelled.rows import LabelledRow
from bciigl.labelled.study import Dataset, LabelledStudy, digest_of
from bciigl.study.grid import StudyError

FILE = "features.json"
PUBLISHED = "published"
"""What the paper's own results on the datasets at hand are called."""
TABLE4 = "published, all sets"
"""What its results on all its datasets are called, of which only N and K are known here."""

MetaFeatures = dict[str, dict[str, float]]
"""The meta-features of each dataset, by its digest."""


class Learnability(NamedTuple):
    """What a set of results says about what makes a dataset learnable.

    Attributes
    ----------
    results : str
        Whose results: a feedback rule's name, `PUBLISHED` or `TABLE4`.
    points : list of dict
        Of each dataset its meta-features, ``dataset``, ``name`` and ``relative``.
    forests : list of Forest
    """

    results: str
    points: list[dict[str, Any]]
    forests: list[Forest]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as for JSON."""
        return {
            "results": self.results,
            "datasets": self.points,
            "forests": [each.as_dict() for each in self.forests],
        }


def measured(
    study: LabelledStudy, folder: str | os.PathLike, progress: Progress = silent
) -> MetaFeatures:
    """Return the meta-features of a study's datasets; what is measured anew is kept in its folder.

    Parameters
    ----------
    study : LabelledStudy
        It knows where its data are.
    folder : path-like
        Where its results are.
    progress : function, optional
        Called with how many datasets are measured, and how many there are.
    """
    found = read_features(folder)
    for number, dataset in enumerate(study.datasets):
        progress(number, len(study.datasets))
        if dataset.digest not in found:
            found[dataset.digest] = _measured(dataset)
            document = {"bciigl": __version__, "features": found}
            write_text(Path(folder) / FILE, json.dumps(document, indent=1) + "\n", overwrite=True)
    progress(len(study.datasets), len(study.datasets))
    return found


def _measured(dataset: Dataset) -> dict[str, float]:
    if dataset.source is None:
        raise StudyError(f"{dataset.id}: where the data are is not known")
    data = dataset.source.load()
    if digest_of(data) != dataset.digest:
        raise StudyError(f"{dataset.id}: the data have changed since the study began")
    with one_thread():
        return meta_features(data, Seed(0).rng(dataset.digest))


def read_features(folder: str | os.PathLike) -> MetaFeatures:
    """Return the meta-features that are kept in a folder, of this version; perhaps none.

    Raises
    ------
    StudyError
        If the file is damaged.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = document["features"] if document["bciigl"] == __version__ else {}
        return {key: {name: float(each[name]) for name in NAMES} for key, each in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StudyError(f"{path}: is damaged; delete it to have it made again") from None


def learnability(rows: Sequence[LabelledRow], features: MetaFeatures) -> list[Learnability]:
    """Return what the results say: of each feedback rule, then of the paper's own.

    Parameters
    ----------
    rows : sequence of LabelledRow
        The table of the study.
    features : dict
        As `measured` gives them.
    """
    mine = [row for row in rows if row.learner == "ai_igl" and row.dataset.digest in features]
    found = []
    for feedback in dict.fromkeys(row.feedback for row in mine):
        points = [
            _point(row.dataset, features, row.relative)
            for row in mine
            if row.feedback == feedback and row.relative is not None
        ]
        found.append(Learnability(feedback, points, learnable(points)))
    paper = {each.openml_id: each for each in published_table4()}
    known = {row.dataset.digest: row.dataset for row in mine if row.dataset.openml_id in paper}
    if known:
        points = [_point(each, features, paper[each.openml_id].relative) for each in known.values()]
        found.append(Learnability(PUBLISHED, points, learnable(points)))
    points = [{"dataset": each.openml_id, **each.as_point()} for each in paper.values()]
    return [*found, Learnability(TABLE4, points, published_forests())]


def _point(
    dataset: Dataset, features: Mapping[str, dict[str, float]], relative: float
) -> dict[str, Any]:
    about = {"dataset": dataset.id, "name": dataset.name}
    return {**about, **features[dataset.digest], "relative": relative}
