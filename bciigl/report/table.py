"""A table of words, as it is on a terminal, in a notebook and in a page."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

INDENT = "  "
"""What a row begins with that is a detail of the row above."""
USUAL_WIDTH = 80
_GAP = 2


class Table(NamedTuple):
    """A table of text; the first cell of each row says what the row is about."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def as_text(self, width: int | None = None) -> str:
        """Return it with columns of even width.

        Parameters
        ----------
        width : int, optional
            How many characters a line may have; by default as many as the terminal has, or 80. A
            wider table is split into blocks of columns, each below the first column.
        """
        width = terminal_width() if width is None else width
        columns = list(zip(self.head, *self.rows, strict=True))
        sizes = [max(map(len, column)) for column in columns]
        left = width - sum(sizes[1:]) - _GAP * (len(sizes) - 1)
        sizes[0] = min(sizes[0], max(left, width // 2, len(self.head[0])))
        blocks = [
            "\n".join(_lines(columns[0], sizes[0], [columns[each] for each in places]))
            for places in _blocks(sizes, width)
        ]
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        rows = "".join(
            f'<tr><th style="text-align: left">{escape(row[0]).replace(INDENT, "&emsp;")}</th>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def terminal_width() -> int:
    """Return how many characters a line of standard output has; 80 if it is no terminal."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if on_terminal else USUAL_WIDTH


def _blocks(sizes: Sequence[int], width: int) -> list[list[int]]:
    """Return the places of the columns, without the first, that fit beside it, block by block."""
    blocks: list[list[int]] = [[]]
    used = sizes[0]
    for place, size in enumerate(sizes[1:], start=1):
        if blocks[-1] and used + _GAP + size > width:
            blocks.append([])
            used = sizes[0]
        blocks[-1].append(place)
        used += _GAP + size
    return blocks


def _lines(names: Sequence[str], width: int, columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give the lines of a block; names that are too long go on below, and numbers end below."""
    aligned = map(_aligned, columns)
    for name, *cells in zip(names, *aligned, strict=True):
        begin = name[: len(name) - len(name.lstrip())]
        first, *rest = textwrap.wrap(
            name, width, subsequent_indent=begin + INDENT, break_on_hyphens=False
        ) or [""]
        yield (" " * _GAP).join([first.ljust(width), *cells]).rstrip()
        yield from rest


def _aligned(column: Sequence[str]) -> list[str]:
    """Return cells of one width: text begins, and numbers end, below each other."""
    width, numbers = max(map(len, column)), any(map(str.isdigit, "".join(column[1:])))
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in column]
