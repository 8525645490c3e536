"""How often the agent's own guesses matched, while the session went on."""

import numpy as np

from bciigl.report.drawing import Drawing
from bciigl.report.style import BLUE, GREY, draw_intervals, legend_below, new_figure, plain
from bciigl.study.session_results import RunMatches


def guesses_drawing(found: list[RunMatches], chance: float) -> Drawing:
    """Return the share of matches in each run as a drawing, with `chance` in percent."""
    figure = new_figure(2.7)
    axis = figure.subplots()
    axis.axhline(chance, color=GREY, lw=1, ls="-.", label="chance")
    for uniform, fill, label in ((True, "white", "uniform guesses"), (False, BLUE, "by a policy")):
        mine = [each for each in found if each.uniform == uniform]
        if mine:
            drawn = np.transpose([(each.run, each.matched, each.low, each.high) for each in mine])
            look = {"fmt": "o", "ms": 5, "color": BLUE, "mfc": fill, "elinewidth": 0.9}
            draw_intervals(axis, *drawn, label=label, **look)
    axis.set(xlabel="run", ylabel="guesses that matched (%)", ylim=(-3, 104))
    axis.xaxis.get_major_locator().set_params(integer=True)
    plain(axis)
    legend_below(figure, loc="outside upper center", ncols=3)
    return Drawing(
        "agents_guesses",
        figure,
        "Share of the agent's own guesses that matched in each run of the session, with 95 % "
        "intervals; catch trials aside. Open circles: runs in which it guessed uniformly.",
        "Share of the agent's guesses that matched, run by run.",
        {name: [getattr(each, name) for each in found] for name in RunMatches.model_fields},
    )
