"""One recorded session of a study, for its report to draw."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.base.files import written_folder
from bciigl.base.progress import Notify, silent
from bciigl.loop import record
from bciigl.recording import Dataset, is_dataset, open_dataset
from bciigl.study.grid import UNIMPORTANT, Cell, Study
from bciigl.study.session_results import learn_and_keep

EXAMPLE = "example"


def keep_example(
    study: Study, folder: str | os.PathLike, results: Mapping[str, Any], report: Notify = silent
) -> None:
    """Record the study's example (`Study.example`) in its folder, unless there is one already."""
    cell, path = study.example(results), Path(folder) / EXAMPLE
    if cell is None or path.exists():
        return
    try:
        with written_folder(path) as new:
            record(cell.protocol, new, folder=cell.folder)
            learn_and_keep(open_dataset(new))
    except (BciiglError, OSError) as error:
        if not path.exists():  # or another process was faster
            report(f"no example was recorded for the report: {error}")


def open_example(study: Study, folder: str | os.PathLike) -> tuple[Cell, Dataset] | None:
    """Return the example in the folder of a study, and the cell that it is of, if it is there."""
    path = Path(folder) / EXAMPLE
    if not is_dataset(path):
        return None
    dataset = open_dataset(path)
    wanted = dataset.protocol.model_dump(exclude=UNIMPORTANT)
    for cell in study.cells:
        if cell.protocol.model_dump(exclude=UNIMPORTANT) == wanted:
            return cell, dataset
    return None
