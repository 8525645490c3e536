"""Where in the head the signal comes from."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bciigl.brain import Brain
from bciigl.brain.images import Image, voxel_size
from bciigl.brain.own_region import OwnRegion
from bciigl.brain.region import describe, where
from bciigl.report.direct import say
from bciigl.report.drawing import Drawing
from bciigl.report.slices import (
    VIEWS,
    draw_letters,
    draw_outline,
    draw_slice,
    facing_right_front_up,
    fullest,
    outline,
)
from bciigl.report.style import REGION_COLOR, SKY, SMALL, divided, new_figure
from bciigl.report.views import SessionView

HEIGHT = 2.8
CROSS = {"color": "white", "lw": 0.8, "ls": (0, (3, 2))}
GAP = 10.0
"""Millimetres around the region's middle that the crosshair leaves free, at least."""


def region_drawing(brain: Brain) -> Drawing:
    """Return the region on the subject's template as a drawing, with the places of its voxels."""
    region = brain.region
    names = ("i", "j", "k", "x_mm", "y_mm", "z_mm")
    columns = [*region.voxels.T, *region.millimetres.T]
    return Drawing(
        "region",
        region_figure(brain),
        f"The region that is recorded (orange), {_voxels(brain)} around {_place(brain)}, on "
        "three slices of the subject's template, all of one scale. Voxels off a slice are "
        "projected onto it; crosshairs are where the other two slices are. Letters "
        "are left, right, anterior, posterior, superior and inferior.",
        f"{finding(brain)}, marked on three slices of a head.",
        {name: column.tolist() for name, column in zip(names, columns, strict=True)},
    )


def region_figure(brain: Brain) -> Figure:
    """Return three slices of the subject's template through the region."""
    figure = new_figure(HEIGHT)
    _draw(figure.subplots(), brain)
    return figure


def draw_region(ax: Axes, view: SessionView) -> np.ndarray:
    """Draw the region on three slices of the subject's template, with a crosshair through it.

    Returns
    -------
    array of matplotlib.axes.Axes
        The sagittal, the coronal and the axial slice, in the place of `ax`.
    """
    return _draw(ax, view.needed_brain())


class _Head(NamedTuple):
    """An image and a region in it, with axes to the right, the front and upwards."""

    image: np.ndarray
    inside: np.ndarray
    affine: np.ndarray


def _head(brain: Brain) -> _Head:
    inside = np.zeros(brain.subject.shape, np.uint8)
    inside[brain.region.index] = 1
    image, _ = facing_right_front_up(brain.subject.template, brain.subject.affine)
    inside, affine = facing_right_front_up(inside, brain.subject.affine)
    seen = np.argwhere(image > 0.02 * image.max())  # without the air around the head
    first, last = seen.min(axis=0), seen.max(axis=0) + 1
    cut = tuple(slice(*ends) for ends in zip(first, last, strict=True))
    affine = affine.copy()
    affine[:3, 3] += affine[:3, :3] @ first
    return _Head(image[cut], inside[cut], affine)


def _draw(ax: Axes, brain: Brain) -> np.ndarray:
    head = _head(brain)
    size = voxel_size(head.affine)
    middle = [fullest(head.inside, axis) for axis in range(3)]
    extent = size * head.image.shape
    across = extent[[1, 0, 0]]
    axes = divided(ax, 1, 3, width_ratios=across, wspace=0.02)[0]
    tall = extent[1:].max()  # the same in all, so that all have one scale
    for normal, axis in enumerate(axes):
        _draw_panel(axis, head, normal, middle, tall)
    say(axes[0], finding(brain), over=ax)
    return axes


def _draw_panel(axis: Axes, head: _Head, normal: int, middle: list[int], tall: float) -> None:
    """Draw a slice in millimetres from its lower left corner."""
    size = np.delete(voxel_size(head.affine), normal)
    inside = head.inside.max(axis=normal).T
    picture = np.take(head.image, middle[normal], normal).T
    width, height = size * picture.shape[::-1]
    look = {"origin": "lower", "extent": (0, width, 0, height), "interpolation": "nearest"}
    axis.set_facecolor("black")
    most = np.percentile(head.image, 99.8)
    axis.imshow(picture, cmap="gray", vmin=0, vmax=most, **look)
    axis.imshow(np.ma.masked_equal(inside, 0), cmap=ListedColormap([REGION_COLOR]), **look)
    outline(axis, inside > 0, "white", size=size)
    x, y = size * (np.delete(middle, normal) + 0.5)
    free = max(GAP, 0.5 * float((size * np.ptp(np.argwhere(inside.T), axis=0)).max()) + 5)
    axis.plot([0, x - free], [y, y], [x + free, width], [y, y], **CROSS)
    axis.plot([x, x], [0, y - free], [x, x], [y + free, height], **CROSS)
    axis.set(xlim=(0, width), ylim=((height - tall) / 2, (height + tall) / 2))
    axis.set_aspect("equal")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    place = head.affine[normal, :3] @ middle + head.affine[normal, 3]
    axis.set_xlabel(f"{VIEWS[normal][0]} = {round(place) + 0} mm", fontsize=SMALL)
    draw_letters(axis, normal)


def finding(brain: Brain) -> str:
    """Return what the figure shows, without a full stop."""
    facts = describe(brain.region, brain.subject.registration)
    side = ""
    if facts["space"] == "MNI" and abs(facts["mm"][0]) > 5:
        side = f" in the {'left' if facts['mm'][0] < 0 else 'right'} hemisphere"
    return f"The signal comes from {_voxels(brain)}{side}, around {_place(brain)}"


def _voxels(brain: Brain) -> str:
    return f"{len(brain.region)} voxels" if len(brain.region) > 1 else "1 voxel"


def _place(brain: Brain) -> str:
    return where(describe(brain.region, brain.subject.registration))


def own_region_figure(reference: Image, own: OwnRegion) -> Figure:
    """Return slices of a participant's reference volume through the region, to check by eye.

    Below them are the same slices of the fitted template; its brain is outlined on both. A mask
    that the user brought has no template.
    """
    inside, affine = facing_right_front_up(own.inside, reference.affine)
    images, outlines = {"participant": reference.data}, [(inside, REGION_COLOR)]
    words = "orange: the region"
    if own.fit is not None:
        images["template, fitted"] = own.fit.template
        outlines.insert(0, (facing_right_front_up(own.fit.brain, reference.affine)[0], SKY))
        words += "; blue: the fitted template's brain, whose edge should be the participant's"
    middle = [fullest(inside, axis) for axis in range(3)]
    extent = voxel_size(affine) * inside.shape
    figure = new_figure(0.9 + 3.3 * len(images), 9.6)
    figure.set_facecolor("black")
    figure.supxlabel(words, color="white", fontsize=8)
    axes = figure.subplots(len(images), 3, squeeze=False, width_ratios=extent[[1, 0, 0]])
    for row, (what, data) in zip(axes, images.items(), strict=True):
        image, _ = facing_right_front_up(data, reference.affine)
        for normal, axis in enumerate(row):
            draw_slice(axis, image, affine, normal, middle, f"{what}\n")
            for mask, color in outlines:
                draw_outline(axis, mask, normal, middle, color)
    return figure
