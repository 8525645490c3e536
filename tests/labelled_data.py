"""Small labelled data, small studies of them, and results made up without learning."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bciigl.labelled.rules import Guesses, Labelled
from bciigl.labelled.sources import Source
from bciigl.labelled.study import Dataset, LabelledCell, LabelledResult, LabelledStudy, describe
from bciigl.study.store import Results, checked


def labelled(
    examples: int = 60, classes: int = 4, features: int = 3, *, seed: int = 0, **about
) -> Labelled:
    """Return examples around a centre for each class; all classes are equally frequent."""
    rng = np.random.default_rng(seed)
    label = np.arange(examples) % classes
    values = rng.normal(0, 3, (classes, features))[label] + rng.normal(size=(examples, features))
    values = values.astype(np.float32).astype(float)  # as readers of files give them
    names = tuple(f"class {each}" for each in range(classes))
    return Labelled(about.pop("name", f"made with {seed}"), values, label, names, **about)


def guesses(
    label: Sequence[int], row: Sequence[int], action: Sequence[int], classes: int
) -> Guesses:
    """Return guesses about examples that have their own number as their only feature."""
    label, row, action = (np.asarray(each, int) for each in (label, row, action))
    examples = np.arange(len(label), dtype=float)[:, None]
    return Guesses(action, (action == label[row]).astype(int), row, examples, label, classes)


def uniform_guesses(trials: int, classes: int, seed: int = 0) -> Guesses:
    """Return random guesses about as many examples, of classes that are equally frequent."""
    action = np.random.default_rng(seed).integers(classes, size=trials)
    return guesses(np.arange(trials) % classes, np.arange(trials), action, classes)


def study(*datasets: Dataset, **how) -> LabelledStudy:
    """Return a study that takes some hundredths of a second: the bandit alone, two repeats."""
    how = {"feedback": ("action_reward",), "learners": ("cb",), "repeats": 2, **how}
    return LabelledStudy(datasets or (describe(labelled()),), **how)


def written(path: Path, data: Labelled) -> Source:
    """Write data to an NPZ file, and return it as where they are."""
    np.savez(path, X=data.features, y=data.label, classes=np.array(data.classes))
    return Source("npz", str(path))


def known(n: int, k: int, majority: float = 0.4, **about) -> Dataset:
    """Return what a study knows of data that do not exist."""
    about = {"name": f"{n} of {k}", "openml_id": None, "own_test": False, **about}
    about.setdefault("digest", f"digest of {about['openml_id'] or about['name']}")
    return Dataset(n=n, k=k, majority=majority, features=3, **about)


def made_up(
    cell: LabelledCell, right: Mapping[str, int], tested: int = 100, verdict: str = "trust"
) -> LabelledResult:
    """Return a result of a cell in which each learner has so many right."""
    results = [
        {
            "learner": each,
            "right": right[each],
            "tested": tested,
            "verdict": verdict if each == "ai_igl" else None,
            "objective": 0.5 if each == "igl_full_ci" else None,
        }
        for each in cell.entries
    ]
    return checked(cell, {**cell.identity, "versions": {}, "results": results})


def all_made_up(mine: LabelledStudy, seed: int = 0) -> Results:
    """Return results of all cells, each with another number of right ones."""
    rng = np.random.default_rng(seed)
    return {
        cell.key: made_up(cell, {each: int(rng.integers(30, 90)) for each in cell.entries})
        for cell in mine.cells
    }


def echo(guesses: Guesses, rng: np.random.Generator) -> np.ndarray:
    """Answer in the clear, with some noise: a rule of one's own."""
    return guesses.reward[:, None] + rng.normal(0, 0.1, (len(guesses.action), 2))
