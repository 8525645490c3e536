"""The experiment's region in a participant's own space, on the grid of a reference volume."""

import os
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from bciigl.base.errors import BciiglError
from bciigl.brain.atlas import on_grid
from bciigl.brain.images import Image, read_image, read_mask
from bciigl.brain.region import Region
from bciigl.brain.registration import Fit, brain_mask, register
from bciigl.brain.subject import Subject

MOST_LOST = 0.1
"""Share of a region's voxels outside the brain that is not worth a warning."""

_SUBVOXELS = 4  # along each axis, to tell how much of a voxel the region fills


class OwnRegionError(BciiglError):
    """A region that a participant's reference volume does not hold."""


class OwnRegion(NamedTuple):
    """A region on a reference's grid, and what is known about it."""

    inside: np.ndarray  # bool (x, y, z)
    facts: dict[str, Any]  # plain data, without any name or path of the participant
    fit: Fit | None = None  # of the subject's template; None for a mask that the user brings


def fit_region(
    region: Region, subject: Subject, reference: Image, method: str = "affine"
) -> OwnRegion:
    """Move a subject's region into a participant's head.

    Parameters
    ----------
    region : Region
        On the subject's grid.
    subject : Subject
        Its template is fitted to the reference by `bciigl.brain.registration.register`.
    reference : Image
        A volume of the participant, (x, y, z).
    method : str
        ``"affine"`` or ``"rigid"``.
    """
    fit = register(subject, reference, method)
    moved = move_region(region, fit.matrix, reference)
    on_field = ((moved >= 0) & (moved < reference.data.shape)).all(axis=1)
    inside = np.zeros(reference.data.shape, bool)
    inside[tuple(moved[on_field].T)] = True
    inside &= brain_mask(reference.data)
    _refuse_most_outside(int(inside.sum()), len(moved), int((~on_field).sum()))
    facts = _facts(method, inside, len(moved), reference)
    if subject.registration is not None:
        to_mni = subject.registration @ np.linalg.inv(fit.matrix @ subject.affine)
        facts["center_mni"] = _rounded(to_mni @ [*facts["center_mm"], 1])
    facts |= {
        "subject": subject.name,
        "dice": round(fit.dice, 3),
        "correlation": round(fit.correlation, 3),
        "matrix": fit.matrix.round(6).tolist(),
        "warnings": facts["warnings"] + fit.problems(),
    }
    return OwnRegion(inside, facts, fit)


def bring_region(path: str | os.PathLike, reference: Image) -> OwnRegion:
    """Take the region that a user drew in a participant's own space; nothing is left out of it.

    Parameters
    ----------
    path : path-like
        A NIfTI file of 0 and one other value. It may be on another grid than the reference: then
        each of the reference's voxels gets the value of the nearest one.
    reference : Image
        A volume of the participant, (x, y, z).
    """
    image = read_image(path)
    mask = read_mask(path, image.data.shape[:3], image.affine, "a volume")
    if not mask.any():
        raise OwnRegionError(f"{path}: is empty: all voxels are 0")
    inside = on_grid(image._replace(data=mask), 1, reference.data.shape, reference.affine)
    if not inside.any():
        message = "has no voxel on the reference's grid: is it in the participant's own space?"
        raise OwnRegionError(f"{path}: {message}")
    in_brain = int((inside & brain_mask(reference.data)).sum())
    _refuse_most_outside(in_brain, int(inside.sum()), 0)
    facts = _facts("mask", inside, int(inside.sum()), reference)
    if outside := facts["voxels"] - in_brain:
        words = f"{outside} of {facts['voxels']} voxels of the mask are not in the brain"
        facts["warnings"].append(f"{words}, by their intensity")
    return OwnRegion(inside, facts)


def move_region(region: Region, matrix: np.ndarray, reference: Image) -> np.ndarray:
    """Return the reference's voxels that a moved region fills most, (n, 3).

    There are as many as have the moved region's volume: an affine `matrix` (from the region's mm to
    the reference's, (4, 4)) scales it as it does the head. They may lie outside the grid.
    """
    inside, affine = region.box(np.ones(len(region)))
    to_region = np.linalg.inv(matrix @ affine) @ reference.affine
    count = max(round(len(region) / abs(np.linalg.det(to_region[:3, :3]))), 1)
    corners = np.argwhere(np.ones((2, 2, 2))) * inside.shape - 0.5
    places = np.linalg.inv(to_region)[:3] @ np.c_[corners, np.ones(8)].T
    first = np.floor(places.min(axis=1)).astype(int) - 1
    shape = np.ceil(places.max(axis=1)).astype(int) + 2 - first
    filled = np.zeros(shape)
    steps = (np.arange(_SUBVOXELS) + 0.5) / _SUBVOXELS - 0.5
    for step in np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3):
        offset = to_region[:3, :3] @ (first + step) + to_region[:3, 3]
        filled += ndimage.affine_transform(
            inside, to_region[:3, :3], offset, tuple(shape), order=0, mode="grid-constant"
        )
    voxels = np.argwhere(filled)
    share = filled[tuple(voxels.T)]
    # Of voxels that are filled alike, those near the middle are taken.
    distance = np.linalg.norm(voxels - share @ voxels / share.sum(), axis=1).round(6)
    return first + voxels[np.sort(np.lexsort((distance, -share))[:count])]


def _refuse_most_outside(left: int, voxels: int, off_field: int) -> None:
    if 2 * left < voxels:
        outside = f"{off_field} are outside the field of view, " if off_field else ""
        raise OwnRegionError(
            f"{left} of the region's {voxels} voxels lie in the participant's brain, but at least "
            f"half of them should ({outside}{voxels - left - off_field} have no signal): does the "
            "reference show that part of the head, and its header say where the head lies?"
        )


def _facts(method: str, inside: np.ndarray, voxels: int, reference: Image) -> dict[str, Any]:
    """Return how large a region with this number of voxels is in the brain, and where."""
    left, affine = int(inside.sum()), reference.affine
    middle = np.argwhere(inside).mean(axis=0)
    lost, warnings = voxels - left, []
    if lost > MOST_LOST * voxels:
        warnings.append(f"{lost} of the region's {voxels} voxels are not in the brain: left out")
    return {
        "method": method,
        "voxels": left,
        "mm3": round(left * abs(float(np.linalg.det(affine[:3, :3]))), 1),
        "center_mm": _rounded(affine @ [*middle, 1]),
        "center_mni": None,
        "left_out": lost,
        "subject": None,
        "dice": None,
        "correlation": None,
        "matrix": None,
        "warnings": warnings,
    }


def _rounded(place: np.ndarray) -> list[float]:
    return (place[:3].round(1) + 0.0).tolist()
