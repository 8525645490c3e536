"""How accuracy grows with the runs that are learned from."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bciigl.base.progress import Notify, silent
from bciigl.learn import InputError
from bciigl.report.drawing import Drawing
from bciigl.report.style import GREY, LEARNER_STYLES, SMALL, new_figure, plain
from bciigl.study.arrays import Recorded, Result, learn_from, learners_for

LEARNERS = ("ai_igl", "cb", "ceiling")
POINTS = 7


class Point(NamedTuple):
    """The accuracy of a learner after so many runs, in percent, with its 95 % interval."""

    learner_id: str
    runs: int
    trials: int
    accuracy: float
    low: float
    high: float


def learning_curve(
    recorded: Recorded,
    *,
    seed: int = 0,
    known: Sequence[Result] = (),
    report: Notify = silent,
) -> list[Point]:
    """Return test accuracies after more and more runs.

    Parameters
    ----------
    recorded : Recorded
        With runs, and with test labels.
    seed : int
        Of learners that draw random numbers.
    known : sequence of Result
        Of learners that have learned from all runs already.
    report : function, optional
        Told what begins.
    """
    runs = list(dict.fromkeys(recorded.run.tolist()))
    after = np.unique(np.linspace(1, len(runs), POINTS).round().astype(int)).tolist()
    finished = {each.learner_id: each for each in known}
    points = []
    for learner_id in (each for each in LEARNERS if each in learners_for(recorded)):
        report(f"learning curve of {learner_id}")
        for count in after:
            some = _first(recorded, runs[:count])
            result = finished.get(learner_id) if count == len(runs) else None
            result = result or _learned(some, learner_id, seed)
            if result is not None:
                numbers = (count, len(some.action), result.accuracy, *result.interval)
                points.append(Point(learner_id, *numbers))
    return points


def _learned(recorded: Recorded, learner_id: str, seed: int) -> Result | None:
    """Return what a learner makes of few trials; None if they are too few to begin with."""
    with warnings.catch_warnings():
        # Few trials of many options are just that.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than")
        try:
            return learn_from(recorded, learner_id, seed=seed)
        except InputError:
            return None


def learning_curve_drawing(points: Sequence[Point], chance: float) -> Drawing:
    """Return accuracies after so many runs as a drawing, with `chance` in percent."""
    figure = new_figure(3.3)
    axis = figure.subplots()
    axis.axhline(chance, color=GREY, lw=1, ls="-.", label="chance")
    learners = list(dict.fromkeys(each.learner_id for each in points))
    most = max(each.runs for each in points)
    # Intervals of several learners would hide each other if they stood in one place.
    apart = 0.012 * most
    for place, learner_id in enumerate(learners):
        mine = [each for each in points if each.learner_id == learner_id]
        accuracy = np.array([each.accuracy for each in mine])
        reach = [accuracy - [each.low for each in mine], [each.high for each in mine] - accuracy]
        runs = np.array([each.runs for each in mine]) + apart * (place - (len(learners) - 1) / 2)
        axis.errorbar(runs, accuracy, np.maximum(reach, 0), label=learner_id, ms=4.5, lw=1.3,
                      elinewidth=0.9, capsize=2, **LEARNER_STYLES[learner_id])  # fmt: skip
    axis.set(xlabel="runs learned from", ylabel="test accuracy (%)", ylim=(0, 104))
    axis.set_xticks(sorted({each.runs for each in points}))
    plain(axis)
    figure.legend(loc="outside upper center", ncols=4, fontsize=SMALL, frameon=False)
    return Drawing(
        "learning_curve",
        figure,
        "Share of test trials in which the policy chooses the option meant, after learning from so "
        "many runs, with 95 % intervals. ai_igl learns without labels and rewards; cb is told the "
        "rewards, ceiling the options meant. Points are drawn side by side so that intervals "
        "can be seen.",
        f"Test accuracy of {', '.join(learners)} against the number of runs learned from.",
        {name: [getattr(each, name) for each in points] for name in Point._fields},
    )


def _first(recorded: Recorded, runs: Sequence[int]) -> Recorded:
    """Return what was recorded in the first runs; the test set stays as it is."""
    some = recorded.select(runs, None)
    if some.catch is not None and not some.catch.any():
        # A match rate that is known of catch trials says nothing where there were none.
        return replace(some, catch=None, match_rate=None)
    return some
