"""The figures of a plan: who reaches the target when, and the hours of each design."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from bciigl.learn.diagnose import TRUST
from bciigl.report import style
from bciigl.report.direct import darker, say, say_above
from bciigl.report.drawing import Drawing
from bciigl.report.study_tables import learner_name, sentence
from bciigl.study.grid import in_words, with_unit
from bciigl.study.plan_answer import Answer, Need, needs_of_designs
from bciigl.study.plan_cell import PlanResult
from bciigl.study.plan_sentence import people_in_words
from bciigl.study.planning import Planned

COLUMNS = ("person", "trials", "hours", "accuracy", "ceiling", "verdict", "estimated")
_HALO = [withStroke(linewidth=3, foreground="white")]


def draw_plan(ax: Axes, planned: Planned) -> Axes:
    """Draw how many people reach the target within how many scanner hours, in the best design.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    planned : bciigl.study.planning.Planned
        What `bciigl.plan` returns.

    Returns
    -------
    matplotlib.axes.Axes
        The axes given.
    """
    plan, best, needs = planned.plan, planned.designs[0], list(_needs(planned).values())
    longest = _longest(planned)
    _draw_answer(ax, planned)
    ax.axhline(100 * plan.power, color=style.GREY, lw=0.8, ls=":")
    look = {"fontsize": style.SMALL, "path_effects": _HALO}
    who = people_in_words(plan.power)
    ax.text(0.01 * longest, 100 * plan.power + 1, who, color=style.GREY, va="bottom", **look)
    curves = [([each.hours for each in needs], style.BLUE, "-", "at the target", 1, "bottom")]
    trusted = [each.trusted for each in needs]
    if trusted != curves[0][0]:
        curves.append((trusted, style.GREEN, "--", "at the target\nand trusted", -1, "top"))
    for hours, color, dashes, name, side, va in curves:
        share = _draw_share(ax, hours, color=color, ls=dashes, label=name)
        # Above the upper line and below the lower one there is nothing.
        at = {"color": darker(color), "ha": "right", "va": va}
        ax.text(longest, share + 1.5 * side, name, **at, **look)
    if best.hours is not None:
        ax.plot(best.hours, 100 * plan.power, "o", color="black", ms=6)
    ax.set(xlabel="hours in the scanner", ylabel="people (%)", ylim=(0, 112))
    ax.set_yticks(range(0, 101, 20))
    ax.set_xlim(0, 1.02 * longest)
    style.plain(ax)
    say(ax, plan_finding(best))
    return ax


def plan_finding(best: Answer) -> str:
    """Return the answer of a design without its interval and without what limits it."""
    return sentence(best.sentence.partition(" (95 %")[0])


def plan_drawing(planned: Planned) -> Drawing:
    """Return what `draw_plan` draws as a figure with its words and numbers."""
    figure, best, needs = style.new_figure(3.5), planned.designs[0], _needs(planned)
    draw_plan(figure.subplots(), planned)
    answer = "The point is the answer, grey its 95 % interval."
    caption = (
        f"Share of {best.people} simulated people who have reached {_target(planned)} and stay "
        "there, against hours in the scanner; dashed, those of them whose session the learner "
        f"trusts as well. {answer if best.reached else 'The target is not reached.'}"
    )
    columns = {"person": [each + 1 for each in needs]}
    columns |= {name: [getattr(each, name) for each in needs.values()] for name in Need._fields}
    return Drawing("people_by_hours", figure, caption, f"{sentence(best.sentence)}.", columns)


def draw_curves(ax: Axes, planned: Planned) -> Axes:
    """Draw the accuracy of each person against scanner hours, in the best design."""
    plan, people = planned.plan, _people(planned)
    color = style.learner_style(plan.learner)["color"]
    _draw_answer(ax, planned)
    for each in people.values():
        ax.plot(*_curve(each), lw=0.6, alpha=0.5, color=color)
        trusted = [(look.hours, look.accuracy) for look in each.looks if look.verdict == TRUST]
        if trusted:
            ax.plot(*zip(*trusted, strict=True), ".", ms=3.5, color=darker(color))
    ax.axhline(plan.target, color="black", lw=1, ls="--")
    look = {"fontsize": style.SMALL, "path_effects": _HALO, "ha": "right"}
    longest = _longest(planned)
    ax.text(longest, plan.target - 1.5, f"target, {plan.target:g} %", va="top", **look)
    words = (
        f"a line is a person,\na dot a length at which\n{learner_name(plan.learner)} trusts itself"
    )
    ax.text(longest, 3, words, color=darker(color), va="bottom", **look)
    ax.set(xlabel="hours in the scanner", ylabel="test accuracy (%)", ylim=(0, 102))
    ax.set_xlim(0, 1.02 * longest)
    style.plain(ax)
    say(ax, curves_finding(planned))
    return ax


def curves_finding(planned: Planned) -> str:
    """Return how much people differ in the hours that they need."""
    plan, needs = planned.plan, sorted(_needs(planned).values())
    half, last = needs[(len(needs) - 1) // 2].hours, needs[-1].hours
    missed = sum(not math.isfinite(each.hours) for each in needs)
    if not math.isfinite(half):
        return f"Most people do not reach {_target(planned)} within {plan.hours:g} scanner hours"
    said = f"Half of the people reach {_target(planned)} after {half:.2g} scanner hours"
    if missed:
        return f"{said}, {missed} of {len(needs)} not within {plan.hours:g}"
    return f"{said}, the last after {last:.2g}"


def curves_drawing(planned: Planned) -> Drawing:
    """Return what `draw_curves` draws as a figure with its words and numbers."""
    figure, people = style.new_figure(3.5), _people(planned)
    draw_curves(figure.subplots(), planned)
    caption = (
        "Accuracy of each simulated person on independent test trials against hours in the "
        "scanner. A line ends when the person is decided; dots are lengths at which the learner "
        "trusts itself."
    )
    lines = [(person, look) for person, each in people.items() for look in each.looks]
    columns = {"person": [person + 1 for person, _ in lines]}
    columns |= {name: [getattr(each, name) for _, each in lines] for name in COLUMNS[1:]}
    alt = f"{curves_finding(planned)}."
    return Drawing("accuracy_by_hours", figure, caption, alt, columns)


def _target(planned: Planned) -> str:
    return f"{planned.plan.target:g} %"


def _design(planned: Planned) -> int:
    """Return the number of the best design."""
    return [varied for varied, _ in planned.plan.designs].index(planned.designs[0].varied)


def _needs(planned: Planned) -> dict[int, Need]:
    return needs_of_designs(planned.plan, planned.results)[_design(planned)]


def _people(planned: Planned) -> dict[int, PlanResult]:
    """Return what each person's session gave in the best design."""
    design, found = _design(planned), planned.results
    cells = [each for each in planned.plan.cells if each.design == design and each.key in found]
    return {each.repeat: found[each.key] for each in cells}


