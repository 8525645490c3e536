"""Labelled tables in text files: values between commas, semicolons or tabs, and ARFF.

ARFF is the format of OpenML and Weka: a header with the kinds of columns, then rows. scipy reads it
too, but neither names in double quotes nor text columns, nor anything but ASCII, and it silently
drops what a row has too much.
"""

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bciigl.base.errors import did_you_mean, printable, shortened
from bciigl.labelled.examples import is_number, labelled, name_and_id
from bciigl.labelled.rules import Labelled, LabelledError, refuse

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "#N/A")
MISSING_LABEL = ("", "?", "NA", "NaN", "nan")
"""Fewer: None and null may well be the name of a class."""
SAMPLE = 20_000
LISTED = 20
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"]+)\s*(.+)", re.IGNORECASE)
CELL = re.compile(rf"\s*({QUOTED})\s*(?=,|$)|([^,]*)")
NUMBERS, WORDS = ("numeric", "real", "integer"), ("string", "date")

Column = tuple[str, str | set[str]]
"""The name of a column of an ARFF file, and "number", "text" or the values that it may have."""


def read_csv(path: Path, label: str | None = None) -> Labelled:
    """Return the labelled data in a file whose first line names the columns."""
    text = _read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
    names = _csv_names(text, delimiter)
    refuse(not any(names), "is empty; its first line should name the columns")
    # A column called y is the label only if no other can be: it may be a coordinate.
    chosen = _label_column(names, label, ("class", "label", "target"), ("y",))
    missing: dict[int, Sequence[str]] = dict.fromkeys(range(len(names)), MISSING)
    sample = text[:SAMPLE]
    comma = delimiter != "," and re.search(r"[0-9],[0-9]", sample)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = _read_table(
                text,
                sep=delimiter,
                decimal="," if comma and not re.search(r"[0-9]\.[0-9]", sample) else ".",
                header=0,
                names=list(range(len(names))),
                index_col=False,
                dtype={chosen: str},
                na_values=missing | {chosen: MISSING_LABEL},
            )
    except (pd.errors.ParserWarning, ValueError) as error:
        raise LabelledError(f"is not a table: {_reason(error, len(names))}") from error
    refuse(table.empty, "has a line that names the columns, and no rows")
    # As numbers if all are, so that 1 and 1.0 are one class.
    if all(map(is_number, table[chosen].dropna().unique())):
        table[chosen] = pd.to_numeric(table[chosen])
    return _labelled(path, table, names, chosen)


def read_arff(path: Path, label: str | None = None) -> Labelled:
    """Return the labelled data in an ARFF file."""
    lines = (
        (number, stripped)
        for number, line in enumerate(re.split(r"\r\n|\r|\n", _read_text(path)), 1)
        if (stripped := line.strip()) and not stripped.startswith("%")
    )
    columns = _arff_columns(lines)
    names = [name for name, _ in columns]
    chosen = _label_column(names, label, ("class",), last=True)
    numbers = [kind == "number" for _, kind in columns]
    table = _read_table(
        _arff_rows(lines, len(columns)),
        header=None,
        dtype={place: str for place, number in enumerate(numbers) if not number},
        na_values={
            place: ["?", "", "NaN", "nan"] if number else ["?", ""]
            for place, number in enumerate(numbers)
        },
        skip_blank_lines=False,
    )
    for place, (name, kind) in enumerate(columns):
        table[place] = _checked(table[place], name, kind)
    return _labelled(path, table, names, chosen)


