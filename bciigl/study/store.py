"""The folder of a study: what it is of, and a file for the result of each finished cell."""

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bciigl import __version__
from bciigl.base.errors import printable
from bciigl.base.files import write_text, written_folder
from bciigl.brain.simulated import relative_paths
from bciigl.protocol import Protocol
from bciigl.protocol.compare import first_difference
from bciigl.study.grid import UNIMPORTANT, Cell, Study, StudyError

STUDY = "study.json"
CELLS = "cells"
FAILED = "failed"


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class EntryResult(_Kept):
    """What one learner made of a session.

    Attributes
    ----------
    learner, control
        As in `Entry`.
    confusion : list of lists of int
        For how many test trials of each option (rows) it chose each option (columns).
    verdict : str or None
        Its own, where it has one.
    objective : float or None
        Of full-CI IGL.
    """

    learner: str
    control: str | None
    confusion: list[list[int]] = Field(min_length=2)
    verdict: str | None
    objective: float | None

    @model_validator(mode="after")
    def _counts(self) -> "EntryResult":
        counts = [count for row in self.confusion for count in row]
        square = all(len(row) == len(self.confusion) for row in self.confusion)
        if not square or min(counts, default=-1) < 0 or not sum(counts):
            raise ValueError("confusion should be a square table of counts")
        return self


class CellResult(_Kept):
    """What all learners of a cell made of its session, and all that it depends on."""

    bciigl: str
    protocol: dict[str, Any]
    brain: str
    learners: list[dict[str, Any]]
    repeat: int
    versions: dict[str, str]
    truth_objective: float | None
    results: list[EntryResult]


Results = dict[str, CellResult]
"""Of the cells that are finished, by their keys."""


def checked(cell: Cell, data: Any) -> CellResult:
    """Return plain data as the result of a cell.

    Raises
    ------
    StudyError
        If it is not of this cell, or not a result at all.
    """
    try:
        result = CellResult.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StudyError(f"is not a result: {place}: {first['msg']}") from None
    # Through JSON, as it came.
    for name, expected in json.loads(json.dumps(cell.identity)).items():
        if getattr(result, name) != expected:
            raise StudyError(f"is of another cell: {name} differs")
    if [(each.learner, each.control) for each in result.results] != list(cell.entries):
        raise StudyError("is not a result: it is of other learners")
    return result


def open_study(folder: str | os.PathLike) -> tuple[Study, Results]:
    """Return the study in a folder, and its finished cells.

    Raises
    ------
    StudyError
        If there is none, or if a file is damaged.
    """
    study = _read_study(Path(folder))
    return study, read_results(study, folder)


def is_study(folder: str | os.PathLike) -> bool:
    """Tell whether a folder holds a study."""
    return (Path(folder) / STUDY).exists()


def read_results(study: Study, folder: str | os.PathLike) -> Results:
    """Return the finished cells of a study.

    Raises
    ------
    StudyError
        If a file is not what it should be. It is left as it is.
    """
    results = {}
    for cell in study.cells:
        path = _cell_path(folder, cell)
        if path.exists():
            try:
                results[cell.key] = checked(cell, _read_json(path))
            except StudyError as error:
                raise StudyError(f"{path}: {error}; delete it to have it made again") from None
    return results


def prepare_folder(study: Study, folder: str | os.PathLike) -> Results:
    """Make a folder for a study, or see to it that it is of this study; return what is finished.

    The same study may have other noise levels, repeats, varied fields and learners: its folder then
    grows. One of another experiment is refused, and so is one with a damaged file.
    """
    folder = Path(folder)
    if not is_study(folder) and _made(study, folder):
        return {}
    _refuse_another(folder, study, _read_study(folder))
    results = read_results(study, folder)
    for name in (CELLS, FAILED):
        (folder / name).mkdir(exist_ok=True)
    text = _study_text(study)
    if (folder / STUDY).read_text(encoding="utf-8") != text:
        write_text(folder / STUDY, text, overwrite=True)
    return results


def _made(study: Study, folder: Path) -> bool:
    """Make the folder, whole or not at all; tell whether no other process was faster."""
    try:
        with written_folder(folder) as new:
            for name in (CELLS, FAILED):
                (new / name).mkdir()
            write_text(new / STUDY, _study_text(study))
    except OSError:
        # Jobs of an array begin at the same moment.
        if not is_study(folder):
            raise
        return False
    return True


def keep_result(folder: str | os.PathLike, cell: Cell, result: CellResult) -> None:
    """Write the result of a cell."""
    write_text(_cell_path(folder, cell), result.model_dump_json(indent=1) + "\n", overwrite=True)
    failure_path(folder, cell).unlink(missing_ok=True)


def keep_failure(folder: str | os.PathLike, cell: Cell, traceback: str) -> None:
    """Write why a cell failed."""
    write_text(failure_path(folder, cell), traceback, overwrite=True)


def failure_path(folder: str | os.PathLike, cell: Cell) -> Path:
    """Return where it is written why a cell failed."""
    return Path(folder) / FAILED / f"{cell.key}.txt"


def _cell_path(folder: str | os.PathLike, cell: Cell) -> Path:
    return Path(folder) / CELLS / f"{cell.key}.json"


def _study_text(study: Study) -> str:
    needed = any(relative_paths(each.protocol) for each in study.settings)
    document = {
        "bciigl": __version__,
        "protocol": study.protocol.model_dump(mode="json"),
        # Where bciigl is installed is nobody's concern.
        "folder": study.folder if needed else None,
        "vary": {name: list(values) for name, values in study.vary.items()},
        "controls": list(study.controls),
        "table": study.table,
    }
    return json.dumps(document, indent=1) + "\n"


def _read_study(folder: Path) -> Study:
    path = folder / STUDY
    if not path.exists():
        raise StudyError(f"{folder}: is not a study: it has no {STUDY}")
    try:
        data = _read_json(path)
        return Study(
            Protocol.model_validate(data["protocol"]),
            data["folder"],
            data["vary"],
            tuple(data["controls"]),
            data["table"],
        )
    except (KeyError, TypeError, AttributeError, ValidationError):
        raise StudyError(f"{path}: does not describe a study") from None
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from None


def _refuse_another(folder: Path, ours: Study, theirs: Study) -> None:
    there, here = (_essence(each) for each in (theirs, ours))
    for name, value in here[1].items():
        if there[1][name] != value:
            raise StudyError(
                f"{folder}: has the results of another study: {name} is "
                f"{there[1][name] or 'none'} there, {value or 'none'} here; give another folder"
            )
    if difference := first_difference(here[0], there[0]):
        name, value, other = difference
        raise StudyError(
            f"{folder}: has the results of another study: {name} is {other} there, {value} here; "
            "give another folder"
        )


def _essence(study: Study) -> tuple[Protocol, dict[str, Any]]:
    """Return what makes a study the same: its experiment but for noise and size, and its kind."""
    unimportant = {name: Protocol.model_fields[name].default for name in UNIMPORTANT - {"name"}}
    protocol = study.protocol.model_copy(update=unimportant)
    # Noise levels are the study's; the protocol's own is not used.
    brain = protocol.brain.model_copy(update={"noise": 0.0})
    return protocol.model_copy(update={"brain": brain}), {
        "table": study.table,
        "controls": ", ".join(study.controls),
    }


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StudyError(printable(f"is not JSON ({error})")) from None