def _curve(person: PlanResult) -> np.ndarray:
    return np.array([(each.hours, each.accuracy) for each in person.looks]).reshape(-1, 2).T


def _longest(planned: Planned) -> float:
    """Return where the x axis ends: some way after the last change, if all reach the target."""
    needs = _needs(planned).values()
    last = max(each.hours for each in needs)
    trusted = [each.trusted for each in needs if math.isfinite(each.trusted)]
    return min(1.4 * max([last, *trusted]), planned.plan.hours)


def _draw_answer(axis: Axes, planned: Planned) -> None:
    best = planned.designs[0]
    if best.hours is not None:
        low, high = best.interval
        axis.axvspan(low, high or planned.plan.hours, color=style.NOISE_COLOR, alpha=0.6, lw=0)
        axis.axvline(best.hours, color="black", lw=0.8)


def _draw_share(axis: Axes, hours: Sequence[float], **look: str) -> float:
    """Draw how many percent have needed no more than some hours; return how many do in the end."""
    there = np.sort([each for each in hours if math.isfinite(each)])
    share = 100 * np.arange(1, len(there) + 1) / len(hours)
    last = float(share[-1]) if len(there) else 0.0
    axis.step(np.r_[0, there, 1e4], np.r_[0, share, last], where="post", lw=1.8, **look)
    return last


