"""The folder of a study: what it is of, a file for the result of each finished cell, its table."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from bciigl import __version__
from bciigl.base.errors import BciiglError
from bciigl.base.files import write_text, written_folder
from bciigl.base.json_files import first_problem, read_json
from bciigl.study.grid import Study, StudyError, key_of
from bciigl.study.rows import Scored

STUDY = "study.json"
CELLS = "cells"
FAILED = "failed"
RESULTS = "results.json"

Results = dict[str, Any]
"""What is kept of the finished cells, by their keys."""


AnyCell: TypeAlias = Any
AnyStudy: TypeAlias = Any
"""A study of any kind has what `bciigl.study.Study` has: a kind, cells, `document`, `read`,
`difference`, `rows` and `read_row`. Its cells have a key, an identity, a repeat, entries, the model
of a result, and `run`."""


def checked(cell: AnyCell, data: Any) -> Any:
    """Return plain data as the result of a cell, if they are that."""
    try:
        result = cell.result.model_validate(data)
    except ValidationError as error:
        raise StudyError(f"is not a result: {first_problem(error)}") from None
    # Through JSON, as it came.
    expected = {**json.loads(json.dumps(cell.identity)), "repeat": cell.repeat}
    for name, value in expected.items():
        if getattr(result, name) != value:
            raise StudyError(f"is of another cell: {name} differs")
    if [each.entry for each in result.results] != list(cell.entries):
        raise StudyError("is not a result: it is of other learners")
    return result


def open_study(
    folder: str | os.PathLike, kinds: Sequence[AnyStudy] = (Study,)
) -> tuple[AnyStudy, Results]:
    """Return the study in a folder, and its finished cells.

    `kinds` are the classes of study that it may be, such as ``(Study, LabelledStudy)``.
    """
    study = _read_study(Path(folder), _read_document(Path(folder)), kinds)
    return study, read_results(study, folder)


def is_study(folder: str | os.PathLike) -> bool:
    """Tell whether a folder holds a study."""
    return (Path(folder) / STUDY).exists()


def read_results(study: AnyStudy, folder: str | os.PathLike) -> Results:
    """Return the finished cells of a study; a damaged file is refused and left as it is."""
    results = {}
    for cell in study.cells:
        path = _cell_path(folder, cell)
        if path.exists():
            try:
                results[cell.key] = checked(cell, read_json(path, error=StudyError))
            except StudyError as error:
                what = str(error).removeprefix(f"{path}: ")
                raise StudyError(f"{path}: {what}; delete it to have it made again") from None
    return results


def prepare_folder(study: AnyStudy, folder: str | os.PathLike) -> Results:
    """Make a folder for a study, or check that it is of this study; return what is finished.

    The same study may have other noise levels, repeats, varied fields and learners: its folder then
    grows. One of another experiment is refused, and so is one with a damaged file.
    """
    folder, text = Path(folder), _text(study.document())
    if not is_study(folder):
        try:
            with written_folder(folder) as new:
                for name in (CELLS, FAILED):
                    (new / name).mkdir()
                write_text(new / STUDY, text)
            return {}
        except OSError:
            # Jobs of an array begin at the same moment: another process may have been faster.
            if not is_study(folder):
                raise
    document = _read_document(folder)
    difference = ("kind", study.kind, document["kind"])
    if document["kind"] == study.kind:
        difference = study.difference(_read_study(folder, document, [type(study)]))
    if difference:
        name, here, there = difference
        raise StudyError(
            f"{folder}: has the results of another study: {name} is {there} there, {here} here; "
            "give another folder"
        )
    results = read_results(study, folder)
    for name in (CELLS, FAILED):
        (folder / name).mkdir(exist_ok=True)
    if (folder / STUDY).read_text(encoding="utf-8") != text:
        write_text(folder / STUDY, text, overwrite=True)
    return results


def keep_result(folder: str | os.PathLike, cell: AnyCell, result: BaseModel) -> None:
    """Write the result of a cell."""
    write_text(_cell_path(folder, cell), result.model_dump_json(indent=1) + "\n", overwrite=True)
    failure_path(folder, cell).unlink(missing_ok=True)


def keep_failure(folder: str | os.PathLike, cell: AnyCell, traceback: str) -> Path:
    """Write why a cell failed, and return where."""
    path = failure_path(folder, cell)
    write_text(path, traceback, overwrite=True)
    return path


def failure_path(folder: str | os.PathLike, cell: AnyCell) -> Path:
    """Return where it is written why a cell failed."""
    return Path(folder) / FAILED / f"{cell.key}.txt"


def keep_rows(folder: str | os.PathLike, results: Results, rows: Sequence[Scored]) -> None:
    """Write the table of a study, and of which finished cells it is."""
    table = [row.as_dict() for row in rows]
    document = {"bciigl": __version__, "cells": cells_digest(results), "rows": table}
    write_text(Path(folder) / RESULTS, _text(document), overwrite=True)


def read_rows(study: AnyStudy, folder: str | os.PathLike, results: Results) -> list[Any]:
    """Return the table of a study as `run_study` kept it."""
    path, again = Path(folder) / RESULTS, "run the command that made the study again"
    if not path.exists():
        raise StudyError(f"{path}: is missing; {again}")
    try:
        document = read_json(path, error=StudyError)
        if document["cells"] == cells_digest(results):
            return [study.read_row(each) for each in document["rows"]]
    except (LookupError, TypeError, AttributeError, ValidationError, StudyError):
        raise StudyError(f"{path}: is damaged; {again}") from None
    raise StudyError(f"{path}: is not of what is finished now; {again}")


def cells_digest(results: Mapping[str, Any]) -> str:
    """Return a hash of which cells are finished."""
    return key_of({"bciigl": __version__, "cells": sorted(results)})


def _cell_path(folder: str | os.PathLike, cell: AnyCell) -> Path:
    return Path(folder) / CELLS / f"{cell.key}.json"


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / STUDY
    if not path.exists():
        raise StudyError(f"{folder}: is not a study: it has no {STUDY}")
    document = read_json(path, error=StudyError)
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise StudyError(f"{path}: does not describe a study of this version of bciigl")
    return document


def _read_study(folder: Path, document: dict[str, Any], kinds: Sequence[AnyStudy]) -> AnyStudy:
    known = {each.kind: each for each in kinds}
    try:
        if document["kind"] not in known:
            raise StudyError(f"should be a study of the kind {' or '.join(known)}")
        return known[document["kind"]].read(document)
    except ValidationError as error:
        problem = f"does not describe a study: {first_problem(error)}"
    except BciiglError as error:
        problem = str(error)
    raise StudyError(f"{folder / STUDY}: {problem}")
