"""Labels as classes, and labelled data put together: the checks that all formats share."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bciigl.base.errors import shortened
from bciigl.labelled.columns import matrix_features, table_features
from bciigl.labelled.rules import Labelled, LabelledError
from bciigl.learn.interactions import MOST_ACTIONS

Values = np.ndarray | pd.Series
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


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
    """Return examples with labels, checked.

    Parameters
    ----------
    name : str
    features : array, (examples, ...), or table
        An array is taken as it is, each example flattened. Of a table, `table_features` are taken.
    labels : array or column, (examples,)
        Text or numbers; with `classes`, indices into it. Examples with none are left out.
    classes : sequence of str, optional
        Names of the classes; by default those that occur, in natural order.
    feature_names : sequence of str, optional
        Of the columns of an array.
    openml_id, training, notes
        As in `Labelled`.

    Raises
    ------
    LabelledError
        If there is nothing to learn from the data, or if they are no numbers.
    """
    if not len(features):
        raise LabelledError("has no examples")
    if len(features) != len(labels):
        raise LabelledError(f"has {len(features):,} examples, but {len(labels):,} labels")
    code, names = class_codes(labels) if classes is None else indexed_codes(labels, classes)
    notes = list(notes)
    known = code >= 0
    if not known.all():
        notes.append(
            f"left out: {(~known).sum():,} of {len(known):,} examples, which have no label"
        )
        features, code = features[known], code[known]
        training = None if training is None else int(known[:training].sum())
    check_classes(code, names)
    if training is not None and not 0 < training < len(code):
        raise LabelledError(f"has {training} examples for training, of {len(code)}")
    if isinstance(features, pd.DataFrame):
        matrix, done = table_features(features)
    else:
        matrix, done = matrix_features(features, feature_names)
    return Labelled(name, matrix, code, names, openml_id, training, (*notes, *done))


def class_codes(labels: Values) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the class of each label as a number, -1 where there is none, and their names.

    1 and 1.0 are the same class. Classes are in natural order: 2 before 10.
    """
    labels = _plain(labels)
    found, values = pd.factorize(labels)
    names = [_name_of(each) for each in values]
    order = natural_order(set(names) - {""})
    place = {name: position for position, name in enumerate(order)}
    # The last entry is for labels that are missing, which factorize calls -1.
    codes = np.array([place.get(name, -1) for name in names] + [-1], np.int64)
    return codes[found], tuple(order)


def indexed_codes(labels: np.ndarray, classes: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels that are indices of classes, -1 where there is none, and the classes."""
    labels = _plain(labels)
    names = tuple(_name_of(each) for each in classes)
    (commonest, count), *_ = Counter(names).most_common(1) or [("", 0)]
    if count != 1:
        raise LabelledError(f"has {count} classes called {shortened(commonest)}")
    if labels.dtype.kind not in "buif":
        raise LabelledError(
            f"labels must be indices of the {len(names)} classes, got {shortened(labels[0])}"
        )
    missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(len(labels), bool)
    numbers = np.where(missing, 0, labels)
    wrong = (numbers % 1 != 0) | (numbers < 0) | (numbers >= len(names))
    if wrong.any():
        raise LabelledError(
            f"labels must be indices of the classes, from 0 to {len(names) - 1}, "
            f"got {numbers[wrong][0]:g}"
        )
    return np.where(missing, -1, numbers).astype(np.int64), names


def check_classes(code: np.ndarray, classes: Sequence[str]) -> None:
    """Refuse classes that cannot be guessed."""
    if not len(code):
        raise LabelledError("has no examples with a label")
    if (code == code[0]).all():
        raise LabelledError(
            f"all labels are {shortened(classes[code[0]])}: there is nothing to guess"
        )
    if len(classes) >= len(code):
        raise LabelledError(
            f"has {len(classes):,} classes in {len(code):,} examples: is the label column right?"
        )
    if len(classes) > MOST_ACTIONS:
        raise LabelledError(
            f"has {len(classes):,} classes, and there can be at most {MOST_ACTIONS:,}: "
            "is the label column right?"
        )


def natural_order(names: set[str] | Sequence[str]) -> list[str]:
    """Return names in the order in which people count: 2 before 10, 2_x before 10_x."""
    if all(map(is_number, names)):
        return sorted(names, key=lambda name: (float(name), name))
    return sorted(names, key=_natural)


def is_number(word: str) -> bool:
    """Whether a word is a number in digits; nan and inf are words."""
    return NUMBER.fullmatch(word.strip()) is not None


def name_and_id(path: Path) -> tuple[str, int | None]:
    """Return the name of the dataset in a file, and its OpenML id: 61_iris.npz is iris, 61."""
    found = re.fullmatch(r"([0-9]{1,9})_(.+)", path.stem)
    return (found[2], int(found[1])) if found else (path.stem, None)


def _natural(name: str) -> tuple:
    words = re.split(r"[0-9]+", name)
    counts = [each.lstrip("0") for each in re.findall(r"[0-9]+", name)]
    # A number with more digits is the larger one, however many digits they are.
    return words[0], [(len(n), n, word) for n, word in zip(counts, words[1:], strict=True)], name


def _plain(labels: Values) -> Values:
    """Return labels that are text, numbers or categories, one for each example."""
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1 and labels.size == len(labels):
            labels = labels.ravel()
        if labels.ndim != 1 or labels.dtype.kind not in "buifUS":
            raise LabelledError(
                f"labels must be one number or word for each example, "
                f"got {labels.dtype} of shape {labels.shape}"
            )
        if labels.dtype.kind == "S":
            return np.char.decode(labels, "utf-8", "replace").astype(object)
        if labels.dtype.kind == "U":
            return labels.astype(object)
    return labels


def _name_of(value: object) -> str:
    """Return the name of the class that a label stands for."""
    if isinstance(value, (float, np.floating)) and value == np.trunc(value):
        return f"{value + 0:.0f}"  # 0 added to -0 is 0
    return str(value).strip()
