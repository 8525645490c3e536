"""Where labelled data are: files, folders of files, and OpenML."""

import os
from dataclasses import dataclass
from pathlib import Path

from bciigl.base.errors import did_you_mean
from bciigl.labelled.arff import read_arff
from bciigl.labelled.idx import is_idx, read_idx
from bciigl.labelled.labels import natural_order
from bciigl.labelled.npz import read_npz
from bciigl.labelled.openml import read_openml
from bciigl.labelled.rules import Labelled, LabelledError
from bciigl.labelled.tables import read_csv

ENDINGS = {".npz": "npz", ".arff": "arff", ".csv": "csv", ".tsv": "csv"}
KINDS = ("npz", "arff", "csv", "idx", "openml")
WITHOUT_COLUMNS = ("npz", "idx")
KNOWN = ", ".join([*ENDINGS, "raw IDX files such as train-images-idx3-ubyte"])


@dataclass(frozen=True)
class Source:
    """Where a dataset is.

    Attributes
    ----------
    kind : str
        "npz", "arff", "csv", "idx" or "openml".
    place : str
        A path, or the id that OpenML has for the dataset.
    label : str or None
        The name of the column of labels; by default see the reader of each kind.
    """

    kind: str
    place: str
    label: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be read."""
        if self.kind not in KINDS:
            near = did_you_mean(self.kind, KINDS)
            raise LabelledError(f"{self.place}: unknown kind {self.kind!r}{near}")
        if self.kind == "openml" and not _is_id(self.place):
            raise LabelledError(
                f"OpenML {self.place}: the id of a dataset is a whole number above 0"
            )
        if self.label is not None and self.kind in WITHOUT_COLUMNS:
            raise LabelledError(
                f"{self.place}: has no columns with names, so a label column "
                f"({self.label!r}) cannot be chosen"
            )

    def __str__(self) -> str:
        """Return what errors call it."""
        return f"OpenML {self.place}" if self.kind == "openml" else self.place

    def load(self) -> Labelled:
        """Return the data.

        Raises
        ------
        LabelledError
            That begins with the path, or with OpenML and the id.
        """
        try:
            return self._read()
        except LabelledError as error:
            raise LabelledError(f"{self}: {error}") from error
        except OSError as error:
            raise LabelledError(f"{self}: {error.strerror or error}") from error
        except MemoryError as error:
            raise LabelledError(f"{self}: is too large for the memory") from error

    def _read(self) -> Labelled:
        if self.kind == "openml":
            return read_openml(int(self.place), self.label)
        path = Path(self.place)
        if not path.exists():
            raise LabelledError("no such file")
        if self.kind == "arff":
            return read_arff(path, self.label)
        if self.kind == "csv":
            return read_csv(path, self.label)
        return read_npz(path) if self.kind == "npz" else read_idx(path)


def find_sources(place: str | os.PathLike, *, label: str | None = None) -> list[Source]:
    """Return the datasets in a file or folder.

    Parameters
    ----------
    place : path
        A file; or a folder, of which every dataset is taken, in natural order, but nothing of the
        folders in it. Raw IDX files in a folder are one dataset.
    label : str, optional
        The name of the column of labels in files that have columns.

    Raises
    ------
    LabelledError
        If there are none.
    """
    path = Path(os.path.abspath(place))
    try:
        if path.is_dir():
            return _of_folder(path, label)
        if not path.exists():
            raise LabelledError(f"{path}: no such file or folder")
    except OSError as error:
        raise LabelledError(f"{path}: {error.strerror or error}") from error
    if kind := _kind_of(path):
        return [Source(kind, str(path), label)]
    near = did_you_mean(path.suffix, ENDINGS)
    raise LabelledError(f"{path}: unknown kind of file{near}; known are {KNOWN}")


def _of_folder(folder: Path, label: str | None) -> list[Source]:
    names = [each.name for each in folder.iterdir() if each.is_file()]
    shown = [name for name in names if not name.startswith(".")]
    found = {name: kind for name in shown if (kind := _kind_of(Path(name)))}
    if not found:
        raise LabelledError(f"{folder}: no datasets in this folder; known are {KNOWN}")
    files = natural_order([name for name, kind in found.items() if kind != "idx"])
    sources = [Source(found[name], str(folder / name), label) for name in files]
    if "idx" in found.values():
        sources.append(Source("idx", str(folder), label))
    return sources


def _kind_of(path: Path) -> str | None:
    return "idx" if is_idx(path) else ENDINGS.get(path.suffix.lower())


def _is_id(place: str) -> bool:
    return place.isascii() and place.isdigit() and int(place) > 0
