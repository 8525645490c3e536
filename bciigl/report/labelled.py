"""The report of a study of labelled data."""

import platform
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from bciigl.base.progress import Notify, silent
from bciigl.labelled import table1, table3
from bciigl.labelled.features import TABLE4, MetaFeatures, learnability
from bciigl.labelled.notes import labelled_notes
from bciigl.labelled.rows import SUBSETS, LabelledRow, averages, labelled_rows
from bciigl.labelled.rules import MOST_FEATURES, TEST_SHARE
from bciigl.labelled.study import LEARNERS, LabelledStudy
from bciigl.report.labelled_drawings import bandit_drawing, learners_drawing
from bciigl.report.labelled_tables import (
    average_table,
    dataset_tables,
    learner_table,
    over_repeats,
    share,
)
from bciigl.report.learnable import forest_table, importance_drawing, scatter_drawing
from bciigl.report.methods import MOST_NAMED, counted, listed, references
from bciigl.report.page import KeyNumber, Notice, Section
from bciigl.report.results import told
from bciigl.report.study_tables import interval, mean
from bciigl.report.table import Table
from bciigl.study.store import Results

SCATTERED = ("n_by_k", "n", "max_fisher_discrim", "1nn_accuracy", "naive_bayes_accuracy")
SCATTERED += ("noise_signal_ratio",)
"""Meta-features whose scatter plots are drawn, if no forest says which are important."""
MOST_SCATTERED = 6
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
    features: MetaFeatures | None = None,
    *,
    report: Notify = silent,
) -> list[Section]:
    """Return the report of a study of labelled data; the first section is its head.

    Parameters
    ----------
    study : LabelledStudy
    results : dict
        Of its finished cells.
    features : dict, optional
        Meta-features of its datasets, if they have been measured.
    report : function, optional
        Told what begins.
    """
    report("adding up")
    rows = labelled_rows(study, results)
    parts = [_head(study, results, rows), *_tables(study, rows)]
    if features:
        report("growing forests")
        parts += _learnable(rows, features)
    return [
        *parts,
        Section("What to know", [_sentence(each, study) for each in labelled_notes(study)]),
        _methods(study),
        _again(study, results),
    ]


def _sentence(note: str, study: LabelledStudy) -> str:
    """Return a note that begins as a sentence does, unless it begins with a name."""
    names = {*study.feedback, *study.learners, *(str(each.id) for each in study.datasets)}
    named = any(re.match(rf"{re.escape(each)}\b", note) for each in names)
    return note if named else f"{note[0].upper()}{note[1:]}"


def labelled_lead(study: LabelledStudy) -> str:
    """Return what the report says below its title."""
    about = {
        table1.NAME: "Table 1 of the paper: labels of OpenML's datasets, guessed without labels.",
        table3.NAME: "Table 3 of the paper: MNIST, answered with images of other digits.",
    }.get(study.table, "Labels guessed without labels.")
    return (
        f"{about} {counted(len(study.datasets), 'dataset')}, "
        f"{counted(len(study.feedback), 'feedback rule')}, {counted(study.repeats, 'repeat')}."
    )


def _head(study: LabelledStudy, results: Results, rows: Sequence[LabelledRow]) -> Section:
    numbers = []
    if len(study.datasets) == 1:
        numbers += [
            KeyNumber(
                f"{row.accuracy.mean:.1f} %",
                f"accuracy of {row.learner} ({told(row.learner)}), feedback {row.feedback}",
                f"{mean(row.accuracy)} (standard error), 95 % interval {interval(row.accuracy)}"
                if row.repeats > 1
                else "of one repeat",
            )
            for row in rows
            if row.learner == "ai_igl"
        ]
    else:
        numbers += [
            KeyNumber(
                f"{each.accuracy.mean:.1f} %",
                f"mean accuracy of {each.learner} ({told(each.learner)}), feedback {each.feedback}",
                f"{share(each.of_means)} of cb's" if each.of_means else "",
            )
            for each in averages(rows)
            if each.subset == SUBSETS[0].name and each.learner == "ai_igl"
        ]
    done = sum(cell.key in results for cell in study.cells)
    numbers.append(KeyNumber(str(done), "finished repeats"))
    notices = []
    if missing := len(study.cells) - done:
        text = (
            f"Of {len(study.cells)} repeats {missing} are not there, unfinished or failed: means "
            "are over the others. The command that began the study goes on with it."
        )
        notices.append(Notice("unsure", "Not all is here", text))
    return Section("At a glance", numbers=numbers, notices=notices)


