"""Accuracy against noise or a varied field: with no labels, told the labels, and as published."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from bciigl.base.registry import LEARNERS
from bciigl.report import style
from bciigl.report.direct import LINE, TITLE, EndLabel, label_ends, say, wrapped
from bciigl.report.drawing import Drawing
from bciigl.report.findings import compared, ends, finding, noun, told_what
from bciigl.report.methods import listed
from bciigl.report.panels import NOISE, across, drawn_panels, panels_of, place_of, values_of
from bciigl.report.study_tables import learner_name
from bciigl.study.grid import is_number, with_unit
from bciigl.study.rows import Row

CONTROL_STYLES = [
    {"color": "#882255", "marker": "x", "linestyle": "-."},
    {"color": "#7a5c00", "marker": "s", "linestyle": "--"},
    {"color": style.BLUE, "marker": "D", "linestyle": ":"},
]
PUBLISHED = {"marker": "*", "linestyle": "--", "markersize": 10, "markerfacecolor": "white"}
ONE_PANEL, ONE_OF_SEVERAL = 3.8, 2.5
"""Inches: how high a panel is where there is one, and where there are several."""
COLUMNS = ("noise", "learner", "accuracy", "standard_error", "interval_low", "interval_high")
COLUMNS += ("repeats", "published", "published_standard_error")
COLUMNS += ("chance", "chance_low", "chance_high")
TICKS_WIDTH = 50
"""Characters that fit below the panels of a row."""
LONGEST_TURNED = 16


class Line(NamedTuple):
    """What is drawn as one line: a learner or control, or what is published of it."""

    label: str  # of its rows
    name: str
    look: Mapping[str, Any]
    published: bool = False

    def points(self, rows: Sequence[Row]) -> list[tuple[Row, float, float, float]]:
        """Return its rows, each with the height of its point and both ends of its interval."""
        mine = [row for row in rows if row.label == self.label]
        if not self.published:
            return [(row, row.accuracy.mean, *ends(row)) for row in mine]
        known = [(row, *row.published) for row in mine if row.published]
        return [(row, height, height - error, height + error) for row, height, error in known]


def lead_lines(rows: Sequence[Row]) -> list[Line]:
    """Return the lines of a study's first figure: the learners it is about, and published ones."""
    first, *others = (line_of(rows, label) for label in compared(rows))
    mine = [row for row in rows if row.label == first.label]
    if not any(row.published for row in mine):
        return [first, *others]
    name = f"{learner_name(mine[0].learner)} in\nthe paper, ± SE"
    return [first, *others, Line(first.label, name, {**first.look, **PUBLISHED}, published=True)]


def line_of(rows: Sequence[Row], label: str, look: Mapping[str, Any] | None = None) -> Line:
    """Return the line of a learner or a control; `look` is for a control."""
    row = next(row for row in rows if row.label == label)
    if row.control is not None:
        return Line(label, "\n".join(row.control.rsplit(" ", 1)), look or CONTROL_STYLES[0])
    if row.learner not in LEARNERS:  # of another package, which is not installed here
        unknown = dict.fromkeys(row.learner for row in rows if row.learner not in LEARNERS)
        place = list(unknown).index(row.learner) % len(CONTROL_STYLES)
        return Line(label, row.learner, CONTROL_STYLES[place])
    name = LEARNERS.get(row.learner).name.replace(", ", ",\n", 1)
    return Line(label, name, style.learner_style(row.learner))


def draw_accuracy(ax: Axes, rows: Sequence[Row]) -> Axes:
    """Draw what a study is about: accuracy with no labels, told the labels, and as published.

    Against noise, or the varied field that `across` names; each noise level and each combination of
    other varied fields then has a panel, for which the place of the axes is divided. The title says
    the finding. Lines are named at their ends; grey is chance.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    rows : sequence of bciigl.study.rows.Row
        The table of a study.

    Returns
    -------
    matplotlib.axes.Axes
        The axes given.
    """
    return draw_lines(ax, rows, lead_lines(rows), finding(rows))


