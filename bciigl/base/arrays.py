"""Arrays in files: numbers alone, nothing that could be executed."""

import os
from pathlib import Path

import numpy as np

from bciigl.base.errors import BciiglError


def read_arrays(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ file, or of a folder of NPY files, by name.

    Raises
    ------
    BciiglError
        If there is no such file, or if it is anything but numbers, text or truth values.
    """
    path = Path(path)
    if path.is_dir():
        return {file.stem: _read(file) for file in sorted(path.glob("*.npy"))}
    arrays = _read(path)
    if isinstance(arrays, np.ndarray):
        raise BciiglError(f"{path}: is a single array; give an NPZ file, or a folder of NPY files")
    return arrays


def read_array(path: str | os.PathLike) -> np.ndarray:
    """Return the array of an NPY file.

    Raises
    ------
    BciiglError
        As `read_arrays` does.
    """
    array = _read(Path(path))
    if isinstance(array, dict):
        raise BciiglError(f"{path}: holds several arrays; give an NPY file")
    return array


def _read(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found as file:
            arrays = {name: file[name] for name in file.files}
        if all(isinstance(each, np.ndarray) for each in arrays.values()):
            return arrays
    except FileNotFoundError as error:
        raise BciiglError(f"{path}: no such file") from error
    except Exception as error:  # damaged files fail in as many ways as there are decoders
        raise BciiglError(f"{path}: is not readable as arrays of numbers (NPZ or NPY)") from error
    raise BciiglError(f"{path}: is not readable as arrays of numbers (NPZ or NPY)")
