"""How accurate the policy became while the session went on: the first figure of a session."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bciigl.base.registry import LEARNERS
from bciigl.learn.diagnose import TRUST
from bciigl.report.direct import EndLabel, label_ends, say
from bciigl.report.drawing import Drawing
from bciigl.report.findings import noun, who
from bciigl.report.study_tables import sentence
from bciigl.report.style import (
    BLUE,
    GREY,
    NOISE_COLOR,
    SMALL,
    draw_intervals,
    learner_style,
    new_figure,
    plain,
)
from bciigl.report.views import SessionView
from bciigl.study.session_results import CurvePoint
from bciigl.study.statistics import share_with_interval

HEIGHT = 3.4
SHORT = 0.95
"""Hours below which minutes are told."""
GUESSES = {"color": BLUE, "marker": "D", "linestyle": "--"}


def learning_drawing(view: SessionView) -> Drawing | None:
    """Return the figure as a drawing; None if there is nothing to draw."""
    if not (known_points(view) or _draws_guesses(view)):
        return None
    figure = new_figure(HEIGHT)
    draw_learning_curve(figure.subplots(), view)
    points = view.kept.learning_curve
    columns = {name: [getattr(each, name) for each in points] for name in CurvePoint.model_fields}
    hours = _places(view, [each.trials for each in points]).tolist() if view.hours else None
    return Drawing(
        "learning_curve",
        figure,
        " ".join(_caption(view)),
        f"{finding(view)}.",
        {**columns, "hours": hours or [None] * len(points)},
    )


def draw_learning_curve(ax: Axes, view: SessionView) -> Axes:
    """Draw accuracy against the hours in the scanner that were learned from.

    Where nobody knows what was meant it is the accuracy that the learner estimates of itself. Of
    an agent that learned, the share of its guesses that matched is drawn, too.
    """
    ends = [EndLabel(1, view.chance, f"chance\n{view.chance:.0f} %", GREY)]
    tested = view.kept.test_trials
    _draw_chance(ax, view.chance, tested or view.kept.trials)
    for learner_id, points in known_points(view).items():
        x = _places(view, [each.trials for each in points])
        drawn = np.transpose([(each.accuracy, each.low, each.high) for each in points])
        look = {"ms": 5, "lw": 1.6, "elinewidth": 1, **learner_style(learner_id)}
        draw_intervals(ax, x, *drawn, **look, zorder=3)
        # Hollow: what a user would not have relied on then.
        doubted = [each.verdict not in (TRUST, None) for each in points]
        hollow = {"mec": look["color"], "mfc": "white", "marker": look["marker"], "ms": 5}
        ax.plot(x[doubted], drawn[0][doubted], ls="", zorder=4, **hollow)
        name = textwrap.fill(LEARNERS.get(learner_id).name, 18)
        ends.append(EndLabel(x[-1], points[-1].accuracy, name, look["color"]))
    if _draws_guesses(view):
        ends.append(_draw_guesses(ax, view))
    end = _places(view, _ends(view))[-1]
    ax.set(xlim=(0, 1.03 * end), ylim=(0, 104))
    what = "right choices in new trials (%)" if tested else "right choices, estimated (%)"
    ax.set_ylabel(what if known_points(view) else "guesses that matched (%)")
    _mark_hours(ax, view, end)
    plain(ax)
    last = 1.03 * end
    label_ends(ax, [each._replace(x=last) if each.color == GREY else each for each in ends])
    if not known_points(view):
        words = "not known: the learner cannot tell how good it is"
        ax.text(0.5, 0.6, words, transform=ax.transAxes, ha="center", fontsize=SMALL, color=GREY)
    say(ax, finding(view))
    return ax


def known_points(view: SessionView) -> dict[str, list[CurvePoint]]:
    """Return the curves that are drawn, of the learner without labels and of one told them."""
    shown = [each.learner_id for each in (view.main, view.told) if each is not None]
    known = [each for each in view.kept.learning_curve if each.accuracy is not None]
    curves = {name: [each for each in known if each.learner_id == name] for name in shown}
    return {name: points for name, points in curves.items() if points}


def finding(view: SessionView) -> str:
    """Return what the figure shows, without a full stop."""
    curves, said = known_points(view), []
    if curves:
        learner_id, points = next(iter(curves.items()))
        said.append(_of_learner(view, learner_id, points))
        told = view.told and curves.get(view.told.learner_id)
        if told and told != points and not _draws_guesses(view):
            said.append(f"{noun(view.told.learner_id)} in {told[-1].accuracy:.0f} %")
    else:
        said.append("How accurate the policy is cannot be known here")
    if _draws_guesses(view):
        first, *_, last = [each.matched for each in view.kept.matches_by_run] * 2
        said.append(
            f"the agent's guesses matched in {first:.0f} % of the first run, {last:.0f} % of the "
            "last"
        )
    return sentence("; ".join(said))


def _of_learner(view: SessionView, learner_id: str, points: Sequence[CurvePoint]) -> str:
    name, last = who(learner_id), points[-1]
    when = _when(view, last.trials)
    if not view.kept.test_trials:
        return f"{name} estimates that it is right in {last.accuracy:.0f} % of trials {when}"
    is_right = "is not clearly above chance: right" if last.low <= view.chance else "is right"
    return f"{name} {is_right} in {last.accuracy:.0f} % of new trials {when}"


def _when(view: SessionView, trials: int) -> str:
    if not view.hours:
        return f"after {trials} trials"
    hours = float(_places(view, [trials])[0])
    return f"after {60 * hours:.0f} min" if hours < SHORT else f"after {hours:.1f} h"


def _draw_chance(ax: Axes, chance: float, trials: int) -> None:
    """Draw how many percent are right by chance, and its 95 % interval in that many trials."""
    _, (low, high) = share_with_interval(chance / 100 * trials, trials)
    ax.axhspan(low, high, color=NOISE_COLOR, lw=0, zorder=0.5)
    ax.axhline(chance, color=GREY, lw=1, ls="-.", zorder=0.6)


def _draws_guesses(view: SessionView) -> bool:
    # Uniform ones match by chance, which is no news.
    return bool(view.kept.matches_by_run) and not view.kept.uniform_guesses


def _draw_guesses(ax: Axes, view: SessionView) -> EndLabel:
    """Draw the share of the agent's guesses that matched, run by run."""
    ends, found = _ends(view), view.kept.matches_by_run
    end_of = dict(zip(np.unique(view.sessions["train"].interactions.run), ends[1:], strict=True))
    mine = [each for each in found if each.run in end_of]
    x = _places(view, [end_of[each.run] for each in mine])
    drawn = np.transpose([(each.matched, each.low, each.high) for each in mine])
    draw_intervals(ax, x, *drawn, ms=4.5, lw=1.3, elinewidth=0.8, zorder=2.5, **GUESSES)
    return EndLabel(x[-1], drawn[0][-1], "guesses that\nmatched", BLUE)


