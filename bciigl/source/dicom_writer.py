"""Volumes of the simulated scanner as Siemens mosaics, which every DICOM reader of fMRI knows."""

import io
import math
import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

import bciigl
from bciigl.base.errors import BciiglError, needs
from bciigl.source.volumes import write_whole

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

# Of the 16 bits half are for what is expected, so that noise and motion hardly ever go beyond.
_EXPECTED = 32767
# Types of entries in Siemens' private header, with their numbers there.
_SYNGO = {"FD": 4, "IS": 6, "SH": 22, "US": 10}


def mosaic_slope(largest: float) -> float:
    """Return the step between stored values: a power of two, so that scaling loses nothing.

    It is the smallest with which the `largest` expected value fits into half of 16 bits, but at
    least 2**-14, which a DICOM header can still write exactly.
    """
    if not (math.isfinite(largest) and largest > 0):
        raise BciiglError(f"the largest value of a volume should be positive, got {largest}")
    return 2.0 ** max(-14, math.ceil(math.log2(largest / _EXPECTED)))


class MosaicWriter:
    """Writes the volumes of one series.

    Values are rounded to multiples of `slope`, so by at most ``slope / 2``. Values below 0 become
    0 and values above ``65535 * slope`` become that, as in a scanner's own images. A reader finds
    the array in the same order and with the same affine as it was given.

    Parameters
    ----------
    shape : tuple of int, (3,)
        How many voxels a volume has along each axis.
    affine : array, (4, 4)
        From voxel indices to mm. Its axes must be at right angles.
    tr : float
        Seconds from one volume to the next.
    description : str
        What the series is called.
    slope : float
        The step between stored values; see `mosaic_slope`.
    identity : str, optional
        Series of the same identity have the same SeriesInstanceUID. By default it is a new one.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        affine: np.ndarray,
        tr: float,
        *,
        description: str,
        slope: float,
        identity: str | None = None,
    ) -> None:
        try:
            from pydicom.uid import generate_uid
        except ModuleNotFoundError as error:
            raise needs("writing DICOM", "pydicom", "live") from error
        self._shape, self._slope = tuple(shape), slope
        self._side = math.ceil(math.sqrt(shape[2]))
        self.series = generate_uid(entropy_srcs=None if identity is None else [identity])
        self._dataset = self._template(np.asarray(affine, float), tr, description)

    def write(
        self, path: str | os.PathLike, data: np.ndarray, number: int, acquired: float
    ) -> None:
        """Write a volume; the file appears under its name when it is whole.

        Parameters
        ----------
        path : path-like
            The file, usually ending in ``.dcm``.
        data : array, (x, y, z)
            Of the shape given before.
        number : int
            Which volume of the series it is, from 1.
        acquired : float
            When its acquisition began, in seconds since midnight.
        """
        from pydicom.uid import generate_uid

        dataset = self._dataset
        dataset.SOPInstanceUID = generate_uid(entropy_srcs=[self.series, str(number)])
        dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
        dataset.InstanceNumber = dataset.AcquisitionNumber = int(number)
        dataset.AcquisitionTime = dataset.ContentTime = _clock(acquired)
        dataset.PixelData = self._mosaic(data).tobytes()
        content = io.BytesIO()
        dataset.save_as(content, enforce_file_format=True)
        write_whole(path, content.getvalue())

    def _mosaic(self, data: np.ndarray) -> np.ndarray:
        """Return the stored values: slices as tiles, row after row."""
        if data.shape != self._shape:
            raise BciiglError(f"a volume should have {self._shape} voxels, got {data.shape}")
        columns, rows, slices = self._shape
        tiles = np.zeros((self._side**2, rows, columns), "<u2")
        values = np.rint(np.asarray(data) / self._slope)
        tiles[:slices] = np.clip(values, 0, 65535).transpose(2, 1, 0)
        return tiles.reshape(self._side, self._side, rows, columns).swapaxes(1, 2)

    def _template(self, affine: np.ndarray, tr: float, description: str) -> "Dataset":
        """Return the header that all volumes share."""
        from pydicom.dataset import Dataset, FileMetaDataset
        from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, generate_uid

        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = MRImageStorage
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        dataset = Dataset()
        dataset.file_meta = meta
        dataset.SpecificCharacterSet = "ISO_IR 192"
        dataset.ImageType = ["ORIGINAL", "PRIMARY", "M", "MB", "ND", "MOSAIC"]
        dataset.SOPClassUID, dataset.Modality = MRImageStorage, "MR"
        # Without this name no reader takes the image for a mosaic.
        dataset.Manufacturer = "SIEMENS"
        dataset.ManufacturerModelName = "simulated by bciigl"
        dataset.SoftwareVersions = f"bciigl {bciigl.__version__}"
        dataset.ImageComments = "simulated by bciigl, not measured"
        dataset.SeriesDescription = dataset.ProtocolName = description.replace("\\", "/")[:64]
        dataset.PatientName = dataset.PatientID = "simulated"
        dataset.PatientBirthDate = dataset.PatientSex = dataset.StudyDate = dataset.StudyTime = ""
        dataset.StudyInstanceUID = generate_uid(entropy_srcs=[self.series, "study"])
        dataset.FrameOfReferenceUID = generate_uid(entropy_srcs=[self.series, "frame"])
        dataset.SeriesInstanceUID = self.series
        dataset.SeriesNumber, dataset.EchoNumbers = 1, 1
        dataset.PatientPosition, dataset.MRAcquisitionType = "HFS", "2D"
        dataset.ScanningSequence, dataset.SequenceVariant = "EP", "SK"
        dataset.RepetitionTime = _decimals(tr * 1000)
        dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
        dataset.Columns, dataset.Rows = (side * self._side for side in self._shape[:2])
        dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 16, 16, 15
        dataset.PixelRepresentation = 0
        dataset.RescaleSlope, dataset.RescaleIntercept = _decimals(self._slope), 0
        self._place(dataset, affine)
        return dataset

    def _place(self, dataset: "Dataset", affine: np.ndarray) -> None:
        """Write where the mosaic and its tiles are, in DICOM's directions: left, back, top."""
        axes, origin = np.diag([-1.0, -1, 1]) @ affine[:3, :3], affine[:3, 3] * [-1, -1, 1]
        sizes = np.linalg.norm(axes, axis=0)
        directions = axes / sizes
        if not np.allclose(directions.T @ directions, np.eye(3), atol=1e-5):
            raise BciiglError("a mosaic needs an affine whose axes are at right angles")
        # The position is that of a slice as large as the mosaic, around the same centre.
        margin = (np.array([dataset.Columns, dataset.Rows]) - self._shape[:2]) / 2
        dataset.ImagePositionPatient = _decimals(*origin - axes[:, :2] @ margin)
        dataset.ImageOrientationPatient = _decimals(*directions[:, 0], *directions[:, 1])
        dataset.PixelSpacing = _decimals(sizes[1], sizes[0])
        dataset.SpacingBetweenSlices = dataset.SliceThickness = _decimals(sizes[2])
        block = dataset.private_block(0x0019, "SIEMENS MR HEADER", create=True)
        block.add_new(0x0A, "US", self._shape[2])
        entries: dict[str, tuple[str, Sequence[object]]] = {
            "NumberOfImagesInMosaic": ("US", [self._shape[2]]),
            "SliceNormalVector": ("FD", [f"{each:.8f}" for each in directions[:, 2]]),
            "ProtocolSliceNumber": ("IS", [0]),
            "AcquisitionMatrixText": ("SH", [f"{self._shape[0]}*{self._shape[1]}"]),
        }
        block = dataset.private_block(0x0029, "SIEMENS CSA HEADER", create=True)
        block.add_new(0x08, "CS", "IMAGE NUM 4")
        block.add_new(0x10, "OB", _csa(entries))


