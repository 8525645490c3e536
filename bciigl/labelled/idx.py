"""Images and labels in raw IDX files, the form in which MNIST and its kin are published."""

import gzip
import math
import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bciigl.labelled.labels import labelled
from bciigl.labelled.rules import Labelled, LabelledError

NAME = re.compile(
    r"(?P<prefix>.*?)[-_.]?(?P<what>images|labels)[-_.]idx[0-9][-_.]ubyte(\.gz)?", re.IGNORECASE
)
TEST = re.compile(r"(.*[-_.])?(t10k|test)", re.IGNORECASE)
UNSIGNED_BYTE = 8


class Pair(NamedTuple):
    """Files of images and their labels."""

    images: Path
    labels: Path


def is_idx(path: Path) -> bool:
    """Whether a file is called as raw IDX files are, such as train-images-idx3-ubyte.gz."""
    return NAME.fullmatch(path.name) is not None


def read_idx(place: Path) -> Labelled:
    """Return the labelled images in raw IDX files.

    Parameters
    ----------
    place : Path
        A folder: all images in it, those of a file that begins with t10k or test are for testing.
        Or a file of images, whose labels are beside it.
    """
    if place.is_dir():
        prefixes, name = _prefixes(place), place.name
        folder = place
    else:
        prefix = NAME.fullmatch(place.name)["prefix"]
        prefixes, name, folder = [prefix], prefix or place.stem, place.parent
    parts = [_read_pair(_pair(folder, each)) for each in prefixes]
    if len({images.shape[1:] for images, _ in parts}) > 1:
        sizes = " and ".join(str(images.shape[1:]) for images, _ in parts)
        raise LabelledError(f"images should be of one size, got {sizes}")
    images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return labelled(name, images, labels, training=len(parts[0][0]) if len(parts) > 1 else None)


def _prefixes(folder: Path) -> list[str]:
    """Return what the names of files begin with: of those for training, then for testing."""
    names = [NAME.fullmatch(path.name) for path in folder.iterdir() if is_idx(path)]
    found = sorted({name["prefix"] for name in names})
    if len(found) < 2:
        return found
    train = [each for each in found if not TEST.fullmatch(each)]
    if len(train) != 1 or len(found) != 2:
        raise LabelledError(
            f"has several sets of images ({', '.join(found)}); give the file of one of them"
        )
    return train + [each for each in found if TEST.fullmatch(each)]


def _pair(folder: Path, prefix: str) -> Pair:
    found = {}
    # Of a file that is there twice, the one that is not compressed comes first.
    for path in sorted(folder.iterdir(), reverse=True):
        name = NAME.fullmatch(path.name)
        if name and name["prefix"] == prefix:
            found[name["what"].lower()] = path
    for what in Pair._fields:
        if what not in found:
            there = ", ".join(sorted(path.name for path in found.values()))
            raise LabelledError(f"the file of {what} that belongs to {there} is missing")
    return Pair(**found)


def _read_pair(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    images, labels = _read(pair.images), _read(pair.labels)
    if images.ndim < 2 or labels.ndim != 1:
        raise LabelledError(
            f"{pair.images.name} and {pair.labels.name} should have images and one label for each, "
            f"got shapes {images.shape} and {labels.shape}"
        )
    if len(images) != len(labels):
        raise LabelledError(
            f"{pair.images.name} has {len(images):,} images, "
            f"and {pair.labels.name} {len(labels):,} labels"
        )
    return images, labels


def _read(path: Path) -> np.ndarray:
    """Return the array in an IDX file, compressed or not, whatever its name says."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise LabelledError(f"{path.name} is cut off or damaged") from error
    if len(content) < 4 or content[:2] != b"\0\0" or not 0 < content[3] < 5:
        raise LabelledError(f"{path.name} is not an IDX file: it begins with {content[:4]!r}")
    if content[2] != UNSIGNED_BYTE:
        raise LabelledError(
            f"{path.name} should hold unsigned bytes (type 8), got type {content[2]}"
        )
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise LabelledError(f"{path.name} is cut off: it has {len(content)} bytes")
    shape = tuple(np.frombuffer(content, ">u4", count=content[3], offset=4).tolist())
    expected = start + math.prod(shape)
    if len(content) < expected:
        raise LabelledError(f"{path.name} is cut off: {len(content):,} of {expected:,} bytes")
    if len(content) > expected:
        raise LabelledError(
            f"{path.name} has {len(content):,} bytes, and should have {expected:,} "
            f"for an array of {shape}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
