"""Features of examples: finite numbers, from arrays and from tables with columns of all kinds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bciigl.base.errors import printable, shortened
from bciigl.labelled.rules import LabelledError
from bciigl.learn.interactions import LARGEST_VALUE

# A column that tells rows apart has more values than this, and more than this share of the rows.
IDENTIFIER_VALUES, IDENTIFIER_SHARE = 50, 0.5
# A nominal column with more values is text, of which single values say nothing.
MOST_VALUES = 1000
# Whole numbers up to this are the same in single precision.
LARGEST_SINGLE = 2**24
# Features of all examples: 2 GB in single precision.
MOST_NUMBERS = 2**29
LISTED, LONGEST_NAME = 5, 40


class Nominal(NamedTuple):
    """A column of names: the code of each row's; a missing one is a value of its own, the last."""

    code: np.ndarray
    values: int
    missing: int


def table_features(table: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Return the columns of a table as numbers, (rows, features), and notes on what was done.

    Numbers stay as they are, missing ones become the mean of their column. Any other column becomes
    one column of 0 and 1 for each of its values, also where there are two only; a missing value is
    one of them. Columns that never vary, and those that merely tell rows apart, are left out.

    Raises
    ------
    LabelledError
        If a number is infinite, if no column is left, or if they would be far too many.
    """
    kept: list[np.ndarray | Nominal] = []
    constant, identifiers, missing = [], [], 0
    for name, column in table.items():
        found = _numbers(column, str(name)) if _is_numeric(column) else nominal(column)
        if _never_varies(found):
            constant.append(name)
        elif _is_identifier(found):
            identifiers.append(name)
        else:
            if isinstance(found, np.ndarray):
                found, filled = _filled(found)
                missing += filled
            kept.append(found)
    left_out = [
        _listed(constant, "never vary"),
        _listed(identifiers, "only tell rows apart"),
    ]
    if not kept:
        raise LabelledError(
            "; ".join(filter(None, ["has no features to tell labels by", *left_out]))
        )
    notes = [
        *left_out,
        *_filled_notes(missing, len(table) * sum(isinstance(k, np.ndarray) for k in kept)),
        *_nominal_notes([each for each in kept if isinstance(each, Nominal)]),
    ]
    return _joined(kept, len(table)), [note for note in notes if note]


def matrix_features(
    values: np.ndarray, names: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str]]:
    """Return an array as finite numbers, (examples, features), and notes on what was done.

    Bytes, as of images, stay bytes; other numbers become single precision if that can hold them.
    Missing ones become the mean of their column.
    """
    if values.dtype.kind not in "buif":
        raise LabelledError(f"features must be numbers, got {values.dtype}")
    if values.ndim < 2 or not values.size:
        raise LabelledError(f"features must be of shape (examples, features), got {values.shape}")
    values = values.reshape(len(values), -1)
    if values.dtype.kind == "b" or values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False), []
    missing = np.isnan(values)
    if missing.any():
        return _matrix_filled(values, missing, names)
    _check_finite(values, names)
    return _narrow(values), []


def nominal(column: pd.Series) -> Nominal:
    """Return a column of names as codes, in alphabetical order of the names."""
    found, values = pd.factorize(column)
    names = [str(each).strip() for each in values]
    place = {name: position for position, name in enumerate(sorted(set(names) - {""}))}
    # The last entry is for what factorize calls -1: missing.
    codes = np.array([place.get(name, len(place)) for name in names] + [len(place)])[found]
    missing = int((codes == len(place)).sum())
    return Nominal(codes, len(place) + (missing > 0), missing)


def _is_numeric(column: pd.Series) -> bool:
    kind = column.dtype
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def _numbers(column: pd.Series, name: str) -> np.ndarray:
    """Return a column of numbers; missing ones are nan."""
    if pd.api.types.is_complex_dtype(column.dtype):
        raise LabelledError(f"column {shortened(name)} should have real numbers, got complex ones")
    values = column.to_numpy(float, na_value=np.nan)
    _check_finite(values[:, None], [name])
    return values


def _never_varies(column: np.ndarray | Nominal) -> bool:
    if isinstance(column, Nominal):
        return column.values == 1
    known = column[~np.isnan(column)]
    return not len(known) or bool((known == known[0]).all())


def _is_identifier(column: np.ndarray | Nominal) -> bool:
    """Whether a column merely tells rows apart: it counts them, or nearly each has its own name."""
    if isinstance(column, Nominal):
        most = max(IDENTIFIER_VALUES, IDENTIFIER_SHARE * len(column.code))
        return column.values > min(most, MOST_VALUES)
    return len(column) > IDENTIFIER_VALUES and bool((np.diff(column) == 1).all())


def _filled(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a column with the mean where numbers are missing, and how many that are."""
    missing = np.isnan(values)
    if missing.any():
        values = np.where(missing, values[~missing].mean(), values)
    return _narrow(values), int(missing.sum())


def _matrix_filled(
    values: np.ndarray, missing: np.ndarray, names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    empty = missing.all(axis=0)
    if empty.all():
        raise LabelledError("features are all missing")
    _check_finite(np.where(missing, 0, values), names)
    values, missing = values[:, ~empty].astype(float), missing[:, ~empty]
    values[missing] = np.take(np.nanmean(values, axis=0), np.nonzero(missing)[1])
    columns = [_column_name(each, names) for each in np.flatnonzero(empty)]
    notes = [_listed(columns, "have no numbers"), *_filled_notes(missing.sum(), missing.size)]
    return _narrow(values), [note for note in notes if note]


def _check_finite(values: np.ndarray, names: Sequence[str] | None) -> None:
    """Refuse columns with numbers that are infinite or nearly so; missing ones pass."""
    highest, lowest = float(np.fmax.reduce(values, None)), float(np.fmin.reduce(values, None))
    if max(highest, -lowest) >= LARGEST_VALUE:
        row, column = np.argwhere(np.abs(values.astype(float)) >= LARGEST_VALUE)[0]
        raise LabelledError(
            f"column {_column_name(column, names)} should have finite numbers, "
            f"got {values[row, column]} in row {row + 1}"
        )


def _column_name(column: int, names: Sequence[str] | None) -> str:
    if names is None or column >= len(names):
        return str(column + 1)
    return shortened(str(names[column]))


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return numbers in single precision, unless some are too large for it."""
    largest = max(float(values.max()), -float(values.min()))
    kind = np.float32 if largest <= LARGEST_SINGLE else np.float64
    return values.astype(kind, copy=False)


def _joined(columns: list[np.ndarray | Nominal], rows: int) -> np.ndarray:
    """Return columns side by side, (rows, features)."""
    width = sum(each.values if isinstance(each, Nominal) else 1 for each in columns)
    if width * rows > MOST_NUMBERS:
        raise LabelledError(
            f"would have {width:,} features in {rows:,} examples, which is too much: "
            "leave out columns that have many values"
        )
    kinds = [each.dtype for each in columns if isinstance(each, np.ndarray)]
    features = np.zeros((rows, width), np.result_type(np.float32, *kinds))
    at = 0
    for each in columns:
        if isinstance(each, Nominal):
            features[np.arange(rows), at + each.code] = 1
            at += each.values
        else:
            features[:, at] = each
            at += 1
    return features


def _filled_notes(missing: int, numbers: int) -> list[str]:
    if not missing:
        return []
    filled = "filled with the mean of their column over all rows"
    return [f"missing: {missing:,} of {numbers:,} numbers, {filled}"]


def _nominal_notes(columns: list[Nominal]) -> list[str]:
    if not columns:
        return []
    width = sum(each.values for each in columns)
    notes = [f"nominal: {_columns(len(columns))}, made {_columns(width)} of 0 and 1"]
    missing = sum(each.missing for each in columns)
    if missing:
        cells = sum(len(each.code) for each in columns)
        notes.append(f"missing: {missing:,} of {cells:,} nominal values, taken as one more value")
    return notes


def _columns(count: int) -> str:
    return f"{count:,} column" + "s" * (count != 1)


def _listed(names: list, why: str) -> str:
    """Return a note on columns that were left out."""
    if not names:
        return ""
    words = ", ".join(printable(str(each))[:LONGEST_NAME] for each in names[:LISTED])
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"left out: columns that {why}: {words}{more}"
