"""Single fMRI volumes in files, as scanners export them: NIfTI here, DICOM next door."""

import math
import os
import re
import secrets
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import nibabel
import numpy as np

from bciigl.base.errors import BciiglError, needs, printable
from bciigl.base.files import named_errors
from bciigl.brain.images import dimensions

if TYPE_CHECKING:
    from bciigl.source.dicom import DicomReader

# More than any file of volumes has, packed or not; what claims to be larger is not read.
LARGEST = 1_000_000_000  # bytes

# What lies in a folder of volumes and is none. Scanners' own names may end in anything else, such
# as MR.1.3.12.2 or i123.MRDC.5.
_OTHER_FILES = frozenset(
    "bak bval bvec cfg conf crdownload csv dat db doc docx edf filepart gz h5 hdr htm html img ini "
    "jpeg jpg json lock log mat md md5 npy npz par part partial pdf png ps py rec sh sha256 swp "
    "tar tmp tsv txt xml yaml yml zip".split()
)


class VolumeError(BciiglError):
    """A file that is not a whole, readable volume; perhaps it is still being written."""


class Volume(NamedTuple):
    """One volume and what its file says about it; nothing about the person.

    Attributes
    ----------
    data : array, (x, y, z), float32
        In the scanner's units, with slope and intercept applied.
    affine : array, (4, 4)
        From voxel indices to mm, where x, y and z grow to the right, front and top of the head.
    number : int or None
        Which volume of its series it is, as its header counts (Siemens from 1). NIfTI: the last
        number in the file's name.
    series : str
        SeriesInstanceUID, with ``" echo 2"`` or ``" phase"`` appended for what shares a series with
        the magnitude of the first echo. NIfTI: names of folder and file, without its number.
    description : str
        What the operator called the series; may be empty. NIfTI: the file's name, but its number.
    tr : float or None
        Seconds from one volume to the next.
    acquired : float or None
        When the scanner began to measure it, in seconds since midnight by its clock.
    offset : float or None
        Seconds from the beginning of the run. Only NIfTI headers have it.
    """

    data: np.ndarray
    affine: np.ndarray
    number: int | None
    series: str
    description: str
    tr: float | None
    acquired: float | None
    offset: float | None


class VolumeReader:
    """Reads files in any order, and keeps the slices of volumes that are not whole yet.

    One reader is used for all files of a session, by one thread at a time.
    """

    def __init__(self) -> None:
        self._dicom: DicomReader | None = None

    def read(self, path: str | os.PathLike) -> list[Volume]:
        """Return the volumes that a file completes: often one, none while slices are missing.

        Raises `VolumeError` for a file that is damaged, truncated or no volume. The same file can
        be read again when more of it has been written.
        """
        path = Path(path)
        try:
            content = _content(path)
            if content[128:132] != b"DICM":
                found = _read_nifti(path.name, content)
                # Each run may have a folder of its own, with the same names.
                return [found._replace(series=f"{path.parent.name}/{found.series}")]
            if self._dicom is None:
                self._dicom = _dicom_reader()
            return self._dicom.read(content)
        except VolumeError as error:
            raise VolumeError(f"{path}: {error}") from error


def is_volume_name(name: str) -> bool:
    """Return whether a file of this name may hold a volume: not hidden, not temporary."""
    lower = name.lower()
    if lower.startswith((".", "~")) or lower.endswith("~") or lower == "dicomdir":
        return False
    return lower.endswith(".nii.gz") or lower.rpartition(".")[2] not in _OTHER_FILES


