"""A table of words, as it is on a terminal, in a notebook and in a page."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

INDENT = "  "
"""What a row begins with that is a detail of the row above."""


class Table(NamedTuple):
    """A table of text; the first cell of each row says what the row is about."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def as_text(self) -> str:
        """Return it with columns of even width."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (self.head, *self.rows)
        )

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