def _read_text(path: Path) -> str:
    content = path.read_bytes()
    refuse(b"\0" in content, "is not a text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LabelledError(f"is not text in UTF-8 (line {line}); save it so") from error


def _label_column(
    columns: Sequence[str], label: str | None, *usual: tuple[str, ...], last: bool = False
) -> int:
    """Return which column has the labels: one of the usual names, or the last where that counts."""
    named = f"; columns are {', '.join(map(printable, columns[:LISTED]))}"
    named += f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else ""
    named += "; should the first line name the columns?" if any(map(is_number, columns)) else ""
    if label is not None:
        count, called = columns.count(label), shortened(label)
        refuse(count > 1, f"has {count} columns called {called}")
        if not count:  # the nearest of many names takes long to find
            raise LabelledError(f"has no column {called}{did_you_mean(label, columns)}{named}")
        return columns.index(label)
    for names in usual:
        found = [place for place, each in enumerate(columns) if each.lower() in names]
        choice = " or ".join(printable(columns[each]) for each in found)
        refuse(len(found) > 1, f"which column has the labels, {choice}? Name it with --label")
        if found:
            return found[0]
    if last:
        return len(columns) - 1
    *known, y = (name for names in usual for name in names)
    raise LabelledError(
        f"no column is called {', '.join(known)} or {y}; name the one with the labels by "
        f"--label{named}"
    )


def _read_table(text: str, **how: Any) -> pd.DataFrame:
    how |= {"keep_default_na": False, "skipinitialspace": True, "low_memory": False}
    return pd.read_csv(io.StringIO(text), **how)


def _labelled(path: Path, table: Any, names: list[str], label: int) -> Labelled:
    """Return a data frame whose columns are numbered, one of them the label's."""
    labels = table.pop(label)
    table.columns = [names[each] for each in table.columns]
    name, openml_id = name_and_id(path)
    return labelled(name, table, labels, openml_id=openml_id)


def _csv_names(text: str, delimiter: str) -> list[str]:
    """Return the names of columns: the first line that is not empty."""
    lines = (line[0] for line in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)?", text))
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        return [each.strip() for each in next((row for row in rows if row[1:] or any(row)), [])]
    except csv.Error as error:
        raise LabelledError(f"is not a table: {error}") from error


def _delimiter(text: str) -> str:
    """Return what there is most of in the first line, outside of quotes."""
    line: Any = re.match(r'\s*((?:[^"\r\n]|"[^"]*")*)', text)  # if only of nothing
    return max(",;\t", key=re.sub(r'"[^"]*"', "", line[1]).count)


def _reason(error: Exception, columns: int) -> str:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
    if found:
        return f"line {found[1]} has {found[2]} cells, and there are {columns} columns"
    if isinstance(error, pd.errors.ParserWarning):
        return f"rows have more cells than the {columns} columns that the first line names"
    return str(error).removeprefix("Error tokenizing data. C error: ").strip()


def _arff_columns(lines: Iterator[tuple[int, str]]) -> list[Column]:
    """Return what the columns are; of the lines, those with data are left."""
    columns: list[Column] = []
    for number, line in lines:
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            refuse(not columns, f"line {number}: there is no @attribute before @data")
            return columns
        if word.startswith("@attribute"):
            columns.append(_arff_column(number, line))
        else:
            should = "should be @relation, @attribute or @data"
            refuse(word != "@relation", f"line {number}: {should}, got {shortened(line)}")
    raise LabelledError("is not an ARFF file: it has no line @data")


def _arff_column(number: int, line: str) -> Column:
    found: Any = ATTRIBUTE.fullmatch(line)
    refuse(not found, f"line {number}: should have a name and a kind, got {shortened(line)}")
    name, kind = _unquoted(found[1]), found[2]
    if kind.startswith("{"):
        refuse("}" not in kind, f"line {number}: a list of values has no end, }}")
        return name, set(cells(kind[1 : kind.rindex("}")]))
    kind = re.split(r"[\s\[%]", kind)[0].lower()
    known = kind in NUMBERS + WORDS
    refuse(not known, f"line {number}: columns of the kind {shortened(kind)} are not read")
    return name, "number" if kind in NUMBERS else "text"


def _arff_rows(lines: Iterator[tuple[int, str]], columns: int) -> str:
    """Return rows as pandas reads them, with quotes as CSV has them."""
    text = io.StringIO()
    rewritten = csv.writer(text, lineterminator="\n")
    for number, line in lines:
        refuse(line.startswith("{"), f"line {number}: sparse rows, in braces, are not read")
        row = cells(line) if "'" in line or '"' in line else line.split(",")
        few = f"has {len(row)} cells, and there are {columns} columns"
        refuse(len(row) != columns, f"line {number}: {few}")
        rewritten.writerow(row)
    refuse(not text.tell(), "has no rows after @data")
    return text.getvalue()


def cells(line: str) -> list[str]:
    """Return the cells of a line that commas separate, without their quotes."""
    found, place = [], 0
    while place <= len(line):
        cell: Any = CELL.match(line, place)  # it matches anything, also nothing
        found.append(cell[2].strip() if cell[1] is None else _unquoted(cell[1]))
        place = cell.end() + 1
    return found


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]).strip() if word[:1] in ("'", '"') else word


def _checked(values: pd.Series, name: str, kind: str | set[str]) -> pd.Series:
    """Return a column that has what the header says."""
    if kind == "number":
        # pandas takes True for a truth value, and that for a number.
        values = values.astype(str) if pd.api.types.is_bool_dtype(values) else values
        checked, expected = pd.to_numeric(values, errors="coerce"), "numbers"
    else:
        values = values.str.strip()
        checked, expected = values, "values of its list"
        if kind != "text":
            checked = values.where(values.isin(kind))
    wrong = values[checked.isna() & values.notna()]
    if len(wrong):
        got = f"{shortened(wrong.iloc[0])} in row {wrong.index[0] + 1}"
        raise LabelledError(f"column {shortened(name)} should have {expected}, got {got}")
    return checked
