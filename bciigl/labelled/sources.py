"""Where labelled data are: files, folders of files, and OpenML."""

import os
import re
import warnings
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from sklearn.datasets import fetch_openml

from bciigl.base.errors import did_you_mean, printable
from bciigl.labelled.arrays import is_idx, read_idx, read_npz
from bciigl.labelled.examples import labelled, natural_order
from bciigl.labelled.rules import Labelled, LabelledError, refuse
from bciigl.labelled.tables import read_arff, read_csv

ENDINGS = {".npz": "npz", ".arff": "arff", ".csv": "csv", ".tsv": "csv"}
KNOWN = ", ".join([*ENDINGS, "raw IDX files such as train-images-idx3-ubyte"])
ARRAYS = {"npz": read_npz, "idx": read_idx}
TABLES = {"arff": read_arff, "csv": read_csv}
OPENML = "openml"
INSTEAD = "files of datasets can be given with --data FOLDER"


@dataclass(frozen=True)
class Source:
    """Where a dataset is: a path or an id of OpenML, as `kind` says; and its column of labels."""

    kind: str
    place: str
    label: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be read."""
        kinds = (*ARRAYS, *TABLES, OPENML)
        near = did_you_mean(self.kind, kinds)
        refuse(self.kind not in kinds, f"{self}: unknown kind {self.kind!r}{near}")
        whole = self.kind != OPENML or re.fullmatch("0*[1-9][0-9]*", self.place)
        refuse(not whole, f"{self}: the id of a dataset is a whole number above 0")
        named = self.label is not None and self.kind in ARRAYS
        chosen = f"a label column ({self.label!r}) cannot be chosen"
        refuse(named, f"{self}: has no columns with names, so {chosen}")

    def __str__(self) -> str:
        """Return what errors call it."""
        return f"OpenML {self.place}" if self.kind == OPENML else self.place

    def load(self) -> Labelled:
        """Return the data; an error begins with the path, or with OpenML and the id."""
        try:
            if self.kind == OPENML:
                return _read_openml(int(self.place), self.label)
            path = Path(self.place)
            refuse(not path.exists(), "no such file")
            if self.kind in ARRAYS:
                return ARRAYS[self.kind](path)
            return TABLES[self.kind](path, self.label)
        except LabelledError as error:
            raise LabelledError(f"{self}: {error}") from error
        except OSError as error:
            raise LabelledError(f"{self}: {error.strerror or error}") from error
        except MemoryError as error:
            raise LabelledError(f"{self}: is too large for the memory") from error


def _read_openml(openml_id: int, label: str | None) -> Labelled:
    """Return a dataset of OpenML, from scikit-learn's cache or, if it is not there, the network."""
    wanted = {} if label is None else {"target_column": label}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = fetch_openml(data_id=openml_id, as_frame=True, parser="auto", **wanted)
        except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
            reason = printable(str(getattr(error, "reason", "") or error))
            nowhere = "is not in scikit-learn's cache, and OpenML cannot be reached"
            raise LabelledError(f"{nowhere} ({reason}); {INSTEAD}") from error
        except Exception as error:  # damaged answers fail in as many ways as there are decoders
            reason = printable(str(error.args[0] if error.args else error)).rstrip(".")
            raise LabelledError(f"cannot be read ({reason}); {INSTEAD}") from error
    refuse(found.target is None, "OpenML names no column of labels; name it with --label")
    if found.target.ndim > 1:
        names = ", ".join(found.target.columns)
        raise LabelledError(f"has several columns of labels ({names}); choose one with --label")
    # Of the warnings, those about the dataset, not about how it was fetched.
    said = [" ".join(str(each.message).split()) for each in caught]
    about = [each for each in said if each.startswith("OpenML ") or "is inactive" in each]
    name, notes = found.details["name"], list(map(printable, about))
    return labelled(name, found.data, found.target, openml_id=openml_id, notes=notes)


def find_sources(place: str | os.PathLike, *, label: str | None = None) -> list[Source]:
    """Return the datasets in a file or folder, in natural order, with their column of labels.

    Nothing of the folders in a folder is taken, and raw IDX files in it are one dataset.
    """
    path = Path(os.path.abspath(place))
    try:
        if path.is_dir():
            return _of_folder(path, label)
        refuse(not path.exists(), f"{path}: no such file or folder")
    except OSError as error:
        raise LabelledError(f"{path}: {error.strerror or error}") from error
    if kind := _kind_of(path):
        return [Source(kind, str(path), label)]
    near = did_you_mean(path.suffix, ENDINGS)
    raise LabelledError(f"{path}: unknown kind of file{near}; known are {KNOWN}")


def _of_folder(folder: Path, label: str | None) -> list[Source]:
    shown = [each for each in folder.iterdir() if each.is_file() and each.name[0] != "."]
    found = {each.name: kind for each in shown if (kind := _kind_of(each))}
    refuse(not found, f"{folder}: no datasets in this folder; known are {KNOWN}")
    files = natural_order([name for name, kind in found.items() if kind != "idx"])
    sources = [Source(found[name], str(folder / name), label) for name in files]
    return sources + [Source("idx", str(folder), label)] * ("idx" in found.values())


def _kind_of(path: Path) -> str | None:
    return "idx" if is_idx(path) else ENDINGS.get(path.suffix.lower())
