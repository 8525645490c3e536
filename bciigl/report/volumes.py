"""How the volumes of a live session came, and how the head moved meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from bciigl.base.errors import BciiglError
from bciigl.protocol.schedule import run_count, session_trials
from bciigl.recording import Dataset, DatasetError
from bciigl.recording.layout import CONFOUNDS, ESTIMATES, NOTHING, beside, read_table, run_stem
from bciigl.recording.trial import NO_GUESS
from bciigl.report.direct import say
from bciigl.report.drawing import Drawing
from bciigl.report.methods import counted
from bciigl.report.style import BLUE, GREY, ORANGE, SMALL, divided, new_figure, plain
from bciigl.report.table import Table

if TYPE_CHECKING:
    from bciigl.report.views import SessionView

TRIGGERS = {
    "volume": "its first volume",
    "key": "a key press",
    "serial": "a byte of the scanner at a serial port",
    "lsl": "a marker of an LSL stream",
}
HEIGHT = 4.0
LOST = ("missing", "corrupt")
LATE = {"color": ORANGE, "marker": "^", "ms": 5, "label": "late"}
MISSING = {"color": "black", "marker": "x", "ms": 5, "label": "missing"}


@dataclass(frozen=True)
class RunVolumes:
    """The volumes of a run, without dummies: arrays of shape (frames,).

    `status` is the frames' own (`bciigl.source.STATUSES`), `delay` the seconds from the end of a
    volume to its arrival and `displacement` the mm that the head moved since the volume before,
    both not a number where that is not known.
    """

    run: int
    status: np.ndarray
    delay: np.ndarray
    displacement: np.ndarray


@dataclass(frozen=True)
class Volumes:
    """The volumes of a live session, and how many trials they were meant for."""

    tr: float
    runs: tuple[RunVolumes, ...]
    trials: int
    missed: int
    """Trials in which no guess was shown."""
    own_reference: bool
    """Whether volumes were realigned to the first one of the session itself."""

    @cached_property
    def displacement(self) -> np.ndarray:
        """How far the head moved from volume to volume where that is known, mm."""
        every = np.concatenate([each.displacement for each in self.runs])
        return every[np.isfinite(every)]

    @property
    def count(self) -> int:
        """How many volumes there should be."""
        return sum(len(each.status) for each in self.runs)

    def with_status(self, *wanted: str) -> int:
        """Return how many volumes have one of some statuses."""
        return sum(int(np.isin(each.status, wanted).sum()) for each in self.runs)

    @property
    def lost(self) -> int:
        """How many volumes never came, or could not be used."""
        return self.with_status(*LOST)


def read_volumes(dataset: Dataset) -> Volumes | None:
    """Return how volumes came in the training session; None if it was not recorded live."""
    planned = run_count(dataset.protocol, session_trials(dataset.protocol)["train"])
    runs = [each for each in range(1, planned + 1) if dataset.arrivals("train", each)]
    if not runs:
        return None
    shown = [each.action for run in runs for each in dataset.shown("train", run)]
    references = dataset.folder.glob(f"{ESTIMATES}/sub-*/func/*_desc-reference_boldref.nii.gz")
    return Volumes(
        dataset.protocol.timing.tr,
        tuple(_read_run(dataset, run) for run in runs),
        len(shown),
        shown.count(NO_GUESS),
        any(references),
    )


def _read_run(dataset: Dataset, run: int) -> RunVolumes:
    arrivals, tr = dataset.arrivals("train", run), dataset.protocol.timing.tr
    index = np.array(sorted(arrivals))
    status, arrived = zip(*(arrivals[each] for each in index), strict=True)
    path = beside(dataset.folder / ESTIMATES, run_stem(dataset.protocol, "train", run), CONFOUNDS)
    moved = np.full(len(index), np.nan)
    if path.exists():
        (texts,) = read_table(path, ["framewise_displacement"]).values()
        try:
            known = np.array([np.nan if each == NOTHING else float(each) for each in texts])
        except ValueError as error:
            raise DatasetError(f"{path}: {error}") from None
        if len(known) != len(index):
            raise DatasetError(f"{path}: should have {len(index)} rows, got {len(known)}")
        moved = known
    return RunVolumes(run, np.array(status), np.array(arrived) - (index + 1) * tr, moved)


def volume_sentences(dataset: Dataset, volumes: Volumes) -> Iterator[str]:
    """Yield how volumes came, as a paper would tell it."""
    live = dataset.protocol.live
    began = f"a run began with {TRIGGERS[live.trigger]}"
    yield f"Volumes were read as they came; {began}."
    if live.dummies:
        first = "first volume" if live.dummies == 1 else f"first {live.dummies} volumes"
        yield f"The {first} of each run had been discarded."
    if len(volumes.displacement):
        to = "the first volume of the session" if volumes.own_reference else "a reference volume"
        yield (
            f"Each volume was realigned to {to} (rigid body, by least squares), and the region's "
            "voxels were read at the places they had moved to, by cubic splines. Framewise "
            f"displacement (Power et al., 2012) was {volumes.displacement.mean():.2f} mm on "
            f"average, {volumes.displacement.max():.2f} mm at most."
        )
    elif not live.realign:
        yield "Volumes were not realigned."
    yield _arrivals_sentence(volumes, live.deadline)
    unused = volumes.trials - dataset.sessions["train"].interactions.trials - volumes.missed
    if volumes.missed or unused:
        yield (
            f"No guess was shown in {volumes.missed} of {counted(volumes.trials, 'trial')}, and "
            f"{unused} more had too few volumes to be used."
        )
    yield "Events were analysed at the times at which they had been shown."


def _arrivals_sentence(volumes: Volumes, deadline: float) -> str:
    waited = f"guesses waited for a volume {deadline:g} TR at most"
    late = volumes.with_status("late")
    if not volumes.lost and not late:
        return f"All {volumes.count} volumes came in time ({waited})."
    return (
        f"There were {volumes.count} volumes, of which the session missed {volumes.lost} and got "
        f"{late} too late for the guess that was due ({waited})."
    )


def volumes_table(volumes: Volumes) -> Table:
    """Return how the head moved and how volumes came, run by run."""
    head = ["run", "volumes", "missing", "late", "delay, median", "longest"]
    head += ["displacement, mean", "largest"] if len(volumes.displacement) else []
    rows = []
    for each in volumes.runs:
        lost, late = np.isin(each.status, LOST), each.status == "late"
        cells = [str(each.run), str(len(late)), str(lost.sum()), str(late.sum())]
        cells += _pair(np.median, each.delay, "s")
        rows.append(cells + (_pair(np.mean, each.displacement, "mm") if len(head) > 6 else []))
    return Table(head, rows)


def _pair(middle: Callable[[np.ndarray], float], values: np.ndarray, unit: str) -> list[str]:
    """Return the middle and the largest of values, of those that are known."""
    known = values[np.isfinite(values)]
    if not len(known):
        return ["-", "-"]
    return [f"{each:.2f} {unit}" for each in (middle(known), known.max())]


def volumes_drawing(view: SessionView) -> Drawing:
    """Return how the head moved and when volumes arrived, over all runs, as a drawing."""
    volumes, live = _of(view), view.dataset.protocol.live
    moves = bool(len(volumes.displacement))
    figure = new_figure(HEIGHT - 1.5 * (not moves))
    draw_volumes(figure.subplots(), view)
    columns: dict[str, list] = {
        name: [] for name in ("run", "frame", "minutes", "framewise_displacement", "delay")
    } | {"status": []}
    for before, each in _in_order(volumes):
        count = len(each.status)
        columns["run"] += [each.run] * count
        columns["frame"] += range(1, count + 1)
        columns["minutes"] += _minutes(volumes, before, count).tolist()
        columns["framewise_displacement"] += each.displacement.tolist()
        columns["delay"] += each.delay.tolist()
        columns["status"] += each.status.tolist()
    clock = " A run's first volume sets the clock." if live.trigger == "volume" else ""
    moved = "Above: how far the head moved from volume to volume. Below: how " if moves else "How "
    return Drawing(
        "volumes",
        figure,
        f"{moved}long after its end each volume was here. Late: after the guess that was due had "
        f"been made without it, which waits {live.deadline:g} TR at most. Missing: never, or of "
        f"no use; marked above. Dotted: where a run begins.{clock}",
        f"{finding(volumes)}.",
        columns,
    )


def draw_volumes(ax: Axes, view: SessionView) -> np.ndarray:
    """Draw how the head moved and when volumes arrived, over all runs of a live session.

    Returns
    -------
    array of matplotlib.axes.Axes
        That of the movement, if it is known, and that of the arrivals, in the place of `ax`.
    """
    volumes = _of(view)
    moves = bool(len(volumes.displacement))
    axes = divided(ax, 1 + moves, 1, sharex=True)[:, 0]
    for before, each in _in_order(volumes):
        minutes = _minutes(volumes, before, len(each.status))
        if moves:
            axes[0].plot(minutes, each.displacement, color=BLUE, lw=0.8, marker=".", ms=3)
        _draw_arrivals(axes[-1], minutes, each)
        for axis in axes:
            axis.axvline(before * volumes.tr / 60, color=GREY, lw=0.6, ls=":")
    for axis in axes:
        axis.set_xlim(0, volumes.count * volumes.tr / 60)
        axis.set_ylim(bottom=0)
        plain(axis)
    if moves:
        axes[0].set_ylabel("framewise\ndisplacement (mm)")
    axes[-1].set_ylabel("arrival\ndelay (s)")
    axes[-1].set_xlabel("minutes of scanning, runs one after the other")
    handles, labels = axes[-1].get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))  # each once
    if len(shown) > 1:
        axes[-1].legend(shown.values(), shown, frameon=False, fontsize=SMALL, ncols=3)
    say(axes[0], finding(volumes), over=ax)
    return axes


def finding(volumes: Volumes) -> str:
    """Return what the figure shows, without a full stop."""
    late, count = volumes.with_status("late"), counted(volumes.count, "volume")
    came = f"all {count} came in time"
    if volumes.lost or late:
        came = f"of {count}, {volumes.lost} were missing and {late} came late"
    if not len(volumes.displacement):
        return came[0].upper() + came[1:]
    mean = volumes.displacement.mean()
    return f"The head moved {mean:.2f} mm from volume to volume on average; {came}"


def _of(view: SessionView) -> Volumes:
    if view.volumes is None:
        raise BciiglError(f"{view.dataset.folder}: is not of a live session, so has no arrivals")
    return view.volumes


def _in_order(volumes: Volumes) -> Iterator[tuple[int, RunVolumes]]:
    """Yield runs, each with the number of volumes before it."""
    before = 0
    for each in volumes.runs:
        yield before, each
        before += len(each.status)


def _minutes(volumes: Volumes, before: int, count: int) -> np.ndarray:
    return (before + np.arange(count) + 0.5) * volumes.tr / 60


def _draw_arrivals(axis: Axes, minutes: np.ndarray, run: RunVolumes) -> None:
    late, lost = run.status == "late", np.isin(run.status, LOST)
    in_time = np.where(late, np.nan, run.delay)
    axis.plot(minutes, in_time, ".", color=BLUE, ms=3, label="in time")
    if late.any():
        axis.plot(minutes[late], run.delay[late], ls="", clip_on=False, zorder=3, **LATE)
    if lost.any():
        above = {"transform": axis.get_xaxis_transform(), "clip_on": False}
        axis.plot(minutes[lost], np.full(lost.sum(), 1.05), ls="", **above, **MISSING)
