"""Make a recorded subject: cut a labelled recording into windows of what each event evoked."""

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.progress import Notify, silent
from bciigl.base.tables import read_table
from bciigl.brain.images import Image, dimensions, read_image, read_mask
from bciigl.brain.recorded import FEWEST_RUNS, JUDGMENTS, About, File, RecordedSubject
from bciigl.brain.region import Region

REST = ("rest", "baseline", "fixation", "n/a")
"""Trial types, whatever their case, in which nothing is shown."""
FEWEST_FRAMES = 10
"""Volumes of a run: with fewer, a quadratic trend takes most of them away."""
# What is left of a voxel that follows a quadratic trend exactly, relative to its size.
_CONSTANT = 1e-6

PathLike = str | os.PathLike


class RecordingError(BciiglError):
    """A recording of which no subject can be made."""


class _Shown(NamedTuple):
    """Something that was shown, in seconds of the run."""

    onset: float
    duration: float
    category: str


@dataclass
class _Run:
    """A run of the recording: its frames, (frames, voxels), and what was shown in it."""

    frames: np.ndarray
    shown: list[_Shown]
    name: str  # of its file of events


def subject_from_recording(
    bold: Sequence[PathLike],
    events: Sequence[PathLike],
    *,
    name: str,
    column: str = "trial_type",
    skip: Sequence[str] = (),
    lag: float = 5.0,
    window: int = 1,
    voxels: int = 64,
    mask: PathLike | None = None,
    test_runs: Sequence[int] | None = None,
    tr: float | None = None,
    report: Notify = silent,
) -> RecordedSubject:
    """Return a subject that answers with the responses in a labelled recording.

    Frames of each run are detrended (quadratic) and divided by their SD, voxel by voxel. An event
    of a category evokes windows of `window` frames each, one after the other while it lasts, that
    begin `lag` seconds after its onset. Voxels are those that differ most between any event and
    rest (F test) in the training runs; test runs and categories have no part in that choice.

    Parameters
    ----------
    bold, events : paths
        A 4-D NIfTI file for each run and a BIDS table (onset, duration, trial_type) for each; or
        one file with several runs of equal length, and one table with a column ``run``.
    name : str
        What the subject is called.
    column : str
        The column that says what was shown.
    skip : str
        What is in that column but should not be used. `REST` never is.
    lag : float
        Seconds from an event's onset to its response.
    window : int
        Frames of a window.
    voxels : int
        How many voxels to choose.
    mask : path, optional
        A NIfTI mask to choose them from.
    test_runs : int, optional
        Runs for the test session alone; by default the last third.
    tr : float, optional
        Seconds per volume, where the files do not say.
    report : function
        Called with what is being done.
    """
    tables = [read_table(Path(each), ["onset", "duration", column], ["run"]) for each in events]
    report("reading the recording")
    runs, grid = _runs(list(map(Path, bold)), list(map(Path, events)), tables, column, mask, tr)
    numbers = list(range(1, len(runs) + 1))
    tests = _test_runs(numbers, test_runs)
    report("cutting it into windows")
    seconds, skipped = grid.tr, {each.casefold() for each in (*REST, *skip)}
    found = [_windows(each, seconds, lag, window, skipped) for each in runs]
    categories = sorted({category for each in found for category, _ in each})
    _check_categories(categories, found, tests)
    inside = grid.inside
    varies = np.ones(int(inside.sum()), bool)
    for each in runs:
        each.frames = _standardised(each.frames)
        varies &= np.isfinite(each.frames).all(axis=0)
    if mask is not None and not varies.all():
        where = np.argwhere(inside)[~varies][0].tolist()
        raise RecordingError(
            f"{mask}: {(~varies).sum()} of its {len(varies)} voxels never change in a run, such as "
            f"{where}; leave them out"
        )
    if not varies.any():
        raise RecordingError(f"{bold[0]}: no voxel changes in time in every run")
    trained = [each for number, each in zip(numbers, runs, strict=True) if number not in tests]
    chosen = np.flatnonzero(varies)
    if len(chosen) > voxels:
        chosen = np.sort(chosen[_responsive(trained, chosen, seconds, lag)[:voxels]])
    places = [
        (categories.index(category), number, run.frames[first : first + window][:, chosen])
        for number, run, mine in zip(numbers, runs, found, strict=True)
        for category, first in mine
    ]
    category, number, cut = zip(*places, strict=True)
    about = About(
        kind="recorded",
        tr=seconds,
        frames=window,
        labelled=set(JUDGMENTS.values()) <= set(categories),
        name=name,
        lag=lag,
        runs=numbers,
        test_runs=tests,
        categories=categories,
        files=[_file(each) for each in (*bold, *events)],
    )
    region = Region(np.argwhere(inside)[chosen], grid.affine)
    return RecordedSubject(
        about, region, np.array(cut, np.float32), np.array(category, int), np.array(number, int)
    )


class _Grid(NamedTuple):
    """What all runs share."""

    inside: np.ndarray  # which voxels frames are of, (x, y, z)
    affine: np.ndarray
    tr: float


