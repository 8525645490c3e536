"""Labelled arrays: in an NPZ file, or in raw IDX files, the form in which MNIST is published."""

import gzip
import math
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.arrays import read_arrays
from bciigl.base.errors import BciiglError
from bciigl.labelled.examples import as_text, labelled, name_and_id
from bciigl.labelled.rules import Labelled, LabelledError, refuse

WANTED = "X and y, or x_train, y_train, x_test and y_test"
IDX = re.compile(
    r"(?P<prefix>.*?)[-_.]?(?P<what>images|labels)[-_.]idx[0-9][-_.]ubyte(\.gz)?", re.IGNORECASE
)
TEST = re.compile(r"(.*[-_.])?(t10k|test)", re.IGNORECASE)

Part = tuple[str, np.ndarray, str, np.ndarray]
"""Examples, those for training or for testing: features and labels, each after its name."""


def read_npz(path: Path) -> Labelled:
    """Return the labelled data in an NPZ file: `WANTED`, whatever the case of names.

    It may have classes (y are indices of it then), feature_names and openml_id.
    """
    try:
        arrays = {name.lower(): array for name, array in read_arrays(path).items()}
    except BciiglError as error:
        raise LabelledError(str(error).removeprefix(f"{path}: ")) from error
    name, openml_id = name_and_id(path)
    if "openml_id" in arrays:
        given = arrays["openml_id"]
        wrong = given.size != 1 or given.dtype.kind not in "ui" or given.item() < 1
        shown = given.ravel()[:3]
        refuse(wrong, f"openml_id should be one whole number above 0, got {shown}")
        openml_id = int(given.item())
    endings = ("",) if "x" in arrays or "x_train" not in arrays else ("_train", "_test")
    for wanted in (f"{letter}{ending}" for ending in endings for letter in "xy"):
        found = f"needed are {WANTED}, found are {', '.join(arrays) or 'none'}"
        refuse(wanted not in arrays, f"array {wanted} is missing; {found}")
        rows = "should have a row for each example, got one number"
        refuse(not arrays[wanted].ndim, f"array {wanted} {rows}")
    parts = [(f"x{each}", arrays[f"x{each}"], f"y{each}", arrays[f"y{each}"]) for each in endings]
    for letter in "xy":
        text = {arrays[f"{letter}{each}"].dtype.kind in "US" for each in endings}
        both = f"{letter}_train and {letter}_test"
        refuse(len(text) > 1, f"{both} should both be numbers or both text")
    more: dict[str, Any] = {each: _names(arrays, each) for each in ("classes", "feature_names")}
    return _joined(name, parts, openml_id=openml_id, **more)


def _names(arrays: dict[str, np.ndarray], name: str) -> list | None:
    if name not in arrays:
        return None
    names = arrays[name]
    wrong = names.ndim != 1 or names.dtype.kind not in "buifUS"
    refuse(wrong, f"{name} should be a list of names, got an array of {names.shape}")
    return list(as_text(names))


def is_idx(path: Path) -> bool:
    """Whether a file is called as raw IDX files are, such as train-images-idx3-ubyte.gz."""
    return IDX.fullmatch(path.name) is not None


def read_idx(place: Path) -> Labelled:
    """Return the labelled images in a raw IDX file with its labels beside it, or in a folder."""
    folder = place if place.is_dir() else place.parent
    found: dict[str, dict[str, Path]] = {}
    # Of a file that is there twice, the one that is not compressed comes first.
    for path in sorted(folder.iterdir(), reverse=True):
        if parts := IDX.fullmatch(path.name):
            found.setdefault(parts["prefix"], {})[parts["what"].lower()] = path
    if place.is_dir():
        name = place.name
        prefixes = sorted(found, key=lambda each: (bool(TEST.fullmatch(each)), each))
        testing = [bool(TEST.fullmatch(each)) for each in prefixes]
        refuse(not found, "no such file")
        several = f"has several sets of images ({', '.join(sorted(found))})"
        pair = len(prefixes) == 1 or testing == [False, True]
        refuse(not pair, f"{several}; give the file of one of them")
    else:
        alone = IDX.fullmatch(place.name)
        prefixes = ["" if alone is None else alone["prefix"]]
        name = prefixes[0] or place.stem
    return _joined(name, [_read_pair(found[each]) for each in prefixes], what="images")


def _read_pair(files: dict[str, Path]) -> Part:
    for what in ("images", "labels"):
        there = ", ".join(path.name for path in files.values())
        refuse(what not in files, f"the file of {what} that belongs to {there} is missing")
    images, labels = (_read_idx(files[what]) for what in ("images", "labels"))
    names = files["images"].name, files["labels"].name
    shapes = f"got shapes {images.shape} and {labels.shape}"
    should = f"{names[0]} and {names[1]} should have images and one label for each"
    refuse(images.ndim < 2 or labels.ndim != 1, f"{should}, {shapes}")
    return names[0], images, names[1], labels


def _read_idx(path: Path) -> np.ndarray:
    """Return the array in an IDX file, compressed or not, whatever its name says."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise LabelledError(f"{path.name} is cut off or damaged") from error
    other = len(content) < 4 or content[:2] != b"\0\0" or not 0 < content[3] < 5
    refuse(other, f"{path.name} is not an IDX file: it begins with {content[:4]!r}")
    kind, start = content[2], 4 + 4 * content[3]
    refuse(kind != 8, f"{path.name} should hold unsigned bytes (type 8), got type {kind}")
    refuse(len(content) < start, f"{path.name} is cut off: it has {len(content)} bytes")
    shape = tuple(np.frombuffer(content, ">u4", count=content[3], offset=4).tolist())
    expected = start + math.prod(shape)
    there = f"{len(content):,} of {expected:,} bytes"
    refuse(len(content) < expected, f"{path.name} is cut off: {there}")
    should = f"should have {expected:,} for an array of {shape}"
    refuse(len(content) > expected, f"{path.name} has {len(content):,} bytes, and {should}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _joined(name: str, parts: list[Part], what: str = "examples", **more: Any) -> Labelled:
    """Return labelled data of which the first of two parts is for training."""
    for x_name, x, y_name, y in parts:
        # Of the arrays x and y, `labelled` says so.
        wrong = x_name != "x" and (len(x) != len(y) or not len(x))
        refuse(wrong, f"{x_name} has {len(x):,} {what}, and {y_name} {len(y):,} labels")
    if len(parts) == 1:
        return labelled(name, parts[0][1], parts[0][3], **more)
    shapes = " and ".join(f"{x.shape[1:]} in {x_name}" for x_name, x, _, _ in parts)
    several = len({x.shape[1:] for _, x, _, _ in parts}) > 1
    refuse(several, f"{what} should be of one shape, got {shapes}")
    features = np.concatenate([x for _, x, _, _ in parts])
    labels = np.concatenate([y.ravel() for _, _, _, y in parts])
    return labelled(name, features, labels, training=len(parts[0][1]), **more)
