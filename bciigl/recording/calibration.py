"""Calibrations in files: what estimates took for known, so that they can be computed again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.files import written_file
from bciigl.estimate import UNCALIBRATED, Calibration
from bciigl.protocol.hrf import BASIS
from bciigl.recording.layout import DatasetError


def calibration_arrays(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as arrays by name, without what it does not know."""
    given = calibration._asdict() | {"response": calibration.response or None}
    return {name: np.asarray(each, float) for name, each in given.items() if each is not None}


def calibration_of(arrays: Mapping[str, np.ndarray], path: Path) -> Calibration:
    """Return the calibration among the arrays of a file."""
    found = {name: arrays[name] for name in Calibration._fields if name in arrays}
    for name, each in found.items():
        if each.dtype.kind != "f" or not np.isfinite(each).all():
            raise DatasetError(f"{path}: {name} should be finite numbers")
    response, whitening = found.get("response", np.zeros(0)), found.get("whitening")
    if response.ndim != 1 or len(response) not in (0, BASIS):
        raise DatasetError(f"{path}: response should be {BASIS} numbers, got {response.shape}")
    if whitening is not None and len(set(whitening.shape)) != 1:
        raise DatasetError(f"{path}: whitening has the shape {whitening.shape}")
    autocorrelation, ridge = (
        _number(path, name, found.get(name), most)
        for name, most in (("autocorrelation", 1.0), ("ridge", np.inf))
    )
    return Calibration(tuple(response.tolist()), whitening, autocorrelation, ridge)


def _number(path: Path, name: str, value: np.ndarray | None, below: float) -> float | None:
    if value is not None and (value.ndim or not 0 <= value < below):
        raise DatasetError(f"{path}: {name} should be a number from 0 to below {below:g}")
    return None if value is None else float(value)


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration to a file of its own."""
    with written_file(path) as temporary:
        np.savez(temporary, **calibration_arrays(calibration))


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file; where there is none, nothing was calibrated."""
    return calibration_of(read_arrays(path), path) if path.exists() else UNCALIBRATED