def draw_designs(ax: Axes, planned: Planned) -> Axes:
    """Draw the hours that designs need, against the varied field where it is one in numbers."""
    plan, answers = planned.plan, planned.designs
    field, numbers = next(iter(plan.vary)), _one_in_numbers(planned)
    shown = sorted(answers, key=lambda each: each.varied[field]) if numbers else answers
    places = [each.varied[field] for each in shown] if numbers else list(range(len(shown)))
    for place, each in zip(places, shown, strict=True):
        low, high = each.interval
        ends = (low, plan.hours if high is None else high)
        middle = plan.hours if each.hours is None else each.hours
        color = style.BLUE if each.difference is None else style.GREY
        line, point = ([place, place], ends), (place, middle)
        if not numbers:
            line, point = line[::-1], point[::-1]
        ax.plot(*line, color=color, lw=2, ls="-" if high is not None else ":")
        filled = {"mfc": color if each.reached else "white", "color": color, "ms": 6}
        ax.plot(*point, "o" if each.reached else "^", **filled)
        look = {"xytext": (7, -3), "textcoords": "offset points", "fontsize": style.SMALL}
        words = f"{middle:.2g} h" if each.reached else f"not within {plan.hours:g} h"
        ax.annotate(words, point, va="top", color=darker(color), **look)
    ends = [plan.hours if each.interval.high is None else each.interval.high for each in shown]
    most, label = 1.1 * max(ends), "scanner hours needed"
    if numbers:
        ax.set(xlabel=with_unit(field), ylabel=label, ylim=(0, most))
        ax.set_xticks(places)
        ax.margins(x=0.2)
    else:
        names = [
            "\n".join(
                style.in_figure(in_words({name: value}), 44) for name, value in varied.items()
            )
            for varied in (each.varied for each in shown)
        ]
        ax.set_yticks(places, names)
        ax.set(xlabel=label, xlim=(0, 1.2 * most), ylim=(len(shown) - 0.5, -0.5))
    style.plain(ax)
    say(ax, designs_finding(planned))
    return ax


def _one_in_numbers(planned: Planned) -> bool:
    values = next(iter(planned.plan.vary.values()))
    return len(planned.plan.vary) == 1 and all(type(each) in (int, float) for each in values)


def designs_finding(planned: Planned) -> str:
    """Return which design needs least, and whether others can be told apart from it."""
    best, *others = planned.designs
    if not best.reached:
        return f"No design reaches {_target(planned)} within {planned.plan.hours:g} scanner hours"
    alike = [each for each in others if each.difference is None or not each.difference.clear]
    if not alike:
        return f"{best.design} clearly needs fewest scanner hours, {best.hours:.2g}"
    many = f"{len(alike)} of {len(others)} others are" if len(others) > 1 else "the other is"
    said = f"{best.design} needs fewest scanner hours, {best.hours:.2g}"
    return f"{said}, but {many} not clearly worse"


def designs_drawing(planned: Planned) -> Drawing:
    """Return what `draw_designs` draws as a figure with its words and numbers."""
    answers, fields = planned.designs, list(planned.plan.vary)
    height = 1.6 + 0.17 * len(answers) * (1 + len(fields))
    figure = style.new_figure(3.4 if _one_in_numbers(planned) else height)
    axis = draw_designs(figure.subplots(), planned)
    if not _one_in_numbers(planned):
        # The designs' names take so much room that the finding is longer than the axis.
        axis.set_title("", loc="left")
        say_above(figure, designs_finding(planned))
    caption = (
        f"Scanner hours until {people_in_words(planned.plan.power)} are at {_target(planned)}, by "
        "design, with 95 % intervals; the best is blue. Dotted intervals are not bounded; a "
        "triangle is a design that does not reach the target."
    )
    columns = {name: [each.varied[name] for each in answers] for name in fields}
    columns |= {name: [getattr(each, name) for each in answers] for name in ("trials", "hours")}
    ends = zip(*(each.interval for each in answers), strict=True)
    columns |= dict(zip(("low", "high"), map(list, ends), strict=True))
    alt = f"{designs_finding(planned)}."
    return Drawing("hours_by_design", figure, caption, alt, columns)
