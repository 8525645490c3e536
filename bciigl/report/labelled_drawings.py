"""Figures of labelled data: what is reached without rewards beside what is reached with them."""

import re
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bciigl.labelled.rows import LabelledRow
from bciigl.report.drawing import Drawing
from bciigl.report.style import GREY, SMALL, in_figure, learner_style, new_figure, plain

PANEL_HEIGHT, LEGEND_HEIGHT = 3.0, 0.7
ROOM = 66
"""Letters that fit side by side into a figure."""
FEW_COLUMNS, MOST_LINES = 4, 3
"""Columns up to which a rule's name is one line, and how many it has at most."""


def bandit_drawing(rows: Sequence[LabelledRow]) -> Drawing:
    """Return the accuracy of blind learners against that of cb: a panel a rule, a point a dataset.

    Parameters
    ----------
    rows : sequence of LabelledRow
        With those of cb.
    """
    pairs = [
        (row, cb)
        for row in rows
        for cb in rows
        if cb.learner == "cb" != row.learner
        and (cb.dataset, cb.feedback) == (row.dataset, row.feedback)
    ]
    rules = list(dict.fromkeys(row.feedback for row, _ in pairs))
    figure = new_figure(PANEL_HEIGHT + LEGEND_HEIGHT)
    axes = figure.subplots(1, len(rules), squeeze=False, sharey=True)[0]
    for axis, rule in zip(axes, rules, strict=True):
        _against_bandit(axis, [each for each in pairs if each[0].feedback == rule])
        axis.set_title(in_figure(rule, ROOM // len(rules)), fontsize=SMALL)
    axes[0].set_ylabel("accuracy without rewards (%)")
    _legend(figure, axes)
    published = any(row.published for row in rows)
    datasets = len({row.dataset for row, _ in pairs})
    caption = (
        f"Accuracy without rewards against that of cb, which is told them, on {datasets} datasets; "
        "on the line they are the same."
        + (" Stars: AI-IGL against CB as published." if published else "")
    )
    best = [row.relative for row, _ in pairs if row.learner == "ai_igl" and row.relative]
    alt = f"Accuracy of blind learners against the contextual bandit's on {datasets} datasets" + (
        f"; ai_igl has between {min(best):.2f} and {max(best):.2f} of it." if best else "."
    )
    return Drawing("against_cb", figure, caption, alt, row_columns(rows))


def learners_drawing(rows: Sequence[LabelledRow]) -> Drawing:
    """Return the accuracy of learners with each feedback rule, with intervals: for few datasets."""
    columns = list(dict.fromkeys((row.dataset.id, row.feedback) for row in rows))
    several = len({dataset for dataset, _ in columns}) > 1
    names = [
        _column_name(rule, dataset if several else "", len(columns)) for dataset, rule in columns
    ]
    learners = list(dict.fromkeys(row.learner for row in rows))
    aside = dict(zip(learners, np.linspace(-0.2, 0.2, len(learners)), strict=True))
    figure = new_figure(PANEL_HEIGHT + LEGEND_HEIGHT)
    axis = figure.subplots()
    for learner in learners:
        mine = [row for row in rows if row.learner == learner]
        places = [columns.index((row.dataset.id, row.feedback)) + aside[learner] for row in mine]
        style = {**learner_style(learner), "linestyle": "none"}
        means = np.array([row.accuracy.mean for row in mine])
        ends = np.array([row.accuracy.interval or (row.accuracy.mean,) * 2 for row in mine])
        axis.errorbar(places, means, np.abs(ends.T - means), label=learner, capsize=3, **style)
        known = [(place, row) for place, row in zip(places, mine, strict=True) if row.published]
        if known:
            axis.errorbar(
                [place + 0.07 for place, _ in known],
                [row.published.accuracy for _, row in known],
                [row.published.standard_error for _, row in known],
                ls="none", marker="*", ms=10, mfc="white", capsize=2, color=style["color"],
                label=f"{learner}, published ± SE",
            )  # fmt: skip
    classes = {(row.dataset.id, row.feedback): row.dataset.k for row in rows}
    for place, each in enumerate(columns):
        chance = [100 / classes[each]] * 2
        axis.plot([place - 0.5, place + 0.5], chance, color=GREY, lw=0.8, ls=":", label="chance")
    axis.set_xticks(range(len(columns)), names)
    axis.set(ylabel="labels recognised (%)", ylim=(0, 104), xlim=(-0.5, len(columns) - 0.5))
    axis.grid(axis="y", color="#e9ecef", lw=0.6)
    plain(axis)
    _legend(figure, [axis])
    stars = ", and published figures with their standard errors (stars)"
    caption = (
        "Accuracy of all learners: means over repeats with 95 % intervals"
        f"{stars if any(row.published for row in rows) else ''}. cb is told the rewards."
    )
    shown = ", ".join(f"{row.learner} {row.accuracy.mean:.1f} % ({row.feedback})" for row in rows)
    return Drawing("accuracy", figure, caption, f"Accuracy: {shown}.", row_columns(rows))


def _column_name(rule: str, dataset: int | str, columns: int) -> str:
    """Return what stands below a column, in lines as short as so many columns need them."""
    lines = re.findall("[^_]*_?", rule)[:MOST_LINES] if columns > FEW_COLUMNS else [rule]
    return "\n".join(in_figure(each, ROOM // columns) for each in (*lines, dataset) if each != "")


def row_columns(rows: Sequence[LabelledRow]) -> dict[str, list]:
    """Return the numbers of rows, a line for each."""
    names = ("dataset", "name", "n", "k", "best_constant", "feedback", "learner", "accuracy")
    names += ("standard_error", "repeats", "published", "published_standard_error")
    documents = [row.as_dict() for row in rows]
    columns = {name: [each[name] for each in documents] for name in names}
    ends = [each["interval"] or (None, None) for each in documents]
    return {**columns, "interval_low": [e[0] for e in ends], "interval_high": [e[1] for e in ends]}


def _against_bandit(axis: Axes, pairs: list[tuple[LabelledRow, LabelledRow]]) -> None:
    axis.plot([0, 100], [0, 100], color=GREY, lw=0.8, zorder=0)
    for learner in dict.fromkeys(row.learner for row, _ in pairs):
        mine = [(row, cb) for row, cb in pairs if row.learner == learner]
        style = {**learner_style(learner), "linestyle": "none"}
        axis.plot(
            [cb.accuracy.mean for _, cb in mine],
            [row.accuracy.mean for row, _ in mine],
            ms=4.5, mec="white", mew=0.4, label=learner, **style,
        )  # fmt: skip
    known = [(row, cb) for row, cb in pairs if row.learner == "ai_igl" and row.published]
    if known:
        axis.plot(
            [cb.published.accuracy for _, cb in known],
            [row.published.accuracy for row, _ in known],
            ls="none", marker="*", ms=7, mfc="white", color=learner_style("ai_igl")["color"],
            label="ai_igl, published",
        )  # fmt: skip
    axis.set(xlabel="accuracy of cb (%)", xlim=(0, 104), ylim=(0, 104), aspect="equal")
    axis.set_axisbelow(True)
    plain(axis)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    shown = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=2, frameon=False, fontsize=SMALL
    )
