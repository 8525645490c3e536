"""Reading a recorded dataset back: interactions for learners, and apart from them the truth."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import did_you_mean, shortened
from bciigl.protocol import Protocol, load
from bciigl.protocol.schedule import run_count, session_trials
from bciigl.recording.bids import RecordedTruth
from bciigl.recording.layout import (
    DESCRIPTION,
    ESTIMATES,
    JOURNAL,
    PROTOCOL,
    TRUTH,
    DatasetError,
    read_table,
)

INTERACTIONS = ("context", "action", "propensity", "baseline", "feedback")


@dataclass(frozen=True)
class Dataset:
    """A recorded dataset.

    Attributes
    ----------
    folder : Path
    protocol : Protocol
        The experiment that was recorded.
    """

    folder: Path
    protocol: Protocol

    def has(self, session: str) -> bool:
        """Tell whether there is such a session."""
        return bool(self._found(session))

    def missing_runs(self, session: str) -> int:
        """Return how many runs fewer there are than the protocol plans."""
        planned = run_count(self.protocol, session_trials(self.protocol)[session])
        return max(planned - len(self._found(session)), 0)

    def interactions(self, session: str) -> dict[str, np.ndarray]:
        """Return what an agent saw, did and got back in a session, and the run of each trial.

        Runs are numbered as in file names, from 1. Feedback is estimated from whole runs.
        """
        runs = [_interactions(path) for path in self._runs(session)]
        arrays = {name: _joined([each[name] for each in runs], name) for name in INTERACTIONS}
        numbers = [_run_number(path) for path in self._runs(session)]
        arrays["run"] = np.repeat(numbers, [len(each["action"]) for each in runs])
        return arrays

    def truth(self, session: str) -> RecordedTruth | None:
        """Return what was meant and judged in a session; None if that is not in the dataset."""
        if not (self.folder / TRUTH).is_dir():
            return None
        runs = [self._truth_of_run(path) for path in self._runs(session)]
        names = ("meant", "imagined", "match", "judged")
        return RecordedTruth(
            *(np.concatenate([getattr(run, name) for run in runs]) for name in names)
        )

    def _truth_of_run(self, interactions: Path) -> RecordedTruth:
        within = interactions.relative_to(self.folder / ESTIMATES)
        name = within.name.replace("_interactions.npz", "_truth.tsv")
        path = self.folder / TRUTH / within.parent / name
        table = read_table(path, ("meant", "imagined", "match", "judged"))
        trials = len(_interactions(interactions)["action"])
        if len(table["meant"]) != trials:
            raise DatasetError(f"{path}: has {len(table['meant'])} trials, not {trials}")
        options = [str(each) for each in self.protocol.task.options]
        return RecordedTruth(
            _numbers(path, table["meant"], options),
            _numbers(path, table["imagined"], options),
            _numbers(path, table["match"], ["false", "true"]).astype(bool),
            _numbers(path, table["judged"], ["false", "true"]).astype(bool),
        )

    def _runs(self, session: str) -> list[Path]:
        """Return the files with the interactions of each run, in order."""
        root, found = self.folder / ESTIMATES, self._found(session)
        subjects = sorted({path.relative_to(root).parts[0] for path in found})
        if len(subjects) > 1:
            raise DatasetError(
                f"{root}: should have one subject, got {', '.join(subjects)}: a policy is learned "
                "from one brain"
            )
        if not found:
            raise DatasetError(f"{root}: has no interactions of ses-{session}")
        return found

    def _found(self, session: str) -> list[Path]:
        files = (self.folder / ESTIMATES).glob(f"sub-*/ses-{session}/func/*_interactions.npz")
        return sorted(files, key=_run_number)


def is_dataset(folder: str | os.PathLike) -> bool:
    """Tell whether a folder holds a dataset, or what is to become one."""
    return any((Path(folder) / name).exists() for name in (DESCRIPTION, JOURNAL))


def open_dataset(folder: str | os.PathLike) -> Dataset:
    """Return the dataset in a folder.

    Raises
    ------
    DatasetError
        If there is none, or if its recording is not finished.
    """
    folder = Path(folder)
    if (folder / JOURNAL).exists():
        raise DatasetError(f"{folder}: is not finished; bciigl simulate --resume goes on with it")
    if not (folder / PROTOCOL).exists():
        raise DatasetError(f"{folder}: is not a dataset of bciigl: {PROTOCOL} is missing")
    # The files it names were needed to record; they lie where it was recorded from.
    return Dataset(folder, load(folder / PROTOCOL, files=False))


def _interactions(path: Path) -> dict[str, np.ndarray]:
    arrays = read_arrays(path)
    for name in INTERACTIONS:
        if name not in arrays:
            raise DatasetError(f"{path}: has no array {name}{did_you_mean(name, arrays)}")
        if not arrays[name].ndim or len(arrays[name]) != len(np.atleast_1d(arrays["context"])):
            raise DatasetError(f"{path}: {name} should have one row for each trial")
        if arrays[name].dtype.kind not in "buif":
            raise DatasetError(f"{path}: {name} should be numbers, got {arrays[name].dtype}")
    return arrays


def _joined(runs: list[np.ndarray], name: str) -> np.ndarray:
    try:
        return np.concatenate(runs)
    except ValueError:
        shapes = ", ".join(sorted({str(each.shape[1:]) for each in runs}))
        raise DatasetError(f"{name} differs in shape from run to run: {shapes}") from None


def _run_number(path: Path) -> int:
    found = re.search(r"_run-(\d+)", path.name)
    return int(found[1]) if found else 1


def _numbers(path: Path, values: list[str], known: list[str]) -> np.ndarray:
    """Return at which place in `known` each value is."""
    places = {word: place for place, word in enumerate(known)}
    for value in values:
        if value not in places:
            raise DatasetError(f"{path}: {shortened(value)} should be one of {', '.join(known)}")
    return np.array([places[value] for value in values], int)
