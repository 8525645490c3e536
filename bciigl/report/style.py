"""What all figures share: colours, sizes and how words are put into them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from bciigl.base.registry import LEARNERS

DPI = 150
WIDTH = 5.6
"""Inches: no wider than the text on a page; a phone shows it at 0.6 of that."""
SMALL = 9.0
"""Points: the smallest words in a figure, as printed."""

MOST_OPTIONS = 12
"""Options that figures show, at most."""

# Told apart by readers who see colours differently, and in grey.
REGION_COLOR = RESPONSE_COLOR = "#e8590c"
NOISE_COLOR = "#dee2e6"
EVENT_COLOR = "#a5d8ff"
# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, SKY = "#0072b2", "#d55e00", "#009e73", "#56b4e9"
GREY = "#6c757d"

EVENT_STYLES = {
    "imagination": {"facecolor": "#cfe8f7", "edgecolor": SKY, "hatch": "///"},
    "perception": {"facecolor": "#ccece2", "edgecolor": GREEN, "hatch": "..."},
    "judgment": {"facecolor": "#f7dcc8", "edgecolor": ORANGE, "hatch": "xxx"},
}
"""How the kinds of event are shaded: with a pattern too, for those who see no colours."""

_FURTHER_STYLES = [
    {"color": "#e69f00", "marker": "P", "linestyle": "-"},
    {"color": "#8c564b", "marker": "X", "linestyle": "--"},
    {"color": "#5c3d99", "marker": "p", "linestyle": "-."},
    {"color": "#3a7d44", "marker": "<", "linestyle": ":"},
]
"""Of learners whose specification has no style."""


def learner_style(learner_id: str) -> dict[str, Any]:
    """Return how a learner is drawn, wherever learners are compared."""
    own = LEARNERS.get(learner_id).style
    place = LEARNERS.ids.index(learner_id) % len(_FURTHER_STYLES)
    return {**_FURTHER_STYLES[place], **own}


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of a size in inches."""
    return Figure(figsize=(width, height), layout="constrained", dpi=DPI)


def plain(axis: Axes) -> None:
    """Give an axis small words, and take away the frame where nothing is read off."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=SMALL)
    axis.xaxis.label.set_size(SMALL + 0.5)
    axis.yaxis.label.set_size(SMALL + 0.5)


def in_figure(word: object, longest: int = 14) -> str:
    """Return a word as a figure can have it: not too long, and never taken for a formula."""
    text = str(word)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def first_options(options: Sequence[object]) -> str:
    """Return what a caption adds where not all options are drawn."""
    number = len(options)
    return f" Only the first {MOST_OPTIONS} of {number} options." if number > MOST_OPTIONS else ""


def legend_below(figure: Figure, **look: Any) -> None:
    """Put one legend of all panels below a figure, or where `loc` says: each label once."""
    shown = {}
    for axis in figure.axes:
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    look = {"loc": "outside lower center", "ncols": 2, "frameon": False, "fontsize": SMALL, **look}
    figure.legend(shown.values(), shown, **look)


def draw_intervals(axis: Axes, places: Any, means: Any, low: Any, high: Any, **look: Any) -> None:
    """Draw means with their intervals."""
    means = np.asarray(means)
    reach = np.maximum([means - low, high - means], 0)
    axis.errorbar(places, means, reach, capsize=2, **look)


def divided(ax: Axes, down: int, across: int, **how: Any) -> np.ndarray:
    """Return axes, (down, across), in the place of one, which keeps nothing but its title."""
    ax.set_axis_off()
    shared = {name: how.pop(name) for name in ("sharex", "sharey") if name in how}
    place = ax.get_subplotspec()
    if place is None:
        box = ax.get_position()
        ends = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        grid = GridSpec(down, across, ax.figure, **ends, **how)
    else:
        grid = place.subgridspec(down, across, **how)
    return grid.subplots(squeeze=False, **shared)
