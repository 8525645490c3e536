"""Small files of labelled data, and results of studies of them that nobody has learned."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from bciigl.labelled import LabelledRow, LabelledStudy, labelled_rows, paper
from bciigl.labelled.study import Dataset, LabelledCell, LabelledResult
from bciigl.study.store import Results, checked

IMAGE, PIXELS = 6, 36
VERSIONS = {"numpy": "1.2.3", "scikit-learn": "4.5.6"}


def examples(
    rows: int = 90, classes: int = 3, features: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return examples of classes that are far apart, and their labels from 0, in turn."""
    rng = np.random.default_rng(seed)
    label = np.arange(rows) % classes
    centre = rng.normal(scale=4, size=(classes, features))
    return centre[label] + rng.normal(size=(rows, features)), label


def write_npz(path: Path, *, openml_id: int | None = None, **size: int) -> Path:
    """Write such examples to an NPZ file and return its path."""
    path.parent.mkdir(exist_ok=True)
    features, label = examples(**size)
    more = {} if openml_id is None else {"openml_id": openml_id}
    np.savez(path, X=features, y=label, **more)
    return path


def write_csv(path: Path, *, label: str = "class", **size: int) -> Path:
    """Write such examples to a CSV file, labels in letters in the last column."""
    path.parent.mkdir(exist_ok=True)
    features, labels = examples(**size)
    names = [*(f"f{each}" for each in range(features.shape[1])), label]
    lines = [
        [*(f"{each:.3f}" for each in row), "abcdefghij"[mine]]
        for row, mine in zip(features, labels, strict=True)
    ]
    path.write_text("".join(f"{','.join(line)}\n" for line in [names, *lines]))
    return path


def write_images(path: Path, *, rows: int = 300, classes: int = 10) -> Path:
    """Write small images as MNIST comes: x_train, y_train, x_test, y_test."""
    rng = np.random.default_rng(1)
    label = np.arange(rows) % classes
    prototype = rng.integers(0, 200, (classes, IMAGE, IMAGE))
    images = (prototype[label] + rng.integers(0, 50, (rows, IMAGE, IMAGE))).astype(np.uint8)
    train = rows * 5 // 6
    np.savez(
        path, x_train=images[:train], y_train=label[:train], x_test=images[train:],
        y_test=label[train:],
    )  # fmt: skip
    return path


def dataset(
    name: str, *, openml_id: int | None = None, n: int = 120, k: int = 3, **more
) -> Dataset:
    """Return a dataset that is nowhere; its digest follows from its name."""
    whole = {"features": 4, "majority": 0.4, "own_test": False, **more}
    return Dataset(name, openml_id, n, k, digest=f"{name:-<64}", **whole)


def several(count: int = 5, **options) -> LabelledStudy:
    """Return a study of Table 1 of so many datasets; the paper has every other one of them."""
    known = paper.openml_ids()
    sets = [
        dataset(
            f"set {each}", openml_id=None if each % 2 else known[each], n=100 + each, k=3 + each
        )
        for each in range(count)
    ]
    return paper.table1(sets, **{"repeats": 2, **options})


def digits(**options) -> LabelledStudy:
    """Return a study of Table 3."""
    sets = [dataset("digits", n=300, k=10, features=PIXELS, own_test=True)]
    return paper.table3(sets, **{"repeats": 2, "samples": 200, **options})


def made_up(cell: LabelledCell, right: Sequence[int], tested: int = 40) -> LabelledResult:
    """Return a result of a cell in which each learner was right so often."""
    results = [
        {
            "learner": learner,
            "right": int(count),
            "tested": tested,
            "verdict": "trust" if learner == "ai_igl" else None,
            "objective": 0.5 if learner == "igl_full_ci" else None,
        }
        for learner, count in zip(cell.entries, right, strict=True)
    ]
    return checked(cell, {**cell.identity, "versions": VERSIONS, "results": results})


def all_made_up(study: LabelledStudy, seed: int = 0) -> Results:
    """Return results of all cells that differ in everything."""
    rng = np.random.default_rng(seed)
    return {cell.key: made_up(cell, rng.integers(1, 40, len(cell.entries))) for cell in study.cells}


@cache
def rows_of(study: LabelledStudy) -> list[LabelledRow]:
    """Return the table of made-up results; the same list each time."""
    return labelled_rows(study, all_made_up(study))
