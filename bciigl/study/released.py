"""The arrays that the paper's authors released: the same learners on the paper's own recordings."""

import os
import re
from pathlib import Path

import numpy as np

from bciigl.base.arrays import read_array
from bciigl.base.progress import Progress, silent
from bciigl.base.registry import LEARNERS
from bciigl.learn.interactions import InputError
from bciigl.study.cell import entry_result
from bciigl.study.controls import MEAN_REMOVED, PERMUTED
from bciigl.study.grid import Entry, StudyError
from bciigl.study.learning import Sessions, check_arrays, learners_for, load_arrays, select
from bciigl.study.results import EntryResult
from bciigl.study.rows import Row, row_of
from bciigl.study.statistics import Mean, accuracy, mean_of, share_with_interval
from bciigl.study.table2 import NAME

# The released arrays have 50 runs, and test rows share their noise with the training rows of the
# same run: so the runs are split.
RUNS = 50
TRAIN_RUNS, TEST_RUNS = range(40), range(40, 50)
NOTES = [
    "recordings: the authors' own, simulated in three separate series, one frame per event; one"
    " recording for each noise level, so intervals are over its test trials (Wilson), and over"
    " permutations where rewards are permuted.",
    "training on runs 0 to 39, testing on runs 40 to 49, which share no noise; contexts are centred"
    " by the means of their own runs. The paper does not say how it split them.",
    "supervised learning is told the labelled test rows of runs 0 to 39. A contextual bandit has"
    " nothing to learn from: the released rewards are not in the order of the trials.",
]
LEVEL = r"(\d+(?:\.\d*)?)"
ORIGINAL = "data_{}_combined_noise_level_{}.npy"
ORIGINAL_NAMES = {"context": "imagination", "action": "action", "feedback": "feedback"}
ORIGINAL_NAMES |= {"test_context": "imagination_test", "test_label": "context_test"}
"""What the original files call our arrays. Their rewards are not in the order of the trials."""


def released_rows(
    folder: str | os.PathLike, *, repeats: int = 20, progress: Progress = silent
) -> list[Row]:
    """Return the table of the released arrays in a folder; rewards are permuted `repeats` times."""
    levels = sorted(released_arrays(Path(folder)).items())
    work = [(noise, sessions, entry) for noise, sessions in levels for entry in _entries(sessions)]
    table = []
    for noise, sessions, entry in work:
        draws = repeats if entry.control == PERMUTED else 1
        table.append(_row(noise, entry, [_result(sessions, entry, draw) for draw in range(draws)]))
        progress(len(table), len(work))
    return table


def _entries(sessions: Sessions) -> list[Entry]:
    possible, known = learners_for(sessions), LEARNERS.usual()
    # Labels to learn from are those of test rows.
    learners = [Entry(each.id) for each in known if each.id in possible or each.told == "label"]
    first = next(each.id for each in known if not each.told)
    return learners + [Entry(first, each) for each in (PERMUTED, MEAN_REMOVED)]


def _result(sessions: Sessions, entry: Entry, draw: int) -> EntryResult:
    if LEARNERS.get(entry.learner).told == "label":
        taught = select(sessions, None, TRAIN_RUNS)["test"]
        tested = select(sessions, None, TEST_RUNS)["test"]
        chosen = {"train": taught, "test": tested}
    else:
        chosen = select(sessions, TRAIN_RUNS, TEST_RUNS)
    return EntryResult(**entry_result(chosen, entry, 0, draw))


def _row(noise: float, entry: Entry, results: list[EntryResult]) -> Row:
    accuracies = [accuracy(each.confusion) for each in results]
    right, tested = np.trace(results[0].confusion), np.sum(results[0].confusion)
    one = Mean(accuracies[0], None, share_with_interval(right, tested)[1])
    mean = one if len(results) == 1 else mean_of(accuracies)
    known = {"noise": noise, "varied": {}, "objective": results[0].objective}
    return row_of(NAME, entry, mean, results, **known)


def released_arrays(folder: Path) -> dict[float, Sessions]:
    """Return the recordings in a folder by their noise levels."""
    if not folder.is_dir():
        raise StudyError(f"{folder}: is not a folder with the released arrays")
    packed = {path: re.fullmatch(rf"noise_{LEVEL}\.npz", path.name) for path in folder.iterdir()}
    found: dict[float, Sessions]
    found = {float(match[1]): load_arrays(path) for path, match in packed.items() if match}
    if not found:
        pattern = rf"data_feedback_combined_noise_level_{LEVEL}\.npy"
        levels = [re.fullmatch(pattern, path.name) for path in folder.iterdir()]
        found = {float(level[1]): _original(folder, level[1]) for level in levels if level}
    if not found:
        raise StudyError(
            f"{folder}: has neither files such as noise_0.05.npz nor such as "
            "data_feedback_combined_noise_level_0.05.npy"
        )
    for level, sessions in found.items():
        if "test" not in sessions or sessions["test"].truth is None:
            raise StudyError(f"{folder}: at noise level {level:g}: array test_label is missing")
    return found


def _original(folder: Path, level: str) -> Sessions:
    arrays = {
        name: read_array(folder / ORIGINAL.format(theirs, level))
        for name, theirs in ORIGINAL_NAMES.items()
    }
    trials = len(np.atleast_1d(arrays["action"]))
    arrays["run"] = np.arange(trials) * RUNS // max(trials, 1)
    try:
        return check_arrays(arrays)
    except InputError as error:
        raise StudyError(f"{folder}: at noise level {level}: {error}") from error
