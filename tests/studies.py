"""Small studies, and results made up without a brain."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bciigl.base.files import write_text
from bciigl.brain import load_subject
from bciigl.brain.images import write_image
from bciigl.protocol import Protocol
from bciigl.study import Study, StudyError
from bciigl.study.grid import Cell
from bciigl.study.results import CellResult
from bciigl.study.store import Results, checked

TINY = {
    "name": "tiny",
    "task": {"options": [7, 8, 9], "trials": 24, "trials_per_run": 12},
    "evaluation": {"test_trials": 12},
    "brain": {"region": {"size": 2}},
    "learners": ["ceiling"],
    "study": {"noise": [0.05], "repeats": 2},
}
# The same for the command line; number_guessing has the same options.
TINY_OPTIONS = (
    "--set task.trials=24 --set task.trials_per_run=12 --set evaluation.test_trials=12 "
    "--set brain.region.size=2 --noise 0.05 --learner ceiling"
).split()


def tiny(**sections) -> Protocol:
    """Return an experiment that takes a tenth of a second."""
    return Protocol.model_validate(merged(TINY, sections))


def merged(data: Mapping, changes: Mapping) -> dict:
    """Return plain data with changes at any depth; a new shape of region replaces the old one."""
    both = dict(data)
    for name, value in changes.items():
        within = isinstance(value, Mapping) and isinstance(both.get(name), Mapping)
        both[name] = merged(both[name], value) if within and "shape" not in value else value
    return both


def study(*, vary: Mapping | None = None, controls: Sequence[str] = (), **sections) -> Study:
    """Return a study of a tiny experiment."""
    return Study(tiny(**sections), vary=vary or {}, controls=controls)


def write_mask(path: Path, size: int = 2, at: tuple[int, int, int] = (14, 41, 30)) -> None:
    """Write a mask of a cube of the shipped subject."""
    subject = load_subject("brainiak")
    mask = np.zeros(subject.shape, np.uint8)
    mask[tuple(slice(each, each + size) for each in at)] = 1
    write_image(path, mask, subject.affine)


def made_up(cell: Cell, confusions: Sequence, objective: float | None = None) -> CellResult:
    """Return a result of a cell with these confusions, one for each who learns from it."""
    results = [
        {
            **entry._asdict(),
            "confusion": np.asarray(confusion).tolist(),
            "verdict": "trust" if entry.learner == "ai_igl" else None,
            "objective": objective if entry.learner == "igl_full_ci" else None,
        }
        for entry, confusion in zip(cell.entries, confusions, strict=True)
    ]
    whole = {"repeat": cell.repeat, "versions": {}, "truth_objective": 0.7, "results": results}
    return checked(cell, {**cell.identity, **whole})


def right_of(right: int, trials: int = 30, options: int = 3) -> np.ndarray:
    """Return a confusion with so many right, spread evenly; the others are one option off."""
    confusion = np.zeros((options, options), int)
    for trial in range(trials):
        meant = trial % options
        confusion[meant, meant if trial < right else (meant + 1) % options] += 1
    return confusion


def all_made_up(mine: Study, seed: int = 0) -> Results:
    """Return results of all cells that differ in everything."""
    rng = np.random.default_rng(seed)
    return {
        cell.key: made_up(cell, rng.integers(1, 20, (len(cell.entries), 3, 3)), rng.random())
        for cell in mine.cells
    }


def store(folder: Path, results: Results) -> None:
    """Write results into the folder of a study."""
    for key, result in results.items():
        write_text(folder / "cells" / f"{key}.json", result.model_dump_json(indent=1) + "\n")


def changed(change: Callable[[dict], object]) -> Callable[[str], str]:
    """Return what changes the JSON document in a file."""

    def of(text: str) -> str:
        document = json.loads(text)
        change(document)
        return json.dumps(document)

    return of


def result(**changes) -> Callable[[str], str]:
    """Return what changes the first learner's result in the file of a cell."""
    return changed(lambda document: document["results"][0].update(changes))


def assert_refused(path: Path, harms: Mapping[str, Callable[[str], str]], *attempts) -> None:
    """See to it that a damaged file is refused by its name, whatever is attempted, and kept."""
    whole = path.read_text()
    for name, harm in {**NO_JSON, **harms}.items():
        path.write_text(harm(whole))
        before = path.read_bytes()
        for attempt in attempts:
            try:
                attempt()
            except StudyError as error:
                assert str(error).startswith(f"{path}: "), (name, str(error))
                if path.parent.name == "cells":
                    assert str(error).endswith("; delete it to have it made again"), name
            else:
                raise AssertionError(f"not refused: {name}")
        assert path.read_bytes() == before, name
    path.write_text(whole)


NO_JSON = {
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not an object": lambda text: "[]",
    "a number": lambda text: "5",
    "a word": lambda text: '"datasets"',
    "null": lambda text: "null",
    "nothing in it": lambda text: "{}",
    "deeply nested": lambda text: "[" * 100_000,
}
