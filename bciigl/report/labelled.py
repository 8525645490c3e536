"""The report of a study of labelled data: its tables, figures and words."""

import platform
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from bciigl.base.progress import Notify, silent
from bciigl.labelled import paper
from bciigl.labelled.learnable import TABLE4, Learnability
from bciigl.labelled.rows import ALL_SETS, Average, LabelledRow, averages
from bciigl.labelled.rules import MOST_FEATURES, TEST_SHARE
from bciigl.labelled.study import LEARNERS, LabelledStudy
from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.bandit import BANDIT
from bciigl.report import study_tables as cells
from bciigl.report import style
from bciigl.report.direct import say_above
from bciigl.report.drawing import Drawing
from bciigl.report.findings import noun, who
from bciigl.report.learnable import forest_table, importance_drawing, scatter_drawing
from bciigl.report.methods import MOST_NAMED, counted, listed, references
from bciigl.report.page import KeyNumber, Section
from bciigl.report.results import told
from bciigl.report.study import unfinished, versions_told
from bciigl.report.table import Table
from bciigl.study.store import Results

LEARNABLE = "What makes a dataset learnable"
SCATTERED = ("n_by_k", "n", "max_fisher_discrim", "1nn_accuracy", "naive_bayes_accuracy")
SCATTERED += ("noise_signal_ratio",)
"""Meta-features whose scatter plots are drawn, if no forest says which are important."""
FIGURE_HEIGHT = 3.7
ROOM = 66
"""Letters that fit side by side into a figure."""
RELATIVE = f"relative to {BANDIT.short_name}"
STAR = {"ls": "none", "marker": "*", "mfc": "white"}
"""How published figures are drawn."""
_RULE_WORDS = {
    "action_reward": "it was the pair of action and reward",
    "coded": "it was a random code of the action in 16 dimensions (SD 2) with unit Gaussian noise, "
    "moved by 4 in a direction of the action's own if the action was right, directions of different"
    " actions having a cosine of 1/2 on average",
    "action_inclusive": "it was an image of the digit (a + 6 r - 3) mod 10",
    "action_exclusive": "it was an image of the digit r",
}


def labelled_sections(
    study: LabelledStudy,
    results: Results,
    rows: Sequence[LabelledRow],
    learnability: Sequence[Learnability] | None = (),
    *,
    report: Notify = silent,
) -> list[Section]:
    """Return the report of a study; `learnability` is None if it was found with other results."""
    report("drawing")
    names = [*study.feedback, *study.learners, *(str(each.id) for each in study.datasets)]
    return [
        _head(study, results, rows),
        *_tables(study, rows),
        *_learnable(learnability),
        Section(
            "What to know", [cells.sentence(each, names) for each in paper.labelled_notes(study)]
        ),
        _methods(study),
        _again(study, results),
    ]


def labelled_lead(study: LabelledStudy) -> str:
    """Return what the report says below its title."""
    about = {
        paper.TABLE1: "Table 1 of the paper: labels of OpenML's datasets, guessed without labels.",
        paper.TABLE3: "Table 3 of the paper: MNIST, answered with images of other digits.",
    }.get(study.table, "Labels guessed without labels.")
    return (
        f"{about} {counted(len(study.datasets), 'dataset')}, "
        f"{counted(len(study.feedback), 'feedback rule')}, {counted(study.repeats, 'repeat')}."
    )


def dataset_tables(rows: Sequence[LabelledRow]) -> dict[str, Table]:
    """Return a table for each feedback rule, by its name: a line a dataset."""
    rules = dict.fromkeys(row.feedback for row in rows)
    return {rule: _datasets([row for row in rows if row.feedback == rule]) for rule in rules}


