"""The report of the theory, checked by numbers."""

import shlex
from collections.abc import Sequence

import numpy as np

from bciigl.learn.action_inclusive import AI_IGL, AI_IGL_PAPER
from bciigl.learn.full_conditional import FULL_CI
from bciigl.report import style
from bciigl.report.direct import say_above
from bciigl.report.drawing import Drawing
from bciigl.report.methods import listed
from bciigl.report.page import Section, again_section
from bciigl.report.study_tables import learner_name, sentence
from bciigl.report.table import Table
from bciigl.study import theory as study
from bciigl.study.theory import WRONG, Errors, Example, Fit, Reached, Region, Theory

TITLE = "the theory: report of a check by numbers"
BOUND, PRINTED = -0.5, 0.9
"""The exponent of trials in Theorem 1; what the paper has for psi_2 in Example 3."""
PAPER = "Xie, T., Saran, A., et al. (2022). Interaction-Grounded Learning with Action-inclusive"
REFERENCES = [f"{PAPER} Feedback. NeurIPS 2022."]


def theory_sections(found: Theory) -> list[Section]:
    """Return the report of all that was measured."""
    command = ["bciigl", "reproduce", "theory"]
    command += ["--repeats", str(found.repeats), "--seed", str(found.seed)]
    facts = {"measured with": ", ".join(f"{name} {each}" for name, each in found.versions.items())}
    return [
        Section("At a glance", [MADE_WORDS.format(found.repeats), *findings(found)]),
        Section(
            "Theorem 1: error against trials and options",
            [BOUND_WORDS],
            drawings=[error_drawing(found.errors, found.fits)],
            tables=[fit_table(found)],
        ),
        Section(
            "Example 3: where full conditional independence fails",
            [_printed_words(found.example)],
            drawings=[example_drawing(found.example, found.reached)],
            tables=[reached_table(found.reached)],
        ),
        Section(
            "Assumption 4: match rates",
            [REGION_WORDS],
            drawings=[region_drawing(found.regions)],
        ),
        Section("The data", [DATA_WORDS], references=REFERENCES),
        again_section(["The command below measures the same again."], facts, shlex.join(command)),
    ]


MADE_WORDS = (
    "Learned from made-up interactions that keep to the assumptions of the paper on AI-IGL:"
    " {} sessions for each number of options, trials or match rate."
)
BOUND_WORDS = (
    "For n trials of K options, Theorem 1 bounds V* - V by a constant times the square root of"
    " K³ d / n, where d measures the functions that are searched for one option: here it is the"
    " same for all K. It is an upper bound for the exact maximum of the objective. The procedures"
    " measured search for that maximum, and may miss it. With K = 2, guesses match half of the time"
    " and Assumption 4 does not hold."
)
REGION_WORDS = (
    "The paper's rule takes decoded rewards for exchanged where their mean is above 1/2: it is"
    " stated for match rates of at most 1/2, and the paper says that the other case needs another"
    " rule. This package's learner is told the rate. At exactly 1/2 nothing tells match from"
    " mismatch."
)
DATA_WORDS = (
    f"Contexts of {study.CONTEXT_FEATURES} features are Gaussian with unit variance around a mean"
    f" for each option, {study.DISTANCE:g} SDs from 0 in directions at right angles. Feedback of"
    f" {study.FEEDBACK_FEATURES} features is a random code of the action (SD {study.CODE:g}), moved"
    f" by {study.STRENGTH:g} SDs in a match, with unit Gaussian noise. The direction of that move"
    " is drawn at random: for each option (judgments differ, as also for AI-IGL by the paper's"
    " text, which treats options apart), or once for all (judgments are alike, as also for match"
    f" rates). All is drawn anew in each repeat. V is the share of right choices for {study.TESTED}"
    " new contexts, by how probable each option is, and V* that of the best policy."
)


def lead(found: Theory) -> str:
    """Return what was found in a sentence."""
    published = [each for each in found.fits if each.learner == AI_IGL_PAPER.id]
    said = [
        f"the error of {_arm(each)} is at most {each.constant:.2f} √(K³/n)" for each in published
    ]
    wrong = found.example.best > found.example.optimal_most
    said.append(
        f"full-CI's objective prefers {'wrong' if wrong else 'right'} policies in Example 3"
    )
    if (share := _upside_down(found.regions, AI_IGL_PAPER.id)) is not None:
        said.append(
            "where more than half of the guesses match, the paper's rule learns"
            f" {share:.0f} % of sessions upside down"
        )
    return f"{sentence('; '.join(said))}."


