"""What learners made of recorded interactions, in words, the same wherever they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bciigl.study.arrays import Result

TOLD = {
    "ai_igl": "no labels, no rewards",
    "ai_igl_paper": "no labels, no rewards",
    "igl_full_ci": "no labels, no rewards",
    "cb": "told the rewards",
    "ceiling": "told the labels",
}
"""What each learner is told besides contexts, and guesses with their feedback, in brackets."""


class Cells(NamedTuple):
    """A result as the row of a table."""

    learner: str
    accuracy: str
    interval: str
    verdict: str
    match_rates: str


def cells(result: Result) -> Cells:
    """Return a result as text; "-" for what is not known."""
    return Cells(
        result.learner_id,
        "-" if result.accuracy is None else f"{result.accuracy:.1f} %",
        "-" if result.interval is None else "{:.1f} to {:.1f}".format(*result.interval),
        result.diagnosis.verdict if result.diagnosis else "-",
        " ".join(f"{rate:.2f}" for rate in result.match_rates or ()) or "-",
    )
