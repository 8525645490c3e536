"""Tables in text files: values between commas, semicolons or tabs, and which are the labels."""

import csv
import io
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from bciigl.base.errors import did_you_mean, printable, shortened
from bciigl.labelled.labels import is_number, labelled, name_and_id
from bciigl.labelled.rules import Labelled, LabelledError

DELIMITERS = ",;\t"
LABELS = ("class", "label", "target")
LAST_RESORT = "y"
"""A column called so is the label only if no other can be: it may be a coordinate."""
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "n/a", "#N/A")
MISSING_LABEL = ("", "?", "NA", "NaN", "nan")
"""Fewer: None and null may well be the name of a class."""
SAMPLE = 20_000
LISTED = 20


def read_csv(path: Path, label: str | None = None) -> Labelled:
    """Return the labelled data in a file of comma-, semicolon- or tab-separated values.

    Parameters
    ----------
    path : Path
        The file's first line names the columns.
    label : str, optional
        The column of labels; by default the one called class, label, target or, if there is none
        of these, y.
    """
    text = read_text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
    columns = _header(text, delimiter)
    if not any(columns):
        raise LabelledError("is empty; its first line should name the columns")
    chosen = label_column(columns, label, default=_usual_label)
    table = _table(text, delimiter, columns, chosen)
    labels = table.pop(chosen)
    table.columns = [columns[each] for each in table.columns]
    name, openml_id = name_and_id(path)
    return labelled(name, table, _as_numbers(labels), openml_id=openml_id)


def read_text(path: Path) -> str:
    """Return the text in a file, without the mark that some programs put at its beginning."""
    content = path.read_bytes()
    if b"\0" in content:
        raise LabelledError("is not a text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LabelledError(f"is not text in UTF-8 (line {line}); save it so") from error


def label_column(
    columns: Sequence[str], label: str | None, default: Callable[[Sequence[str]], int]
) -> int:
    """Return which column has the labels."""
    if label is None:
        return default(columns)
    places = [place for place, each in enumerate(columns) if each == label]
    if not places:
        near = did_you_mean(label, columns)
        raise LabelledError(f"has no column {shortened(label)}{near}{listed(columns)}")
    if len(places) > 1:
        raise LabelledError(f"has {len(places)} columns called {shortened(label)}")
    return places[0]


def listed(columns: Sequence[str]) -> str:
    """Return the words that tell which columns there are."""
    names = ", ".join(printable(each) for each in columns[:LISTED])
    more = f" and {len(columns) - LISTED:,} more" if len(columns) > LISTED else ""
    hint = "; should the first line name the columns?" if any(map(is_number, columns)) else ""
    return f"; columns are {names}{more}{hint}"


def ambiguous(columns: Sequence[str]) -> LabelledError:
    """Return the error that several columns could be the labels."""
    choice = " or ".join(printable(each) for each in columns)
    return LabelledError(f"which column has the labels, {choice}? Name it with --label")


def _usual_label(columns: Sequence[str]) -> int:
    for names in (LABELS, (LAST_RESORT,)):
        found = [place for place, each in enumerate(columns) if each.lower() in names]
        if len(found) > 1:
            raise ambiguous([columns[each] for each in found])
        if found:
            return found[0]
    raise LabelledError(
        f"no column is called {', '.join(LABELS)} or {LAST_RESORT}; name the one with the labels "
        f"by --label{listed(columns)}"
    )


def _header(text: str, delimiter: str) -> list[str]:
    """Return the names of columns: the first line that is not empty."""
    lines = (line[0] for line in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)?", text))
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        return [each.strip() for each in next((row for row in rows if row[1:] or any(row)), [])]
    except csv.Error as error:
        raise LabelledError(f"is not a table: {error}") from error


def _delimiter(text: str) -> str:
    """Return what there is most of in the first line, outside of quotes."""
    first = re.match(r'\s*((?:[^"\r\n]|"[^"]*")*)', text)[1]
    return max(DELIMITERS, key=re.sub(r'"[^"]*"', "", first).count)


def _table(text: str, delimiter: str, columns: list[str], label: int) -> pd.DataFrame:
    """Return the table with numbers for names of columns, the labels as text."""
    missing: dict[int, Sequence[str]] = dict.fromkeys(range(len(columns)), MISSING)
    missing[label] = MISSING_LABEL
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                decimal=_decimal(text, delimiter),
                header=0,
                names=list(range(len(columns))),
                index_col=False,
                dtype={label: str},
                na_values=missing,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
            )
    except (pd.errors.ParserWarning, ValueError) as error:
        raise LabelledError(f"is not a table: {_reason(error, len(columns))}") from error
    if table.empty:
        raise LabelledError("has a line that names the columns, and no rows")
    return table


def _decimal(text: str, delimiter: str) -> str:
    """Return what the decimals of numbers come after, by what is in the first rows."""
    sample = text[:SAMPLE]
    comma = delimiter != "," and re.search(r"[0-9],[0-9]", sample)
    return "," if comma and not re.search(r"[0-9]\.[0-9]", sample) else "."


def _reason(error: Exception, columns: int) -> str:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
    if found:
        return f"line {found[1]} has {found[2]} cells, and there are {columns} columns"
    if isinstance(error, pd.errors.ParserWarning):
        return f"rows have more cells than the {columns} columns that the first line names"
    return str(error).removeprefix("Error tokenizing data. C error: ").strip()


def _as_numbers(labels: pd.Series) -> pd.Series:
    """Return labels as numbers if all of them are, so that 1 and 1.0 are one class."""
    values = labels.dropna().unique()
    return pd.to_numeric(labels) if all(map(is_number, values)) else labels