def findings(found: Theory) -> list[str]:
    """Return what was found: each in a few sentences."""
    return [
        f"{error_finding(found.fits)}. {_bound_finding(found)}",
        _trust_finding(found.errors),
        f"{example_finding(found.example)}. {_reached_finding(found.reached)}",
        f"{region_finding(found.regions)}. {_misled_finding(found.regions)}",
    ]


def error_finding(fits: Sequence[Fit]) -> str:
    """Return how errors go with trials, without a full stop."""
    falls = [f"n^{each.slope:.2f} ({_arm(each)})" for each in fits if _falls(each)]
    others = [_arm(each) for each in fits if not _falls(each)]
    bound = f"Theorem 1's bound falls as n^{BOUND:g}"
    said = [f"With n trials the error falls as {listed(falls)}, where {bound}"] if falls else []
    said += [f"for {listed(others)} it does not surely fall"] if others and falls else []
    said += [] if falls else ["the error does not surely fall with trials"]
    return sentence("; ".join(said))


def _bound_finding(found: Theory) -> str:
    """Return how far errors are below the bound, and what they say of its K³."""
    said, most = [], max(row.trials for row in found.errors)
    for each in found.fits:
        said.append(
            f"{_arm(each)}: at most {each.constant:.2f}, with {most} trials {each.last:.2f}"
        )
        said[-1] += "" if each.last < each.constant / 2 else " (it does not fall as the bound does)"
    words = f"In units of √(K³/n) the error is, by learner, {'; '.join(said)}."
    powers = [
        f"{_exponent(each.power, each.power_error, 1)} ({_arm(each)})"
        for each in found.fits
        if _falls(each)
    ]
    if not powers:
        return words
    return f"{words} It goes with K^p/n, p = {listed(powers)}, ± standard errors; the bound has 3."


def _falls(fit: Fit) -> bool:
    """Tell whether errors surely fall with trials, so that an exponent of K means something."""
    return fit.slope_error is not None and fit.slope + 2 * fit.slope_error < 0


def _trust_finding(rows: Sequence[Errors]) -> str:
    """Return how many sessions AI-IGL trusted, and how many of them it had not learned."""
    said = []
    for alike, where in ((False, "differ"), (True, "are alike")):
        mine = [row for row in rows if row.learner == AI_IGL.id and row.alike == alike]
        trusted = sum(sum(row.trusted) for row in mine)
        failed = sum(map(_failed, mine))
        said.append(f"{failed} of {trusted} trusted sessions where judgments {where}")
    return (
        f"This package's learner says itself whether to trust it. {' and '.join(said)} had not been"
        f" learned (an error of more than {WRONG:g} of that of chance)."
    )


def _failed(row: Errors) -> int:
    pairs = zip(row.errors, row.trusted, strict=True)
    return sum(trusted and error > WRONG * row.chance for error, trusted in pairs)


def example_finding(example: Example) -> str:
    """Return what full-CI's objective prefers, without a full stop."""
    if not example.best > example.optimal_most:
        return "Full-CI's objective is largest for the optimal policy"
    return (
        f"Full-CI's objective is {example.optimal_most:g} for the optimal policy, whatever the"
        f" decoder, and {example.best:g} for policies that are right in at most"
        f" {100 * example.best_value:.0f} % of contexts"
    )


def _printed_words(example: Example) -> str:
    psi_2, psi_1 = example.constant_psi_2, example.constant_psi_1
    words = "All decoders of 0 and 1 were tried, each with its best policy"
    if psi_2 != PRINTED:
        words += (
            f". The paper has {PRINTED:g} for the policy that always takes option 1 and the decoder"
            f" psi_2 of y = 2; it is {psi_2:g}, as y is 1, not 2, unless x = 1. With psi_1 it is"
            f" {psi_1:g}"
        )
        words += ": the example holds" if psi_1 > example.optimal_most else ""
    return f"{words}."


def _reached_finding(reached: Sequence[Reached]) -> str:
    told = [f"{learner_name(each.learner)} {_percent(each.value)}" for each in reached]
    return f"Learned from {study.EXAMPLE_TRIALS} trials, V is on average: {', '.join(told)}."


def region_finding(regions: Sequence[Region]) -> str:
    """Return how often sessions are learned upside down, without a full stop."""
    paper, own = (
        f"{share:.0f} %" if (share := _upside_down(regions, learner)) is not None else "-"
        for learner in (AI_IGL_PAPER.id, AI_IGL.id)
    )
    return (
        f"Where more than half of the guesses match, the paper's rule learns {paper} of sessions"
        f" upside down, this package's learner, told the match rate, {own}"
    )


def _upside_down(regions: Sequence[Region], learner: str, above: bool = True) -> float | None:
    mine = [
        each
        for each in regions
        if each.learner == learner and (each.match_rate > 0.5 if above else each.match_rate < 0.5)
    ]
    if not mine:
        return None
    return 100 * sum(each.upside_down for each in mine) / sum(each.repeats for each in mine)


