"""The recorded region: a set of voxels and their position in the head."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import ndimage

from bciigl.base.errors import BciiglError
from bciigl.brain.images import read_mask
from bciigl.brain.subject import Subject
from bciigl.protocol.model import Cube, Mask, Sphere


class RegionError(BciiglError):
    """A region that cannot be recorded; `field` is the protocol field to change."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, eq=False)
class Region:
    """The voxels that are recorded.

    `voxels` are indices on the subject's grid, (n, 3), last axis fastest; `affine` (4, 4) maps
    them to mm.
    """

    voxels: np.ndarray
    affine: np.ndarray

    def __len__(self) -> int:
        """Return the number of voxels."""
        return len(self.voxels)

    @property
    def index(self) -> tuple[np.ndarray, ...]:
        """Index of the region's voxels in a volume on the subject's grid."""
        return tuple(self.voxels.T)

    @cached_property
    def millimetres(self) -> np.ndarray:
        """Centres of the voxels in mm, (n, 3)."""
        return self.voxels @ self.affine[:3, :3].T + self.affine[:3, 3]

    def box(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values (n,) or (frames, n) as a small image around the region, and its affine.

        The image, (x, y, z) or (x, y, z, frames), is 0 at voxels that are not of the region.
        """
        values = np.asarray(values)
        corner = self.voxels.min(axis=0)
        shape = self.voxels.max(axis=0) - corner + 1
        image = np.zeros((*shape, *values.shape[:-1]), values.dtype)
        image[tuple((self.voxels - corner).T)] = values.T
        affine = self.affine.copy()
        affine[:3, 3] += self.affine[:3, :3] @ corner
        return image, affine


def find_region(
    wanted: Cube | Sphere | Mask, subject: Subject, folder: str | os.PathLike = "."
) -> Region:
    """Return the voxels of a protocol's region; the path of a mask is relative to `folder`.

    A cube of even size has its centre at the lower of the two middle voxels, as in fmrisim: centre
    14 and size 4 are voxels 13 to 16. A `RegionError` is raised if any voxel lies outside the
    subject's brain mask.
    """
    if isinstance(wanted, Mask):
        path = Path(folder) / wanted.file
        mask = read_mask(path, subject.shape, subject.affine, "the subject's template")
        voxels = np.argwhere(mask)
        if not len(voxels):
            raise RegionError(f"{path}: is empty: all voxels are 0", "file")
    elif isinstance(wanted, Sphere):
        reach = np.ceil(wanted.radius / subject.voxel_size).astype(int)
        offsets = np.argwhere(np.ones(2 * reach + 1)) - reach
        distance = np.linalg.norm(offsets @ subject.affine[:3, :3].T, axis=1)
        voxels = np.asarray(wanted.center) + offsets[distance <= wanted.radius + 1e-9]
    else:
        first = np.asarray(wanted.center) - (wanted.size - 1) // 2
        voxels = first + np.argwhere(np.ones((wanted.size,) * 3))
    outside = ((voxels < 0) | (voxels >= subject.shape)).any(axis=1)
    outside[~outside] = ~subject.mask[tuple(voxels[~outside].T)]
    if outside.any():
        raise RegionError(
            f"{outside.sum()} of {len(voxels)} voxels lie outside the brain of subject "
            f"{subject.name}, such as {voxels[outside][0].tolist()}; {_remedy(wanted, subject)}",
            "file" if isinstance(wanted, Mask) else "center",
        )
    return Region(voxels, subject.affine)


def _remedy(wanted: Cube | Sphere | Mask, subject: Subject) -> str:
    """Return what would bring the region into the brain."""
    if isinstance(wanted, Mask):
        return "leave them out of the mask"
    brain = np.pad(subject.mask, 1)  # so that what lies beyond the grid counts as outside
    if isinstance(wanted, Sphere):
        fits = ndimage.distance_transform_edt(brain, subject.voxel_size) > wanted.radius
    else:
        fits = brain
        for axis in range(3):
            origin = -(1 - wanted.size % 2)  # even sizes reach one voxel further up than down
            fits = ndimage.minimum_filter1d(fits, wanted.size, axis, mode="nearest", origin=origin)
    centers = np.argwhere(fits) - 1
    if not len(centers):
        return "no brain voxel is far enough from the edge; make the region smaller"
    nearest = np.argmin(((centers - wanted.center) ** 2).sum(axis=1))
    return f"the nearest center that fits is {centers[nearest].tolist()}"
