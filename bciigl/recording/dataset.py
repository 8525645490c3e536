"""Reading a recorded dataset back: interactions for learners, and apart from them the truth."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bciigl.base import tables
from bciigl.base.arrays import read_arrays
from bciigl.base.errors import did_you_mean, shortened
from bciigl.brain.images import read_image
from bciigl.brain.region import Region
from bciigl.estimate import Calibration
from bciigl.learn.interactions import Interactions
from bciigl.protocol import Protocol, load
from bciigl.protocol.design_checks import known_match_rate
from bciigl.protocol.schedule import is_regular, run_count, series, session_trials
from bciigl.protocol.timetable import Timetable, timetable
from bciigl.recording import layout
from bciigl.recording.calibration import read_calibration
from bciigl.recording.layout import (
    CONFOUNDS,
    ESTIMATES,
    MOVEMENT,
    TRUTH,
    DatasetError,
    beside,
    read_table,
    run_stem,
)
from bciigl.recording.trial import NO_GUESS, Frames, KeyPress, Shown
from bciigl.recording.truth import Session, Truth

ARRAYS = ("context", "action", "propensity", "catch", "feedback")
_TRUTH = ("meant", "match", "imagined", "judged")
MOST_LATE = 4.0
"""TRs by which an event may begin late in a live session; any later, it is not shown."""


class RecordedEvent(NamedTuple):
    """A row of an event table: times in seconds of the run, trials counted from 1."""

    onset: float
    duration: float
    kind: str
    trial: int
    guess: str
    propensity: float
    explored: bool
    catch: bool
    left_out: str = layout.NOTHING


@dataclass(frozen=True)
class Dataset:
    """A recorded dataset. Runs are counted from 1, as in file names."""

    folder: Path
    protocol: Protocol

    @property
    def group(self) -> str:
        """What kind of participant it is of, such as ``"simulated"``."""
        return read_table(self.folder / "participants.tsv", ["group"])["group"][0]

    def has(self, session: str) -> bool:
        """Tell whether there is such a session."""
        return bool(self._found(session))

    def runs(self, session: str) -> list[int]:
        """Return the numbers of the runs that there are of a session."""
        return [_run_number(path) for path in self._found(session)]

    def missing_runs(self, session: str) -> int:
        """Return how many runs are missing of those that the protocol plans."""
        planned = run_count(self.protocol, session_trials(self.protocol)[session])
        return max(planned - len(self._found(session)), 0)

    @cached_property
    def sessions(self) -> dict[str, Session]:
        """What happened in ``"train"`` and, if it was recorded, in ``"test"``."""
        wanted = ["train", *(["test"] if self.has("test") else [])]
        return {name: self._session(name) for name in wanted}

    def _session(self, name: str) -> Session:
        paths = self._runs(name)
        runs = {_run_number(path): _arrays(path) for path in paths}
        truths = [self._truth_of(path, runs[_run_number(path)]) for path in paths]
        try:
            found = joined_session(self.protocol, runs, truths, self.calibration.whitening)
        except ValueError as error:
            raise DatasetError(f"{self.folder}: {error}") from None
        if not found.interactions.trials:
            problem = "cues, guesses or frames are missing in all of them"
            raise DatasetError(f"{self.folder}: no trial of ses-{name} can be used: {problem}")
        return found

    @cached_property
    def calibration(self) -> Calibration:
        """What contexts and feedback were estimated with."""
        return read_calibration(self.folder / ESTIMATES / layout.CALIBRATION)

    @cached_property
    def region(self) -> Region:
        """The recorded voxels, in the order of contexts."""
        image = read_image(self.folder / layout.MASK)
        return Region(np.argwhere(image.data > 0), image.affine)

    def frames(self, session: str, run: int, region: Region | None = None) -> Frames:
        """Return what was recorded in a run, (frames, voxels); by name if in several series."""
        region, found = self.region if region is None else region, {}
        for name in series(self.protocol):
            path = self.bold(session, run, name)
            data = read_image(path).data
            if data.ndim != 4 or (region.voxels.max(axis=0) >= data.shape[:3]).any():
                raise DatasetError(f"{path}: should be a series on the grid of {layout.MASK}")
            found[name] = data[region.index].T
        return found if len(found) > 1 else next(iter(found.values()))

    def bold(self, session: str, run: int, name: str = "") -> Path:
        """Return where the frames of a run are; of a series, where there are several."""
        return self._raw(session, run, name, "bold.nii.gz")

    def events(self, session: str, run: int) -> list[RecordedEvent]:
        """Return what happened in a run, in order."""
        found = [
            event
            for name in series(self.protocol)
            for event in _events(self._raw(session, run, name, "events.tsv"))
        ]
        return sorted(found, key=lambda each: each.onset)

    def shown(self, session: str, run: int) -> list[Shown]:
        """Return the guess shown in each trial of a run; `NO_GUESS` where none was."""
        options = [str(each) for each in self.protocol.task.options]
        found = [Shown(NO_GUESS, 0.0, explored=False)] * self.trials(session, run)
        for event in self.events(session, run):
            if event.guess != layout.NOTHING:
                (action,) = _places(self.folder, [event.guess], options)
                guess = (int(action), event.propensity, event.explored, event.catch)
                found[event.trial - 1] = Shown(*guess)
        return found

    def trials(self, session: str, run: int) -> int:
        """Return how many trials a run had, those that were missed included."""
        stem = run_stem(self.protocol, session, run)
        path = beside(self.folder / ESTIMATES, stem, "interactions.npz")
        # Trials that were missed have no events.
        known = len(read_arrays(path).get("action", ())) if path.exists() else 0
        return max(known, *(event.trial for event in self.events(session, run)), 0)

    def usable(self, session: str, run: int) -> np.ndarray:
        """Return which trials of a run have context and feedback, (trials,)."""
        stem = run_stem(self.protocol, session, run)
        return _usable(_arrays(beside(self.folder / ESTIMATES, stem, "interactions.npz")))

    def timetable(self, session: str, run: int) -> Timetable:
        """Return the times of a run: those at which events were seen, and planned ones."""
        planned = timetable(self.protocol, self.trials(session, run), session, run)
        nothing = np.full(planned.trials, np.nan)
        when = replace(planned, onsets={kind: nothing.copy() for kind in planned.onsets})
        tr = self.protocol.timing.tr
        # Random times are of the same seed only if they are the same to the millisecond.
        early = tr / 2 if is_regular(self.protocol) else 0.001
        late = MOST_LATE * tr if self.arrivals(session, run) else early
        events = self.events(session, run)
        for event in events:
            known = event.kind in planned.onsets
            plan = float(planned.onsets[event.kind][event.trial - 1]) if known else np.nan
            if not -early < event.onset - plan < late:
                raise DatasetError(
                    f"{self.folder}: {event.kind} of trial {event.trial} in run {run} of "
                    f"ses-{session} is at {event.onset:g} s, but the protocol has {plan:g} s; "
                    "give the protocol the seed and the timing of the recording"
                )
            # Tables lack the last digits.
            same = abs(event.onset - plan) < 1e-9 * max(plan, 1.0)
            when.onsets[event.kind][event.trial - 1] = plan if same else event.onset
        moved = self.movement(session, run) if self.protocol.estimate.motion else None
        left_out = {
            event.trial - 1: event.left_out for event in events if event.left_out != layout.NOTHING
        }
        return replace(when, confounds=moved, left_out=left_out)

    def movement(self, session: str, run: int) -> np.ndarray | None:
        """Return how the head moved in a live run, (frames, 6); None if it is not known."""
        stem = run_stem(self.protocol, session, run)
        path = beside(self.folder / ESTIMATES, stem, CONFOUNDS)
        if not path.exists():
            return None
        table = read_table(path, MOVEMENT)
        try:
            rows = zip(*table.values(), strict=True)
            return np.array([[_number(each) for each in row] for row in rows])
        except ValueError as error:
            raise DatasetError(f"{path}: {error}") from None

    def arrivals(self, session: str, run: int) -> dict[int, tuple[str, float]]:
        """Return status and arrival of each frame of a live run, by index from 0; or {}."""
        path = beside(self.folder / ESTIMATES, run_stem(self.protocol, session, run), "frames.tsv")
        if not path.exists():
            return {}
        table = tables.read_table(path, ("frame", "status"), ("arrived",), error=DatasetError)
        if "arrived" not in table:
            return {}
        try:
            return {
                int(frame) - 1: (status, _number(at))
                for frame, status, at in zip(*table.values(), strict=True)
            }
        except ValueError as error:
            raise DatasetError(f"{path}: {error}") from None

    def keys(self, session: str, run: int) -> list[KeyPress | None]:
        """Return the key pressed in each trial of a run; empty if none was recorded."""
        if not self.protocol.human.key_press or "judgment" not in self.protocol.task.events:
            return []
        name = next(each for each, kinds in series(self.protocol).items() if "judgment" in kinds)
        path = self._raw(session, run, name, "events.tsv")
        table = read_table(path, ("trial_type", "trial", "response", "response_time"))
        found: list[KeyPress | None] = [None] * self.trials(session, run)
        try:
            for kind, trial, pressed, seconds in zip(*table.values(), strict=True):
                if kind == "judgment" and pressed != layout.NOTHING:
                    found[int(trial) - 1] = KeyPress(pressed == "match", float(seconds))
        except ValueError as error:
            raise DatasetError(f"{path}: {error}") from None
        return found

    def run_truth(self, session: str, run: int) -> Truth | None:
        """Return what was true in a run; None if that is not in the dataset."""
        stem = run_stem(self.protocol, session, run)
        path = beside(self.folder / TRUTH, stem, "truth.tsv")
        return self._read_truth(path) if path.exists() else None

    def _raw(self, session: str, run: int, name: str, ending: str) -> Path:
        """Return a file of the recording itself, of whatever subject."""
        path = beside(self.folder, run_stem(self.protocol, session, run, name), ending)
        if not path.exists():
            others = self.folder.glob(f"sub-*/ses-{session}/func/*_{ending}")
            found = [each for each in others if _run_number(each) == run]
            path = found[0] if len(found) == 1 and not name else path
        return path

    def _truth_of(self, interactions: Path, arrays: Mapping[str, np.ndarray]) -> Truth | None:
        """Return the truth about a run, given where its interactions are, and these."""
        if not (self.folder / TRUTH).is_dir():
            return None
        path = self.folder / TRUTH / interactions.relative_to(self.folder / ESTIMATES)
        path = path.with_name(path.name.replace("_interactions.npz", "_truth.tsv"))
        truth, trials = self._read_truth(path), len(arrays["action"])
        if len(truth.meant) != trials:
            raise DatasetError(f"{path}: has {len(truth.meant)} trials, not {trials}")
        return truth

    def _read_truth(self, path: Path) -> Truth:
        table = read_table(path, _TRUTH)
        options = [str(each) for each in self.protocol.task.options]
        meant, imagined = (_places(path, table[each], options) for each in ("meant", "imagined"))
        match, judged = (_places(path, table[each], _WORDS) for each in ("match", "judged"))
        return Truth(meant, match.astype(bool), imagined, judged.astype(bool))

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


_WORDS = ["false", "true"]
_ESTIMATES = ("_interactions.npz", "_estimates.npz")


def joined_session(
    protocol: Protocol,
    runs: Mapping[int, Mapping[str, np.ndarray]],
    truths: list[Truth | None],
    whitening: np.ndarray | None = None,
) -> Session:
    """Return the arrays of runs as one session, without trials that miss context or feedback."""
    arrays = {name: _joined([each[name] for each in runs.values()], name) for name in ARRAYS}
    arrays["run"] = np.repeat([*runs], [len(each["action"]) for each in runs.values()])
    usable = _usable(arrays)
    if not usable.all():
        arrays = {name: each[usable] for name, each in arrays.items()}
    catch = arrays.pop("catch").astype(bool)
    known = known_match_rate(protocol)
    if catch.any() and known is None:
        raise ValueError("has catch trials, but its protocol has none")
    interactions = Interactions(
        **arrays,
        catch=catch if catch.any() else None,
        match_rate=known if catch.any() else None,
        n_actions=len(protocol.task.options),
        whitening=whitening,
    )
    if any(each is None for each in truths):
        return Session(interactions)
    joined = {name: np.concatenate([getattr(each, name) for each in truths]) for name in _TRUTH}
    return Session(interactions, Truth(**joined).rows(usable))


def is_dataset(folder: str | os.PathLike) -> bool:
    """Tell whether a folder holds a dataset, or what is to become one."""
    return any((Path(folder) / name).exists() for name in (layout.DESCRIPTION, layout.JOURNAL))


def open_dataset(folder: str | os.PathLike) -> Dataset:
    """Return the dataset in a folder; `DatasetError` if there is none, or if it is not finished."""
    folder = Path(folder)
    if (folder / layout.JOURNAL).exists():
        how = "bciigl simulate --resume or, if it is live, bciigl run --resume"
        raise DatasetError(f"{folder}: is not finished; resume it with {how}")
    if not (folder / layout.PROTOCOL).exists():
        raise DatasetError(f"{folder}: is not a dataset of bciigl: {layout.PROTOCOL} is missing")
    # The files it names were needed to record; they lie where it was recorded from.
    return Dataset(folder, load(folder / layout.PROTOCOL, files=False))


def _events(path: Path) -> list[RecordedEvent]:
    names = ("onset", "duration", "trial_type", "trial", "guess", "propensity", "explored", "catch")
    read: list[Any] = [float, float, str, int, str, _propensity, "true".__eq__, "true".__eq__]
    table = tables.read_table(path, names, ("left_out",), error=DatasetError)
    rows = zip(*table.values(), strict=True)
    try:
        return [
            # Most tables have no column of trials left out.
            RecordedEvent(*(each(text) for each, text in zip((*read, str), row, strict=False)))
            for row in rows
        ]
    except ValueError as error:
        raise DatasetError(f"{path}: {error}") from None


def _number(text: str) -> float:
    return np.nan if text == layout.NOTHING else float(text)


def _propensity(text: str) -> float:
    return 0.0 if text == layout.NOTHING else float(text)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the interactions of a run, with estimates in the units of the session if it has them.

    Datasets of earlier versions have one file for both.
    """
    arrays, anew = read_arrays(path), path.with_name(path.name.replace(*_ESTIMATES))
    if "baseline" in arrays:  # as version 0.1 called it
        arrays.setdefault("catch", arrays.pop("baseline"))
    estimates = read_arrays(anew) if anew.exists() else {}
    arrays |= estimates
    for name in ARRAYS:
        file = anew if name in estimates else path
        if name not in arrays:
            raise DatasetError(f"{file}: has no array {name}{did_you_mean(name, arrays)}")
        if not arrays[name].ndim or len(arrays[name]) != len(np.atleast_1d(arrays["context"])):
            raise DatasetError(f"{file}: {name} should have one row for each trial")
        if arrays[name].dtype.kind not in "buif":
            raise DatasetError(f"{file}: {name} should be numbers, got {arrays[name].dtype}")
        if arrays[name].ndim != (2 if name in ("context", "feedback") else 1):
            raise DatasetError(f"{file}: {name} has the shape {arrays[name].shape}")
    if not np.isin(arrays["catch"], (0, 1)).all():
        raise DatasetError(f"{path}: catch should be true or false for each trial")
    return arrays


def _usable(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return which trials miss neither context nor feedback, (trials,)."""
    missing = [np.isnan(arrays[name]).all(axis=1) for name in ("context", "feedback")]
    return ~np.logical_or(*missing)


def _joined(runs: list[np.ndarray], name: str) -> np.ndarray:
    try:
        return np.concatenate(runs)
    except ValueError:
        shapes = ", ".join(sorted({str(each.shape[1:]) for each in runs}))
        raise ValueError(f"{name} differs in shape from run to run: {shapes}") from None


def _run_number(path: Path) -> int:
    found = re.search(r"_run-(\d+)", path.name)
    return int(found[1]) if found else 1


def _places(path: Path, values: list[str], known: list[str]) -> np.ndarray:
    """Return at which place in `known` each value is."""
    if unknown := [each for each in values if each not in known]:
        wrong = shortened(unknown[0])
        raise DatasetError(f"{path}: {wrong} should be one of {', '.join(known)}")
    return np.array([known.index(each) for each in values], int)
