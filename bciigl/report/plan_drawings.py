"""The figures of a plan: people on their way to the target, and the hours of each design."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bciigl.learn.diagnose import TRUST
from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.study.grid import in_words, with_unit
from bciigl.study.plan import Plan
from bciigl.study.plan_answer import Answer, needs_of_designs
from bciigl.study.store import Results

COLUMNS = ("person", "trials", "hours", "accuracy", "ceiling", "verdict", "estimated")


def curves_drawing(plan: Plan, results: Results, answer: Answer) -> Drawing:
    """Return accuracy and trust of all people in one design against scanner hours."""
    design = [varied for varied, _ in plan.designs].index(answer.varied)
    people = {
        each.repeat: results[each.key].looks
        for each in plan.cells
        if each.design == design and each.key in results
    }
    figure = style.new_figure(5.2)
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    look = style.learner_style(plan.learner)
    for looks in people.values():
        curve = np.array([(each.hours, each.accuracy) for each in looks]).reshape(-1, 2)
        above.plot(*curve.T, lw=0.5, alpha=0.4, color=look["color"])
        trusted = [(each.hours, each.accuracy) for each in looks if each.verdict == TRUST]
        if trusted:
            above.plot(*zip(*trusted, strict=True), ".", ms=3, color=look["color"])
    above.axhline(plan.target, color="black", lw=1, ls="--")
    target = f"target, {plan.target:g} %"
    below_it = {"xytext": (0, -3), "textcoords": "offset points", "ha": "right", "va": "top"}
    at = (1, plan.target)
    above.annotate(target, at, xycoords=("axes fraction", "data"), fontsize=style.SMALL, **below_it)
    above.plot([], [], lw=1, color=look["color"], label="one person")
    above.plot([], [], ".", color=look["color"], label="trusted")
    above.set(ylabel="test accuracy (%)", ylim=(0, 102))
    needs = list(needs_of_designs(plan, results)[design].values())
    _draw_share(below, [each.hours for each in needs], color=style.BLUE, label="at the target")
    with_trust = [each.trusted for each in needs]
    _draw_share(below, with_trust, color=style.GREEN, ls="--", label="at the target and trusted")
    below.axhline(100 * plan.power, color=style.GREY, lw=0.8, ls=":")
    below.set(xlabel="scanner hours", ylabel="people (%)", ylim=(0, 102))
    longest = max((each[-1].hours for each in people.values() if each), default=plan.hours)
    for axis in (above, below):
        if answer.hours is not None:
            low, high = answer.interval
            axis.axvspan(low, high or plan.hours, color=style.NOISE_COLOR, alpha=0.6, lw=0)
            axis.axvline(answer.hours, color="black", lw=1)
        axis.set_xlim(0, 1.02 * longest)
        style.plain(axis)
    style.legend_below(figure)
    caption = (
        "Top: accuracy on independent test trials, at the lengths looked at; a person's line ends "
        "when it is decided, dots are lengths at which the learner trusts itself. Bottom: people "
        "who have reached the target and stay there. The black line is the answer, grey its 95 % "
        f"interval{'' if answer.reached else '; it is not reached'}."
    )
    alt = f"Accuracy of {len(people)} simulated people against scanner hours. {answer.sentence}."
    lines = [(person, look) for person, looks in people.items() for look in looks]
    columns = {"person": [person + 1 for person, _ in lines]}
    columns |= {name: [getattr(each, name) for _, each in lines] for name in COLUMNS[1:]}
    return Drawing("accuracy_by_hours", figure, caption, alt, columns)


def _draw_share(axis: Axes, hours: Sequence[float], **look: str) -> None:
    """Draw how many percent have needed no more than some hours."""
    there = np.sort([each for each in hours if math.isfinite(each)])
    share = 100 * np.arange(1, len(there) + 1) / len(hours)
    last = share[-1] if len(there) else 0.0
    axis.step(np.r_[0, there, 1e4], np.r_[0, share, last], where="post", lw=1.5, **look)


def designs_drawing(plan: Plan, answers: Sequence[Answer]) -> Drawing:
    """Return the hours that designs need, against the varied field where it is one in numbers."""
    fields = list(plan.vary)
    values = plan.vary[fields[0]]
    numbers = len(fields) == 1 and all(type(each) in (int, float) for each in values)
    shown = sorted(answers, key=lambda each: each.varied[fields[0]]) if numbers else answers
    places = [each.varied[fields[0]] for each in shown] if numbers else list(range(len(shown)))
    figure = style.new_figure(3.2 if numbers else 1.2 + 0.17 * len(shown) * (1 + len(fields)))
    axis = figure.subplots()
    for place, each in zip(places, shown, strict=True):
        low, high = each.interval
        ends = (low, plan.hours if high is None else high)
        middle = plan.hours if each.hours is None else each.hours
        color = style.BLUE if each.difference is None else style.GREY
        line, point = ([place, place], ends), (place, middle)
        if not numbers:
            line, point = line[::-1], point[::-1]
        axis.plot(*line, color=color, lw=1.5, ls="-" if high is not None else ":")
        filled = {"mfc": color if each.reached else "white", "color": color, "ms": 6}
        axis.plot(*point, "o" if each.reached else "^", **filled)
        if not each.reached:
            look = {"xytext": (6, -3), "textcoords": "offset points", "fontsize": style.SMALL}
            axis.annotate(f"not within {plan.hours:g} h", point, va="top", **look)
    ends = [plan.hours if each.interval.high is None else each.interval.high for each in shown]
    most, label = 1.05 * max(ends), "scanner hours needed"
    if numbers:
        axis.set(xlabel=with_unit(fields[0]), ylabel=label, ylim=(0, most))
        axis.set_xticks(places)
        axis.margins(x=0.15)
    else:
        names = [
            "\n".join(
                style.in_figure(in_words({name: value}), 44) for name, value in varied.items()
            )
            for varied in (each.varied for each in shown)
        ]
        axis.set_yticks(places, names)
        axis.set(xlabel=label, xlim=(0, 1.2 * most), ylim=(len(shown) - 0.5, -0.5))
    style.plain(axis)
    caption = (
        "Scanner hours needed by each design, with 95 % intervals; the best is blue. Dotted "
        "intervals are not bounded; a triangle at the end of the hours is a design that does not "
        "reach the target."
    )
    alt = f"Scanner hours needed by {len(answers)} designs; {answers[0].design} needs the least."
    columns = {name: [each.varied[name] for each in answers] for name in fields}
    columns |= {name: [getattr(each, name) for each in answers] for name in ("trials", "hours")}
    ends = zip(*(each.interval for each in answers), strict=True)
    columns |= dict(zip(("low", "high"), map(list, ends), strict=True))
    return Drawing("hours_by_design", figure, caption, alt, columns)
