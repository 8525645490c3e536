"""The work of one cell of a study of labelled data: guess, let all learn from it, count."""

from functools import lru_cache
from typing import Any

from bciigl.base.threads import one_thread
from bciigl.labelled.refit import labelled_learner
from bciigl.labelled.rules import Labelled, find_rule, interactions
from bciigl.labelled.study import LabelledCell, Loads, digest_of
from bciigl.study.cell import ONE_AT_A_TIME, versions
from bciigl.study.grid import StudyError
from bciigl.study.learning import Sessions, learn_from


def run_labelled_cell(cell: LabelledCell) -> dict[str, Any]:
    """Return what all learners of a cell made of it, as plain data.

    The same cell gives the same result in any process, whatever else is run there.
    """
    with ONE_AT_A_TIME, one_thread():
        rule = cell.rule or find_rule(cell.feedback)
        sessions = interactions(data_of(cell), rule, cell.random, samples=cell.samples)
        return {
            **cell.identity,
            "versions": versions(),
            "results": [_result(sessions, each, cell) for each in cell.entries],
        }


def data_of(cell: LabelledCell) -> Labelled:
    """Return the dataset of a cell.

    Raises
    ------
    StudyError
        If it is not what it was when the study was begun.
    """
    if cell.dataset.source is None:
        raise StudyError(f"{cell.dataset.id}: where the data are is not known")
    data, digest = _loaded(cell.dataset.source, cell.dataset.digest)
    if digest != cell.dataset.digest:
        _loaded.cache_clear()  # or data that are put back would not be seen
        raise StudyError(f"{cell.dataset.id}: the data have changed since the study began")
    return data


@lru_cache(maxsize=1)
def _loaded(source: Loads, expected: str) -> tuple[Labelled, str]:
    # Cells of a dataset follow each other, and one dataset may be all that fits into memory. A file
    # that has changed is read again for a study that was begun after it had.
    data = source.load()
    return data, digest_of(data)


def _result(sessions: Sessions, learner: str, cell: LabelledCell) -> dict[str, Any]:
    seed = int(cell.random.rng("learner").integers(2**32))
    found = learn_from(sessions, labelled_learner(learner), seed=seed)
    return {
        "learner": learner,
        "right": int(found.confusion.trace()),
        "tested": int(found.confusion.sum()),
        "verdict": None if found.diagnosis is None else found.diagnosis.verdict,
        "objective": getattr(found.learner, "objective_", None),
    }