def _misled_finding(regions: Sequence[Region]) -> str:
    below = [_upside_down(regions, each, above=False) for each in (AI_IGL_PAPER.id, AI_IGL.id)]
    paper, own = ("-" if each is None else f"{each:.0f} %" for each in below)
    mine = [each for each in regions if each.learner == AI_IGL.id]
    wrong, trusted = sum(each.upside_down for each in mine), sum(each.trusted for each in mine)
    return (
        f"Below a half it is {paper} and {own}. Of this package's {wrong} upside-down sessions at"
        f" all rates, {trusted} were trusted."
    )


def fit_table(found: Theory) -> Table:
    """Return exponents and constants of each learner, with their standard errors."""
    head = ("learner", "trials", "p", "constant", "last", "trusted")
    rows = []
    for each in found.fits:
        mine = [
            row for row in found.errors if (row.learner, row.alike) == (each.learner, each.alike)
        ]
        trusted = f"{sum(sum(row.trusted) for row in mine)}, {sum(map(_failed, mine))} wrong"
        power = _exponent(each.power, each.power_error, 1) if _falls(each) else "-"
        cells = [_exponent(each.slope, each.slope_error), power]
        cells += [f"{each.constant:.2f}", f"{each.last:.2f}", trusted]
        rows.append([_arm(each), *cells])
    sessions = sum(len(row.errors) for row in found.errors) // len(found.fits)
    caption = (
        f"trials: exponent of n (the bound has {BOUND:g}), ± its standard error; p: of K^p/n, the"
        " bound has 3, '-' where errors do not surely fall; constant: the largest error in units of"
        " √(K³/n);"
        f" last: the same with most trials; trusted: of {sessions} sessions, and those of them with"
        f" more than {WRONG:g} of the error of chance."
    )
    return Table(head, rows, caption)


def reached_table(reached: Sequence[Reached]) -> Table:
    """Return what learners made of data of Example 3."""
    rows = [
        [
            learner_name(each.learner),
            _percent(each.value),
            f"{np.mean(each.objective):.2f}" if each.objective else "-",
            f"{sum(each.trusted)} of {len(each.value)}",
        ]
        for each in reached
    ]
    caption = (
        f"Data of Example 3, {study.EXAMPLE_TRIALS} trials: V, mean over repeats, and the objective"
        " of full-CI on these trials"
    )
    return Table(("learner", "V", "objective", "trusted"), rows, caption)


def _exponent(value: float | None, error: float | None, digits: int = 2) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def _percent(values: Sequence[float]) -> str:
    return f"{100 * np.mean(values):.1f} %"


def _arm(each: Fit | Errors) -> str:
    if each.learner == AI_IGL_PAPER.id:
        return learner_name(each.learner)
    return f"{learner_name(each.learner)}, judgments {'alike' if each.alike else 'differ'}"


def error_drawing(rows: Sequence[Errors], fits: Sequence[Fit]) -> Drawing:
    """Return errors against trials: a panel for each learner, a line for each number of options."""
    figure = style.new_figure(3.9)
    axes = figure.subplots(1, len(fits), sharey=True, squeeze=False)[0]
    looks = dict(
        zip(
            sorted({row.options for row in rows}),
            zip(
                (style.SKY, style.GREEN, style.ORANGE, style.BLUE, style.GREY), "os^Dv", strict=True
            ),
            strict=False,
        )
    )
    for axis, fit in zip(axes, fits, strict=True):
        for options, (color, marker) in looks.items():
            mine = [row for row in rows if _arm(row) == _arm(fit) and row.options == options]
            n, means = [row.trials for row in mine], [row.mean for row in mine]
            look = {"color": color, "marker": marker, "ms": 4, "lw": 1.3, "label": f"K = {options}"}
            axis.plot(n, means, **look)
        n = np.array(sorted({row.trials for row in rows}))
        bound = (n / n[-1]) ** BOUND * rows[-1].bound * fit.constant
        axis.plot(n, bound, ls="--", lw=1, color="black", label="slope of the bound")
        axis.set(xscale="log", yscale="log", xlabel="trials n")
        axis.set_title(_arm(fit).replace(", ", ",\n"), fontsize=style.SMALL + 0.5)
        axis.grid(color="#e9ecef", lw=0.6)
        style.plain(axis)
    axes[0].set_ylabel("error 1 - V/V*")
    style.legend_below(figure, ncols=3)
    said = error_finding(fits)
    say_above(figure, said)
    caption = (
        f"Error of the learned policy, mean of {len(rows[0].errors)} repeats, by trials and options"
        " K. Dashed: the slope that Theorem 1's bound has. Judgments are alike if a match moves the"
        " feedback to all options in the same direction."
    )
    names = ("learner", "alike", "options", "trials", "mean", "chance")
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    return Drawing("error_by_trials", figure, caption, f"{said}.", columns)


