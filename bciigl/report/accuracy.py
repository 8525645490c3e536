"""Accuracy against noise or a varied field, with all that it should be compared to."""

import textwrap
from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bciigl.base.registry import LEARNERS
from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.report.study_tables import by_setting
from bciigl.study.rows import Row

CONTROL_STYLES = [
    {"color": "#882255", "marker": "x", "linestyle": "-."},
    {"color": style.GREY, "marker": "+", "linestyle": "-.", "markersize": 8},
    {"color": "#b8860b", "marker": "1", "linestyle": "-.", "markersize": 8},
]
PANEL_HEIGHT = 5.0
NOISE = "noise"
COLUMNS = ("noise", "learner", "accuracy", "standard_error", "interval_low", "interval_high")
COLUMNS += ("repeats", "published", "published_standard_error")
COLUMNS += ("chance", "chance_low", "chance_high")
TITLE_WIDTH = 64
"""Characters that fit above the panels of a row."""


def across(rows: Sequence[Row]) -> str:
    """Return what accuracy is drawn against: noise, or else the one field varied in numbers."""
    varied = {name: [row.varied[name] for row in rows] for name in rows[0].varied}
    several = [name for name, values in varied.items() if len(set(map(repr, values))) > 1]
    if len({row.noise for row in rows}) == 1 and len(several) == 1:
        values = varied[several[0]]
        if all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in values):
            return several[0]
    return NOISE


def _place(row: Row, against: str) -> float:
    return row.noise if against == NOISE else row.varied[against]


def accuracy_drawing(rows: Sequence[Row]) -> Drawing:
    """Return accuracy against noise as `accuracy_figure` draws it, with its numbers."""
    against = across(rows)
    noise = against == NOISE
    known = " Stars are published figures with their standard errors."
    caption = (
        f"Accuracy against {against}: means over sessions with 95 % intervals. Learners are drawn "
        f"side by side at each {'noise level' if noise else 'value'}."
        f"{known if any(row.published for row in rows) else ''} The grey band is where 95 % of "
        "means lie if test labels are permuted, which leaves the policies as they are; those "
        "learned from nothing vary more."
    )
    best = max(rows, key=lambda row: (_place(row, against), row.label == rows[0].label))
    places = len({_place(row, against) for row in rows})
    alt = (
        f"Accuracy of {len({row.label for row in rows})} learners and controls at {places} "
        f"{'noise levels' if noise else f'values of {against}'}; "
        f"{best.label} has {best.accuracy.mean:.1f} % at {against} {_place(best, against):g}."
    )
    return Drawing("accuracy", accuracy_figure(rows), caption, alt, accuracy_columns(rows))


def accuracy_figure(rows: Sequence[Row]) -> Figure:
    """Return accuracy against what `across` says: a panel for each combination of varied fields.

    Means with 95 % intervals, published figures with standard errors, chance by permuted labels.
    """
    against, others = across(rows), cycle(CONTROL_STYLES)
    groups = by_setting(rows) if against == NOISE else {f"noise {rows[0].noise:g}": rows}
    levels = sorted({_place(row, against) for row in rows})
    # Each learner and control is drawn the same in all panels.
    labels = dict.fromkeys(row.label for row in rows)
    styles = {
        each: style.learner_style(each) if each in LEARNERS else next(others) for each in labels
    }
    figure, axes = style.panels(len(groups), 2, PANEL_HEIGHT, sharey=True)
    wide = axes.shape[1]
    for number, (axis, (title, mine)) in enumerate(zip(axes.flat, groups.items(), strict=False)):
        _draw(axis, mine, against, levels, styles)
        lines = textwrap.wrap(title, TITLE_WIDTH // wide, max_lines=3, placeholder=" …")
        axis.set_title("\n".join(lines).replace("$", r"\$"), fontsize=style.SMALL)
        if number + wide < len(groups):
            axis.set_xlabel("")
            axis.tick_params(labelbottom=False)
        if number % wide:
            axis.set_ylabel("")
    style.legend_below(figure)
    return figure


def accuracy_columns(rows: Sequence[Row]) -> dict[str, list]:
    """Return the numbers of the figure, a line for each row."""
    lines = []
    for row in rows:
        line = {**row.varied, **row.as_dict()}
        line["interval_low"], line["interval_high"] = line["interval"] or (None, None)
        line["chance_low"], line["chance_high"] = line["chance_interval"]
        lines.append(line)
    return {name: [line[name] for line in lines] for name in (*rows[0].varied, *COLUMNS)}


def _draw(
    axis: Axes, rows: Sequence[Row], against: str, levels: list[float], styles: dict[str, dict]
) -> None:
    # Levels and learners have the same places in all panels, whatever is missing there.
    place = {id(row): levels.index(_place(row, against)) for row in rows}
    # Side by side, as many learners are at the same height.
    aside = dict(zip(styles, np.linspace(-0.2, 0.2, len(styles)), strict=True))
    chance = {place[id(row)]: row.chance for row in reversed(rows)}
    middle = sorted(chance)
    band = np.array([chance[each].interval for each in middle])
    edges = np.r_[middle[0] - 0.5, middle, middle[-1] + 0.5]
    low, high = np.pad(band, ((1, 1), (0, 0)), mode="edge").T
    axis.fill_between(edges, low, high, color=style.NOISE_COLOR, lw=0, label="chance, 95 %")
    # Learners may be compared with the same published figure: it is drawn once.
    others = [each.id for each in LEARNERS.all() if each.published_as not in ("", each.id)]
    stars = []
    for label in dict.fromkeys(row.label for row in rows):
        mine = sorted((row for row in rows if row.label == label), key=lambda row: place[id(row)])
        means = [row.accuracy.mean for row in mine]
        intervals = [row.accuracy.interval or (row.accuracy.mean,) * 2 for row in mine]
        places = [place[id(row)] + aside[label] for row in mine]
        look = {"linewidth": 1.4, "markersize": 5, "elinewidth": 1, **styles[label]}
        style.draw_intervals(axis, places, means, *np.transpose(intervals), label=label, **look)
        if known := [row for row in mine if row.published and row.learner not in others]:
            stars.append((label, known))
    for label, known in stars:
        places = [place[id(row)] + aside[label] for row in known]
        means, errors = zip(*(row.published for row in known), strict=True)
        look = {"ls": "none", "marker": "*", "ms": 11, "mfc": "white", "capsize": 3}
        look |= {"color": styles[label]["color"], "label": f"{label}, published ± SE"}
        axis.errorbar(places, means, errors, **look)
    axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    axis.set(
        xlabel="noise (1 is the real brain's)" if against == NOISE else against,
        ylabel="options recognised (%)",
        xlim=(-0.5, len(levels) - 0.5),
        ylim=(0, 104),
    )
    axis.grid(axis="y", color="#e9ecef", lw=0.6)
    axis.set_axisbelow(True)
    style.plain(axis)
