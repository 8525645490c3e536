"""What the scanner recorded, and what happened meanwhile."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bciigl.protocol.schedule import decision_time, trial_start
from bciigl.recording import Dataset
from bciigl.recording.dataset import RecordedEvent
from bciigl.report.drawing import Drawing
from bciigl.report.style import BLUE, EVENT_STYLES, SMALL, in_figure, new_figure, plain

TRIALS = 3
PANEL_HEIGHT = 1.7
DECISION_STYLE = {"color": "black", "lw": 1.2, "ls": (0, (4, 2))}


def time_course_drawing(dataset: Dataset) -> Drawing:
    """Return the region's mean signal in the first trials of the first run, and their events.

    Where each kind of event was recorded separately there is a panel for each.
    """
    protocol = dataset.protocol
    run = int(dataset.sessions["train"].interactions.run[0])
    frames = dataset.frames("train", run)
    events = [each for each in dataset.events("train", run) if each.trial <= TRIALS]
    contents = _contents(dataset, run)
    shown = max(each.trial for each in events)
    end = trial_start(protocol, shown)
    panels = _panels(frames, protocol.task.events)
    figure = new_figure(1.6 + PANEL_HEIGHT * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    columns: dict[str, list] = {"recording": [], "seconds": [], "percent_change": []}
    for axis, (kinds, series) in zip(axes, panels.items(), strict=True):
        seconds = (np.arange(len(series)) + 0.5) * protocol.timing.tr
        seen = seconds <= end
        change = percent_change(series)
        axis.plot(seconds[seen], change[seen], "o-", ms=3, lw=0.8, color=BLUE, zorder=3)
        axis.set_xlim(0, end)
        axis.set_ylabel("signal change (%)" if len(kinds) > 1 else f"{kinds[0]}\n(% change)")
        _mark_events(axis, [each for each in events if each.kind in kinds], contents)
        if "imagination" in kinds:
            _mark_decisions(axis, decisions(dataset, events))
        plain(axis)
        columns["recording"] += ["all" if len(kinds) > 1 else kinds[0]] * int(seen.sum())
        columns["seconds"] += seconds[seen].tolist()
        columns["percent_change"] += change[seen].tolist()
    axes[-1].set_xlabel("seconds from the beginning of the run")
    figure.legend(handles=_legend(protocol.task.events), loc="outside lower center", ncols=3,
                  fontsize=SMALL, frameon=False)  # fmt: skip
    trials = f"the first {shown} trials" if shown > 1 else "the first trial"
    each = "; each kind of event was recorded in a series of its own" if len(panels) > 1 else ""
    content = "" if contents is None else ", with what was imagined, seen and judged"
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


def decisions(dataset: Dataset, events: Sequence[RecordedEvent]) -> list[float]:
    """Return when the agent decided, in seconds from the run's start: not in catch trials."""
    since = decision_time(dataset.protocol.timing)
    asked = sorted({each.trial for each in events if not each.catch})
    return [trial_start(dataset.protocol, trial - 1) + since for trial in asked]


def _panels(
    frames: np.ndarray | dict[str, np.ndarray], kinds: Sequence[str]
) -> dict[tuple[str, ...], np.ndarray]:
    """Return recordings by the kinds of event in them."""
    if isinstance(frames, dict):
        return {(kind,): frames[kind] for kind in kinds}
    return {tuple(kinds): frames}


def _contents(dataset: Dataset, run: int) -> tuple[list[str], list[bool]] | None:
    """Return what was imagined and judged in the trials of a run; None if it is not known."""
    truth = dataset.run_truth("train", run)
    if truth is None:
        return None
    options = dataset.protocol.task.options
    return [in_figure(options[each], 10) for each in truth.imagined], list(truth.judged)


def _mark_events(axis: Axes, events: Sequence[RecordedEvent], contents: tuple | None) -> None:
    for each in events:
        axis.axvspan(each.onset, each.onset + each.duration, lw=0.5, **EVENT_STYLES[each.kind])
        axis.annotate(
            _words(each, contents),
            (each.onset + each.duration / 2, 1.03),
            xycoords=("data", "axes fraction"),
            rotation=60,
            rotation_mode="anchor",
            ha="left",
            va="center",
            fontsize=SMALL,
        )


def _words(event: RecordedEvent, contents: tuple | None) -> str:
    """Return what happens in an event; what is on the person's mind only where it is known."""
    if event.kind == "perception":
        return f"sees {in_figure(event.guess, 10)}"
    if contents is None:
        return {"imagination": "imagines", "judgment": "judges"}[event.kind]
    imagined, judged = (each[event.trial - 1] for each in contents)
    if event.kind == "imagination":
        return f"imagines {imagined}"
    return "match" if judged else "mismatch"


def _mark_decisions(axis: Axes, seconds: Sequence[float]) -> None:
    for each in seconds:
        axis.axvline(each, zorder=2.5, **DECISION_STYLE)


def _legend(kinds: Sequence[str]) -> list[Patch | Line2D]:
    return [
        *(Patch(label=kind, **EVENT_STYLES[kind]) for kind in kinds),
        Line2D([], [], label="decision", **DECISION_STYLE),
        Line2D([], [], color=BLUE, marker="o", ms=3, lw=0.8, label="frames"),
    ]
