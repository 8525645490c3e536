"""What each event evokes across the region: the truth that learners have to find."""

import numpy as np
from matplotlib.axes import Axes

from bciigl.brain import Brain
from bciigl.report.direct import say
from bciigl.report.drawing import Drawing
from bciigl.report.style import MOST_OPTIONS, SMALL, divided, first_options, in_figure, new_figure
from bciigl.report.views import SessionView

HEIGHT = 3.6
MOST_LABELS = 8
"""Rows up to which correlations are written into their squares."""
ROW_HEIGHT = 0.17
VERBS = {"imagination": "imagine", "perception": "see", "judgment": "judge"}


def patterns_drawing(brain: Brain) -> Drawing:
    """Return the pattern of each event, voxel by voxel, and how alike they are, as a drawing."""
    rows, patterns = _rows(brain)
    alike = correlations(patterns)
    columns: dict[str, list] = {
        "event": [kind for kind, _ in rows],
        "content": [name for _, name in rows],
    }
    columns |= {f"r_{' '.join(row)}": alike[:, place].tolist() for place, row in enumerate(rows)}
    columns |= {f"voxel_{place + 1}": each.tolist() for place, each in enumerate(patterns.T)}
    figure = new_figure(1.7 + max(ROW_HEIGHT * len(rows), 2.0))
    _draw(figure.subplots(), brain)
    return Drawing(
        "patterns",
        figure,
        "Left: the pattern that each event evokes in the region's voxels. Right: how these "
        "patterns correlate, columns in the order of the rows. No agent and no label-free learner "
        f"is given them.{first_options(brain.protocol.task.options)}",
        f"{finding(brain)}.",
        columns,
    )


def draw_patterns(ax: Axes, view: SessionView) -> np.ndarray:
    """Draw the pattern that each event evokes, and how alike these are.

    Returns
    -------
    array of matplotlib.axes.Axes
        That of the patterns and that of their correlations, in the place of `ax`.
    """
    return _draw(ax, view.needed_brain())


def correlations(patterns: np.ndarray) -> np.ndarray:
    """Return how the rows (events, voxels) correlate, (events, events); NaN if they cannot."""
    events, voxels = patterns.shape
    if voxels < 2:
        return np.full((events, events), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.corrcoef(patterns)


def finding(brain: Brain) -> str:
    """Return what the figure shows, without a full stop."""
    rows, patterns = _rows(brain)
    kinds, names = (np.array(each, dtype=object) for each in zip(*rows, strict=True))
    if "perception" not in kinds:
        return "Each option, imagined, has a pattern of its own, and so have match and mismatch"
    alike = correlations(patterns)[kinds == "imagination"][:, kinds == "perception"]
    same = np.equal.outer(names[kinds == "imagination"], names[kinds == "perception"])
    if not np.isfinite(alike).all():
        return "Of one voxel, patterns are one number each"
    mean, other = alike[same].mean(), alike[~same].mean()
    how = "resembles" if mean - other > 0.2 else "hardly resembles"
    return (
        f"Imagining an option {how} seeing it (mean correlation {_short(mean)}; seeing another "
        f"one: {_short(other)})"
    )


def _rows(brain: Brain) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return events as kind and content, those of an option together, and their patterns."""
    kinds, options = brain.protocol.task.events, brain.protocol.task.options[:MOST_OPTIONS]
    events = [
        (kind, str(option), option) for option in options for kind in kinds if kind != "judgment"
    ]
    if "judgment" in kinds:
        events += [("judgment", "match", True), ("judgment", "mismatch", False)]
    patterns = np.array([brain.patterns[kind, content] for kind, _, content in events])
    return [(kind, name) for kind, name, _ in events], patterns


def _draw(ax: Axes, brain: Brain) -> np.ndarray:
    rows, patterns = _rows(brain)
    axes = divided(ax, 1, 2, width_ratios=[1, 1.15], sharey=True)[0]
    # Voxels are counted from 1, as in the table; rows from above.
    extent = (0.5, patterns.shape[1] + 0.5, len(rows) - 0.5, -0.5)
    look = {"cmap": "cividis", "interpolation": "nearest", "extent": extent, "aspect": "auto"}
    image = axes[0].imshow(patterns, **look)
    axes[0].xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axes[0].set_xlabel("voxel, coloured by its response", fontsize=SMALL)
    labels = [f"{VERBS[kind]} {in_figure(name)}" for kind, name in rows]
    axes[0].set_yticks(range(len(rows)), labels)
    alike = correlations(patterns)
    squares = axes[1].imshow(alike, aspect="auto", cmap="PuOr_r", vmin=-1, vmax=1)
    axes[1].set_visible(np.isfinite(alike).any())
    axes[1].set_xticks([])
    axes[1].set_xlabel("correlation, columns as rows", fontsize=SMALL)
    bars = [(axes[0], image)]
    if len(rows) <= MOST_LABELS:
        _write(axes[1], alike)
    else:
        bars.append((axes[1], squares))
    for axis in axes:
        axis.tick_params(labelsize=SMALL, length=0)
        axis.spines[:].set_visible(False)
    for axis, shown in bars:
        bar = ax.figure.colorbar(shown, ax=axis, location="bottom", shrink=0.8, aspect=25, pad=0.02)
        bar.ax.tick_params(labelsize=SMALL)
    say(axes[0], finding(brain), over=ax)
    return axes


def _write(axis: Axes, alike: np.ndarray) -> None:
    """Write correlations into their squares."""
    for (row, column), value in np.ndenumerate(alike):
        if np.isfinite(value):
            look = {"ha": "center", "va": "center", "fontsize": SMALL}
            look["color"] = "white" if abs(value) > 0.6 else "black"
            axis.text(column, row, _short(value), **look)


def _short(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # never -0.0
