"""What the scanner recorded, what happened meanwhile, and what that should have evoked."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from bciigl.protocol.hrf import event_response
from bciigl.protocol.recorded import caveat
from bciigl.recording import Dataset
from bciigl.recording.dataset import RecordedEvent
from bciigl.recording.truth import Truth
from bciigl.report.direct import EndLabel, label_ends, say
from bciigl.report.drawing import Drawing
from bciigl.report.style import (
    BLUE,
    EVENT_STYLES,
    GREY,
    ORANGE,
    SMALL,
    divided,
    in_figure,
    new_figure,
    plain,
)
from bciigl.report.views import SessionView

TRIALS = 3
HEIGHT = 4.4
DRIFT_PERIOD = 256.0
"""Seconds: slower changes are drift."""
CLEAR = 0.5
"""Correlation with the expected response from which the signal follows it."""
SURE = 2.5
"""The t from which the response is there in the mean of the trials, which is drawn then."""
FEWEST = 10
"""Trials of which a mean is drawn."""
FRAMES = {"color": BLUE, "marker": "o", "ms": 2.5, "lw": 0.7}
EXPECTED = {"color": ORANGE, "lw": 2.2, "ls": "-", "alpha": 0.9}
LANES = {"imagination": "imagines", "perception": "sees", "judgment": "judges"}


def time_course_drawing(view: SessionView) -> Drawing:
    """Return the figure as a drawing."""
    found = _Course(view.dataset)
    figure = new_figure(HEIGHT - 1.3 * (not found.mean) + 1.1 * (len(found.series) - 1))
    _draw(figure.subplots(), found)
    trials = f"the first {found.trials} trials" if found.trials > 1 else "the first trial"
    series = len(found.series) > 1
    each = "; each kind of event was recorded in a series of its own" if series else ""
    content = "" if found.truth is None else ", with what was imagined, seen and judged"
    expected = ""
    if found.expected:
        expected = (
            " Thick: what the events should evoke, each kind as high as in the other half of "
            "the run, with slow drift."
        )
    return Drawing(
        "time_course",
        figure,
        f"Mean signal of the region in {trials} of run {found.run}, in percent of its mean over "
        f"the run, one dot a frame{each}.{expected} Below: events{content}.{found.about_mean}",
        f"{found.finding()}.",
        found.columns(),
    )


def draw_time_course(ax: Axes, view: SessionView) -> np.ndarray:
    """Draw the region's mean signal in the first trials, the expected response, and the events.

    Returns
    -------
    array of matplotlib.axes.Axes
        In the place of `ax`, from above: one for each series of frames, that of the events, and
        that of the mean trial if there is one.
    """
    return _draw(ax, _Course(view.dataset))


class _Course:
    """The first trials of the first run: frames, events and the expected response."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, protocol = dataset, dataset.protocol
        self.run = int(dataset.sessions["train"].interactions.run[0])
        frames, happened = dataset.frames("train", self.run), dataset.events("train", self.run)
        self.truth = dataset.run_truth("train", self.run)
        # The first ones may have been missed.
        last = max(TRIALS, min(each.trial for each in happened))
        self.events = [each for each in happened if each.trial <= last]
        self.trials = max(each.trial for each in self.events)
        # All trials: interactions lack those that are of no use.
        self.end = dataset.timetable("train", self.run).starts[self.trials]
        kinds = tuple(protocol.task.events)
        separate = isinstance(frames, dict)
        given = {(kind,): frames[kind] for kind in kinds} if separate else {kinds: frames}
        self.series = {mine: percent_change(values) for mine, values in given.items()}
        self.expected: dict[tuple[str, ...], np.ndarray] = {}
        self.follows = 0.0  # correlation with the expected response
        self.mean: MeanTrial | None = None
        if not caveat(protocol):  # recorded windows have what they have
            fitted = [expected(dataset, happened, *each) for each in self.series.items()]
            self.expected = {
                mine: evoked + slow
                for mine, (evoked, slow) in zip(self.series, fitted, strict=True)
            }
            pairs = zip(self.series.values(), fitted, strict=True)
            self.follows = float(np.mean([alike(x - slow, y) for x, (y, slow) in pairs]))
            if not separate:
                ((evoked, slow),) = fitted
                starts = [each.onset for each in happened if each.kind == kinds[0]]
                shape = (evoked, protocol.timing.tr, starts)
                mean = mean_trial(self.series[kinds] - slow, *shape)
                self.mean = mean if mean and mean.t > SURE else None

    def seconds(self, values: np.ndarray) -> np.ndarray:
        """Return when the frames that are drawn were recorded."""
        seconds = (np.arange(len(values)) + 0.5) * self.dataset.protocol.timing.tr
        return seconds[seconds <= self.end]

    def columns(self) -> dict[str, list]:
        """Return the numbers that are drawn."""
        names = ("recording", "seconds", "percent_change", "expected")
        columns: dict[str, list] = {name: [] for name in names}
        for mine, change in self.series.items():
            seconds = self.seconds(change)
            curve = self.expected.get(mine, np.full(len(change), np.nan))
            columns["recording"] += ["all" if len(self.series) == 1 else mine[0]] * len(seconds)
            columns["seconds"] += seconds.tolist()
            columns["percent_change"] += change[: len(seconds)].tolist()
            columns["expected"] += curve[: len(seconds)].tolist()
        return columns

    @property
    def about_mean(self) -> str:
        """A sentence about the lowest panel."""
        if self.mean is None:
            return ""
        return f" Lowest: the mean of {self.mean.trials} trials of the run, with its 95 % interval."

    def finding(self) -> str:
        """Return what the figure shows, without a full stop."""
        if not self.expected:
            return f"The region's signal in the first {self.trials} trials, and their events"
        r = f"(r = {round(self.follows, 2) + 0.0:.2f} over run {self.run})"
        if self.follows >= CLEAR:
            return f"The region's mean signal follows the response expected of the events {r}"
        hidden = "Noise hides the response to the events in single trials"
        if self.mean:
            return f"{hidden}; it is there in the mean of {self.mean.trials} trials"
        return f"{hidden} {r}"