def _ends(view: SessionView) -> np.ndarray:
    """Return how many trials there are until the end of each run, and 0 before them."""
    run = view.sessions["train"].interactions.run
    return np.r_[0, np.cumsum(np.unique(run, return_counts=True)[1])]


def _places(view: SessionView, trials: Sequence[float]) -> np.ndarray:
    """Return where numbers of trials are: at hours, or where there are none at these numbers."""
    if not view.hours:
        return np.asarray(trials, float)
    return np.interp(trials, _ends(view), [0, *view.hours])


def _mark_hours(ax: Axes, view: SessionView, end: float) -> None:
    if not view.hours:
        ax.set_xlabel("trials learned from")
        return
    scale, unit = (60, "min") if end < SHORT else (1, "h")
    ticks = MaxNLocator(6).tick_values(0, scale * end)
    ticks = ticks[ticks <= 1.001 * scale * end]
    trials = view.kept.trials * ticks / (scale * end)
    words = [f"{each:g} {unit}\n{count:.0f}" for each, count in zip(ticks, trials, strict=True)]
    ax.set_xticks(ticks / scale, words)
    ax.set_xlabel("time in the scanner, and trials learned from")


def _caption(view: SessionView) -> list[str]:
    tested, curves = view.kept.test_trials, known_points(view)
    words = []
    if curves and tested:
        words.append(
            f"Share of {tested} trials of a test session in which the policy chooses the option "
            "meant, against the time in the scanner that it was learned from, with 95 % intervals."
        )
    elif curves:
        words.append(
            "What the learner estimates of its own accuracy, without labels, against the time in "
            "the scanner that it was learned from, with 95 % intervals; points are missing where "
            "it did not trust itself."
        )
    if any(each.verdict not in (TRUST, None) for mine in curves.values() for each in mine):
        words.append("Hollow: the learner did not trust itself then.")
    if curves and tested:
        words.append("Grey band: what guessing gets, with its 95 % interval.")
    if _draws_guesses(view):
        words.append("Diamonds: the agent's own guesses that matched, run by run.")
    return words