def _tables(study: LabelledStudy, rows: Sequence[LabelledRow]) -> list[Section]:
    words = f"{over_repeats(rows)[0].upper()}{over_repeats(rows)[1:]}."
    if len(study.datasets) <= 3:
        drawings = [learners_drawing(rows)]
        return [Section("The table", [words], tables=[learner_table(rows)], drawings=drawings)]
    tables = [each._replace(caption=rule) for rule, each in dataset_tables(rows).items()]
    blind = {row.learner for row in rows} - {"cb"}
    drawings = [bandit_drawing(rows)] if "cb" in study.learners and blind else []
    about = (
        "Means over datasets with standard errors over them. Relative to cb: the mean over "
        "datasets of their own ratios, as in the paper; of means: the ratio of both mean "
        "accuracies."
    )
    return [
        Section("On average", [about], tables=[average_table(averages(rows))], drawings=drawings),
        Section("Dataset by dataset", [words], tables=tables),
    ]


def _learnable(rows: Sequence[LabelledRow], features: MetaFeatures) -> list[Section]:
    found = learnability(rows, features)
    published = next(each.points for each in found if each.results == TABLE4)
    sections = []
    for place, each in enumerate(found):
        whole = each.forests[0]
        drawings = [importance_drawing(whole)] if whole.importances else []
        if each.results != TABLE4 and each.points:
            ranked = sorted(whole.importances, key=whole.importances.get, reverse=True)
            names = ranked[:MOST_SCATTERED] or SCATTERED
            # Grey points, once: the paper's results on all its datasets.
            drawings.append(scatter_drawing(each.points, names, () if place else published))
        ending = re.sub(r"\W+", "_", each.results)
        sections.append(
            Section(
                f"What makes a dataset learnable: {each.results}",
                [forest_table(each.forests).caption],
                tables=[forest_table(each.forests)._replace(caption="")],
                drawings=[replace(one, name=f"{one.name}_{ending}") for one in drawings],
            )
        )
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
        f"{MOST_FEATURES} were reduced to so many principal components of the training data. From "
        "contexts, actions and feedback, but no labels and no rewards, we learned policies by "
        "interaction-grounded learning with action-inclusive feedback (AI-IGL; Xie et al., 2022), "
        "in bciigl's own procedure, and under full conditional independence (Xie et al., 2021). "
        "For comparison, we trained a contextual bandit that was told the rewards, by the "
        "likelihood of a softmax policy where one label is right. Policies were tested on "
        f"{tested}; accuracies are {means}. All learners are scikit-learn estimators (Pedregosa et "
        f"al., 2011). The random seed was {study.seed}."
    )
    return Section("Methods", [text], references=references(text))


def _again(study: LabelledStudy, results: Results) -> Section:
    versions = sorted(
        {
            ", ".join(f"{name} {each}" for name, each in {"bciigl": r.bciigl, **r.versions}.items())
            for r in results.values()
        }
    )
    about = [("seed", str(study.seed)), ("learned with", "; ".join(versions))]
    about.append(("Python", platform.python_version()))
    data = [
        [str(each.id), each.name, str(each.n), str(each.features), str(each.k), each.digest[:12]]
        for each in study.datasets
    ]
    command = _command(study)
    words = (
        "The command below makes the same study again, with the same numbers if the data and the "
        "versions are the same; DATA is where the datasets are."
        if command
        else "No command makes this study again: it was made in Python, with what follows."
    )
    if not command:
        about += [("feedback", ", ".join(study.feedback)), ("learners", ", ".join(study.learners))]
        about += [("repeats", str(study.repeats)), ("samples", str(study.samples or "all"))]
    return Section(
        "How to do it again",
        [words],
        tables=[
            Table(("what", "value"), about),
            Table(("dataset", "name", "N", "features", "K", "SHA-256"), data, "The data"),
        ],
        preformatted=command,
    )


def _command(study: LabelledStudy) -> str:
    """Return the command that makes a study, or nothing if none does."""
    tables = {table1.NAME: (table1.FEEDBACK, None), table3.NAME: (table3.FEEDBACK, table3.SAMPLES)}
    usual, samples = tables.get(study.table, ((), None))
    shipped = set(study.feedback) <= set(_RULE_WORDS) and tuple(study.learners) == LEARNERS
    if not (usual and shipped and study.samples == samples):
        return ""
    words = ["bciigl", "reproduce", study.table, "--data", "DATA"]
    if tuple(study.feedback) != usual:
        words += [part for rule in study.feedback for part in ("--feedback", rule)]
    words += ["--repeats", str(study.repeats), "--seed", str(study.seed)]
    return shlex.join(words)
