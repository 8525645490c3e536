"""Tables read back from what a person sees."""

import re
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


def html_tables(html: str) -> list[list[list[str]]]:
    """Return the cells of all tables in a page, head first, without indents."""
    found = _Tables()
    found.feed(html)
    return [[[cell.strip() for cell in row] for row in table] for table in found.tables]


def cells(line: str) -> list[str]:
    """Return the cells in the line of a printed table, without its indent."""
    return re.split(r"\s{2,}", line.strip())


def text_tables(text: str, head: str) -> list[list[list[str]]]:
    """Return the cells of the printed tables whose head begins with a word, head first."""
    parts = (part.splitlines() for part in re.split(r"\n\s*\n", text))
    found = []
    for lines in parts:
        begin = [place for place, line in enumerate(lines) if re.match(rf"{head}\s{{2,}}", line)]
        if begin:
            found.append([cells(line) for line in lines[begin[0] :]])
    return found


def by_detail(table: list[list[str]], labels: list[str]) -> dict[tuple[str, str], list[str]]:
    """Return the rows of a table by the label they are about and, of details, their name."""
    rows, label = {}, ""
    for name, *values in table[1:]:
        label = name if name in labels else label
        rows[label, "" if name == label else name] = values
    return rows
