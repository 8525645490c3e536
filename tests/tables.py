"""Tables read back from what a person sees."""

import re
from collections.abc import Container
from html.parser import HTMLParser


class _Tables(HTMLParser):
    """Collects the cells of tables, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._inside = False

    def handle_starttag(self, tag, attrs):
        """Begin a table, a row or a cell."""
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._inside = True

    def handle_endtag(self, tag):
        """End a cell."""
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data):
        """Add to the cell."""
        if self._inside:
            self.tables[-1][-1][-1] += data


def html_tables(html: str, *, indents: bool = False) -> list[list[list[str]]]:
    """Return the cells of all tables in a page, head first; with the indents of details or not."""
    found = _Tables()
    found.feed(html)
    strip = str.rstrip if indents else str.strip
    return [[[strip(cell) for cell in row] for row in table] for table in found.tables]


def cells(line: str) -> list[str]:
    """Return the cells in the line of a printed table, without its indent."""
    return re.split(r"\s{2,}", line.strip())


def text_tables(text: str, head: str) -> list[list[list[str]]]:
    """Return the cells of the printed tables whose head begins with a word, head first.

    Columns of a wide table that are printed below its others are taken as one table with them.
    """
    parts = (part.splitlines() for part in re.split(r"\n\s*\n", text))
    found: list[list[list[str]]] = []
    above = False  # whether a table is directly above
    for lines in parts:
        begin = [place for place, line in enumerate(lines) if re.match(rf"{head}\s{{2,}}", line)]
        if begin:
            table = [cells(line) for line in lines[begin[0] :]]
            if begin == [0] and above:
                found[-1] = [[*row, *more[1:]] for row, more in zip(found[-1], table, strict=True)]
            else:
                found.append(table)
        above = bool(begin)
    return found


def by_detail(table: list[list[str]], labels: Container[str]) -> dict[tuple, dict[str, str]]:
    """Return the cells of a table by label, name of a detail, and noise level."""
    (_, *levels), *rows = table
    found, label = {}, ""
    for name, *values in rows:
        label = name if name in labels else label
        key = (label, "" if name == label else name.strip())
        found[key] = dict(zip(levels, values, strict=True))
    return found
