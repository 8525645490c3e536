"""Elements of DICOM headers and pixels, checked: what a file says, or why it cannot be used."""

import math
import re
from typing import Any, Protocol

import numpy as np
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from bciigl.base.errors import printable
from bciigl.source.volumes import Volume, VolumeError

# Transfer syntaxes whose pixels are plain numbers: implicit, explicit, explicit big-endian.
_BIG_ENDIAN = "1.2.840.10008.1.2.2"
_PLAIN = {"1.2.840.10008.1.2", "1.2.840.10008.1.2.1", _BIG_ENDIAN}
# How image types call what is not the magnitude.
_COMPONENTS = {"P": "phase", "PHASE": "phase", "PHASE MAP": "phase"}
_COMPONENTS |= {"R": "real", "REAL": "real", "I": "imaginary", "IMAGINARY": "imaginary"}
# When an image was measured; at least, when it was computed.
_TIMES = ("AcquisitionTime", "AcquisitionDateTime", "ContentTime")


class Elements(Protocol):
    """What elements are looked up in by keyword: a file, or one of its frames."""

    def get(self, keyword: str, /) -> Any:
        """Return the value of an element, None if it is absent."""


def describe(dataset: Dataset) -> Volume:
    """Return what a header says about a volume, without voxels, affine and number."""
    series = str(dataset.get("SeriesInstanceUID") or "")
    if not series:
        raise VolumeError("has no SeriesInstanceUID")
    if (echo := whole_number(dataset, "EchoNumbers")) and echo > 1:
        series += f" echo {echo}"
    if part := component(dataset, "ImageType"):
        series += f" {part}"
    tr = number(dataset, "RepetitionTime")
    # GE leaves a pause between volumes out of the repetition time.
    pause = private(dataset, 0x0043, "GEMS_PARM_01", 0x7C)
    pause = float(pause) if isinstance(pause, int | float) and 0 <= pause < 60 else 0.0
    return Volume(
        data=np.empty((0, 0, 0), np.float32),
        affine=np.eye(4),
        number=None,
        series=series,
        description=" ".join(texts(dataset, "SeriesDescription") or texts(dataset, "ProtocolName")),
        tr=tr / 1000 + pause if tr else None,
        acquired=next((clock(dataset.get(each)) for each in _TIMES if dataset.get(each)), None),
        offset=None,
    )


def component(dataset: Elements, types: str) -> str:
    """Return ``"phase"``, ``"real"`` or ``"imaginary"``; empty for the magnitude.

    `types` is the keyword of the image's or frame's types.
    """
    names = texts(dataset, "ComplexImageComponent") + texts(dataset, types)[2:4]
    return next((_COMPONENTS[each] for each in names if each in _COMPONENTS), "")


def read_pixels(dataset: Dataset) -> np.ndarray:
    """Return the stored numbers of all frames, (frames, rows, columns)."""
    syntax = dataset.file_meta.TransferSyntaxUID
    if syntax not in _PLAIN:
        name = printable(syntax.name)
        raise VolumeError(f"its pixels are compressed ({name}); export them uncompressed")
    bits, samples = whole_number(dataset, "BitsAllocated"), whole_number(dataset, "SamplesPerPixel")
    if bits not in (8, 16, 32) or samples not in (None, 1):
        raise VolumeError(f"should have 16 bits and one sample a pixel, got {bits} and {samples}")
    order = ">" if syntax == _BIG_ENDIAN else "<"
    kind = "i" if whole_number(dataset, "PixelRepresentation") else "u"
    shape = (
        whole_number(dataset, "NumberOfFrames") or 1,
        whole_number(dataset, "Rows") or 0,
        whole_number(dataset, "Columns") or 0,
    )
    expected, found = math.prod(shape) * bits // 8, len(dataset.PixelData)
    if min(shape) < 1 or found not in (expected, expected + expected % 2):
        size = f"{shape[2]} x {shape[1]} pixels in {shape[0]} frames"
        raise VolumeError(f"is truncated or damaged: {size} in {found} bytes, not {expected}")
    pixels = np.frombuffer(dataset.PixelData, f"{order}{kind}{bits // 8}", math.prod(shape))
    return pixels.reshape(shape)


def rescaled(dataset: Elements, pixels: np.ndarray) -> np.ndarray:
    """Return stored numbers in the scanner's units."""
    slope, intercept = number(dataset, "RescaleSlope"), number(dataset, "RescaleIntercept")
    if slope == 0:
        raise VolumeError("its RescaleSlope is 0")
    values = pixels.astype(np.float32)
    values *= np.float32(1 if slope is None else slope)
    values += np.float32(intercept or 0)
    return values


def placement(dataset: Elements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the orientation, spacing and position of an image, as in `Slice`."""
    orientation = vector(dataset, "ImageOrientationPatient", 6)
    row, column = orientation[:3], orientation[3:]
    products = [row @ row, column @ column, row @ column]
    if not np.allclose(products, [1, 1, 0], atol=1e-3):
        raise VolumeError("its ImageOrientationPatient is not two directions at a right angle")
    spacing = vector(dataset, "PixelSpacing", 2)
    if spacing.min() <= 0:
        raise VolumeError(f"PixelSpacing: should be positive, got {spacing}")
    return orientation, spacing, vector(dataset, "ImagePositionPatient", 3)


def vector(dataset: Elements, keyword: str, length: int) -> np.ndarray:
    """Return an element that is a list of numbers."""
    value = dataset.get(keyword)
    values = np.array([] if value is None else value, float).ravel()
    if len(values) != length or not np.isfinite(values).all():
        raise VolumeError(f"{keyword}: should be {length} numbers, got {len(values)}")
    return values


def number(dataset: Elements, keyword: str) -> float | None:
    """Return the first number of an element, None if it is absent or empty."""
    value = dataset.get(keyword)
    if isinstance(value, MultiValue):
        value = value[0] if len(value) else None
    if value is None or value == "":
        return None
    if not math.isfinite(value := float(value)):
        raise VolumeError(f"{keyword}: should be a number, got {value}")
    return value


def whole_number(dataset: Elements, keyword: str) -> int | None:
    """Return the first number of an element as an integer, None if it is absent or empty."""
    value = number(dataset, keyword)
    return None if value is None else int(value)


def texts(dataset: Elements, keyword: str) -> list[str]:
    """Return the texts of an element; empty if it is absent."""
    value = dataset.get(keyword)
    if value is None or isinstance(value, str):
        return [value] if value else []
    return [str(each) for each in value]


def clock(value: object) -> float | None:
    """Return a DICOM time, or the time of a date with time, in seconds since midnight."""
    match = re.fullmatch(r"(?:\d{8})?(\d\d):?(\d\d)?:?(\d\d(?:\.\d+)?)?([+-]\d{4})?", str(value))
    if match is None:
        return None
    hours, minutes, seconds = (float(match[place] or 0) for place in (1, 2, 3))
    if hours >= 24 or minutes >= 60 or seconds > 60:
        return None
    return hours * 3600 + minutes * 60 + seconds


def private(dataset: Dataset, group: int, creator: str, element: int) -> Any:
    """Return the first value of a vendor's private element, None if it is absent."""
    try:
        value = dataset.private_block(group, creator)[element].value
    except KeyError:
        return None
    if isinstance(value, MultiValue):
        value = value[0] if len(value) else None
    return value
