"""What makes a dataset learnable: by what forests tell successes, and how well they do."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from bciigl.labelled.learnable import SUCCESS, Forest, Point
from bciigl.report import style
from bciigl.report.direct import say_above
from bciigl.report.drawing import Drawing
from bciigl.report.table import INDENT, Table

LOGARITHMIC = {
    "feature_onehot_count", "instance_per_feature", "noise_signal_ratio", "pca_dims_95",
    "n", "n_by_sqrt_k", "n_by_k",
}  # fmt: skip
"""Meta-features that are counts and ratios with no upper end."""
STYLES = {
    "published": {"c": "#868e96", "marker": ".", "s": 14, "linewidths": 0},
    "failure": {"c": style.ORANGE, "marker": "x", "s": 26, "linewidths": 1.2},
    "success": {"c": style.BLUE, "marker": "o", "s": 24, "linewidths": 0.6, "edgecolors": "white"},
}


def importance_drawing(forest: Forest) -> Drawing:
    """Return by which meta-features a forest tells successes: bars, the longest at the top."""
    ranked = sorted(forest.importances.items(), key=lambda each: -each[1])
    names, weights = (list(column) for column in zip(*ranked, strict=True))
    figure = style.new_figure(0.24 * len(names) + 1.2)
    axis = figure.subplots()
    axis.barh(names, weights, color=style.BLUE, height=0.7)
    for place, weight in enumerate(weights):
        axis.annotate(
            f"{weight:.2f}", (weight, place), (3, 0), textcoords="offset points", va="center",
            fontsize=style.SMALL,
        )  # fmt: skip
    axis.set(xlabel="importance (share of information gain)", xlim=(0, 1.12 * max(weights) or 1))
    axis.set_ylim(len(names) - 0.4, -0.6)  # the first at the top
    axis.tick_params(axis="y", length=0)
    style.plain(axis)
    caption = (
        "By which meta-features a random forest tells whether AI-IGL reaches at least "
        f"{SUCCESS:g} of the contextual bandit's accuracy: mean decrease in impurity over "
        f"{forest.datasets} datasets ({_words(forest.subset)}), {forest.successes} of them "
        "successes. Meta-features that go together share their importance."
    )
    said = (
        f"Of {len(names)} meta-features, {names[0]} tells most about where AI-IGL succeeds, with "
        f"an importance of {weights[0]:.2f}"
    )
    say_above(figure, said)
    name = "importance_" + re.sub(r"[^a-z0-9]+", "_", forest.subset.lower()).strip("_")
    return Drawing(name, figure, caption, f"{said}.", {"feature": names, "importance": weights})


def scatter_drawing(
    points: Sequence[Point], features: Sequence[str], published: Sequence[Point] = ()
) -> Drawing:
    """Return relative performance against meta-features: a panel for each."""
    features = list(dict.fromkeys(features))
    kinds = {
        "published": list(published),
        "failure": [each for each in points if each["relative"] < SUCCESS],
        "success": [each for each in points if each["relative"] >= SUCCESS],
    }
    also = f" Grey points are {len(published)} published datasets." if published else ""
    caption = (
        "AI-IGL's accuracy by the contextual bandit's, which sees the reward, against "
        f"meta-features of {len(points)} datasets. At {SUCCESS:g} (line) and above, a dataset "
        f"counts as a success.{also}"
    )
    said = f"The paper's AI-IGL, on {len(published)} datasets"
    if points:
        said = f"AI-IGL succeeds on {len(kinds['success'])} of {len(points)} datasets"
    figure = _scatter_figure(kinds, features)
    say_above(figure, said)
    alt = f"{said}: relative accuracy against {', '.join(features)}."
    lines = [(kind, each) for kind, mine in kinds.items() for each in mine]
    columns = {
        **{name: [each.get(name) for _, each in lines] for name in features},
        "relative": [each["relative"] for _, each in lines],
        "drawn_as": [kind for kind, _ in lines],
    }
    return Drawing("learnable", figure, caption, alt, columns)


def forest_table(forests: Sequence[Forest]) -> Table:
    """Return how well forests tell successes, each with the published figures below it."""
    head = ["datasets", "number", "successes", "F1 failures", "F1 successes", "F1 mean"]
    rows, reasons = [], {}
    for each in forests:
        ours = (each.f1_failure, each.f1_success, each.f1)
        rows.append(
            [_words(each.subset), str(each.datasets), str(each.successes), *map(_score, ours)]
        )
        if each.published:
            rows.append([f"{INDENT}published", "", "", *map(_score, each.published)])
        if each.reason:
            reasons.setdefault(each.reason, []).append(_words(each.subset))
    caption = (
        f"F1 of random forests that predict whether AI-IGL reaches at least {SUCCESS:g} of the "
        "contextual bandit's accuracy, for datasets that they have not seen."
        + "".join(f" {'; '.join(subsets)}: {reason}." for reason, subsets in reasons.items())
    )
    return Table(head, rows, caption)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _words(subset: str) -> str:
    return subset.replace(">=", " ≥ ").replace("<=", " ≤ ")


def _scatter_figure(kinds: Mapping[str, list[Point]], features: Sequence[str]) -> Figure:
    across = min(len(features), 2)
    down = math.ceil(len(features) / across)
    figure = style.new_figure(2.1 * down + 0.9)
    axes = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for number, (axis, name) in enumerate(zip(axes, features, strict=False)):
        _panel(axis, kinds, name)
        if number % across == 0:
            axis.set_ylabel("relative accuracy")
    highest = max(each["relative"] for mine in kinds.values() for each in mine)
    axes[0].set_ylim(-0.05, 1.06 * max(highest, 1))
    for axis in axes[len(features) :]:
        axis.set_visible(False)
    shown = 1 + sum(map(bool, kinds.values()))
    style.legend_below(figure, ncols=shown, handletextpad=0.4, columnspacing=1.2)
    return figure


def _panel(axis: Axes, kinds: Mapping[str, list[Point]], name: str) -> None:
    axis.axhline(
        SUCCESS, color=style.GREY, lw=1, ls="--", label=f"success from {SUCCESS:g}", zorder=1
    )
    drawn: list[float] = []
    for kind, mine in kinds.items():
        known = [(each[name], each["relative"]) for each in mine if name in each]
        if known:
            axis.scatter(*zip(*known, strict=True), label=kind, zorder=2, **STYLES[kind])
            drawn += [value for value, _ in known]
    _scale(axis, name, drawn)
    axis.set_xlabel(name)
    axis.grid(axis="y", color=style.NOISE_COLOR, lw=0.6)
    axis.set_axisbelow(True)
    style.plain(axis)


def _scale(axis: Axes, name: str, drawn: Sequence[float]) -> None:
    """Give a panel a logarithmic axis where values are far apart, one with a zero if need be."""
    low, high = min(drawn), max(drawn)
    # Nearer to each other they would have one tick at most on a logarithmic axis.
    if name not in LOGARITHMIC or low < 0 or high < 100 * max(low, np.finfo(float).tiny):
        axis.xaxis.set_major_locator(MaxNLocator(4))
    elif low > 0:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(numticks=6))
        axis.xaxis.set_minor_formatter(NullFormatter())
    elif high > 10:
        axis.set_xscale("symlog", linthresh=1)