def _csa(entries: Mapping[str, tuple[str, Sequence[object]]]) -> bytes:
    """Return Siemens' private header with these entries: for each name its type and values."""
    parts = [struct.pack("<4s4sII", b"SV10", b"\4\3\2\1", len(entries), 77)]
    for name, (kind, values) in entries.items():
        # Real entries have six texts, of which the last ones are empty.
        texts = [f"{each}\0".encode() for each in values] + [b""] * (6 - len(values))
        head = name.encode(), len(values), kind.encode(), _SYNGO[kind], len(texts), 77
        parts.append(struct.pack("<64si4s3i", *head))
        for text in texts:
            parts.append(struct.pack("<4I", len(text), len(text), 77, len(text)))
            parts.append(text + bytes(-len(text) % 4))
    block = b"".join(parts)
    return block + bytes(len(block) % 2)


def _decimals(*values: float) -> object:
    """Return numbers as DICOM writes them, in at most 16 characters each."""
    from pydicom.valuerep import DSfloat

    numbers = [DSfloat(float(each) + 0.0, auto_format=True) for each in values]
    return numbers if len(numbers) > 1 else numbers[0]


def _clock(seconds: float) -> str:
    """Return seconds since midnight as DICOM writes times."""
    whole, micro = divmod(round(seconds * 1e6) % 86_400_000_000, 1_000_000)
    return f"{whole // 3600:02d}{whole // 60 % 60:02d}{whole % 60:02d}.{micro:06d}"