def write_nifti_volume(
    path: str | os.PathLike, data: np.ndarray, affine: np.ndarray, tr: float, offset: float
) -> None:
    """Write a volume as 32-bit floats; the file is either whole or absent.

    Parameters
    ----------
    path : path-like
        A name that ends in ``.nii``.
    data : array, (x, y, z)
        Rounded to 32 bits: relatively by at most 6e-8.
    affine : array, (4, 4)
        From voxel indices to mm.
    tr, offset : float
        Seconds from one volume to the next, and from the beginning of the run.
    """
    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.float32)
    header.set_data_shape(data.shape)
    header.set_sform(affine, code="scanner")
    header.set_qform(affine, code="unknown")
    header.set_xyzt_units("mm", "sec")
    header["pixdim"][4], header["toffset"] = tr, offset
    header["magic"], header["vox_offset"] = b"n+1", 352
    write_whole(path, header.binaryblock + bytes(4) + np.float32(data).tobytes(order="F"))


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file under a hidden name, then rename it, so that it appears at once.

    Unlike `bciigl.base.files.written_file` it does not wait for the disk, which takes longer than
    everything else: a scanner's export need not survive a power cut.
    """
    path = Path(path)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp.{path.name}")
    try:
        with named_errors(path):
            temporary.write_bytes(content)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _dicom_reader() -> "DicomReader":
    try:
        from bciigl.source.dicom import DicomReader
    except ModuleNotFoundError as error:
        raise needs("reading DICOM", "pydicom", "live") from error
    return DicomReader()


def _content(path: Path) -> bytes:
    """Return the bytes of a regular file."""
    try:
        if not path.is_file():
            raise VolumeError("is a folder" if path.is_dir() else "no such file")
        if (size := path.stat().st_size) > LARGEST:
            raise VolumeError(f"has {size} bytes, more than any volume")
        return path.read_bytes()
    except OSError as error:
        raise VolumeError(f"cannot be read: {error.strerror}") from error


def _read_nifti(name: str, content: bytes) -> Volume:
    try:
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content)
        # Not as an image: nibabel would mend what it can and log what it cannot.
        if content[344:348] == b"n+1\0":
            header = nibabel.Nifti1Header(content[:348], check=False)
        elif content[4:8] == b"n+2\0":
            header = nibabel.Nifti2Header(content[:540], check=False)
        else:
            raise VolumeError("should be a NIfTI or DICOM file; it is neither, or truncated")
        data, affine = _voxels(header, content), header.get_best_affine()
        tr, offset = _times(header)
    except VolumeError:
        raise
    except Exception as error:  # whatever nibabel raises for headers that make no sense
        raise VolumeError(f"cannot be read as NIfTI ({type(error).__name__})") from error
    if not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-9:
        raise VolumeError("its affine does not map voxels to mm")
    stem = re.sub(r"\.nii(\.gz)?$", "", name, flags=re.IGNORECASE)
    numbers = list(re.finditer("[0-9]+", stem))
    number = int(numbers[-1][0]) if numbers else None
    series = stem[: numbers[-1].start()] + stem[numbers[-1].end() :] if numbers else stem
    return Volume(data, affine, number, series, series, tr, None, offset)


def _voxels(header: nibabel.Nifti1Header, content: bytes) -> np.ndarray:
    """Return the voxels of a file with one volume, (x, y, z)."""
    shape, dtype = header.get_data_shape(), header.get_data_dtype()
    if dtype.kind not in "iuf":
        raise VolumeError(f"should hold real numbers, got {printable(str(dtype))}")
    if len(shape) < 3 or min(shape) < 1 or math.prod(shape[3:]) != 1:
        raise VolumeError(f"should hold one volume, got {dimensions(shape)}")
    start = max(int(header["vox_offset"]), header.sizeof_hdr + 4)
    if len(content) != start + math.prod(shape) * dtype.itemsize:
        size = f"{len(content)} bytes for {dimensions(shape)} voxels"
        raise VolumeError(f"is truncated or damaged: {size} of {dtype.itemsize} bytes")
    stored = np.frombuffer(content, dtype, math.prod(shape), start).reshape(shape[:3], order="F")
    slope, intercept = header.get_slope_inter()
    if slope in (None, 1.0) and not intercept:
        return stored.astype(np.float32)
    return (stored * float(slope) + float(intercept)).astype(np.float32)


def _times(header: nibabel.Nifti1Header) -> tuple[float | None, float | None]:
    """Return the TR and the offset in seconds; None where a header does not say.

    It says so if it names the unit of time. An offset of 0 is what tools write who do not know.
    """
    unit = {8: 1.0, 16: 1e-3, 24: 1e-6}.get(int(header["xyzt_units"]) & 0x38)
    if unit is None:
        return None, None
    times = np.nan_to_num([header["pixdim"][4], header["toffset"]], posinf=0, neginf=0)
    # Rounded: the header keeps 32 bits, so 1.4 would read as 1.39999998.
    tr, offset = (round(float(each) * unit, 6) for each in times)
    return tr if tr > 0 else None, offset or None


def _unpacked(content: bytes) -> bytes:
    """Return what a gzip file holds, whole and with the right checksum."""
    unpacker = zlib.decompressobj(wbits=31)
    # Large, and packed as no image can be: refused before it fills the memory.
    unpacked = unpacker.decompress(content, min(LARGEST, max(64_000_000, 200 * len(content))))
    if not unpacker.eof:
        problem = "holds too much" if unpacker.unconsumed_tail else "is truncated"
        raise VolumeError(f"{problem}: {len(content)} packed bytes, {len(unpacked)} unpacked")
    return unpacked
