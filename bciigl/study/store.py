"""The folder of a study: what it is of, and a file for the result of each finished cell."""

import json
import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bciigl.base.errors import BciiglError, printable
from bciigl.base.files import write_text, written_folder
from bciigl.study.grid import StudyError
from bciigl.study.kinds import AnyCell, AnyStudy, kind_of, read_document
from bciigl.study.results import CellResult, LabelledResult

STUDY = "study.json"
CELLS = "cells"
FAILED = "failed"


AnyResult = CellResult | LabelledResult
Results = dict[str, AnyResult]
"""Of the cells that are finished, by their keys."""


def checked(cell: AnyCell, data: Any) -> AnyResult:
    """Return plain data as the result of a cell.

    Raises
    ------
    StudyError
        If it is not of this cell, or not a result at all.
    """
    try:
        result = kind_of(cell).result.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StudyError(f"is not a result: {place}: {first['msg']}") from None
    # Through JSON, as it came.
    for name, expected in json.loads(json.dumps(cell.identity)).items():
        if getattr(result, name) != expected:
            raise StudyError(f"is of another cell: {name} differs")
    if [each.entry for each in result.results] != list(cell.entries):
        raise StudyError("is not a result: it is of other learners")
    return result


def open_study(folder: str | os.PathLike) -> tuple[AnyStudy, Results]:
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


def read_results(study: AnyStudy, folder: str | os.PathLike) -> Results:
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


def prepare_folder(study: AnyStudy, folder: str | os.PathLike) -> Results:
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


def _made(study: AnyStudy, folder: Path) -> bool:
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


def keep_result(folder: str | os.PathLike, cell: AnyCell, result: AnyResult) -> None:
    """Write the result of a cell."""
    write_text(_cell_path(folder, cell), result.model_dump_json(indent=1) + "\n", overwrite=True)
    failure_path(folder, cell).unlink(missing_ok=True)


def keep_failure(folder: str | os.PathLike, cell: AnyCell, traceback: str) -> None:
    """Write why a cell failed."""
    write_text(failure_path(folder, cell), traceback, overwrite=True)


def failure_path(folder: str | os.PathLike, cell: AnyCell) -> Path:
    """Return where it is written why a cell failed."""
    return Path(folder) / FAILED / f"{cell.key}.txt"


def _cell_path(folder: str | os.PathLike, cell: AnyCell) -> Path:
    return Path(folder) / CELLS / f"{cell.key}.json"


def _study_text(study: AnyStudy) -> str:
    return json.dumps(kind_of(study).document(study), indent=1) + "\n"


def _read_study(folder: Path) -> AnyStudy:
    path = folder / STUDY
    if not path.exists():
        raise StudyError(f"{folder}: is not a study: it has no {STUDY}")
    try:
        return read_document(_read_json(path))
    except (KeyError, TypeError, AttributeError, ValidationError):
        raise StudyError(f"{path}: does not describe a study") from None
    except BciiglError as error:
        raise StudyError(f"{path}: {error}") from None


def _refuse_another(folder: Path, ours: AnyStudy, theirs: AnyStudy) -> None:
    difference = ("kind", kind_of(ours).name, kind_of(theirs).name)
    if difference[1] == difference[2]:
        difference = kind_of(ours).difference(ours, theirs)
    if difference:
        name, here, there = difference
        raise StudyError(
            f"{folder}: has the results of another study: {name} is {there} there, {here} here; "
            "give another folder"
        )


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise StudyError(printable(f"is not JSON ({error})")) from None