def _datasets(rows: list[LabelledRow]) -> Table:
    learners = list(dict.fromkeys(row.learner for row in rows))
    known = any(row.published for row in rows)
    columns: list[tuple[str, str, Callable[[LabelledRow], str]]] = []
    for learner in learners:
        name = cells.learner_name(learner)
        columns.append((name, learner, lambda row: cells.mean(row.accuracy)))
        if known:
            columns.append(("published", learner, lambda row: cells.published(row.published)))
    if AI_IGL.id in learners:
        ratio = f"{AI_IGL.short_name} / {BANDIT.short_name}"
        columns.append((ratio, AI_IGL.id, lambda row: share(row.relative)))
    table = Table(["dataset", "N", "K", "constant", *(head for head, _, _ in columns)], [])
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = {row.learner: row for row in rows if row.dataset == dataset}
        name = dataset.name if dataset.openml_id is None else f"{dataset.openml_id} {dataset.name}"
        line = [name, str(dataset.n), str(dataset.k), f"{100 * dataset.majority:.1f}"]
        line += [cell(mine[each]) if each in mine else "-" for _, each, cell in columns]
        table.rows.append(line)
    return table


def _places(rows: Sequence[LabelledRow]) -> tuple[list[tuple[int | str, str]], bool]:
    """Return the pairs of dataset and feedback rule, and whether there are several datasets."""
    places = list(dict.fromkeys((row.dataset.id, row.feedback) for row in rows))
    return places, len({dataset for dataset, _ in places}) > 1


def learner_table(rows: Sequence[LabelledRow]) -> Table:
    """Return learners by feedback rules, with details: for few datasets."""
    places, several = _places(rows)
    heads = [f"{dataset}, {rule}" if several else rule for dataset, rule in places]
    table = Table(["feedback", *heads], [])
    details = (
        (RELATIVE, lambda row: "-" if row.learner == BANDIT.id else share(row.relative)),
        ("trusted repeats", lambda row: cells.percent(row.trusted)),
    )
    for learner in dict.fromkeys(row.learner for row in rows):
        mine = {(row.dataset.id, row.feedback): row for row in rows if row.learner == learner}
        table.rows.extend(
            cells.learner_lines(
                cells.learner_name(learner), [mine.get(each) for each in places], details
            )
        )
    return table


def average_table(found: Sequence[Average]) -> Table:
    """Return what learners reach on average over subsets of the datasets."""
    head = ["subset, feedback, learner", "datasets", "accuracy", RELATIVE]
    head += ["of means", "published, same sets", "Table 1, all its sets"]
    table = Table(head, [])
    for each in found:
        some = each.published_datasets != each.datasets
        sets = f" ({counted(each.published_datasets, 'set')})" if some else ""
        line = [
            f"{each.subset}, {each.feedback}, {cells.learner_name(each.learner)}",
            str(each.datasets),
            cells.mean(each.accuracy),
            "-" if each.relative is None else cells.mean(each.relative, 2),
            "-" if each.learner == BANDIT.id else share(each.of_means),
            "-" if each.published is None else f"{each.published:.2f}{sets}",
            cells.published(each.table1),
        ]
        table.rows.append(line)
    return table


