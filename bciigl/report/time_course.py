"""What the scanner recorded, and what happened meanwhile."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bciigl.recording import Dataset
from bciigl.recording.dataset import RecordedEvent
from bciigl.recording.truth import Truth
from bciigl.report.drawing import Drawing
from bciigl.report.style import BLUE, EVENT_STYLES, SMALL, in_figure, panels, plain

TRIALS = 3
PANEL_HEIGHT = 1.7
DECISION_STYLE = {"color": "black", "lw": 1.2, "ls": (0, (4, 2))}
FRAME_STYLE = {"color": BLUE, "marker": "o", "ms": 3, "lw": 0.8}


def time_course_drawing(dataset: Dataset) -> Drawing:
    """Return the region's mean signal in the first trials of the first run, and their events."""
    protocol, kinds = dataset.protocol, dataset.protocol.task.events
    run = int(dataset.sessions["train"].interactions.run[0])
    frames = dataset.frames("train", run)
    happened = dataset.events("train", run)
    # The first ones may have been missed.
    last = max(TRIALS, min(each.trial for each in happened))
    events = [each for each in happened if each.trial <= last]
    truth = dataset.run_truth("train", run)
    shown = max(each.trial for each in events)
    # All trials: interactions lack those that are of no use.
    when = dataset.timetable("train", run)
    end = when.starts[shown]
    separate = isinstance(frames, dict)
    series = {(kind,): frames[kind] for kind in kinds} if separate else {tuple(kinds): frames}
    figure, axes = panels(len(series), 1, PANEL_HEIGHT, margin=1.6, sharex=True)
    columns: dict[str, list] = {"recording": [], "seconds": [], "percent_change": []}
    for axis, (mine, values) in zip(axes.flat, series.items(), strict=True):
        seconds = (np.arange(len(values)) + 0.5) * protocol.timing.tr
        seen = seconds <= end
        change = percent_change(values)
        axis.plot(seconds[seen], change[seen], zorder=3, **FRAME_STYLE)
        axis.set_xlim(0, end)
        axis.set_ylabel("signal change (%)" if len(mine) > 1 else f"{mine[0]}\n(% change)")
        for each in events:
            if each.kind in mine:
                _mark_event(axis, each, _words(each, protocol.task.options, truth))
        if "imagination" in mine:
            for trial in sorted({each.trial for each in events if not each.catch}):
                axis.axvline(when.decisions[trial - 1], zorder=2.5, **DECISION_STYLE)
        plain(axis)
        columns["recording"] += ["all" if len(mine) > 1 else mine[0]] * int(seen.sum())
        columns["seconds"] += seconds[seen].tolist()
        columns["percent_change"] += change[seen].tolist()
    axes[-1, 0].set_xlabel("seconds from the beginning of the run")
    handles = [Patch(label=kind, **EVENT_STYLES[kind]) for kind in kinds]
    handles.append(Line2D([], [], label="decision", **DECISION_STYLE))
    handles.append(Line2D([], [], label="frames", **FRAME_STYLE))
    look = {"loc": "outside lower center", "ncols": 3, "fontsize": SMALL, "frameon": False}
    figure.legend(handles=handles, **look)
    trials = f"the first {shown} trials" if shown > 1 else "the first trial"
    each = "; each kind of event was recorded in a series of its own" if len(series) > 1 else ""
    content = "" if truth is None else ", with what was imagined, seen and judged"
    return Drawing(
        "time_course",
        figure,
        f"Mean signal of the region in {trials} of run {run}, in percent of its mean over the run, "
        f"one dot a frame{each}. Shaded: events{content}. Dashed: when the agent decided.",
        f"Signal of the region over time in {trials}, with the events shaded.",
        columns,
    )


def percent_change(series: np.ndarray) -> np.ndarray:
    """Return the voxels' mean in each frame, in percent of its mean over the run, less 100."""
    mean = series.mean(axis=1)
    return 100 * (mean / np.nanmean(mean) - 1)


def _mark_event(axis: Axes, event: RecordedEvent, words: str) -> None:
    axis.axvspan(event.onset, event.onset + event.duration, lw=0.5, **EVENT_STYLES[event.kind])
    place = (event.onset + event.duration / 2, 1.03)
    look = {"rotation": 60, "rotation_mode": "anchor", "ha": "left", "va": "center"}
    axis.annotate(words, place, xycoords=("data", "axes fraction"), fontsize=SMALL, **look)


def _words(event: RecordedEvent, options: Sequence[object], truth: Truth | None) -> str:
    """Return what happens in an event; what is on the person's mind only where it is known."""
    if event.kind == "perception":
        return f"sees {in_figure(event.guess, 10)}"
    if truth is None:
        return {"imagination": "imagines", "judgment": "judges"}[event.kind]
    if event.kind == "imagination":
        return f"imagines {in_figure(options[truth.imagined[event.trial - 1]], 10)}"
    return "match" if truth.judged[event.trial - 1] else "mismatch"
