"""Read and write NIfTI images, with errors that say what is wrong with the file."""

import gzip
import math
import os
import warnings
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import nibabel
import numpy as np

from bciigl.base.errors import BciiglError, printable
from bciigl.base.files import written_file


class ImageError(BciiglError):
    """An image file that cannot be used."""


class Image(NamedTuple):
    """The content of a NIfTI file."""

    data: np.ndarray  # (x, y, z) or (x, y, z, time)
    affine: np.ndarray  # from voxel indices to mm, (4, 4)
    tr: float | None  # seconds from one volume to the next; None where the file does not say


def voxel_size(affine: np.ndarray) -> np.ndarray:
    """Return the edge lengths of a voxel in mm, (3,)."""
    return np.linalg.norm(affine[:3, :3], axis=0)


def dimensions(shape: tuple[int, ...]) -> str:
    """Return a shape in words, such as ``"53 x 63 x 46"``."""
    return " x ".join(map(str, shape))


def read_image(path: str | os.PathLike, *, as_stored: bool = False) -> Image:
    """Return the image in a NIfTI file; `ImageError` if it is broken or holds no real numbers.

    Its values are floats, or `as_stored`: of the type in the file, as is enough for labels.
    """
    path = Path(path)
    if not path.is_file():
        raise ImageError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
    try:
        # Labels pack tightly, and take no more memory than they do unpacked.
        size = _unpacked_size(path, 1e9 if as_stored else 64e6)
        image = nibabel.load(path)
        if not isinstance(image, nibabel.Nifti1Pair):
            raise ImageError(f"{path}: should be a NIfTI image, got {type(image).__name__}")
        if np.issubdtype(image.get_data_dtype(), np.complexfloating):
            raise ImageError(f"{path}: holds complex numbers; save its magnitude")
        needed = math.prod(image.shape) * image.get_data_dtype().itemsize
        if needed == 0:
            raise ImageError(f"{path}: has no voxels ({dimensions(image.shape)})")
        stored: Any = image.dataobj  # an array proxy, as in all images that were read
        if stored.offset + needed > size:
            raise EOFError(f"{size} bytes cannot hold {dimensions(image.shape)} voxels")
        data = np.asarray(stored, dtype=None if as_stored else float)
        tr = _repetition_time(image.header)
    except ImageError:
        raise
    except (EOFError, zlib.error, OSError) as error:
        reason = printable(getattr(error, "strerror", None) or str(error))
        message = f"is truncated or damaged ({reason}); copy it again"
        if "Not a gzipped file" in str(error):
            message = "cannot be read: ends in .gz but is no gzip file"
        raise ImageError(f"{path}: {message}") from error
    except Exception as error:  # whatever nibabel raises for headers that make no sense
        message = f"cannot be read as a NIfTI image: {printable(str(error))}"
        raise ImageError(f"{path}: {message}") from error
    if not np.isfinite(image.affine).all() or abs(np.linalg.det(image.affine[:3, :3])) < 1e-9:
        raise ImageError(f"{path}: its affine does not map voxels to mm")
    return Image(data, image.affine, tr)


def read_mask(
    path: str | os.PathLike, shape: tuple[int, ...], affine: np.ndarray, of: str
) -> np.ndarray:
    """Return where a NIfTI file of 0 and one other value is not 0, (x, y, z).

    It must be on the grid `of` something, as errors call it, with that shape and affine.
    """
    image = read_image(path)
    data = image.data[..., 0] if image.data.shape[3:] == (1,) else image.data
    problem = None
    if data.shape != tuple(shape):
        got = f"{dimensions(shape)} voxels, got {dimensions(data.shape)}"
        problem = f"should be on the grid of {of}, {got}; resample it"
    elif not np.allclose(image.affine, affine, atol=0.01):
        effect = "so its voxels may be elsewhere in the head"
        problem = f"has another affine than {of}, {effect}; resample it"
    elif len(values := np.unique(data[data != 0])) > 1 or np.isnan(values).any():
        got = f"got {values[0]:g} to {values[-1]:g}; threshold it, or choose one label"
        problem = f"should hold 0 and one other value, {got}"
    if problem:
        raise ImageError(f"{path}: {problem}")
    return data != 0


def write_image(
    path: str | os.PathLike, data: np.ndarray, affine: np.ndarray, tr: float | None = None
) -> None:
    """Write values, in the type they have, so that a viewer opens them in the right place."""
    image = nibabel.Nifti1Image(data, affine)
    image.header.set_xyzt_units("mm", "sec")
    if tr is not None:
        image.header.set_zooms((*image.header.get_zooms()[:3], tr))
    with written_file(path) as temporary:
        nibabel.save(image, temporary)


def _unpacked_size(path: Path, large: float) -> int:
    """Return how many bytes a file holds, unpacked; an error if a gzip file is not whole."""
    size = packed = path.stat().st_size
    if path.suffix == ".gz":
        size = 0
        with gzip.open(path) as file:  # to its end, where the checksum is: nibabel stops before it
            while piece := file.read(1 << 24):
                size += len(piece)
                # Large, and packed as no image can be.
                if size > max(large, 200 * packed):
                    raise ImageError(f"{path}: is packed too tightly to be an image")
    if size > 4e9:
        raise ImageError(f"{path}: is larger than 4 GB")
    return size


def _repetition_time(header: Any) -> float | None:
    zooms = header.get_zooms()
    if len(zooms) < 4 or not np.isfinite(zooms[3]) or zooms[3] <= 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unit = header.get_xyzt_units()[1]
    # Rounded: the header keeps 32 bits, so 1.4 would read as 1.39999998.
    return round(float(zooms[3]) * {"msec": 1e-3, "usec": 1e-6}.get(unit, 1.0), 6)
