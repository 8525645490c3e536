"""The recorded region: a set of voxels and their position in the head."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from bciigl.base.errors import BciiglError
from bciigl.brain.atlas import AtlasError, find_label, on_grid, read_atlas, read_names
from bciigl.brain.images import read_mask
from bciigl.brain.subject import Subject
from bciigl.protocol.model import Atlas, Cube, Mask, Sphere


class RegionError(BciiglError):
    """A region that cannot be recorded; `field` is the protocol field to change."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, eq=False)
class Region:
    """The voxels that are recorded.

    `voxels` are indices on the subject's grid, (n, 3), last axis fastest; `affine` (4, 4) maps
    them to mm. Of a label of an atlas, `outside` voxels are not in the brain, and not recorded.
    """

    voxels: np.ndarray
    affine: np.ndarray
    outside: int = 0

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
    wanted: Cube | Sphere | Mask | Atlas, subject: Subject, folder: str | os.PathLike = "."
) -> Region:
    """Return the voxels of a protocol's region; paths in it are relative to `folder`.

    A cube of even size has its centre at the lower of the two middle voxels, as in fmrisim: centre
    14 and size 4 are voxels 13 to 16. Around a place in mm, a cube's middle lies as near to it as
    the grid allows, and a sphere holds the voxels whose centres lie within its radius. A
    `RegionError` is raised if any voxel lies outside the subject's brain mask; those of an atlas
    are left out, unless all do.
    """
    if isinstance(wanted, Mask):
        path = Path(folder) / wanted.file
        mask = read_mask(path, subject.shape, subject.affine, "the subject's template")
        voxels = np.argwhere(mask)
        if not len(voxels):
            raise RegionError(f"{path}: is empty: all voxels are 0", "file")
    elif isinstance(wanted, Atlas):
        voxels = _labelled(wanted, subject, Path(folder))
    elif isinstance(wanted, Sphere):
        voxels = _ball(wanted, subject)
    else:
        first = _nearest(_middle(wanted, subject) - (wanted.size - 1) / 2)
        voxels = first + np.argwhere(np.ones((wanted.size,) * 3))
    outside = np.asarray(((voxels < 0) | (voxels >= subject.shape)).any(axis=1))
    outside[~outside] = ~subject.mask[tuple(voxels[~outside].T)]
    if isinstance(wanted, Atlas) and not outside.all():
        return Region(voxels[~outside], subject.affine, int(outside.sum()))
    if outside.any():
        raise RegionError(
            f"{outside.sum()} of {len(voxels)} voxels lie outside the brain of subject "
            f"{subject.name}, such as {voxels[outside][0].tolist()}; {_remedy(wanted, subject)}",
            _place(wanted),
        )
    return Region(voxels, subject.affine)


def describe(region: Region, registration: np.ndarray | None = None) -> dict[str, Any]:
    """Return how large a region is and where its centre of mass lies, as plain data.

    Parameters
    ----------
    region : Region
        The voxels.
    registration : array, (4, 4), optional
        From voxel indices to MNI mm, as of a `Subject`; without it the mm are those of the
        region's affine: of the recording that the subject comes from.
    """
    middle = region.voxels.mean(axis=0)
    to_mm = region.affine if registration is None else registration
    return {
        "voxels": len(region),
        "mm3": round(len(region) * abs(np.linalg.det(region.affine[:3, :3])), 1),
        "space": "recording" if registration is None else "MNI",
        "mm": ((to_mm @ [*middle, 1])[:3].round(1) + 0.0).tolist(),
        "voxel": _nearest(middle).tolist(),
        "outside": region.outside,
    }


def where(facts: dict[str, Any]) -> str:
    """Return where a region lies, by what `describe` says, such as ``"MNI (-38, -47, 45)"``."""
    place = "({:.0f}, {:.0f}, {:.0f})".format(*(round(each) for each in facts["mm"]))
    return f"MNI {place}" if facts["space"] == "MNI" else f"{place} mm in the recording's space"


def _place(wanted: Cube | Sphere | Mask | Atlas) -> str:
    """Return the field that says where the region is."""
    if isinstance(wanted, Cube | Sphere):
        return "center" if wanted.mni is None else "mni"
    return "file" if isinstance(wanted, Mask) else "label"


def _nearest(places: np.ndarray) -> np.ndarray:
    """Return the voxel nearest to a place between voxels; half-way it is the lower one."""
    return np.ceil(places - 0.5 - 1e-6).astype(int)


