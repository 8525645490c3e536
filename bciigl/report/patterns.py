"""What each event evokes across the region: the truth that learners have to find."""

import numpy as np
from matplotlib.figure import Figure

from bciigl.brain import Brain
from bciigl.report.drawing import Drawing
from bciigl.report.style import MOST_OPTIONS, SMALL, first_options, in_figure, new_figure

MOST_LABELS = 8
"""Rows up to which columns have labels, and correlations are also written into their squares."""
ROW_HEIGHT = 0.17
VERBS = {"imagination": "imagine", "perception": "see", "judgment": "judge"}


def patterns_drawing(brain: Brain) -> Drawing:
    """Return the pattern of each event, voxel by voxel, and how alike they are."""
    options, judged = brain.protocol.task.options, [("match", True), ("mismatch", False)]
    named = [(str(option), option) for option in options[:MOST_OPTIONS]]
    events = [
        (kind, name, content)
        for kind in brain.protocol.task.events
        for name, content in (judged if kind == "judgment" else named)
    ]
    rows = [(kind, name) for kind, name, _ in events]
    patterns = np.array([brain.patterns[kind, content] for kind, _, content in events])
    alike = correlations(patterns)
    columns: dict[str, list] = {
        "event": [kind for kind, _ in rows],
        "content": [name for _, name in rows],
    }
    columns |= {f"r_{' '.join(row)}": alike[:, place].tolist() for place, row in enumerate(rows)}
    columns |= {f"voxel_{place + 1}": each.tolist() for place, each in enumerate(patterns.T)}
    return Drawing(
        "patterns",
        _figure(rows, patterns, alike),
        "Left: the pattern that each event evokes in the region's voxels. Right: how these "
        "patterns correlate, columns in the order of the rows. No agent and no label-free learner "
        f"is given them.{first_options(options)}",
        "Heat map of the pattern of each event over the voxels, and of their correlations.",
        columns,
    )


def correlations(patterns: np.ndarray) -> np.ndarray:
    """Return how the rows (events, voxels) correlate, (events, events); NaN if they cannot."""
    events, voxels = patterns.shape
    if voxels < 2:
        return np.full((events, events), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.corrcoef(patterns)


def _figure(rows: list[tuple[str, str]], patterns: np.ndarray, alike: np.ndarray) -> Figure:
    figure = new_figure(1.3 + max(ROW_HEIGHT * len(rows), 2.1), width=6.3)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.2], sharey=True)
    # Voxels are counted from 1, as in the table; rows from above.
    extent = (0.5, patterns.shape[1] + 0.5, len(rows) - 0.5, -0.5)
    look = {"cmap": "cividis", "interpolation": "nearest", "extent": extent}
    image = left.imshow(patterns, aspect="auto", **look)
    left.xaxis.get_major_locator().set_params(integer=True)
    left.set_xlabel("voxel", fontsize=SMALL)
    labels = [f"{VERBS[kind]} {in_figure(name)}" for kind, name in rows]
    left.set_yticks(range(len(rows)), labels)
    squares = right.imshow(alike, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
    right.set_xticks([])
    if len(rows) <= MOST_LABELS:
        how = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
        right.set_xticks(range(len(rows)), labels, **how)
        for (row, column), value in np.ndenumerate(alike):
            if np.isfinite(value):
                look = {"ha": "center", "va": "center", "fontsize": SMALL}
                look["color"] = "white" if abs(value) > 0.6 else "black"
                right.text(column, row, f"{round(value, 1) + 0.0:.1f}", **look)  # never -0.0
    for axis in (left, right):
        axis.tick_params(labelsize=SMALL, length=0)
    for axis, shown, name in ((left, image, "pattern"), (right, squares, "correlation")):
        bar = figure.colorbar(shown, ax=axis, location="top", shrink=0.8, aspect=30, pad=0.03)
        bar.set_label(name, fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL)
    return figure
