"""Datasets of OpenML, from scikit-learn's cache, or from the network if they are not there."""

import warnings
from http.client import HTTPException
from urllib.error import URLError

from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from bciigl.base.errors import printable
from bciigl.labelled.labels import labelled
from bciigl.labelled.rules import Labelled, LabelledError

INSTEAD = "files of datasets can be given with --data FOLDER"


def read_openml(openml_id: int, label: str | None = None) -> Labelled:
    """Return a dataset of OpenML.

    It is kept where scikit-learn keeps its datasets (`sklearn.datasets.get_data_home`), and read
    from there from then on.

    Parameters
    ----------
    openml_id : int
    label : str, optional
        The column of labels; by default the one that OpenML names.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _fetched(openml_id, label)
    if found.target is None:
        raise LabelledError("OpenML names no column of labels; name it with --label")
    if found.target.ndim > 1:
        names = ", ".join(found.target.columns)
        raise LabelledError(f"has several columns of labels ({names}); choose one with --label")
    notes = [_note(each.message) for each in caught if _tells(str(each.message))]
    name = found.details["name"]
    return labelled(name, found.data, found.target, openml_id=openml_id, notes=notes)


def _tells(message: str) -> bool:
    """Whether a warning is about the dataset, not about how it was fetched."""
    return message.startswith("OpenML ") or "is inactive" in message


def _fetched(openml_id: int, label: str | None) -> Bunch:
    wanted = {} if label is None else {"target_column": label}
    try:
        return fetch_openml(data_id=openml_id, as_frame=True, parser="auto", **wanted)
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        reason = printable(str(getattr(error, "reason", "") or error))
        raise LabelledError(
            f"is not in scikit-learn's cache, and OpenML cannot be reached ({reason}); {INSTEAD}"
        ) from error
    except Exception as error:  # damaged answers fail in as many ways as there are decoders
        reason = printable(str(error.args[0] if error.args else error)).rstrip(".")
        raise LabelledError(f"cannot be read ({reason}); {INSTEAD}") from error


def _note(message: object) -> str:
    return printable(" ".join(str(message).split()))
