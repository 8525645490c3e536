"""How accuracy grows with the runs that are learned from."""

from collections.abc import Sequence

import numpy as np

from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.report.results import told
from bciigl.study.session_results import CurvePoint


def learning_curve_drawing(points: Sequence[CurvePoint], chance: float) -> Drawing:
    """Return accuracies after more and more runs as a drawing, with `chance` in percent."""
    figure = style.new_figure(3.3)
    axis = figure.subplots()
    axis.axhline(chance, color=style.GREY, lw=1, ls="-.", label="chance")
    learners = list(dict.fromkeys(each.learner_id for each in points))
    # Intervals of several learners would hide each other if they stood in one place.
    apart = 0.012 * max(each.runs for each in points)
    for place, learner_id in enumerate(learners):
        mine = [each for each in points if each.learner_id == learner_id]
        drawn = [(each.runs, each.accuracy, each.low, each.high) for each in mine]
        runs, *drawn = np.transpose(drawn)
        look = {"ms": 4.5, "lw": 1.3, "elinewidth": 0.9, **style.learner_style(learner_id)}
        runs = runs + apart * (place - (len(learners) - 1) / 2)
        style.draw_intervals(axis, runs, *drawn, label=learner_id, **look)
    axis.set(xlabel="runs learned from", ylabel="test accuracy (%)", ylim=(0, 104))
    axis.set_xticks(sorted({each.runs for each in points}))
    style.plain(axis)
    style.legend_below(figure, loc="outside upper center", ncols=4)
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
