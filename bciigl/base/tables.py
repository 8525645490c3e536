"""Tables of tab-separated text."""

from collections.abc import Sequence
from pathlib import Path

from bciigl.base.errors import BciiglError


def read_table(
    path: Path,
    columns: Sequence[str],
    optional: Sequence[str] = (),
    error: type[BciiglError] = BciiglError,
) -> dict[str, list[str]]:
    """Return some columns of a table as text; `optional` ones where they are there."""
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except IsADirectoryError:
        raise error(f"{path}: is a folder") from None
    except UnicodeDecodeError:
        raise error(f"{path}: is not UTF-8 text") from None
    head, *rows = [line.split("\t") for line in lines]
    for column in columns:
        if column not in head:
            raise error(f"{path}: has no column {column}")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise error(f"{path}:{number}: has {len(row)} columns, not {len(head)}")
    found = [*columns, *(each for each in optional if each in head)]
    return {column: [row[head.index(column)] for row in rows] for column in found}
