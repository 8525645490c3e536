"""How accuracy grows with the runs that are learned from."""

from collections.abc import Sequence

import numpy as np

from bciigl.report.drawing import Drawing
from bciigl.report.results import told
from bciigl.report.style import GREY, SMALL, learner_style, new_figure, plain
from bciigl.study.session_results import CurvePoint


def learning_curve_drawing(points: Sequence[CurvePoint], chance: float) -> Drawing:
    """Return accuracies after more and more runs as a drawing, with `chance` in percent."""
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
                      elinewidth=0.9, capsize=2, **learner_style(learner_id))  # fmt: skip
    axis.set(xlabel="runs learned from", ylabel="test accuracy (%)", ylim=(0, 104))
    axis.set_xticks(sorted({each.runs for each in points}))
    plain(axis)
    figure.legend(loc="outside upper center", ncols=4, fontsize=SMALL, frameon=False)
    return Drawing(
        "learning_curve",
        figure,
        "Share of test trials in which the policy chooses the option meant, against the number of "
        "runs it was learned from, with 95 % intervals. "
        f"{', '.join(f'{each}: {told(each)}' for each in learners)}. Points are drawn side by "
        "side so that intervals can be seen.",
        f"Test accuracy of {', '.join(learners)} against the number of runs learned from.",
        {name: [getattr(each, name) for each in points] for name in CurvePoint.model_fields},
    )
