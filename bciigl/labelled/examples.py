"""Labelled data from tables and arrays: features as finite numbers, labels as classes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bciigl.base.errors import printable, shortened
from bciigl.labelled.rules import Labelled, LabelledError, refuse
from bciigl.learn.interactions import LARGEST_VALUE, MOST_ACTIONS

Values = np.ndarray | pd.Series
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# A column that tells rows apart has more values than this, and more than this share of the rows.
IDENTIFIER_VALUES, IDENTIFIER_SHARE = 50, 0.5
# A nominal column with more values is text, of which single values say nothing.
MOST_VALUES = 1000
# Whole numbers up to this are the same in single precision.
LARGEST_SINGLE = 2**24
# Features of all examples: 2 GB in single precision.
MOST_NUMBERS = 2**29
LISTED, LONGEST_NAME = 5, 40


def labelled(
    name: str,
    features: np.ndarray | pd.DataFrame,
    labels: Values,
    *,
    classes: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    openml_id: int | None = None,
    training: int | None = None,
    notes: Sequence[str] = (),
) -> Labelled:
    """Return examples with labels (with `classes`, indices), checked; those with none are out."""
    refuse(not len(features), "has no examples")
    examples = f"{len(features):,} examples"
    refuse(len(features) != len(labels), f"has {examples}, but {len(labels):,} labels")
    code, names = class_codes(labels) if classes is None else _indexed_codes(labels, classes)
    known = code >= 0
    if not known.all():
        left_out = f"left out: {(~known).sum():,} of {len(known):,} examples, which have no label"
        notes = [*notes, left_out]
        features, code = features[known], code[known]
        training = None if training is None else int(known[:training].sum())
    _check_classes(code, names)
    split = training is None or 0 < training < len(code)
    refuse(not split, f"has {training} examples for training, of {len(code)}")
    if isinstance(features, pd.DataFrame):
        matrix, done = table_features(features)
    else:
        matrix, done = matrix_features(features, feature_names)
    return Labelled(name, matrix, code, names, openml_id, training, (*notes, *done))


def class_codes(labels: Values) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the class of each label, -1 where there is none, and their names in natural order."""
    return _codes(_plain(labels), natural_order)


def _codes(
    values: Values, order: Callable[[Iterable[str]], list[str]]
) -> tuple[np.ndarray, tuple[str, ...]]:
    found, distinct = pd.factorize(values)
    names = [_name_of(each) for each in distinct]
    known = order(set(names) - {""})
    place = {name: position for position, name in enumerate(known)}
    # The last entry is for what is missing, which factorize calls -1.
    return np.array([place.get(name, -1) for name in (*names, "")], np.int64)[found], tuple(known)


