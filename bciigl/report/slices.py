"""Three slices of a head: sagittal, coronal and axial, each with its directions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bciigl.brain.images import voxel_size

VIEWS = [("sagittal, x", "PAIS"), ("coronal, y", "LRIS"), ("axial, z", "LRPA")]
"""Name, and the letters at the left, right, lower and upper edge, by the axis across the slice."""

_EDGES = [(0.03, 0.5), (0.97, 0.5), (0.5, 0.04), (0.5, 0.96)]
_WORDS = {"color": "white", "fontsize": 8}


def facing_right_front_up(data: np.ndarray, affine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an image and its affine with axes to the right, the front and upwards."""
    from nibabel import Nifti1Image, as_closest_canonical

    image = as_closest_canonical(Nifti1Image(data.astype(np.float32), affine))
    return np.asarray(image.dataobj), image.affine


def fullest(inside: np.ndarray, axis: int) -> int:
    """Return the slice along an axis with most of the region; of several the most central."""
    counts = inside.sum(axis=tuple(each for each in range(3) if each != axis), dtype=int)
    found = np.flatnonzero(counts == counts.max())
    return int(found[(len(found) - 1) // 2])


def draw_slice(
    axis: Axes, image: np.ndarray, affine: np.ndarray, normal: int, middle: list[int], what: str
) -> None:
    """Draw the slice of an image across an axis (`normal`), through a voxel in the middle.

    The image's axes point to the right, the front and upwards. The title says `what` it is.
    """
    name = VIEWS[normal][0]
    size = np.delete(voxel_size(affine), normal)
    look = {"cmap": "gray", "vmin": 0, "vmax": np.percentile(image, 99.8)}
    picture = np.take(image, middle[normal], normal).T
    axis.imshow(picture, origin="lower", aspect=size[1] / size[0], **look)
    place = affine[normal, :3] @ middle + affine[normal, 3]
    axis.set_title(f"{what}{name} = {place:.0f} mm", **_WORDS)
    axis.axis("off")
    draw_letters(axis, normal)


def draw_letters(axis: Axes, normal: int) -> None:
    """Write at the edges of a slice across an axis (`normal`) which directions they are."""
    for letter, edge in zip(VIEWS[normal][1], _EDGES, strict=True):
        axis.annotate(letter, edge, xycoords="axes fraction", ha="center", va="center", **_WORDS)


def draw_outline(axis: Axes, mask: np.ndarray, normal: int, middle: list[int], color: str) -> None:
    """Draw the edges of a mask's voxels on a slice that `draw_slice` drew."""
    outline(axis, np.take(mask, middle[normal], normal).T > 0, color, first=-0.5)


def outline(
    axis: Axes, picture: np.ndarray, color: str, *, size: Sequence[float] = (1, 1), first: float = 0
) -> None:
    """Draw the edges of the squares of a picture (rows, columns) that are true.

    `size` is that of a square, across and up, and `first` where the first one begins.
    """
    if picture.any():
        fine = np.kron(np.pad(picture, 1), np.ones((8, 8)))  # contours run between points
        down, across = ((np.arange(points) + 0.5) / 8 - 1 for points in fine.shape)
        places = (first + size[0] * across, first + size[1] * down)
        axis.contour(*places, fine, [0.5], colors=color, linewidths=1)
