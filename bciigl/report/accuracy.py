"""Accuracy against noise or a varied field, with all that it should be compared to."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bciigl.base.registry import LEARNERS
from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.report.methods import listed
from bciigl.study.grid import in_words, is_number, value_in_words, with_unit
from bciigl.study.rows import Row

CONTROL_STYLES = [
    {"color": "#882255", "marker": "x", "linestyle": "-."},
    {"color": style.GREY, "marker": "+", "linestyle": "-.", "markersize": 8},
    {"color": "#b8860b", "marker": "1", "linestyle": "-.", "markersize": 8},
]
PANEL_HEIGHT = 5.0
ONE_OF_SEVERAL = 2.8
"""Inches: how high a panel is where there are several."""
MOST_PANELS = 6
NOISE = "noise"
COLUMNS = ("noise", "learner", "accuracy", "standard_error", "interval_low", "interval_high")
COLUMNS += ("repeats", "published", "published_standard_error")
COLUMNS += ("chance", "chance_low", "chance_high")
TITLE_WIDTH = 64
"""Characters that fit above the panels of a row."""
TICKS_WIDTH = 50
"""Characters that fit below the panels of a row."""
LONGEST_TURNED = 16
PanelKey = tuple[float, str]
"""The noise and the title of a panel; 0 where noise is on the x axis."""


def across(rows: Sequence[Row]) -> str:
    """Return what accuracy is drawn against: the varied field with most values, or else noise.

    Fields of numbers go before others. A field that has one value only is not varied.
    """
    values = {name: _values(rows, name) for name in rows[0].varied}
    several = {name: found for name, found in values.items() if len(found) > 1}
    numbers = [name for name, found in several.items() if all(map(is_number, found))]
    return max(numbers or several, key=lambda name: len(several[name]), default=NOISE)


def _place(row: Row, against: str) -> Any:
    return row.noise if against == NOISE else row.varied[against]


def _values(rows: Sequence[Row], against: str) -> list[Any]:
    """Return the values on the x axis: numbers in their order, others as they were given."""
    found: list[Any] = []
    for row in rows:
        if _place(row, against) not in found:  # it may be a list, which has no hash
            found.append(_place(row, against))
    return sorted(found) if all(map(is_number, found)) else found


def accuracy_drawing(rows: Sequence[Row]) -> Drawing:
    """Return accuracy against noise or a varied field as `accuracy_figure` draws it."""
    against = across(rows)
    noise, values = against == NOISE, _values(rows, against)
    known = " Stars are published figures with their standard errors."
    caption = (
        f"Accuracy against {against}: means over sessions with 95 % intervals. Learners are drawn "
        f"side by side at each {'noise level' if noise else 'value'}."
        f"{known if any(row.published for row in rows) else ''} The grey band is where 95 % of "
        "means lie if test labels are permuted, which leaves the policies as they are; those "
        f"learned from nothing vary more.{'' if noise else _how_drawn(rows, against)}"
    )
    best = max(rows, key=lambda row: (row.noise, row.label == rows[0].label))
    reached = f"{best.label} has {best.accuracy.mean:.1f} % at noise {best.noise:g}"
    alt = (
        f"Accuracy of {len({row.label for row in rows})} learners and controls at {len(values)} "
        f"{'noise levels' if noise else f'values of {against}'}; "
        f"{reached if noise else finding(rows)}."
    )
    return Drawing("accuracy", accuracy_figure(rows), caption, alt, accuracy_columns(rows))


def _how_drawn(rows: Sequence[Row], against: str) -> str:
    """Return what a caption adds where a varied field is on the x axis."""
    values, groups = _values(rows, against), _panels(rows, against)
    drawn, words = _drawn(groups), ""
    if all(map(is_number, values)) and len(values) > 2:
        steps = np.diff(values)
        even = np.allclose(steps, steps[0])
        words += "" if even else " Values are evenly spaced, whatever lies between them."
    if len(groups) > 1:
        words += " The title of a panel is its setting."
    if len(drawn) < len(groups):
        levels = listed([f"{noise:g}" for noise in dict.fromkeys(noise for noise, _ in drawn)])
        first = "" if all(key in drawn for key in groups if key[0] == drawn[0][0]) else "first "
        words += (
            f" Of {len(groups)} panels the {first}{len(drawn)} at noise {levels} are drawn; all "
            "numbers are in the table."
        )
    return words


def finding(rows: Sequence[Row]) -> str:
    """Return what a varied field does: where the first learner is worst and where it is best.

    That is at the highest noise, and at the first values of other varied fields.
    """
    against = across(rows)
    plain = [row for row in rows if row.control is None] or rows
    plain = [row for row in plain if row.noise == max(row.noise for row in plain)]
    first = next(iter(_panels(plain, against).values()))
    mine = [row for row in first if row.label == first[0].label]
    low, high = (of(mine, key=lambda row: row.accuracy.mean) for of in (min, max))
    others = in_words({name: low.varied[name] for name in low.varied if name != against})
    who = f"{low.label} at {', '.join(filter(None, [f'noise {low.noise:g}', others]))}"
    if low.accuracy.mean == high.accuracy.mean:
        same = f"{low.accuracy.mean:.1f} %"
        return f"{who}: {same} at {f'every {against}' if len(mine) > 1 else low.setting}"
    where = [value_in_words(against, row.varied[against]) for row in (low, high)]
    words = (
        f"{who}: from {low.accuracy.mean:.1f} % ({against} = {where[0]}) "
        f"to {high.accuracy.mean:.1f} % ({where[1]})"
    )
    if low.accuracy.interval is None or high.accuracy.interval is None:
        return f"{words}, of one session each"
    overlap = low.accuracy.interval[1] >= high.accuracy.interval[0]
    return f"{words}, with 95 % intervals that {'' if overlap else 'do not '}overlap"


def _panels(rows: Sequence[Row], against: str) -> dict[PanelKey, list[Row]]:
    """Return the rows of each panel by noise and title: of each setting but for what it shows."""
    groups: dict[PanelKey, list[Row]] = {}
    for row in rows:
        key = (0.0, row.setting)
        if against != NOISE:
            others = in_words({name: row.varied[name] for name in row.varied if name != against})
            key = (row.noise, ", ".join(filter(None, [f"noise {row.noise:g}", others])))
        groups.setdefault(key, []).append(row)
    return groups


def _drawn(groups: Mapping[PanelKey, Any]) -> list[PanelKey]:
    """Return which panels are drawn: those of the highest noise levels, as many as there may be."""
    kept: list[PanelKey] = []
    for noise in sorted({key[0] for key in groups}, reverse=True):
        level = [key for key in groups if key[0] == noise]
        if kept and len(kept) + len(level) > MOST_PANELS:
            break
        kept += level[:MOST_PANELS]
    return [key for key in groups if key in kept]


def accuracy_figure(rows: Sequence[Row]) -> Figure:
    """Return accuracy against what `across` says: a panel for each combination of all else.

    Means with 95 % intervals, published figures with standard errors, chance by permuted labels.
    Above a varied field stands what it does (`finding`). Of more than six panels those with most
    noise are drawn. Points of a field that has no numbers are not connected.
    """
    against, others = across(rows), cycle(CONTROL_STYLES)
    groups, values = _panels(rows, against), _values(rows, against)
    shown = [(key[1], groups[key]) for key in _drawn(groups)]
    # Each learner and control is drawn the same in all panels.
    labels = dict.fromkeys(row.label for row in rows)
    styles = {
        each: style.learner_style(each) if each in LEARNERS else next(others) for each in labels
    }
    height, margin = (ONE_OF_SEVERAL, 1.6) if len(shown) > 1 else (PANEL_HEIGHT, 0)
    figure, axes = style.panels(len(shown), 2, height, sharey=True, margin=margin)
    wide = axes.shape[1]
    for number, (axis, (title, mine)) in enumerate(zip(axes.flat, shown, strict=False)):
        _draw(axis, mine, against, values, styles)
        _label(axis, against, values, TICKS_WIDTH // wide)
        axis.set_title(_wrapped(title, TITLE_WIDTH // wide), fontsize=style.SMALL)
        if number + wide < len(shown):
            axis.set_xlabel("")
            axis.tick_params(labelbottom=False)
        if number % wide:
            axis.set_ylabel("")
    if against != NOISE:
        figure.suptitle(_wrapped(finding(rows), TITLE_WIDTH), fontsize=style.SMALL + 1.5)
    style.legend_below(figure)
    return figure


def _wrapped(text: str, width: int) -> str:
    # A number stays with its unit, a field with its value.
    text = re.sub(r"(?<=\d) | (?==)|(?<==) ", "\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(text, width, max_lines=3, placeholder=" …")
    return "\n".join(lines).replace("$", r"\$")


def _label(axis: Axes, against: str, values: list[Any], room: int) -> None:
    """Say what the x axis is, with its unit; words that do not fit side by side are turned."""
    numbers = all(map(is_number, values))
    words = [f"{each:g}" if numbers else _plain(each) for each in values]
    # Whole, if all fit.
    turned = sum(len(each) + 2 for each in words) > room
    look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    most = LONGEST_TURNED if turned else room
    axis.set_xticks(range(len(values)), [style.in_figure(each, most) for each in words], **look)
    label = with_unit(against) if numbers else against
    axis.set_xlabel("noise (1 is the real brain's)" if against == NOISE else label)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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
    axis: Axes, rows: Sequence[Row], against: str, values: list[Any], styles: dict[str, dict]
) -> None:
    # Values and learners have the same places in all panels, whatever is missing there.
    place = {id(row): values.index(_place(row, against)) for row in rows}
    # Side by side, as many learners are at the same height; hardly so where it would read as
    # another value of a number.
    most = 0.03 if against != NOISE and all(map(is_number, values)) else 0.2
    aside = dict(zip(styles, np.linspace(-most, most, len(styles)), strict=True))
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
        if not all(map(is_number, values)):
            look["linestyle"] = "none"  # there is nothing between them
        style.draw_intervals(axis, places, means, *np.transpose(intervals), label=label, **look)
        if known := [row for row in mine if row.published and row.learner not in others]:
            stars.append((label, known))
    for label, known in stars:
        places = [place[id(row)] + aside[label] for row in known]
        means, errors = zip(*(row.published for row in known), strict=True)
        look = {"ls": "none", "marker": "*", "ms": 11, "mfc": "white", "capsize": 3}
        look |= {"color": styles[label]["color"], "label": f"{label}, published ± SE"}
        axis.errorbar(places, means, errors, **look)
    ends = (-0.5, len(values) - 0.5)
    axis.set(ylabel="options recognised (%)", xlim=ends, ylim=(0, 104))
    axis.grid(axis="y", color="#e9ecef", lw=0.6)
    axis.set_axisbelow(True)
    style.plain(axis)
