"""Reading a recorded dataset back: interactions for learners, and apart from them the truth."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import did_you_mean, shortened
from bciigl.brain.images import read_image
from bciigl.protocol import Protocol, load
from bciigl.protocol.schedule import run_count, session_trials
from bciigl.recording.bids import Frames, RecordedTruth
from bciigl.recording.layout import (
    DESCRIPTION,
    ESTIMATES,
    JOURNAL,
    MASK,
    PROTOCOL,
    TRUTH,
    DatasetError,
    beside,
    read_table,
    run_stem,
)

INTERACTIONS = ("context", "action", "propensity", "catch", "feedback")


class RecordedEvent(NamedTuple):
    """A row of an event table.

    Attributes
    ----------
    onset, duration : float
        Seconds; onsets count from the beginning of the run.
    kind : str
        imagination, perception or judgment.
    trial : int
        Within the run, from 1.
    guess : str
        The option that was guessed in this trial.
    catch : bool
        Whether it was a catch trial, in which the agent was not asked.
    """

    onset: float
    duration: float
    kind: str
    trial: int
    guess: str
    catch: bool


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

    def frames(self, session: str, run: int) -> Frames:
        """Return what was recorded in a run, (frames, voxels); of each kind if separately.

        Runs are numbered as in file names, from 1. Voxels are in the order of contexts.
        """
        inside = read_image(self.folder / MASK).data > 0
        recordings = {
            kind: _masked(beside(self.folder, stem, "bold.nii.gz"), inside)
            for kind, stem in self._stems(session, run).items()
        }
        return recordings if self.protocol.recording == "separate" else recordings[None]

    def events(self, session: str, run: int) -> list[RecordedEvent]:
        """Return what happened in a run, in order; runs are numbered as in file names, from 1."""
        stems = self._stems(session, run).values()
        found = [_events(beside(self.folder, stem, "events.tsv")) for stem in stems]
        return sorted((each for table in found for each in table), key=lambda each: each.onset)

    def _stems(self, session: str, run: int) -> dict[str | None, Path]:
        """Return where the files of a run are: of its one recording, or of each kind of event."""
        separate = self.protocol.recording == "separate"
        kinds = self.protocol.task.events if separate else (None,)
        return {kind: run_stem(self.protocol, session, run - 1, kind) for kind in kinds}

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


def _masked(path: Path, inside: np.ndarray) -> np.ndarray:
    data = read_image(path).data
    if data.shape[:3] != inside.shape or data.ndim != 4:
        raise DatasetError(f"{path}: should be a series on the grid of {MASK}")
    return data[inside].T


def _events(path: Path) -> list[RecordedEvent]:
    table = read_table(path, ("onset", "duration", "trial_type", "trial", "guess", "catch"))
    try:
        return [
            RecordedEvent(float(onset), float(duration), kind, int(trial), guess, catch == "true")
            for onset, duration, kind, trial, guess, catch in zip(*table.values(), strict=True)
        ]
    except ValueError as error:
        raise DatasetError(f"{path}: {error}") from None


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
