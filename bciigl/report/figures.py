"""Figures of the simulated brain. Each function returns a matplotlib figure and shows nothing."""

import os
import warnings
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bciigl.base.files import written_file
from bciigl.brain import Brain
from bciigl.brain.images import voxel_size
from bciigl.protocol.hrf import event_response, peak_time, response_length, shape_of
from bciigl.protocol.schedule import steps
from bciigl.report.style import EVENT_COLOR, NOISE_COLOR, REGION_COLOR, RESPONSE_COLOR, new_figure

UNDATED = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What keeps the time and matplotlib's version out of files."""


def region_figure(brain: Brain) -> Figure:
    """Return the region, projected onto three slices of the template through its middle."""
    figure = new_figure(3.0, 7.2)
    figure.set_facecolor("black")
    template, inside, affine = _facing_right_front_up(brain)
    middle = [_fullest(inside, axis) for axis in range(3)]
    position = affine[:3, :3] @ middle + affine[:3, 3]
    size = voxel_size(affine)
    views = [("sagittal, x", "PAIS"), ("coronal, y", "LRIS"), ("axial, z", "LRPA")]
    extent = size * template.shape
    axes = figure.subplots(1, 3, width_ratios=[extent[1], extent[0], extent[0]])
    for normal, (axis, (name, edges)) in enumerate(zip(axes, views, strict=True)):
        across, up = (each for each in range(3) if each != normal)
        picture = np.take(template, middle[normal], axis=normal).T
        region = np.ma.masked_equal(inside.max(axis=normal).T, 0)
        for shown, colors in ((picture, "gray"), (region, ListedColormap([REGION_COLOR]))):
            axis.imshow(shown, cmap=colors, origin="lower", aspect=size[up] / size[across])
        axis.set_title(f"{name} = {position[normal]:.0f} mm", color="white", fontsize=8)
        axis.axis("off")
        places = [(0.03, 0.5), (0.97, 0.5), (0.5, 0.04), (0.5, 0.96)]
        for letter, place in zip(edges, places, strict=True):
            look = {"color": "white", "fontsize": 8, "ha": "center", "va": "center"}
            axis.annotate(letter, place, xycoords="axes fraction", **look)
    return figure


def response_figure(brain: Brain) -> Figure:
    """Return the response to a lone event, with the frames that sample it and the noise around."""
    timing, settings = brain.protocol.timing, brain.protocol.brain
    duration, shape = timing.event, shape_of(settings)
    end = response_length(duration, shape)
    seconds = np.linspace(0, end, 600)
    frames = np.arange(0.5 * timing.tr, end, timing.tr)
    peak = peak_time(duration, shape)
    figure = new_figure(3.2, 7.2)
    axis = figure.subplots()
    axis.axvspan(0, duration, color=EVENT_COLOR, lw=0, label="event", zorder=1.5, alpha=0.7)
    noise = {"color": NOISE_COLOR, "lw": 0, "label": "noise as recorded, ±1 SD"}
    axis.axhspan(-settings.noise, settings.noise, **noise)
    axis.axhline(0, color="black", lw=0.5)
    for when, look, label in ((seconds, "-", "response to a lone event"), (frames, "o", "frames")):
        height = settings.cnr * event_response(when, duration, shape)
        axis.plot(when, height, look, ms=4, color=RESPONSE_COLOR, label=label)
    place = {"textcoords": "offset points", "xytext": (0, 4), "ha": "center"}
    axis.annotate(f"peak at {peak:.1f} s", (peak, settings.cnr), **place)
    next_event = steps(brain.protocol)[0].seconds
    axis.axvline(next_event, color="black", lw=0.8, ls=":", label="next event begins")
    axis.set(
        xlabel="seconds after the event's onset",
        ylabel="signal where the pattern is 1\n(SDs of the full-strength noise)",
        title=f"{brain.protocol.name}: {duration:g} s events, a frame every {timing.tr:g} s",
        xlim=(0, max(end, next_event + 1)),
        ylim=(None, 1.15 * max(settings.cnr, settings.noise)),
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="best", facecolor="white", edgecolor="none", framealpha=0.9)
    return figure


def _facing_right_front_up(brain: Brain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return template, region and affine with axes to the right, the front and upwards."""
    from nibabel import Nifti1Image, as_closest_canonical

    inside = np.zeros(brain.subject.shape, np.uint8)
    inside[brain.region.index] = 1
    template, region = (
        as_closest_canonical(Nifti1Image(data, brain.subject.affine))
        for data in (brain.subject.template, inside)
    )
    return template.get_fdata(), np.asarray(region.dataobj), template.affine


def _fullest(inside: np.ndarray, axis: int) -> int:
    """Return the slice along an axis with most of the region; of several the most central."""
    counts = inside.sum(axis=tuple(each for each in range(3) if each != axis), dtype=int)
    fullest = np.flatnonzero(counts == counts.max())
    return int(fullest[(len(fullest) - 1) // 2])


def save(figure: Figure, path: str | os.PathLike) -> None:
    """Write a figure as a .png, .svg or .pdf file; the same figure gives the same bytes."""
    with written_file(path) as temporary:
        render(figure, temporary, os.path.splitext(path)[1])


def render(figure: Figure, target: Any, ending: str) -> None:
    """Write a figure to a path or binary file, in the format that files of this ending have."""
    with matplotlib.rc_context({"svg.hashsalt": "bciigl"}), warnings.catch_warnings():
        # An option may be written in letters that matplotlib's font lacks: it draws boxes then.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        look = {"facecolor": figure.get_facecolor(), "metadata": UNDATED[ending]}
        figure.savefig(target, format=ending.lstrip("."), **look)