def example_drawing(example: Example, reached: Sequence[Reached]) -> Drawing:
    """Return full-CI's objective of policies and decoders in Example 3, as bars."""
    bars = [
        ("optimal policy, any decoder", example.optimal_most, "right in 100 %"),
        ("always option 1, decoder of y = 2", example.constant_psi_2, "right in 10 %"),
        ("always option 1, decoder of y = 1", example.constant_psi_1, "right in 10 %"),
        ("best of all", example.best, f"right in at most {100 * example.best_value:.0f} %"),
    ]
    for each in reached:
        if each.learner == FULL_CI.id:
            value = float(np.mean(each.objective))
            bars.append((f"learned by {learner_name(each.learner)}", value, ""))
            bars[-1] = (*bars[-1][:2], f"right in {_percent(each.value)}")
    names, values, notes = (list(column) for column in zip(*bars, strict=True))
    figure = style.new_figure(0.36 * len(bars) + 1.5)
    axis = figure.subplots()
    colors = [style.BLUE, *[style.ORANGE] * (len(bars) - 1)]
    axis.barh(names, values, color=colors, height=0.6)
    for place, (value, note) in enumerate(zip(values, notes, strict=True)):
        words = f"{value:.2g}, {note}"
        where = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axis.annotate(words, (max(value, 0), place), fontsize=style.SMALL, **where)
    if example.constant_psi_2 != PRINTED:
        look = {"marker": "x", "ls": "none", "color": "black", "label": "as printed in the paper"}
        axis.plot([PRINTED], [1], **look)
        style.legend_below(figure)
    axis.axvline(0, color=style.GREY, lw=0.8)
    axis.set(xlim=(min(0, *values), 1.7), ylim=(len(bars) - 0.5, -0.5))
    axis.set_xticks(np.arange(0, 1.01, 0.2))
    axis.set_xlabel("objective of full-CI")
    style.plain(axis)
    said = example_finding(example)
    say_above(figure, said)
    caption = (
        "Objective of IGL under full conditional independence in Example 3: exact, and learned from"
        f" {study.EXAMPLE_TRIALS} trials. It should be largest for the optimal policy. What is"
        " learned may be above the best of all, as its objective is of the trials it learned from."
    )
    columns = {"what": names, "objective": values, "right": notes}
    return Drawing("example_3", figure, caption, f"{said}.", columns)


def region_drawing(regions: Sequence[Region]) -> Drawing:
    """Return the share of sessions learned upside down, by match rate and trials: heat maps."""
    learners = list(dict.fromkeys(each.learner for each in regions))
    rates = sorted({each.match_rate for each in regions})
    trials = sorted({each.trials for each in regions})
    figure = style.new_figure((0.8 + 0.24 * len(trials)) * len(learners) + 0.9)
    axes = figure.subplots(len(learners), 1, sharex=True, squeeze=False)[:, 0]
    words = {AI_IGL_PAPER.id: "the paper's rule", AI_IGL.id: "this package, told the match rate"}
    for axis, learner in zip(axes, learners, strict=True):
        shares = np.full((len(trials), len(rates)), np.nan)
        for each in (each for each in regions if each.learner == learner):
            place = trials.index(each.trials), rates.index(each.match_rate)
            shares[place] = 100 * each.upside_down / each.repeats
        axis.imshow(shares, cmap="Oranges", vmin=0, vmax=100, aspect="auto", origin="lower")
        for (row, column), share in np.ndenumerate(shares):
            look = {"ha": "center", "va": "center", "fontsize": style.SMALL}
            color = "white" if share > 60 else "black"
            axis.text(column, row, f"{share:.0f}", color=color, **look)
        axis.set_yticks(range(len(trials)), trials)
        axis.set(ylabel="trials")
        axis.set_title(words.get(learner, learner), fontsize=style.SMALL + 0.5)
        style.plain(axis)
        axis.tick_params(length=0)
    axes[-1].set_xticks(range(len(rates)), [f"{each:g}" for each in rates])
    axes[-1].set_xlabel("match rate of the guesses")
    said = region_finding(regions)
    say_above(figure, said)
    caption = (
        f"Percent of {regions[0].repeats} sessions learned upside down (right less often than"
        " guessing), of two options, by how often the guesses matched and the number of trials."
    )
    names = ("learner", "match_rate", "trials", "repeats", "upside_down", "trusted")
    columns = {name: [getattr(each, name) for each in regions] for name in names}
    return Drawing("region_of_failure", figure, caption, f"{said}.", columns)
