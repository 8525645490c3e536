"""`bciigl reproduce table1`, `table3` and `features`: labelled data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from bciigl.cli import study as shared
from bciigl.cli.output import echo_json, json_option, notice, table_text, wrapped
from bciigl.cli.progress import bar

if TYPE_CHECKING:
    from bciigl.labelled.study import Dataset, LabelledStudy
    from bciigl.study.run import Outcome


def _labelled_command(out: str) -> Callable[[Callable], click.Command]:
    """Make a function a command with the options of all commands about labelled data."""
    options = [
        click.option(
            "--data",
            metavar="PATH",
            type=click.Path(),
            multiple=True,
            help="A file (NPZ, ARFF, CSV, TSV, IDX) or a folder of them; may be repeated.",
        ),
        click.option("--label", metavar="COLUMN", help="The column of labels in ARFF, CSV, TSV."),
        click.option(
            "--openml",
            metavar="ID",
            type=click.IntRange(min=1),
            multiple=True,
            help="Fetch this dataset from OpenML, or its cache; may be repeated.",
        ),
        click.option(
            "--feedback",
            metavar="RULE",
            multiple=True,
            help="Only this feedback rule; may be repeated.",
        ),
        shared.run_options,
        click.option("--out", metavar="FOLDER", type=click.Path(), help=out),
        json_option,
    ]

    def made(function: Callable) -> click.Command:
        for option in reversed(options):
            function = option(function)
        return click.command()(function)

    return made


@_labelled_command("Keep results here; by default in the table's name.")
def table1(out: str | None, as_json: bool, **options: Any) -> None:
    """Reproduce Table 1: labels of OpenML's datasets, guessed without labels.

    Of every dataset with 3 classes or more, and no label above 50 %, nine tenths are learned from
    and one tenth is tested on, 20 times; once with the paper's feedback (action_reward), once with
    one that hides the reward (coded). Without --data and --openml the paper's 271 datasets are
    fetched from OpenML, which takes a network, and hours.

    A finished repeat is kept at once: if it is stopped, the same command resumes it.
    """
    _reproduce(_table1_study(options), out or "table1", as_json, options)


@_labelled_command("Keep results here; by default in the table's name.")
def table3(out: str | None, as_json: bool, **options: Any) -> None:
    """Reproduce Table 3: MNIST, answered with images of other digits.

    20 000 guesses of a digit, each answered with an image: of the digit (a + 6 r - 3) mod 10
    (action_inclusive), or of the digit r (action_exclusive); 20 times. Without --data MNIST is
    fetched from OpenML, which takes a network.

    A finished repeat is kept at once: if it is stopped, the same command resumes it.
    """
    from bciigl.labelled import paper

    given = _given(options)
    study = paper.table3(_datasets(options, [paper.MNIST_ID]), **given)
    _reproduce(study, out or "table3", as_json, options)


@_labelled_command(
    "The folder of Table 1's results, to which missing ones are added; by default table1."
)
def features(out: str | None, as_json: bool, **options: Any) -> None:
    """Tell what makes a dataset learnable: 15 meta-features, and a forest that predicts success.

    AI-IGL succeeds on a dataset where it reaches 0.7 of what is reached with known rewards. Takes
    the results of `bciigl reproduce table1` with the same data, and adds those that are missing.
    The published figures are told beside.
    """
    from bciigl.labelled.learnable import keep_learnability, learnability, measured
    from bciigl.report.learnable import forest_table
    from bciigl.report.methods import counted
    from bciigl.study.store import cells_digest

    study, out = _table1_study(options), out or "table1"
    outcome = _run(study, out, options)
    with bar("measuring datasets") as progress:
        found = learnability(outcome.rows, measured(study, out, progress=progress))
    keep_learnability(out, found, cells_digest(outcome.results))
    if as_json:
        echo_json([asdict(each) for each in found])
    else:
        for each in found:
            words = f"results: {each.results}, {counted(len(each.datasets), 'dataset')}"
            click.echo(f"{words}\n\n{table_text(forest_table(each.forests))}\n")
            for reason in dict.fromkeys(one.reason for one in each.forests if one.reason):
                which = "; ".join(one.subset for one in each.forests if one.reason == reason)
                click.echo(wrapped(f"no forest ({which}): {reason}", "- ", "  ") + "\n")
    shared.tell_outcome(study, out, outcome, as_json, "repeats")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was given of what a table has defaults for."""
    from bciigl.labelled.rules import find_rule

    for rule in options["feedback"]:
        find_rule(rule)
    rules = tuple(dict.fromkeys(options["feedback"])) or None
    given = {"feedback": rules, "repeats": options["repeats"], "seed": options["seed"]}
    return {name: value for name, value in given.items() if value is not None}


def _datasets(options: dict[str, Any], usual: Sequence[int]) -> list[Dataset]:
    """Return the datasets asked for, by default the usual ones of OpenML, read with a bar.

    Of several usual ones, those that cannot be had are told and left out, but not the first.
    """
    from bciigl.labelled.rules import LabelledError
    from bciigl.labelled.sources import Source, find_sources
    from bciigl.labelled.study import describe

    data, openml = options["data"], options["openml"]
    own = bool(data or openml)
    sources = [each for place in data for each in find_sources(place, label=options["label"])]
    sources += [Source("openml", str(each)) for each in (openml if own else usual)]
    found = []
    with bar("reading datasets") as progress:
        for number, source in enumerate(sources):
            try:
                found.append(describe(source))
            except LabelledError as error:
                if own or not found:
                    raise
                notice(f"left out: {error}")
            progress(number + 1, len(sources))
    return found


def _table1_study(options: dict[str, Any]) -> LabelledStudy:
    """Return the study of Table 1 that is asked for; tell which datasets are left out."""
    from bciigl.labelled import paper

    given = _given(options)
    datasets = _datasets(options, paper.openml_ids())
    study = paper.table1(datasets, **given)
    for words in paper.left_out(datasets):
        notice(words)
    return study


def _run(study: LabelledStudy, out: str, options: dict[str, Any]) -> Outcome:
    where = {name: options[name] for name in ("jobs", "cluster", "share")}
    return shared.run(study, out, doing="learning", **where)


def _reproduce(study: LabelledStudy, out: str, as_json: bool, options: dict[str, Any]) -> None:
    from bciigl.labelled.paper import TABLE3, labelled_notes
    from bciigl.labelled.rows import averages
    from bciigl.report.labelled import average_table, dataset_tables, learner_table
    from bciigl.report.study_tables import over_repeats

    outcome = _run(study, out, options)
    rows = outcome.rows
    if not shared.worth_a_table(outcome, as_json, options["share"] is not None):
        pass
    elif as_json:
        echo_json([row.as_dict() for row in rows])
    elif not rows:
        click.echo("no results yet")
    else:
        words = over_repeats(rows, "repeat")
        if study.table == TABLE3:
            tables = {words: learner_table(rows)}
        else:
            tables = {
                f"feedback {rule}: {words}": each for rule, each in dataset_tables(rows).items()
            }
            heading = "means over datasets, ± standard error over them"
            tables[heading] = average_table(averages(rows))
        for heading, table in tables.items():
            click.echo(f"{wrapped(heading)}\n\n{table_text(shared.shown(table))}\n")
        click.echo(shared.in_notes(labelled_notes(study), "notes"))
    shared.tell_outcome(study, out, outcome, as_json, "repeats")
