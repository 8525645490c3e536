"""Volumes in DICOM files: Siemens mosaics, one slice a file, and enhanced multi-frame files."""

import io
import math
import warnings

import numpy as np
from pydicom import dcmread
from pydicom.dataset import Dataset

from bciigl.source.dicom_elements import (
    describe,
    number,
    placement,
    private,
    read_pixels,
    rescaled,
    texts,
    whole_number,
)
from bciigl.source.dicom_frames import read_frames
from bciigl.source.slices import Slice, SliceCollector, patient_affine
from bciigl.source.volumes import Volume, VolumeError

# Odd values in elements that are not needed; and nibabel says that its reader may change.
warnings.filterwarnings("ignore", module="pydicom")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nibabel.nicom import csareader

# A transfer syntax that may hold any amount in a few bytes.
_DEFLATED = b"1.2.840.10008.1.2.1.99"


class DicomReader:
    """Reads DICOM files; keeps slices until their volume is whole."""

    def __init__(self) -> None:
        self._slices = SliceCollector()

    def read(self, content: bytes) -> list[Volume]:
        """Return the volumes that a file completes, given the bytes of the file."""
        if _DEFLATED in content[:4096]:
            raise VolumeError("is compressed (deflated); export it uncompressed")
        try:
            with np.errstate(all="ignore"):  # results are checked
                dataset = dcmread(io.BytesIO(content))
                if "PixelData" not in dataset:
                    raise VolumeError("has no image, or is truncated")
                if "PerFrameFunctionalGroupsSequence" in dataset:
                    return read_frames(dataset)
                # Checked second: Siemens' enhanced files keep the name of the mosaic they were.
                if "MOSAIC" in texts(dataset, "ImageType"):
                    return [_read_mosaic(dataset)]
                return self._slices.add(_read_slice(dataset))
        except VolumeError:
            raise
        except Exception as error:  # whatever pydicom raises for files that make no sense
            # Not its text, which may quote the header: names of people are there.
            raise VolumeError(f"cannot be read as DICOM ({type(error).__name__})") from error


def _read_mosaic(dataset: Dataset) -> Volume:
    """Return the volume of a Siemens mosaic: its slices are tiles of one large image."""
    tiles, normal = _mosaic_layout(dataset)
    pixels = read_pixels(dataset)[0]
    side = math.ceil(math.sqrt(tiles))
    rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
    if pixels.shape != (rows * side, columns * side) or 0 in (rows, columns):
        size = f"{pixels.shape[1]} x {pixels.shape[0]} pixels"
        raise VolumeError(f"its mosaic of {size} cannot have {side} x {side} tiles")
    planes = pixels.reshape(side, rows, side, columns).swapaxes(1, 2).reshape(-1, rows, columns)
    if planes[tiles:].any():
        raise VolumeError(f"its mosaic has more than the {tiles} tiles its header says")
    orientation, spacing, position = placement(dataset)
    across = np.cross(orientation[:3], orientation[3:])
    gap = number(dataset, "SpacingBetweenSlices") or number(dataset, "SliceThickness") or 0.0
    if gap <= 0:
        raise VolumeError("its header does not say how far slices are from each other")
    along = 1.0 if normal is None else float(normal @ across)
    if not math.isclose(abs(along), 1, abs_tol=0.01):
        raise VolumeError("its slices follow each other in another direction than their normal")
    step = across * math.copysign(gap, along)
    # The position is that of a slice as large as the mosaic, around the same centre.
    margin = (np.array(pixels.shape) - (rows, columns)) / 2 * spacing
    position = position + orientation[:3] * margin[1] + orientation[3:] * margin[0]
    which = whole_number(dataset, "AcquisitionNumber")
    if which is None:
        which = whole_number(dataset, "InstanceNumber")
    return describe(dataset)._replace(
        data=rescaled(dataset, planes[:tiles].transpose(2, 1, 0)),
        affine=patient_affine(orientation, spacing, step, position),
        number=which,
    )


def _mosaic_layout(dataset: Dataset) -> tuple[int, np.ndarray | None]:
    """Return how many tiles a mosaic has, and the direction in which they follow each other."""
    tiles = private(dataset, 0x0019, "SIEMENS MR HEADER", 0x0A)
    csa = csareader.get_csa_header(dataset)
    said = {
        int(each)
        for each in (tiles, csa and csareader.get_scalar(csa, "NumberOfImagesInMosaic"))
        if each is not None
    }
    if len(said) != 1 or not 0 < min(said) <= 10_000:
        raise VolumeError("its header does not say how many tiles the mosaic has")
    return said.pop(), csa and csareader.get_vector(csa, "SliceNormalVector", 3)


def _read_slice(dataset: Dataset) -> Slice:
    """Return one slice of a volume."""
    orientation, spacing, position = placement(dataset)
    frames = read_pixels(dataset)
    if len(frames) != 1:
        raise VolumeError(f"has {len(frames)} frames, and nothing says where they are")
    return Slice(
        pixels=rescaled(dataset, frames[0]),
        orientation=orientation,
        spacing=spacing,
        position=position,
        time_point=whole_number(dataset, "TemporalPositionIdentifier"),
        instance=whole_number(dataset, "InstanceNumber"),
        acquisition=whole_number(dataset, "AcquisitionNumber"),
        claimed=_claimed_slices(dataset),
        uid=str(dataset.SOPInstanceUID),
        volume=describe(dataset),
    )


def _claimed_slices(dataset: Dataset) -> int | None:
    """Return how many slices a volume has, where the header leaves no doubt.

    Philips and GE say it in private elements. ImagesInAcquisition may count the slices of one
    volume or of all. Where these contradict each other, as with interpolated slices, it is None.
    """
    vendors = [
        private(dataset, 0x2001, "Philips Imaging DD 001", 0x18),
        private(dataset, 0x0021, "GEMS_RELA_01", 0x4F),
    ]
    said = {int(each) for each in vendors if each}
    images = whole_number(dataset, "ImagesInAcquisition")
    volumes = whole_number(dataset, "NumberOfTemporalPositions")
    if said and images:
        said = {each for each in said if images in (each, each * (volumes or 1))}
    elif images and volumes and images % volumes and images < 500:
        said = {images}
    return said.pop() if len(said) == 1 else None