def _runs(
    bold: list[Path],
    events: list[Path],
    tables: list[dict[str, list[str]]],
    column: str,
    mask: PathLike | None,
    tr: float | None,
) -> tuple[list[_Run], _Grid]:
    together = len(bold) == len(events) == 1 and "run" in tables[0]
    if not together and len(bold) != len(events):
        raise RecordingError(
            f"got {len(bold)} recordings and {len(events)} tables of events; give one --events for "
            "each recording, in the same order, or a column run in that of a single recording"
        )
    grid: _Grid | None = None
    runs: list[_Run] = []
    for path, table, name in zip(bold, tables, events, strict=True):
        image = read_image(path)
        seconds = _checked_tr(path, image, image.tr if tr is None else tr, grid, bold[0])
        if grid is None:
            shape = image.data.shape[:3]
            of = f"the recording {path.name}"
            inside = (
                np.ones(shape, bool) if mask is None else read_mask(mask, shape, image.affine, of)
            )
            if not inside.any():
                raise RecordingError(f"{mask}: is empty: all voxels are 0")
            grid = _Grid(inside, image.affine, seconds)
        frames = image.data[grid.inside].T.astype(np.float32)
        shown = _shown(name, table, column)
        if not together:
            runs.append(_Run(frames, shown, str(name)))
            continue
        count = _run_count(name, table["run"])
        if len(frames) % count:
            raise RecordingError(
                f"{path}: {len(frames)} volumes are not {count} runs of equal length; give one "
                "file for each run"
            )
        length = len(frames) // count
        firsts = min(int(each) for each in table["run"])
        for run in range(count):
            begins = run * length * grid.tr
            mine = [
                each._replace(onset=each.onset - begins)
                for each, number in zip(shown, table["run"], strict=True)
                if int(number) - firsts == run
            ]
            part = frames[run * length : (run + 1) * length]
            runs.append(_Run(part, mine, f"{name}, run {run + 1}"))
    if grid is None:
        raise RecordingError("give one recording or more")
    for each in runs:
        _check_fit(each, grid.tr)
    return runs, grid


def _checked_tr(
    path: Path, image: Image, tr: float | None, grid: _Grid | None, first: Path
) -> float:
    """Return the TR of a recording, if it can be used together with the first."""
    data = image.data
    if data.ndim != 4:
        problem = f"should be a series of volumes (x, y, z, time), got {dimensions(data.shape)}"
    elif tr is None:
        problem = "the header has no repetition time; give it with --tr SECONDS"
    elif not 0.1 <= tr <= 10:
        problem = f"the repetition time cannot be {tr:g} s; give it with --tr SECONDS"
    elif grid is not None and data.shape[:3] != grid.inside.shape:
        got = f"{dimensions(data.shape[:3])} voxels, not {dimensions(grid.inside.shape)}"
        problem = f"should be on the grid of {first}, got {got}"
    elif grid is not None and not np.allclose(image.affine, grid.affine, atol=0.01):
        problem = f"has another affine than {first}; resample it"
    elif grid is not None and abs(tr - grid.tr) > 1e-6:
        problem = f"has a TR of {tr:g} s, but {first} of {grid.tr:g} s"
    elif broken := int((~np.isfinite(data)).sum()):
        where = np.argwhere(~np.isfinite(data))[0].tolist()
        problem = (
            f"{broken} values are NaN or infinite, the first at {where}; replace them, by 0 where "
            "there is no signal"
        )
    else:
        return tr
    raise RecordingError(f"{path}: {problem}")


def _run_count(path: Path, column: list[str]) -> int:
    """Return how many runs a table has, if none is missing."""
    if not all(each.isdecimal() and len(each) < 5 for each in column):
        raise RecordingError(f"{path}: the column run should hold whole numbers")
    there = sorted({int(each) for each in column})
    missing = [each for each in range(min(there[0], 1), there[-1] + 1) if each not in there]
    if missing:
        words = f"has events of runs {', '.join(map(str, there))}, but none of run {missing[0]}"
        raise RecordingError(f"{path}: {words}; give one recording for each run")
    return len(there)


def _shown(path: Path, table: dict[str, list[str]], column: str) -> list[_Shown]:
    if not table["onset"]:
        raise RecordingError(f"{path}: has no events")
    shown = []
    rows = zip(table["onset"], table["duration"], table[column], strict=True)
    for line, each in enumerate(rows, start=2):
        try:
            onset, duration = (float(number) for number in each[:2])
            if not (math.isfinite(onset) and math.isfinite(duration) and duration >= 0):
                raise ValueError
        except ValueError:
            got = f"got {each[0]!r} and {each[1]!r}"
            message = f"onset and duration should be seconds, {got}"
            raise RecordingError(f"{path}:{line}: {message}") from None
        shown.append(_Shown(onset, duration, each[2].strip()))
    return shown