class MeanTrial(NamedTuple):
    """The mean over trials, without drift: arrays of shape (frames of a trial,)."""

    seconds: np.ndarray
    recorded: np.ndarray
    error: np.ndarray
    expected: np.ndarray
    trials: int
    t: float
    """Of the products of each trial with what was expected of it."""


def mean_trial(
    recorded: np.ndarray, evoked: np.ndarray, tr: float, starts: Sequence[float]
) -> MeanTrial | None:
    """Return the mean of the trials that begin at `starts`, seconds; None of fewer than 10."""
    if len(starts) < FEWEST:
        return None
    grid = np.arange(0, np.median(np.diff(starts)), tr)
    times = (np.arange(len(recorded)) + 0.5) * tr
    there = np.isfinite(recorded)
    wanted = np.add.outer(np.asarray(starts), grid)
    wanted = wanted[wanted[:, -1] <= times[-1]]
    seen = np.interp(wanted, times[there], recorded[there])
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    modelled = np.interp(wanted, times, evoked)
    products = (seen * (modelled - modelled.mean(axis=1, keepdims=True))).sum(axis=1)
    t = products.mean() / max(products.std(ddof=1) / np.sqrt(len(seen)), 1e-12)
    return MeanTrial(grid, seen.mean(axis=0), error, modelled.mean(axis=0), len(seen), float(t))


def alike(recorded: np.ndarray, modelled: np.ndarray) -> float:
    """Return how two courses correlate where both are known; 0 where one does not change."""
    pair = np.vstack([recorded, modelled])
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if pair.shape[1] < 2 or (pair.std(axis=1) < 1e-12).any():
        return 0.0
    return float(np.corrcoef(pair)[0, 1])


