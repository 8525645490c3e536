"""The reference volume of a participant: what volumes are realigned to and the region is drawn on.

Only voxels and their places are taken from files: no names, nothing else of their headers.
"""

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.brain.images import Image, dimensions, read_image, voxel_size
from bciigl.source.volumes import Volume, VolumeError, VolumeReader, is_volume_name

_LOG = logging.getLogger("bciigl")

FEWEST_VOXELS = 8
"""Voxels along each axis: anything smaller shows no brain."""
VOXEL_SIZES = (0.2, 15.0)
"""Edge lengths that voxels can have, in mm."""
WIDEST = 800.0
"""Millimetres along an axis: no scanner's field of view is wider."""


class ReferenceVolumeError(BciiglError):
    """Volumes that cannot be a reference."""


def read_reference(path: str | os.PathLike) -> Image:
    """Return the mean volume, (x, y, z), of a file or a folder; its `tr` is None.

    Parameters
    ----------
    path : path-like
        A NIfTI image, 3-D or 4-D, a DICOM file, or a folder of them with one volume or slice a
        file. Of a folder the series with most volumes is taken.
    """
    path = Path(path)
    if path.is_dir():
        data, affine = _mean(path, _volumes(path))
    elif path.name.lower().endswith((".nii", ".nii.gz")) or not path.is_file():
        image = read_image(path, as_stored=True)
        if image.data.dtype.kind not in "biuf" or image.data.ndim not in (3, 4):
            got = f"{image.data.dtype}, {dimensions(image.data.shape)}"
            message = "should hold one volume (x, y, z) or a series of them (x, y, z, time)"
            raise ReferenceVolumeError(f"{path}: {message}, got {got}")
        data = image.data if image.data.ndim == 3 else image.data.mean(axis=3, dtype=float)
        affine = image.affine
        _warn_of_unknown_sides(path)
    else:
        data, affine = _mean(path, VolumeReader().read(path))
    data = np.nan_to_num(np.asarray(data, float), posinf=0.0, neginf=0.0)
    _check(path, data, affine)
    return Image(data, affine, None)


def _warn_of_unknown_sides(path: Path) -> None:
    header: Any = nibabel.load(path).header
    if not (header["sform_code"] or header["qform_code"]):
        words = "its header has no sform and no qform: left and right may be swapped"
        _LOG.warning("%s: %s; check them against another image", path, words)


def _volumes(folder: Path) -> Iterable[Volume]:
    """Give the whole volumes in a folder; what cannot be read is noted."""
    reader, problems, count = VolumeReader(), [], 0
    for path in sorted(each for each in folder.iterdir() if is_volume_name(each.name)):
        try:
            volumes = reader.read(path)
        except VolumeError as error:
            problems.append(str(error))
            continue
        count += len(volumes)
        yield from volumes
    if problems:
        more = f" (and {len(problems) - 1} more such files)" if len(problems) > 1 else ""
        if not count:
            raise ReferenceVolumeError(
                f"{folder}: holds no volume that can be read: {problems[0]}{more}"
            )
        _LOG.warning("left out: %s%s", problems[0], more)


def _mean(path: Path, volumes: Iterable[Volume]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean volume of the series with most volumes, and its affine."""
    sums: dict[tuple, Any] = {}
    counts: dict[tuple, int] = {}
    affines: dict[tuple, np.ndarray] = {}
    for each in volumes:
        # A series may hold several things, such as a map that was computed of its volumes.
        key = each.series, each.data.shape, each.affine.round(2).tobytes()
        sums[key] = sums.get(key, 0.0) + np.asarray(each.data, float)
        counts[key] = counts.get(key, 0) + 1
        affines.setdefault(key, each.affine)
    if not counts:
        message = "holds no whole volume; expected NIfTI or DICOM files with one volume each"
        raise ReferenceVolumeError(f"{path}: {message}, or all slices of one")
    most = max(counts, key=lambda each: counts[each])
    return sums[most] / counts[most], affines[most]


def _check(path: Path, data: np.ndarray, affine: np.ndarray) -> None:
    size = voxel_size(affine)
    edges = " x ".join(f"{edge:.3g}" for edge in size)
    problem = None
    if min(data.shape) < FEWEST_VOXELS:
        least = f"at least {FEWEST_VOXELS} voxels along each axis"
        problem = f"should have {least}, got {dimensions(data.shape)}"
    elif size.min() < VOXEL_SIZES[0] or size.max() > VOXEL_SIZES[1]:
        problem = f"voxels should be {VOXEL_SIZES[0]:g} to {VOXEL_SIZES[1]:g} mm large, got {edges}"
    elif (size * data.shape).max() > WIDEST:
        problem = f"is wider than {WIDEST:g} mm: {dimensions(data.shape)} voxels of {edges} mm"
    elif data.min() == data.max():
        problem = f"shows nothing: all voxels are {data.min():g}"
    if problem:
        raise ReferenceVolumeError(f"{path}: {problem}")