def accuracy_drawing(rows: Sequence[Row]) -> Drawing:
    """Return what `draw_accuracy` draws as a figure with its words and numbers."""
    shown = lead_lines(rows)
    first = next(row for row in rows if row.label == shown[0].label)
    told = [_about(next(row for row in rows if row.label == each)) for each in compared(rows)]
    stars = (
        " Stars are the figures of the paper with their standard errors; its experiment differs."
        if shown[-1].published
        else ""
    )
    what = f"Accuracy of {listed(told)} against {across(rows)}."
    mine = [row for row in rows if row.label in {each.label for each in shown}]
    values = values_of(mine, across(mine))
    reached = f"{noun(first.learner)} at {len(values)} values of {across(rows)}"
    return Drawing(
        "accuracy",
        figure_of(rows, draw_accuracy),
        f"{what} {how_drawn(mine)}{stars}",
        f"Accuracy of {reached}. {finding(rows)}.",
        accuracy_columns(mine),
    )


def _about(row: Row) -> str:
    told = {"": "no labels", "reward": "the rewards", "label": "the labels"}[told_what(row.learner)]
    control = f" with {row.control}" if row.control else ""
    return f"{noun(row.learner)}{control}, which is told {told},"


def figure_of(rows: Sequence[Row], draw: Callable[[Axes, Sequence[Row]], Axes]) -> Any:
    """Return a figure of a size that fits the panels of rows, drawn by a function."""
    panels = len(drawn_panels(panels_of(rows, across(rows))))
    several = 1.2 + ONE_OF_SEVERAL * -(-panels // 2)
    figure = style.new_figure(several if panels > 1 else ONE_PANEL)
    draw(figure.subplots(), rows)
    return figure


def how_drawn(rows: Sequence[Row]) -> str:
    """Return what a caption says of means, intervals, chance and panels."""
    against = across(rows)
    values, groups = values_of(rows, against), panels_of(rows, against)
    drawn, repeats = drawn_panels(groups), sorted({row.repeats for row in rows})
    many = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    words = f"Points are means over {many} sessions with 95 % intervals."
    if repeats == [1]:
        words = "Points are of one session each."
    words += " Grey is where 95 % of means lie if test labels are permuted."
    numbers = all(map(is_number, values))
    if numbers and len(values) > 2 and not np.allclose(np.diff(values), values[1] - values[0]):
        words += " Values are evenly spaced, whatever lies between them."
    if len(drawn) < len(groups):
        levels = listed([f"{noise:g}" for noise in dict.fromkeys(noise for noise, _ in drawn)])
        first = "" if all(key in drawn for key in groups if key[0] == drawn[0][0]) else "first "
        words += (
            f" Of {len(groups)} panels the {first}{len(drawn)} at noise {levels} are drawn; all "
            "numbers are in the table."
        )
    return words


def accuracy_columns(rows: Sequence[Row]) -> dict[str, list]:
    """Return the numbers of rows, a line for each."""
    lines = []
    for row in rows:
        line = {**row.varied, **row.as_dict()}
        line["interval_low"], line["interval_high"] = line["interval"] or (None, None)
        line["chance_low"], line["chance_high"] = line["chance_interval"]
        lines.append(line)
    return {name: [line[name] for line in lines] for name in (*rows[0].varied, *COLUMNS)}


def draw_lines(ax: Axes, rows: Sequence[Row], lines: Sequence[Line], title: str) -> Axes:
    """Draw lines against what `across` says, in as many panels as that takes."""
    rows = [row for row in rows if row.label in {each.label for each in lines}]
    against = across(rows)
    groups, values = panels_of(rows, against), values_of(rows, against)
    shown = drawn_panels(groups)
    say(ax, title)
    if len(shown) == 1:
        _draw(ax, groups[shown[0]], lines, against, values)
        _label(ax, against, values, TICKS_WIDTH)
        _name(ax, groups[shown[0]], lines, against, values)
        return ax
    axes = _panels(ax, len(shown))
    for number, (axis, key) in enumerate(zip(axes, shown, strict=True)):
        _draw(axis, groups[key], lines, against, values)
        _label(axis, against, values, TICKS_WIDTH // 2)
        axis.set_title(wrapped(key[1], 32), fontsize=style.SMALL)
        if number + 2 < len(shown):
            axis.set_xlabel("")
            axis.tick_params(labelbottom=False)
        if number % 2:
            axis.set_ylabel("")
            axis.tick_params(labelleft=False)
    _name(axes[1], groups[shown[1]], lines, against, values)
    return ax


def _panels(ax: Axes, number: int) -> list[Axes]:
    """Return panels in the place of axes, two in a row, with room for the title above them."""
    down, height = -(-number // 2), ax.bbox.height / ax.figure.dpi * 72
    title = LINE * TITLE * (ax.get_title(loc="left").count("\n") + 2)
    ratios = [down * title / (height - title), *[1] * down]
    every = list(style.divided(ax, down + 1, 2, sharey=True, height_ratios=ratios).flat)
    axes = every[2 : 2 + number]
    for axis in every:
        if axis not in axes:
            axis.remove()
    return axes


def _places(
    rows: Sequence[Row], lines: Sequence[Line], line: Line, against: str, values: list[Any]
) -> list[tuple[float, float, float, float]]:
    """Return the points of a line: place, height, and both ends of the interval."""
    # Learners that are at the same height stand side by side; hardly so where it would read as
    # another value of a number.
    most = 0.03 if against != NOISE and all(map(is_number, values)) else 0.05 * (len(lines) - 1)
    aside = float(np.linspace(-most, most, len(lines))[lines.index(line)])
    found = [
        (values.index(place_of(row, against)) + aside, *heights)
        for row, *heights in line.points(rows)
    ]
    return sorted(found)


def _draw(
    axis: Axes, rows: Sequence[Row], lines: Sequence[Line], against: str, values: list[Any]
) -> None:
    chance = {values.index(place_of(row, against)): row.chance for row in reversed(rows)}
    middle = sorted(chance)
    band = np.array([chance[each].interval for each in middle])
    edges = np.r_[middle[0] - 0.5, middle, middle[-1] + 0.5]
    low, high = np.pad(band, ((1, 1), (0, 0)), mode="edge").T
    axis.fill_between(edges, low, high, color=style.NOISE_COLOR, lw=0)
    numbers = all(map(is_number, values))
    for line in lines:
        if points := _places(rows, lines, line, against, values):
            look = {"linewidth": 1.6, "markersize": 5, "elinewidth": 1, **line.look}
            if not numbers:
                look["linestyle"] = "none"  # there is nothing between them
            style.draw_intervals(axis, *np.transpose(points), label=line.name, **look)
    axis.set(ylabel="test trials decoded right (%)", ylim=(0, 104))
    axis.set_xlim(-0.5, len(values) - 0.5)
    axis.grid(axis="y", color="#e9ecef", lw=0.6)
    axis.set_axisbelow(True)
    style.plain(axis)


def _name(
    axis: Axes, rows: Sequence[Row], lines: Sequence[Line], against: str, values: list[Any]
) -> None:
    """Name the lines of a panel, and chance, at their ends."""
    labels = []
    for line in lines:
        if points := _places(rows, lines, line, against, values):
            x, y, *_ = points[-1]
            labels.append(EndLabel(x, y, line.name, line.look["color"]))
    last = max(rows, key=lambda row: values.index(place_of(row, against)))
    at = values.index(place_of(last, against)) + 0.5
    labels.append(EndLabel(at, last.chance.mean, "chance", style.GREY))
    label_ends(axis, labels, len(values) - 1.5)


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
    axis.set_xlabel("noise (1 is a real brain's)" if against == NOISE else label)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