def expected(
    dataset: Dataset, events: Sequence[RecordedEvent], kinds: Sequence[str], change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what events should evoke in a run, and slow drift, both (frames,).

    Each kind of event has the response that the analysis assumes, in each half of the run as high
    as fits the other half best, so that it may well not fit.
    """
    timing, weights = dataset.protocol.timing, dataset.calibration.response
    seconds = (np.arange(len(change)) + 0.5) * timing.tr
    how = {"weights": weights, "unit": timing.event}
    evoked = np.zeros((len(kinds), len(change)))
    for each in events:
        if each.kind in kinds:
            response = event_response(seconds - each.onset, each.duration, **how)
            evoked[kinds.index(each.kind)] += response
    length = len(change) * timing.tr
    waves = np.arange(1 + int(2 * length / DRIFT_PERIOD))
    design = np.column_stack([evoked.T, np.cos(np.pi * waves * seconds[:, None] / length)])
    there = np.isfinite(change)
    height = np.linalg.lstsq(design[there], change[there], rcond=None)[0]
    slow = design[:, len(kinds) :] @ height[len(kinds) :]
    second, found = seconds > length / 2, np.zeros(len(change))
    for half in (second, ~second):
        fit = there & ~half
        height = np.linalg.lstsq(evoked.T[fit], (change - slow)[fit], rcond=None)[0]
        found[half] = height @ evoked[:, half]
    return found, slow


def percent_change(series: np.ndarray) -> np.ndarray:
    """Return the voxels' mean in each frame, in percent of its mean over the run, less 100."""
    mean = series.mean(axis=1)
    return 100 * (mean / np.nanmean(mean) - 1)


def _draw(ax: Axes, found: _Course) -> np.ndarray:
    kinds, number = found.dataset.protocol.task.events, len(found.series)
    parts = divided(ax, 2 if found.mean else 1, 1, height_ratios=[2.2, 1][: 1 + bool(found.mean)])
    ratios = [*(3.2 for _ in range(number)), 0.5 * len(kinds)]
    how = {"sharex": True, "height_ratios": ratios, "hspace": 0.06}
    axes = divided(parts[0, 0], len(ratios), 1, **how)[:, 0]
    for axis, (mine, change) in zip(axes, found.series.items(), strict=False):
        _draw_signal(axis, found, mine, change)
    _draw_events(axes[-1], found, kinds)
    axes[-1].set_xlim(0, found.end)
    axes[-1].set_xlabel("seconds from the beginning of the run")
    if found.mean:
        _draw_mean(parts[1, 0], found)
    say(axes[0], found.finding(), over=ax)
    return np.array([*axes, *([parts[1, 0]] if found.mean else [])])


def _draw_mean(axis: Axes, found: _Course) -> None:
    mean = found.mean
    low, high = mean.recorded - 1.96 * mean.error, mean.recorded + 1.96 * mean.error
    axis.fill_between(mean.seconds, low, high, color=BLUE, alpha=0.2, lw=0)
    axis.plot(mean.seconds, mean.recorded, **FRAMES)
    axis.plot(mean.seconds, mean.expected, **EXPECTED)
    axis.axhline(0, color=GREY, lw=0.5, zorder=1)
    axis.set_xlim(0, mean.seconds[-1])
    axis.set(
        xlabel="seconds from the beginning of a trial", ylabel=f"mean of\n{mean.trials} trials (%)"
    )
    plain(axis)


def _draw_signal(axis: Axes, found: _Course, kinds: Sequence[str], change: np.ndarray) -> None:
    for each in found.events:
        if each.kind in kinds:
            axis.axvspan(each.onset, each.onset + each.duration, color="#eef1f4", lw=0)
    seconds = found.seconds(change)
    axis.plot(seconds, change[: len(seconds)], zorder=3, **FRAMES)
    if kinds in found.expected:
        curve = found.expected[kinds][: len(seconds)]
        axis.plot(seconds, curve, zorder=2.5, **EXPECTED)
    axis.axhline(0, color=GREY, lw=0.5, zorder=1)
    axis.set_ylabel("signal change (%)" if len(found.series) == 1 else f"{kinds[0]}\n(% change)")
    if kinds in found.expected:
        ends = [EndLabel(found.end, change[len(seconds) - 1], "recorded", BLUE)]
        ends.append(EndLabel(found.end, curve[-1], "expected", ORANGE))
        axis.set_xlim(0, found.end)
        label_ends(axis, [each for each in ends if np.isfinite(each.y)])
    plain(axis)
    axis.tick_params(labelbottom=False)


def _draw_events(axis: Axes, found: _Course, kinds: Sequence[str]) -> None:
    """Draw what happened, one lane for each kind of event, with what it was of."""
    lanes: Mapping[str, int] = {kind: -place for place, kind in enumerate(kinds)}
    for each in found.events:
        look = {"lw": 0.8, "height": 0.7, **EVENT_STYLES[each.kind]}
        axis.barh(lanes[each.kind], each.duration, left=each.onset, **look)
        words = _words(each, found.dataset.protocol.task.options, found.truth)
        place = (each.onset + each.duration, lanes[each.kind])
        look = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        axis.annotate(words, place, fontsize=SMALL, annotation_clip=True, **look)
    axis.set_yticks(list(lanes.values()), [LANES[kind] for kind in kinds])
    axis.set_ylim(0.6 - len(kinds), 0.6)
    plain(axis)
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _words(event: RecordedEvent, options: Sequence[object], truth: Truth | None) -> str:
    """Return what an event was of; what is on the person's mind only where it is known."""
    if event.kind == "perception":
        return in_figure(event.guess, 10)
    if truth is None:
        return ""
    if event.kind == "imagination":
        return in_figure(options[truth.imagined[event.trial - 1]], 10)
    return "match" if truth.judged[event.trial - 1] else "mismatch"