def _check_fit(run: _Run, tr: float) -> None:
    seconds = len(run.frames) * tr
    if len(run.frames) < FEWEST_FRAMES:
        raise RecordingError(f"{run.name}: should be of {FEWEST_FRAMES} volumes or more")
    for each in run.shown:
        if each.onset < 0 or each.onset + each.duration > seconds + tr / 2:
            raise RecordingError(
                f"{run.name}: {each.category} from {each.onset:g} to "
                f"{each.onset + each.duration:g} s does not fit the recording, of "
                f"{len(run.frames)} volumes of {tr:g} s: 0 to {seconds:g} s"
            )


def _test_runs(numbers: list[int], wanted: Sequence[int] | None) -> list[int]:
    default = numbers[-max(len(numbers) // 3, FEWEST_RUNS) :]
    tests = default if wanted is None else sorted(set(wanted))
    if unknown := sorted(set(tests) - set(numbers)):
        raise RecordingError(
            f"there is no run {unknown[0]} to test on: runs are 1 to {numbers[-1]}"
        )
    left = len(numbers) - len(tests)
    if min(left, len(tests)) < FEWEST_RUNS:
        raise RecordingError(
            f"needs {FEWEST_RUNS} runs to learn from and {FEWEST_RUNS} others to test on, got "
            f"{left} and {len(tests)}: imagination and perception are taken from different runs"
        )
    return tests


def _windows(
    run: _Run, tr: float, lag: float, window: int, skipped: set[str]
) -> list[tuple[str, int]]:
    """Return the category and the first frame of each window of a run."""
    found, taken = [], np.zeros(len(run.frames), bool)
    for each in sorted(run.shown):
        if each.category.casefold() in skipped:
            continue
        first = math.ceil(round((each.onset + lag) / tr, 6))
        count = max(math.floor(round(each.duration / (window * tr), 6)), 1)
        for start in range(first, first + count * window, window):
            frames = slice(start, start + window)
            if start + window > len(run.frames):  # its response was not recorded to the end
                continue
            if taken[frames].any():
                raise RecordingError(
                    f"{run.name}: {each.category} at {each.onset:g} s begins before the window of "
                    f"the event before it is over ({window} frames of {tr:g} s); no frame can be "
                    "in two windows: use a shorter --window, or --skip"
                )
            taken[frames] = True
            found.append((each.category, start))
    return found


def _check_categories(
    categories: list[str], found: list[list[tuple[str, int]]], tests: list[int]
) -> None:
    judgments = [each for each in JUDGMENTS.values() if each in categories]
    if len(judgments) == 1:
        raise RecordingError(f"has judgments of {judgments[0]} alone; skip them (--skip)")
    options = [each for each in categories if each not in judgments]
    if len(options) < 2:
        got = ", ".join(options) or "none"
        raise RecordingError(f"needs events of two categories or more, got {got}")
    for category in categories:
        counts = {
            number: [each for each, _ in run].count(category)
            for number, run in enumerate(found, start=1)
        }
        runs = {number for number, count in counts.items() if count}
        learned, tested = len(runs - set(tests)), len(runs & set(tests))
        if min(learned, tested) < FEWEST_RUNS:
            trials = sum(counts.values())
            raise RecordingError(
                f"{category} has {trials} window{'s' * (trials != 1)}, in {learned} of the runs to "
                f"learn from and in {tested} of those to test on; it needs {FEWEST_RUNS} of each. "
                f"Leave it out with --skip {category!r}, or choose other --test-runs"
            )


def _standardised(frames: np.ndarray) -> np.ndarray:
    """Return frames without a quadratic trend in SDs of each voxel; NaN where it never changes."""
    time = np.linspace(-1, 1, len(frames))
    trend, _ = np.linalg.qr(time[:, None] ** np.arange(3))
    values = frames.astype(float)
    left = values - trend @ (trend.T @ values)
    sd = left.std(axis=0)
    constant = sd <= _CONSTANT * np.abs(values).max(axis=0, initial=0)
    return (left / np.where(constant, np.nan, sd)).astype(np.float32)


def _responsive(runs: list[_Run], voxels: np.ndarray, tr: float, lag: float) -> np.ndarray:
    """Return the order of voxels by how much they differ between events and rest, most first."""
    on = []
    for run in runs:
        seconds = np.arange(len(run.frames)) * tr - lag + 1e-6
        shown = [each for each in run.shown if each.category.casefold() not in REST]
        spans = [(seconds >= e.onset) & (seconds < e.onset + max(e.duration, tr)) for e in shown]
        on.append(np.any(spans, axis=0) if spans else np.zeros(len(seconds), bool))
    task = np.concatenate(on)
    if min(task.sum(), (~task).sum()) < 2:
        raise RecordingError(
            "there is no rest between events, by which to choose voxels; give a --mask, and as "
            "many --voxels as it has"
        )
    values = np.concatenate([run.frames[:, voxels] for run in runs])
    differ = values[task].mean(axis=0) - values[~task].mean(axis=0)
    within = task.mean() * values[task].var(axis=0) + (~task).mean() * values[~task].var(axis=0)
    return np.argsort(-(differ**2) / within, kind="stable")


def _file(path: PathLike) -> File:
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return File(name=os.path.basename(path), sha256=digest)
