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

    Attributes
    ----------
    voxels : int array (n, 3)
        Indices on the subject's grid, last axis fastest.
    affine : array (4, 4)
        From those indices to mm.
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
        """Return values as a small image around the region, and that image's affine.

        Parameters
        ----------
        values : array (n,) or (frames, n)
            A value per voxel, or one per frame and voxel.

        Returns
        -------
        image : array (x, y, z) or (x, y, z, frames)
            0 where the box holds voxels that are not of the region.
        affine : array (4, 4)
            From the image's indices to mm, so that it opens in its place in the head.
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
    """Return the voxels of a protocol's region.

    A cube of even size has its centre at the lower of the two middle voxels, as in fmrisim: centre
    14 and size 4 are voxels 13 to 16.

    Parameters
    ----------
    wanted : Cube, Sphere or Mask
        ``protocol.brain.region``.
    subject : Subject
        Whose brain.
    folder : path-like
        What the path of a mask file is relative to: the protocol's folder.

    Raises
    ------
    RegionError
        If any voxel lies outside the subject's brain mask, or the mask file does not fit.
    """
    if isinstance(wanted, Mask):
        voxels = _masked(Path(folder) / wanted.file, subject)
    else:
        offsets = _ball(wanted, subject) if isinstance(wanted, Sphere) else _block(wanted.size)
        voxels = np.asarray(wanted.center) + offsets
    outside = ~_in_brain(voxels, subject)
    if outside.any():
        raise RegionError(
            f"{outside.sum()} of {len(voxels)} voxels lie outside the brain of subject "
            f"{subject.name}, such as {voxels[outside][0].tolist()}; {_remedy(wanted, subject)}",
            "file" if isinstance(wanted, Mask) else "center",
        )
    return Region(voxels, subject.affine)


def _block(size: int) -> np.ndarray:
    first = -((size - 1) // 2)
    return np.argwhere(np.ones((size,) * 3)) + first


def _ball(sphere: Sphere, subject: Subject) -> np.ndarray:
    reach = np.ceil(sphere.radius / subject.voxel_size).astype(int)
    offsets = np.argwhere(np.ones(2 * reach + 1)) - reach
    distance = np.linalg.norm(offsets @ subject.affine[:3, :3].T, axis=1)
    return offsets[distance <= sphere.radius + 1e-9]


def _masked(path: Path, subject: Subject) -> np.ndarray:
    voxels = np.argwhere(read_mask(path, subject.shape, subject.affine, "the subject's template"))
    if not len(voxels):
        raise RegionError(f"{path}: is empty: all voxels are 0", "file")
    return voxels


def _in_brain(voxels: np.ndarray, subject: Subject) -> np.ndarray:
    on_grid = ((voxels >= 0) & (voxels < subject.shape)).all(axis=1)
    inside = np.zeros(len(voxels), bool)
    inside[on_grid] = subject.mask[tuple(voxels[on_grid].T)]
    return inside


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
