"""What learners made of recorded interactions, in words, the same wherever they are shown."""

from collections.abc import Sequence
from typing import NamedTuple

from bciigl.base.registry import LEARNERS
from bciigl.learn.diagnose import TRUST
from bciigl.report.table import Table
from bciigl.study.learning import Result
from bciigl.study.session_results import LearnerResult

_TOLD = {"": "no labels, no rewards", "reward": "told the rewards", "label": "told the labels"}


def told(learner_id: str) -> str:
    """Return what a learner is told besides contexts, and guesses with their feedback."""
    return _TOLD[LEARNERS.get(learner_id).told]


def trusted(result: Result | LearnerResult) -> bool:
    """Tell whether a learner says that it has found the reward; else its numbers mean nothing."""
    return result.diagnosis is not None and result.diagnosis.verdict == TRUST


class Cells(NamedTuple):
    """A result as the cells of a table."""

    accuracy: str
    interval: str
    verdict: str


def cells(result: Result | LearnerResult) -> Cells:
    """Return a result as text; "-" for what is not known."""
    return Cells(
        "-" if result.accuracy is None else f"{result.accuracy:.1f} %",
        "-" if result.interval is None else "{:.1f} to {:.1f}".format(*result.interval),
        result.diagnosis.verdict if result.diagnosis else "-",
    )


def results_table(results: Sequence[Result | LearnerResult]) -> Table:
    """Return what learners made of a session as a table, by their plain names."""
    rows = [[LEARNERS.get(each.learner_id).name, *cells(each)] for each in results]
    return Table(("learner", "accuracy", "95 % interval", "verdict"), rows)