def share(value: float | None) -> str:
    """Return a share as percent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def bandit_drawing(rows: Sequence[LabelledRow]) -> Drawing:
    """Return the accuracy of blind learners against a bandit's: a panel a rule, a point a dataset.

    The bandit is told the rewards.
    """
    bandit = {(row.dataset, row.feedback): row for row in rows if row.learner == BANDIT.id}
    pairs = [
        (row, bandit[row.dataset, row.feedback])
        for row in rows
        if row.learner != BANDIT.id and (row.dataset, row.feedback) in bandit
    ]
    rules = list(dict.fromkeys(row.feedback for row, _ in pairs))
    figure = style.new_figure(FIGURE_HEIGHT + 0.4)
    axes = figure.subplots(1, len(rules), squeeze=False, sharey=True)[0]
    for axis, rule in zip(axes, rules, strict=True):
        _against_bandit(axis, [each for each in pairs if each[0].feedback == rule])
        axis.set_title(style.in_figure(rule, ROOM // len(rules)), fontsize=style.SMALL)
    axes[0].set_ylabel("accuracy without rewards (%)")
    style.legend_below(figure)
    datasets = len({row.dataset for row, _ in pairs})
    known = any(row.published for row in rows)
    stars = " Stars: AI-IGL against the contextual bandit as published." if known else ""
    caption = (
        "Accuracy without rewards against that of the contextual bandit, which is told them, on "
        f"{datasets} datasets; on the line they are the same.{stars}"
    )
    said = _against(pairs, datasets)
    say_above(figure, said)
    return Drawing("against_bandit", figure, caption, f"{said}.", row_columns(rows))


def _against(pairs: Sequence[tuple[LabelledRow, LabelledRow]], datasets: int) -> str:
    """Return what the figure shows, without a full stop."""
    best = [row.relative for row, _ in pairs if row.learner == AI_IGL.id and row.relative]
    if not best:
        return "Accuracy without rewards against the contextual bandit's, which is told them"
    return (
        f"Without rewards, {AI_IGL.short_name} has {100 * float(np.median(best)):.0f} % of the "
        f"contextual bandit's accuracy (median of {counted(datasets, 'dataset')}; the worst: "
        f"{100 * min(best):.0f} %)"
    )


def _against_bandit(axis: Axes, pairs: list[tuple[LabelledRow, LabelledRow]]) -> None:
    axis.plot([0, 100], [0, 100], color=style.GREY, lw=0.8, zorder=0)
    for learner in dict.fromkeys(row.learner for row, _ in pairs):
        mine = [
            (cb.accuracy.mean, row.accuracy.mean) for row, cb in pairs if row.learner == learner
        ]
        name = cells.learner_name(learner)
        look = {**style.learner_style(learner), "linestyle": "none", "label": name}
        axis.plot(*zip(*mine, strict=True), ms=4.5, mec="white", mew=0.4, **look)
    known = [
        (cb.published.accuracy, row.published.accuracy)
        for row, cb in pairs
        if row.learner == AI_IGL.id and row.published
    ]
    if known:
        look = {**STAR, "ms": 7, "color": AI_IGL.style["color"]}
        axis.plot(*zip(*known, strict=True), label=f"{AI_IGL.short_name}, published", **look)
    label = "accuracy with rewards (%)"
    axis.set(xlabel=label, xlim=(0, 104), ylim=(0, 104), aspect="equal")
    axis.set_axisbelow(True)
    style.plain(axis)


def learners_drawing(rows: Sequence[LabelledRow]) -> Drawing:
    """Return the accuracy of learners with each feedback rule, with intervals: for few datasets."""
    columns, several = _places(rows)
    learners = list(dict.fromkeys(row.learner for row in rows))
    aside = dict(zip(learners, np.linspace(-0.2, 0.2, len(learners)), strict=True))
    figure = style.new_figure(FIGURE_HEIGHT)
    axis = figure.subplots()
    for learner in learners:
        mine = [row for row in rows if row.learner == learner]
        places = [columns.index((row.dataset.id, row.feedback)) + aside[learner] for row in mine]
        look = {**style.learner_style(learner), "linestyle": "none"}
        means = np.array([row.accuracy.mean for row in mine])
        ends = np.array([row.accuracy.interval or (row.accuracy.mean,) * 2 for row in mine])
        name = cells.learner_name(learner)
        axis.errorbar(places, means, np.abs(ends.T - means), label=name, capsize=3, **look)
        known = [
            (place + 0.07, *row.published)
            for place, row in zip(places, mine, strict=True)
            if row.published
        ]
        if known:
            star = {**STAR, "ms": 10, "capsize": 2, "color": look["color"]}
            label = f"{name}, published ± SE"
            axis.errorbar(*zip(*known, strict=True), label=label, **star)
    classes = {(row.dataset.id, row.feedback): row.dataset.k for row in rows}
    for place, each in enumerate(columns):
        chance = [100 / classes[each]] * 2
        axis.plot(
            [place - 0.5, place + 0.5], chance, color=style.GREY, lw=0.8, ls=":", label="chance"
        )
    names = [
        _column_name(rule, dataset if several else "", len(columns)) for dataset, rule in columns
    ]
    axis.set_xticks(range(len(columns)), names)
    axis.set(ylabel="labels recognised (%)", ylim=(0, 104), xlim=(-0.5, len(columns) - 0.5))
    axis.grid(axis="y", color="#e9ecef", lw=0.6)
    style.plain(axis)
    style.legend_below(figure)
    stars = ", and published figures with their standard errors (stars)"
    stars = stars if any(row.published for row in rows) else ""
    caption = (
        f"Accuracy of all learners: means over repeats with 95 % intervals{stars}. The contextual "
        "bandit is told the rewards."
    )
    shown = ", ".join(
        f"{cells.learner_name(row.learner)} {row.accuracy.mean:.1f} % ({row.feedback})"
        for row in rows
    )
    say_above(figure, _recognised(rows))
    return Drawing("accuracy", figure, caption, f"Accuracy: {shown}.", row_columns(rows))


def _recognised(rows: Sequence[LabelledRow]) -> str:
    """Return what the figure of all learners shows, without a full stop."""
    said = []
    for learner in (AI_IGL.id, BANDIT.id):
        if found := [row.accuracy.mean for row in rows if row.learner == learner]:
            low, high = (f"{each(found):.0f}" for each in (min, max))
            verb = "" if said else " recognises"
            labels = "" if said else " of the labels"
            reach = low if low == high else f"{low} to {high}"
            name = noun(learner) if said else who(learner)
            said.append(f"{name}{verb} {reach} %{labels}")
    return "; ".join(said) or "Accuracy of all learners"


def _column_name(rule: str, dataset: int | str, columns: int) -> str:
    """Return what stands below a column, in lines that are short where there are many columns."""
    lines = re.findall("[^_]*_?", rule)[:3] if columns > 4 else [rule]
    return "\n".join(
        style.in_figure(each, ROOM // columns) for each in (*lines, dataset) if each != ""
    )


def row_columns(rows: Sequence[LabelledRow]) -> dict[str, list]:
    """Return the numbers of rows, a line for each."""
    names = ("dataset", "name", "n", "k", "best_constant", "feedback", "learner", "accuracy")
    names += ("standard_error", "repeats", "published", "published_standard_error")
    documents = [row.as_dict() for row in rows]
    columns = {name: [each[name] for each in documents] for name in names}
    low, high = zip(*(each["interval"] or (None, None) for each in documents), strict=True)
    return {**columns, "interval_low": list(low), "interval_high": list(high)}


def _head(study: LabelledStudy, results: Results, rows: Sequence[LabelledRow]) -> Section:
    named = f"{AI_IGL.short_name} ({told(AI_IGL.id)}), feedback"
    single = len(study.datasets) == 1
    numbers = []
    for each in rows if single else averages(rows):
        if each.learner == AI_IGL.id and (single or each.subset == ALL_SETS):
            about = f"{'' if single else 'mean '}accuracy of {named} {each.feedback}"
            note = cells.in_full(each, "repeat") if single else ""
            if not single and each.of_means:
                note = f"{share(each.of_means)} of the contextual bandit's"
            numbers.append(KeyNumber(f"{each.accuracy.mean:.1f} %", about, note))
    numbers.append(KeyNumber(str(len(results)), "finished repeats"))
    return Section("At a glance", numbers=numbers, notices=unfinished(study, results, "repeats"))


def _tables(study: LabelledStudy, rows: Sequence[LabelledRow]) -> list[Section]:
    words = f"{cells.sentence(cells.over_repeats(rows, 'repeat'))}."
    if len(study.datasets) <= 3:
        drawings = [learners_drawing(rows)]
        return [Section("The table", [words], tables=[learner_table(rows)], drawings=drawings)]
    tables = [each._replace(caption=rule) for rule, each in dataset_tables(rows).items()]
    learners = {row.learner for row in rows}
    drawings = [bandit_drawing(rows)] if learners > {BANDIT.id} else []
    about = (
        "Means over datasets with standard errors over them. Relative to the contextual bandit: "
        "the mean over datasets of their own ratios, as in the paper; of means: the ratio of both "
        "mean accuracies."
    )
    return [
        Section("On average", [about], tables=[average_table(averages(rows))], drawings=drawings),
        Section("Dataset by dataset", [words], tables=tables),
    ]


def _learnable(found: Sequence[Learnability] | None) -> list[Section]:
    if found is None:
        words = "What was found is of other results: run bciigl reproduce features again."
        return [Section(LEARNABLE, [words])]
    sections = []
    for place, each in enumerate(found):
        whole = each.forests[0]
        drawings = [importance_drawing(whole)] if whole.importances else []
        if each.results != TABLE4 and each.datasets:
            ranked = sorted(whole.importances, key=whole.importances.get, reverse=True)
            names = ranked[: len(SCATTERED)] or SCATTERED
            # Grey points, once: the paper's results on all its datasets.
            grey = () if place else found[-1].datasets
            drawings.append(scatter_drawing(each.datasets, names, grey))
        ending, table = re.sub(r"\W+", "_", each.results), forest_table(each.forests)
        drawings = [replace(one, name=f"{one.name}_{ending}") for one in drawings]
        title, tables = f"{LEARNABLE}: {each.results}", [table._replace(caption="")]
        sections.append(Section(title, [table.caption], tables=tables, drawings=drawings))
    return sections


def _methods(study: LabelledStudy) -> Section:
    names = [each.name for each in study.datasets]
    which = listed(names) if len(names) <= MOST_NAMED else f"{len(names)} datasets"
    apart = {each.own_test for each in study.datasets}
    random = f"a random {100 * TEST_SHARE:.0f} % of the examples"
    tested = "the part of the data that comes for testing" if True in apart else random
    if len(apart) > 1:
        tested = f"{tested} or, where there is none, on {random}"
    means = (
        f"means over {study.repeats} repeats with 95 % bootstrap intervals (percentiles, widened "
        "for few repeats; Hesterberg, 2015)"
        if study.repeats > 1
        else "of one repeat"
    )
    rules = " ".join(
        f"With the rule {each}, {_RULE_WORDS.get(each, 'it was of our own making')}."
        for each in study.feedback
    )
    text = (
        f"Interactions were made from labelled data ({which}): the context was an example, the "
        "action a label drawn uniformly at random, the reward whether it was right, and the "
        f"feedback followed from action and reward. {rules} Features of which there were more than "
        f"{MOST_FEATURES} were reduced to {MOST_FEATURES} principal components of the training "
        "data. From contexts, actions and feedback, but no labels and no rewards, we learned "
        "policies by interaction-grounded learning with action-inclusive feedback (AI-IGL; Xie et "
        "al., 2022), in bciigl's own procedure, and under full conditional independence (Xie et "
        "al., 2021). For comparison, we trained a contextual bandit that was told the rewards, by "
        "the likelihood of a softmax policy where one label is right. Policies were tested on "
        f"{tested}; accuracies are {means}. All learners are scikit-learn estimators (Pedregosa et "
        f"al., 2011). The random seed was {study.seed}."
    )
    return Section("Methods", [text], references=references(text))


def _again(study: LabelledStudy, results: Results) -> Section:
    about = [("seed", str(study.seed)), ("learned with", versions_told(results))]
    about += [("Python", platform.python_version())]
    data = [
        [*map(str, (each.id, each.name, each.n, each.features, each.k)), each.digest[:12]]
        for each in study.datasets
    ]
    command = _command(study)
    words = (
        "The command below makes the same study again, with the same numbers if the data and the "
        "versions are the same; DATA is where the datasets are."
    )
    if not command:
        words = "No command makes this study again: it was made in Python, with what follows."
        about += [("feedback", ", ".join(study.feedback)), ("learners", ", ".join(study.learners))]
        about += [("repeats", str(study.repeats)), ("samples", str(study.samples or "all"))]
    head = ("dataset", "name", "N", "features", "K", "SHA-256")
    tables = [Table(("what", "value"), about), Table(head, data, "The data")]
    return Section("How to do it again", [words], tables=tables, preformatted=command)


def _command(study: LabelledStudy) -> str:
    """Return the command that makes a study, or nothing if none does."""
    usual, samples = {
        paper.TABLE1: (paper.TABLE1_FEEDBACK, None),
        paper.TABLE3: (paper.TABLE3_FEEDBACK, paper.SAMPLES),
    }.get(study.table, ((), None))
    shipped = set(study.feedback) <= set(_RULE_WORDS) and tuple(study.learners) == LEARNERS
    if not (usual and shipped and study.samples == samples):
        return ""
    words = ["bciigl", "reproduce", study.table, "--data", "DATA"]
    if tuple(study.feedback) != usual:
        words += [part for rule in study.feedback for part in ("--feedback", rule)]
    words += ["--repeats", str(study.repeats), "--seed", str(study.seed)]
    return shlex.join(words)