def _indexed_codes(values: Values, classes: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    labels: Any = _plain(values)
    names = tuple(map(_name_of, classes))
    (commonest, count), *_ = Counter(names).most_common(1) or [("", 0)]
    refuse(count != 1, f"has {count} classes called {shortened(commonest)}")
    indices = f"labels must be indices of the {len(names)} classes"
    refuse(labels.dtype.kind not in "buif", f"{indices}, got {shortened(labels[0])}")
    missing = np.isnan(labels)
    numbers = np.where(missing, 0, labels)
    wrong = (numbers % 1 != 0) | (numbers < 0) | (numbers >= len(names))
    if wrong.any():
        indices = f"labels must be indices of the classes, from 0 to {len(names) - 1}"
        raise LabelledError(f"{indices}, got {numbers[wrong][0]:g}")
    return np.where(missing, -1, numbers).astype(np.int64), names


def _check_classes(code: np.ndarray, classes: Sequence[str]) -> None:
    refuse(not len(code), "has no examples with a label")
    only = shortened(classes[code[0]])
    refuse((code == code[0]).all(), f"all labels are {only}: there is nothing to guess")
    found, right = f"has {len(classes):,} classes", "is the label column right?"
    refuse(len(classes) >= len(code), f"{found} in {len(code):,} examples: {right}")
    most = f"and there can be at most {MOST_ACTIONS:,}"
    refuse(len(classes) > MOST_ACTIONS, f"{found}, {most}: {right}")


def natural_order(names: Iterable[str]) -> list[str]:
    """Return names in the order in which people count: 2 before 10, 2_x before 10_x."""
    if all(map(is_number, names)):
        return sorted(names, key=lambda name: (float(name), name))
    return sorted(names, key=_natural)


def is_number(word: str) -> bool:
    """Whether a word is a number in digits; nan and inf are words."""
    return NUMBER.fullmatch(word.strip()) is not None


def _natural(name: str) -> tuple:
    # A number with more digits is the larger one, however many digits they are.
    first, *others = re.split(r"0*([0-9]+)", name)
    digits = [each.lstrip("0") for each in others[::2]]
    counts = [(len(each), each) for each in digits]
    return first, list(zip(counts, others[1::2], strict=True)), name


def _plain(labels: Values) -> Values:
    """Return labels that are text, numbers or categories, one for each example."""
    if not isinstance(labels, np.ndarray):
        return labels
    if labels.ndim != 1 and labels.size == len(labels):
        labels = labels.ravel()
    refuse(
        labels.ndim != 1 or labels.dtype.kind not in "buifUS",
        f"labels must be one number or word for each example, got {labels.dtype} of shape "
        f"{labels.shape}",
    )
    return as_text(labels).astype(object) if labels.dtype.kind in "US" else labels


def name_and_id(path: Path) -> tuple[str, int | None]:
    """Return the name of the dataset in a file, and its OpenML id: 61_iris.npz is iris, 61."""
    found = re.fullmatch(r"([0-9]{1,9})_(.+)", path.stem)
    return (found[2], int(found[1])) if found else (path.stem, None)


def as_text(values: np.ndarray) -> np.ndarray:
    """Return an array with text in place of bytes."""
    return np.char.decode(values, "utf-8", "replace") if values.dtype.kind == "S" else values


def _name_of(value: object) -> str:
    if isinstance(value, (float, np.floating)) and value == np.trunc(value):
        return f"{value + 0:.0f}"  # 0 added to -0 is 0
    return str(value).strip()


def table_features(table: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Return the columns of a table as numbers, (rows, features), and notes on what was done.

    Numbers stay as they are, missing ones become the mean of their column. Any other column becomes
    one column of 0 and 1 for each of its values, also where there are two only; a missing value is
    one of them. Columns that never vary, and those that merely tell rows apart, are left out.
    """
    kept: list[np.ndarray] = []
    widths: list[int] = []
    constant, identifiers, missing = [], [], {True: 0, False: 0}
    for name, column in table.items():
        kind = column.dtype
        numeric = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        if numeric:
            values = column.to_numpy(float, na_value=np.nan)
            _check_finite(values[:, None], [str(name)])
            gaps, width = np.isnan(values), 1
            identifier = len(values) > IDENTIFIER_VALUES and (np.diff(values) == 1).all()
        else:
            values, names = _codes(column, sorted)
            gaps = values < 0
            values[gaps] = len(names)
            width = len(names) + bool(gaps.any())
            most = max(IDENTIFIER_VALUES, IDENTIFIER_SHARE * len(values))
            identifier = width > min(most, MOST_VALUES)
        known = values[~gaps] if numeric else values
        if not len(known) or (known == known[0]).all():
            constant.append(name)
        elif identifier:
            identifiers.append(name)
        else:
            missing[numeric] += int(gaps.sum())
            if numeric:
                values = _narrow(np.where(gaps, known.mean(), values) if gaps.any() else values)
            kept.append(values)
            widths.append(width)
    left_out = _listed(constant, "never vary") + _listed(identifiers, "only tell rows apart")
    refuse(not kept, "; ".join(["has no features to tell labels by", *left_out]))
    # A nominal column that varies has two values or more.
    nominal = [width for width in widths if width > 1]
    notes = left_out + _filled(missing[True], len(table) * widths.count(1))
    if nominal:
        made = f"made {_columns(sum(nominal))} of 0 and 1"
        notes.append(f"nominal: {_columns(len(nominal))}, {made}")
    if missing[False]:
        cells = f"{missing[False]:,} of {len(table) * len(nominal):,} nominal values"
        notes.append(f"missing: {cells}, taken as one more value")
    return _joined(kept, widths), notes


def matrix_features(
    values: np.ndarray, names: Sequence[str] | None = None
) -> tuple[np.ndarray, list[str]]:
    """Return an array as finite numbers, (examples, features), and notes on what was done.

    Bytes, as of images, stay bytes; other numbers become single precision if that can hold them.
    Missing ones become the mean of their column.
    """
    refuse(values.dtype.kind not in "buif", f"features must be numbers, got {values.dtype}")
    got = f"(examples, features), got {values.shape}"
    refuse(values.ndim < 2 or not values.size, f"features must be of shape {got}")
    values = values.reshape(len(values), -1)
    if values.dtype.kind == "b" or values.dtype == np.uint8:
        return values.astype(np.uint8, copy=False), []
    missing = np.isnan(values)
    empty = missing.all(axis=0)
    refuse(empty.all(), "features are all missing")
    _check_finite(values, names)
    if not missing.any():
        return _narrow(values), []
    values, missing = values[:, ~empty].astype(float), missing[:, ~empty]
    values[missing] = np.take(np.nanmean(values, axis=0), np.nonzero(missing)[1])
    columns = [_column_name(each, names) for each in np.flatnonzero(empty).tolist()]
    notes = _listed(columns, "have no numbers") + _filled(missing.sum(), missing.size)
    return _narrow(values), notes


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
    return values.astype(np.float32 if largest <= LARGEST_SINGLE else np.float64, copy=False)


def _joined(columns: list[np.ndarray], widths: list[int]) -> np.ndarray:
    """Return columns side by side, (rows, features); those wider than 1 are codes."""
    rows, width = len(columns[0]), sum(widths)
    refuse(
        width * rows > MOST_NUMBERS,
        f"would have {width:,} features in {rows:,} examples, which is too much: "
        "leave out columns that have many values",
    )
    kinds = [each.dtype for each in columns if each.dtype.kind == "f"]
    features = np.zeros((rows, width), np.result_type(np.float32, *kinds))
    for end, width, column in zip(np.cumsum(widths), widths, columns, strict=True):
        if width == 1:
            features[:, end - 1] = column
        else:
            features[np.arange(rows), end - width + column] = 1
    return features


def _filled(missing: int, numbers: int) -> list[str]:
    filled = "filled with the mean of their column over all rows"
    return [f"missing: {missing:,} of {numbers:,} numbers, {filled}"] if missing else []


def _columns(count: int) -> str:
    return f"{count:,} column" + "s" * (count != 1)


def _listed(names: list, why: str) -> list[str]:
    words = ", ".join(printable(str(each))[:LONGEST_NAME] for each in names[:LISTED])
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return [f"left out: columns that {why}: {words}{more}"] if names else []
