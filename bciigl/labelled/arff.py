"""ARFF files, the format of OpenML and Weka: a header with the kinds of columns, then rows.

scipy reads them too, but neither names in double quotes nor text columns, nor anything but ASCII,
and it silently drops what a row has too much.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bciigl.base.errors import shortened
from bciigl.labelled.labels import labelled, name_and_id
from bciigl.labelled.rules import Labelled, LabelledError
from bciigl.labelled.tables import ambiguous, label_column, read_text

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"]+)\s*(.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*({QUOTED})\s*(?=,|$)|([^,]*)")
NUMBERS = ("numeric", "real", "integer")
WORDS = ("string", "date")


class Column(NamedTuple):
    """What the header says of a column; `values` are those of a nominal one."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


def read_arff(path: Path, label: str | None = None) -> Labelled:
    """Return the labelled data in an ARFF file.

    Parameters
    ----------
    path : Path
    label : str, optional
        The column of labels; by default the one called class, in any case, or else the last.
    """
    lines = enumerate(re.split(r"\r\n|\r|\n", read_text(path)), 1)
    columns = _header(lines)
    chosen = label_column([each.name for each in columns], label, default=_usual_label)
    table = _table(lines, columns)
    labels = table.pop(chosen)
    table.columns = [columns[each].name for each in table.columns]
    name, openml_id = name_and_id(path)
    return labelled(name, table, labels, openml_id=openml_id)


def cells(line: str) -> list[str]:
    """Return the cells of a line that commas separate, without their quotes."""
    found, place = [], 0
    while True:
        cell = CELL.match(line, place)
        found.append(cell[2].strip() if cell[1] is None else _unquoted(cell[1]))
        place = cell.end() + 1
        if place > len(line):
            return found


def _usual_label(columns: Sequence[str]) -> int:
    found = [place for place, name in enumerate(columns) if name.lower() == "class"]
    if len(found) > 1:
        raise ambiguous([columns[each] for each in found])
    return found[0] if found else len(columns) - 1


def _header(lines: Iterator[tuple[int, str]]) -> list[Column]:
    """Return what the columns are; of the lines, those with data are left."""
    columns = []
    for number, line in lines:
        line = line.strip()
        word = line.split(None, 1)[0].lower() if line else ""
        if word == "@data":
            if not columns:
                raise LabelledError(f"line {number}: there is no @attribute before @data")
            return columns
        if word.startswith("@attribute"):
            columns.append(_column(number, line))
        elif line and not line.startswith("%") and word != "@relation":
            raise LabelledError(
                f"line {number}: should be @relation, @attribute or @data, got {shortened(line)}"
            )
    raise LabelledError("is not an ARFF file: it has no line @data")


def _column(number: int, line: str) -> Column:
    found = ATTRIBUTE.fullmatch(line)
    if not found or not found[2]:
        raise LabelledError(f"line {number}: should have a name and a kind, got {shortened(line)}")
    name, kind = _unquoted(found[1]), found[2]
    if kind.startswith("{"):
        if "}" not in kind:
            raise LabelledError(f"line {number}: a list of values has no end, }}")
        values = cells(kind[1 : kind.rindex("}")])
        return Column(name, "nominal", tuple(dict.fromkeys(values)))
    kind = re.split(r"[\s\[%]", kind)[0].lower()
    if kind not in NUMBERS + WORDS:
        raise LabelledError(f"line {number}: columns of the kind {shortened(kind)} are not read")
    return Column(name, "number" if kind in NUMBERS else "text")


def _table(lines: Iterator[tuple[int, str]], columns: list[Column]) -> pd.DataFrame:
    """Return the rows as a table, with numbers for names of columns."""
    text = io.StringIO()
    rewritten = csv.writer(text, lineterminator="\n")
    for number, line in lines:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            raise LabelledError(f"line {number}: sparse rows, in braces, are not read")
        quoted = "'" in line or '"' in line
        row = cells(line) if quoted else []
        count = len(row) if quoted else line.count(",") + 1
        if count != len(columns):
            raise LabelledError(
                f"line {number}: has {count} cells, and there are {len(columns)} columns"
            )
        if quoted:
            rewritten.writerow(row)
        else:
            text.write(line + "\n")
    if not text.tell():
        raise LabelledError("has no rows after @data")
    text.seek(0)
    table = pd.read_csv(
        text,
        header=None,
        dtype={place: str for place, each in enumerate(columns) if each.kind != "number"},
        na_values={
            place: ["?", "", "NaN", "nan"] if each.kind == "number" else ["?", ""]
            for place, each in enumerate(columns)
        },
        keep_default_na=False,
        skipinitialspace=True,
        skip_blank_lines=False,
        low_memory=False,
    )
    for place, column in enumerate(columns):
        table[place] = _checked(table[place], column)
    return table


def _checked(values: pd.Series, column: Column) -> pd.Series:
    """Return a column that has what the header says."""
    if column.kind == "number":
        # pandas takes True for a truth value, and that for a number.
        values = values.astype(str) if pd.api.types.is_bool_dtype(values) else values
        numbers = pd.to_numeric(values, errors="coerce")
        _refuse(values[numbers.isna() & values.notna()], column, "numbers")
        return numbers
    values = values.str.strip()
    if column.kind == "text":
        return values
    _refuse(values[values.notna() & ~values.isin(column.values)], column, "values of its list")
    return values.astype("category")


def _refuse(wrong: pd.Series, column: Column, expected: str) -> None:
    if len(wrong):
        raise LabelledError(
            f"column {shortened(column.name)} should have {expected}, "
            f"got {shortened(wrong.iloc[0])} in row {wrong.index[0] + 1}"
        )


def _unquoted(word: str) -> str:
    if word[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", word[1:-1]).strip()
    return word
