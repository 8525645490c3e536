"""Arrays in files: plain numbers and text, checked before memory is taken, never executed."""

import math
import os
import warnings
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from bciigl.base.errors import BciiglError, printable

MOST_BYTES = 4_000_000_000
"""Bytes of all arrays of a file or folder, unpacked."""

PLAIN = "biufcmMSU"
"""Kinds of numpy types that are read: truth values, numbers, times and text; no objects."""


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ file, or of a folder of NPY files, by name."""
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("*.npy"))
        if sum(file.stat().st_size for file in files if file.is_file()) > MOST_BYTES:
            raise BciiglError(f"{path}: its arrays hold more than {MOST_BYTES / 1e9:g} GB")
        return {file.stem: read_array(file) for file in files}
    arrays = _read(path)
    if isinstance(arrays, np.ndarray):
        raise BciiglError(f"{path}: is a single array; give an NPZ file, or a folder of NPY files")
    return arrays


def read_array(path: str | os.PathLike) -> np.ndarray:
    """Return the array of an NPY file; errors as in `read_arrays`."""
    array = _read(Path(path))
    if isinstance(array, dict):
        raise BciiglError(f"{path}: holds several arrays; give an NPY file")
    return array


def _read(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise ValueError("it is not a regular file")
        with path.open("rb") as file:
            is_zip = file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
            file.seek(0)
            return _read_zip(file) if is_zip else _read_npy(file, size)
    except FileNotFoundError as error:
        raise BciiglError(f"{path}: no such file") from error
    except Exception as error:  # damaged files fail in as many ways as there are decoders
        reason = ": ".join(filter(None, ["(NPZ or NPY)", printable(str(error))[:200]]))
        raise BciiglError(f"{path}: is not readable as arrays of numbers {reason}") from error


def _read_zip(file: IO[bytes]) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(each.file_size for each in members) > MOST_BYTES:
            raise ValueError(f"its arrays hold more than {MOST_BYTES / 1e9:g} GB")
        arrays = {}
        for each in members:
            # Large, and packed as no measurement can be.
            if each.file_size > max(64_000_000, 200 * each.compress_size):
                raise ValueError(f"{each.filename} is packed too tightly to be numbers")
            name = each.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"{name} is there twice")
            with archive.open(each) as member:
                arrays[name] = _read_npy(member, each.file_size)
    return arrays


def _read_npy(file: IO[bytes], size: int) -> np.ndarray:
    """Return an array from a file of that many bytes."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):  # 3.0 is for records with named fields
        raise ValueError(f"version {version} of the NPY format cannot be read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers that Python 2 wrote
        header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")(file)
    shape, fortran_order, dtype = header
    if dtype.kind not in PLAIN or not dtype.itemsize or dtype.subdtype:
        raise ValueError(f"arrays of type {dtype} are not read")
    # An empty side must not hide another that no memory could hold.
    most = math.prod(max(side, 1) for side in shape) * dtype.itemsize
    if most > MOST_BYTES or any(side < 0 for side in shape):
        raise ValueError(f"its header promises an array of shape {shape}")
    there = size - file.tell()
    if math.prod(shape) * dtype.itemsize != there:
        raise ValueError(f"its header promises shape {shape} of {dtype}, but {there} bytes follow")
    array = np.empty(math.prod(shape), dtype)
    _fill(file, array.view("u1"))
    array = array.astype(dtype.newbyteorder("="), copy=False)
    # Bytes that no value of the array's type has.
    if dtype.kind == "b" and (array.view("u1") > 1).any():
        raise ValueError("truth values should be 0 or 1")
    code = array.view("u4") if dtype.kind == "U" else np.zeros(0, "u4")
    if ((code > 0x10FFFF) | ((code >= 0xD800) & (code < 0xE000))).any():
        raise ValueError("its text holds what is no character")
    return array.reshape(shape, order="F" if fortran_order else "C")


def _fill(file: IO[bytes], buffer: np.ndarray) -> None:
    """Read exactly as many bytes as the buffer has; the file must then be at its end."""
    place = 0
    while place < len(buffer):
        piece = file.read(min(len(buffer) - place, 1 << 24))
        if not piece:
            raise ValueError(f"it ends after {place} of {len(buffer)} bytes")
        buffer[place : place + len(piece)] = np.frombuffer(piece, "u1")
        place += len(piece)
    if file.read(1):  # in a zip file this also compares the checksum
        raise ValueError("it does not end where its array ends")
