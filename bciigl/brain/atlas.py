"""Atlases: images of numbered labels, and the lists of their names."""

import os
import re
from pathlib import Path

import numpy as np
from scipy import ndimage

from bciigl.base.errors import BciiglError, did_you_mean, printable, shortened
from bciigl.brain.images import Image, ImageError, read_image

MOST_BYTES = 5_000_000
"""Far more than any list of labels needs."""

# Index and name, which may hold spaces and end in numbers, as colours do.
_LINE = re.compile(r"\s*(\d{1,10})\s+(\S.*?)\s*")
# Colours as in FreeSurfer's tables, with opacity or without.
_COLOURS = (4, 3)


class AtlasError(BciiglError):
    """An atlas, or a list of its labels, that cannot be used."""


def read_atlas(path: str | os.PathLike) -> Image:
    """Return the image of an atlas, (x, y, z), its numbers in the type in which they are stored."""
    image = read_image(path, as_stored=True)
    data = image.data[..., 0] if image.data.shape[3:] == (1,) else image.data
    if data.ndim != 3:
        raise ImageError(f"{path}: an atlas should be 3-D, got {data.ndim}-D")
    if data.dtype.kind not in "biu" and not (data == np.rint(data)).all():
        raise ImageError(f"{path}: an atlas should hold whole numbers, one for each label")
    return image._replace(data=data)


def read_names(path: str | os.PathLike) -> list[tuple[int, str]]:
    """Return index and name of the labels that a text file lists.

    It is a TSV file with the columns index and name, as in BIDS (``*_dseg.tsv``), or has lines of
    index, name and colours, as FreeSurfer's tables have. Numbers at the end of all lines are taken
    for colours if they are three or four and most names differ without them.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AtlasError(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise AtlasError(f"{path}: cannot be read: {error.strerror}") from error
    if len(text) > MOST_BYTES:
        raise AtlasError(f"{path}: is larger than {MOST_BYTES // 10**6} MB: no list of labels")
    rows = list(enumerate(text.splitlines(), start=1))
    rows = [(line, row) for line, row in rows if row.strip() and not row.lstrip().startswith("#")]
    head = [each.strip().lower() for each in rows[0][1].split("\t")] if rows else []
    if {"index", "name"} <= set(head):
        places = head.index("index"), head.index("name")
        found = [_cells(path, line, row, places) for line, row in rows[1:]]
    else:
        found = _without_colours([_of_line(path, line, row) for line, row in rows])
    if not found:
        raise AtlasError(f"{path}: lists no labels")
    return found


def find_label(wanted: int | str, names: list[tuple[int, str]], path: object) -> int:
    """Return the index of the label of that name in the list of a file."""
    found = sorted({index for index, name in names if name == wanted})
    if not found:
        known = [name for _, name in names]
        some = ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")
        near = did_you_mean(wanted, known) or f"; it has {some}"
        raise AtlasError(f"no label {wanted!r} in {path}{near}")
    if len(found) > 1:
        numbers = ", ".join(map(str, found))
        message = f"the labels {numbers} are all called {wanted!r} in {path}"
        raise AtlasError(f"{message}; give the number of one as label")
    return found[0]


def on_grid(atlas: Image, index: int, shape: tuple[int, ...], affine: np.ndarray) -> np.ndarray:
    """Return where a label lies on another grid, bool (x, y, z), by its nearest neighbours.

    `affine` (4, 4) maps that grid to the mm of the atlas.
    """
    inside = (atlas.data == index).view(np.uint8)
    to_atlas = np.linalg.inv(atlas.affine) @ affine
    found = ndimage.affine_transform(
        inside, to_atlas[:3, :3], to_atlas[:3, 3], shape, order=0, mode="grid-constant"
    )
    return found > 0


def _cells(path: Path, line: int, row: str, places: tuple[int, int]) -> tuple[int, str]:
    cells = row.split("\t")
    try:
        index, name = (cells[place].strip() for place in places)
        return int(index), name
    except (IndexError, ValueError):
        message = f"should have a whole number as index, and a name, got {shortened(row)}"
        raise AtlasError(f"{path}:{line}: {message}") from None


def _of_line(path: Path, line: int, row: str) -> tuple[int, str]:
    found = _LINE.fullmatch(row)
    if found is None:
        message = "should be a label's index and name, or the file a TSV with these two columns"
        raise AtlasError(f"{path}:{line}: {message}, got {shortened(printable(row))}")
    return int(found[1]), found[2]


def _without_colours(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return index and name of lines that may all end in colours."""
    for count in _COLOURS:
        colours = re.compile(rf"(\S.*?)(?:\s+\d+){{{count}}}")
        matches = [colours.fullmatch(text) for _, text in found]
        names = [match[1] for match in matches if match]
        if len(names) == len(found) and len(set(names)) > len(found) / 2:
            return [(index, name) for (index, _), name in zip(found, names, strict=True)]
    return found