def _half(wanted: Cube | Sphere) -> float:
    """Return how far the region's middle is above its centre voxel, along each axis."""
    return 0.5 if isinstance(wanted, Cube) and wanted.size % 2 == 0 else 0.0


def _middle(wanted: Cube | Sphere, subject: Subject) -> np.ndarray:
    """Return the middle of a cube or a sphere on the grid, (3,); it may lie between voxels."""
    if wanted.mni is None:
        return np.asarray(wanted.center) + _half(wanted)
    return np.linalg.solve(subject.mni_affine, [*wanted.mni, 1])[:3]


def _ball(wanted: Sphere, subject: Subject) -> np.ndarray:
    middle = _middle(wanted, subject)
    reach = np.ceil(wanted.radius / subject.voxel_size).astype(int)
    near = np.floor(middle).astype(int) - reach + np.argwhere(np.ones(2 * reach + 2))
    distance = np.linalg.norm((near - middle) @ subject.affine[:3, :3].T, axis=1)
    voxels = near[distance <= wanted.radius + 1e-9]
    if not len(voxels):
        least = np.ceil(10 * distance.min()) / 10
        message = f"has no voxel: the nearest one's centre is {distance.min():.1f} mm away"
        raise RegionError(f"{message}; use {least:g} or more", "radius")
    return voxels


def _labelled(wanted: Atlas, subject: Subject, folder: Path) -> np.ndarray:
    path = folder / wanted.file
    atlas = read_atlas(path)
    if isinstance(wanted.label, int):
        index = wanted.label
    else:
        names = folder / wanted.labels if wanted.labels else _beside(path)
        try:
            listed = read_names(names)
        except AtlasError as error:
            raise RegionError(str(error), "labels") from error
        try:
            index = find_label(wanted.label, listed, names)
        except AtlasError as error:
            raise RegionError(str(error), "label") from error
    voxels = np.argwhere(on_grid(atlas, index, subject.shape, subject.mni_affine))
    if not len(voxels):
        held = np.unique(atlas.data[atlas.data > 0])
        if index in held:
            grid = f"the grid of subject {subject.name}: is it in the same space, and large enough"
            raise RegionError(f"{path}: label {wanted.label!r} has no voxel on {grid}?", "label")
        numbers = f"{held[0]:g} to {held[-1]:g}" if len(held) else "0 only"
        message = f"holds no voxel of label {wanted.label!r}"
        if isinstance(wanted.label, str):
            message += f", number {index} in {names}"
        raise RegionError(f"{path}: {message}; its labels are {numbers}", "label")
    return voxels


def _beside(path: Path) -> Path:
    """Return the list of names beside an atlas."""
    stem = path.name.removesuffix(".gz").removesuffix(".nii")
    places = [path.with_name(stem + ending) for ending in (".tsv", ".txt")]
    for place in places:
        if place.is_file():
            return place
    names = " and no ".join(each.name for each in places)
    message = f"no {names} beside {path}, which would name its labels"
    raise RegionError(f"{message}; give labels: FILE, or the label as a number", "label")


def _remedy(wanted: Cube | Sphere | Mask | Atlas, subject: Subject) -> str:
    """Return what would bring the region into the brain."""
    if isinstance(wanted, Mask):
        return "leave them out of the mask"
    if isinstance(wanted, Atlas):
        return "is the atlas in the same space as the subject?"
    brain = np.pad(subject.mask, 1)  # so that what lies beyond the grid counts as outside
    if isinstance(wanted, Sphere):
        reach = wanted.radius + 0.1 * (wanted.mni is not None)  # mm are told to a tenth
        fits = ndimage.distance_transform_edt(brain, subject.voxel_size) > reach
    else:
        fits = brain
        for axis in range(3):
            origin = -(1 - wanted.size % 2)  # even sizes reach one voxel further up than down
            fits = ndimage.minimum_filter1d(fits, wanted.size, axis, mode="nearest", origin=origin)
    middles = np.argwhere(fits) - 1 + _half(wanted)
    if not len(middles):
        return "no brain voxel is far enough from the edge; make the region smaller"
    nearest = middles[np.argmin(((middles - _middle(wanted, subject)) ** 2).sum(axis=1))]
    if wanted.mni is None:
        return f"the nearest center that fits is {_nearest(nearest).tolist()}"
    place = (subject.mni_affine @ [*nearest, 1])[:3].round(1) + 0.0
    return f"the nearest mni that fits is {place.tolist()}"
