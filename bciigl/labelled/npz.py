"""Labelled arrays in an NPZ file: X and y, or x_train, y_train, x_test and y_test."""

from pathlib import Path

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError
from bciigl.labelled.labels import labelled, name_and_id
from bciigl.labelled.rules import Labelled, LabelledError

WHOLE = ("x", "y")
PARTS = ("x_train", "y_train", "x_test", "y_test")
WANTED = "X and y, or x_train, y_train, x_test and y_test"
TEXT = "US"


def read_npz(path: Path) -> Labelled:
    """Return the labelled data in an NPZ file.

    It has the arrays X and y, or x_train, y_train, x_test and y_test, and may have classes (y are
    indices of it then), feature_names and openml_id. The case of names does not matter, and what
    else is in the file does not either.
    """
    arrays = _arrays(path)
    name, openml_id = name_and_id(path)
    if "openml_id" in arrays:
        openml_id = _whole(arrays["openml_id"], "openml_id")
    features, labels, training = _examples(arrays)
    return labelled(
        name,
        features,
        labels,
        classes=_names(arrays, "classes"),
        feature_names=_names(arrays, "feature_names"),
        openml_id=openml_id,
        training=training,
    )


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        return {name.lower(): array for name, array in read_arrays(path).items()}
    except BciiglError as error:
        raise LabelledError(str(error).removeprefix(f"{path}: ")) from error


def _examples(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Return examples, their labels, and how many of them are for training."""
    parts = PARTS if "x" not in arrays and "x_train" in arrays else WHOLE
    missing = [name for name in parts if name not in arrays]
    if missing:
        found = ", ".join(arrays) or "none"
        raise LabelledError(
            f"array {missing[0]} is missing; needed are {WANTED}, found are {found}"
        )
    for name in parts:
        if not arrays[name].ndim:
            raise LabelledError(f"array {name} should have a row for each example, got one number")
    if parts is WHOLE:
        return arrays["x"], arrays["y"], None
    train, train_label, test, test_label = (arrays[name] for name in PARTS)
    for name, x, y in (("train", train, train_label), ("test", test, test_label)):
        if len(x) != len(y) or not len(x):
            raise LabelledError(f"x_{name} has {len(x):,} examples, and y_{name} {len(y):,} labels")
    if train.shape[1:] != test.shape[1:]:
        raise LabelledError(
            f"examples should be of one shape, got {train.shape[1:]} in x_train and "
            f"{test.shape[1:]} in x_test"
        )
    for x, y in (("x_train", "x_test"), ("y_train", "y_test")):
        if (arrays[x].dtype.kind in TEXT) != (arrays[y].dtype.kind in TEXT):
            raise LabelledError(f"{x} and {y} should both be numbers or both text")
    labels = np.concatenate([train_label.ravel(), test_label.ravel()])
    return np.concatenate([train, test]), labels, len(train)


def _names(arrays: dict[str, np.ndarray], name: str) -> list | None:
    if name not in arrays:
        return None
    names = arrays[name]
    if names.ndim != 1 or names.dtype.kind not in "buifUS":
        raise LabelledError(f"{name} should be a list of names, got an array of {names.shape}")
    if names.dtype.kind == "S":
        names = np.char.decode(names, "utf-8", "replace")
    return list(names)


def _whole(value: np.ndarray, name: str) -> int:
    if value.size != 1 or value.dtype.kind not in "ui" or value.item() < 1:
        raise LabelledError(f"{name} should be one whole number above 0, got {value.ravel()[:3]}")
    return int(value.item())
