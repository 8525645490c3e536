"""What figures say in themselves: names at the ends of lines, and the finding as a title."""

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.transforms import blended_transform_factory
from scipy.optimize import isotonic_regression

from bciigl.report import style

TITLE = style.SMALL + 1.5
"""Points: how large a finding is written."""
LINE = 1.25
"""How high a line of words is, in sizes of its letters."""
LETTER = 0.6
"""How wide a letter is on average, in its size."""


class EndLabel(NamedTuple):
    """The name of a line, and where its last point is."""

    x: float
    y: float
    text: str
    color: str


def label_ends(axis: Axes, labels: Sequence[EndLabel], end: float | None = None) -> None:
    """Name lines at their last points, in place of a legend.

    Names of lines that reach the end stand to the right of the axes, moved apart as far as they
    would overlap, and joined to their lines; others stand right of their last points. The end is
    the last fifth of the x axis, or what lies beyond `end`. Call it when the limits of the axes are
    set.
    """
    left, right = axis.get_xlim()
    end = right - 0.2 * (right - left) if end is None else end
    ending = [each for each in labels if each.x >= end]
    heights = _apart(axis, ending)
    beside = blended_transform_factory(axis.transAxes, axis.transData)
    for each in labels:
        look = {"fontsize": style.SMALL, "color": darker(each.color), "va": "center"}
        look["linespacing"] = 1.0
        at = (each.x, each.y)
        if each in ending:
            line = {"arrowstyle": "-", "color": each.color, "lw": 0.8, "shrinkA": 1, "shrinkB": 4}
            line["relpos"] = (0, 0.5)
            where = {"xytext": (1.03, heights[each]), "textcoords": beside}
            axis.annotate(each.text, at, **where, arrowprops=line, **look)
        else:
            look["path_effects"] = [withStroke(linewidth=3, foreground="white")]
            axis.annotate(each.text, at, (8, 0), textcoords="offset points", **look)


def _apart(axis: Axes, labels: Sequence[EndLabel]) -> dict[EndLabel, float]:
    """Return the heights of names: as near to their lines as can be, apart and below the title."""
    if not labels:
        return {}
    bottom, top = axis.get_ylim()
    order = sorted(labels, key=lambda each: each.y)
    # The axes get lower when a figure is laid out, as titles and labels need room.
    points = 0.9 * axis.bbox.height / axis.figure.dpi * 72
    sizes = np.array([each.text.count("\n") + 1 for each in order])
    sizes = sizes * LINE * style.SMALL * (top - bottom) / points
    least = np.cumsum(np.r_[0, (sizes[1:] + sizes[:-1]) / 2])
    wanted = np.array([each.y for each in order]) - least
    found = isotonic_regression(wanted).x + least
    highest = top - sizes[-1] / 2 - (least[-1] - least)
    return dict(zip(order, np.minimum(found, highest), strict=True))


def darker(color: str) -> tuple[float, float, float]:
    """Return a colour in which words can be read on white."""
    red, green, blue = (0.7 * each for each in to_rgb(color))
    return red, green, blue


def say(axis: Axes, finding: str, *, over: Axes | None = None) -> None:
    """Write what a figure shows above it, in lines that fit `over` the axes that were divided."""
    # As wide as the axes become: those that a figure begins with leave more room at the sides.
    room = 1.1 * (over or axis).bbox.width / axis.figure.dpi * 72
    width = max(20, int(room / (LETTER * TITLE)))
    words = wrapped(finding, width, 5)
    look = {"fontsize": TITLE, "fontweight": "bold"}
    if over is None:
        axis.set_title(words, loc="left", **look)
        return
    # For a title wider than its axes the layout would make room beside them: an empty one, which
    # is as high and a little farther off, keeps the room above.
    axis.set_title("\n".join(" " for _ in words.splitlines()), loc="left", pad=8, **look)
    where = {"xycoords": "axes fraction", "xytext": (0, 6), "textcoords": "offset points"}
    axis.annotate(words, (0, 1), va="bottom", **where, **look).set_in_layout(False)


def say_above(figure: Figure, finding: str) -> None:
    """Write what a whole figure of several panels shows above it."""
    width = int(figure.get_figwidth() * 72 / (LETTER * TITLE))
    look = {"ha": "left", "fontsize": TITLE, "fontweight": "bold"}
    figure.suptitle(wrapped(finding, width, 5), x=0.01, **look)


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Return words in lines, never taken for a formula; a number stays with its unit."""
    text = re.sub(r"(?<=\d) | (?==)|(?<==) ", "\N{NO-BREAK SPACE}", text)
    found = textwrap.wrap(text, width, max_lines=lines, placeholder=" …")
    return "\n".join(found).replace("$", r"\$")
