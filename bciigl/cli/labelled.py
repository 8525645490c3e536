"""`bciigl reproduce table1` and `bciigl reproduce table3`: labelled data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from bciigl.cli import study as shared
from bciigl.cli.output import echo_json, json_option
from bciigl.cli.progress import bar

if TYPE_CHECKING:
    from bciigl.report.table import Table
    from bciigl.study.labelled import Dataset, LabelledStudy
    from bciigl.study.labelled_rows import LabelledRow
    from bciigl.study.run import Outcome
    from bciigl.tasks.sources import Source


def data_options(command: Callable) -> Callable:
    """Add the options that say which data are learned from."""
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
    ]
    for option in reversed(options):
        command = option(command)
    return command


feedback_option = click.option(
    "--feedback", metavar="RULE", multiple=True, help="Only this feedback rule; may be repeated."
)
out_option = click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(),
    help="Keep results here; by default in the table's name.",
)


@click.command()
@data_options
@feedback_option
@shared.run_options
@out_option
@json_option
def table1(
    data: tuple[str, ...],
    label: str | None,
    openml: tuple[int, ...],
    feedback: tuple[str, ...],
    repeats: int | None,
    seed: int | None,
    jobs: int | None,
    cluster: str | None,
    share: tuple[int, int] | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Reproduce Table 1: labels of OpenML's datasets, guessed without labels.

    Of every dataset with 3 classes or more, and no label above 50 %, nine tenths are learned from
    and one tenth is tested on, 20 times; once with the paper's feedback (action_reward), once with
    one that hides the reward (coded). Without --data and --openml the paper's 271 datasets are
    fetched from OpenML, which takes a network, and hours.

    A finished repeat is kept at once: if it is stopped, the same command goes on.
    """
    study = table1_study(data, label, openml, feedback, repeats, seed)
    _reproduce(study, out or "table1", jobs, cluster, share, as_json, _table1_parts)


@click.command()
@data_options
@feedback_option
@shared.run_options
@out_option
@json_option
def table3(
    data: tuple[str, ...],
    label: str | None,
    openml: tuple[int, ...],
    feedback: tuple[str, ...],
    repeats: int | None,
    seed: int | None,
    jobs: int | None,
    cluster: str | None,
    share: tuple[int, int] | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Reproduce Table 3: MNIST, answered with images of other digits.

    20 000 guesses of a digit, each answered with an image: of the digit (a + 6 r - 3) mod 10
    (action_inclusive), or of the digit r (action_exclusive); 20 times. Without --data MNIST is
    fetched from OpenML, which takes a network.

    A finished repeat is kept at once: if it is stopped, the same command goes on.
    """
    from bciigl.study import table3 as paper

    datasets = read_datasets(data, label, openml or (() if data else (paper.OPENML_ID,)))
    study = paper.table3(datasets, **given_options(feedback, repeats, seed))
    _reproduce(study, out or "table3", jobs, cluster, share, as_json, _table3_parts)


def table1_study(
    data: tuple[str, ...],
    label: str | None,
    openml: tuple[int, ...],
    feedback: tuple[str, ...],
    repeats: int | None,
    seed: int | None,
) -> LabelledStudy:
    """Return the study of Table 1 that options ask for; tell which datasets are left out."""
    from bciigl.study import table1 as paper
    from bciigl.study.labelled_notes import left_out

    chosen = given_options(feedback, repeats, seed)
    every = not data and not openml
    datasets = read_datasets(data, label, paper.openml_ids() if every else openml, skip=every)
    study = paper.table1(datasets, **chosen)
    for words in left_out(datasets):
        click.echo(words, err=True)
    return study


def given_options(feedback: tuple[str, ...], repeats: int | None, seed: int | None) -> dict:
    """Return what was given of what a table has defaults for."""
    from bciigl.tasks.labelled import find_rule

    for rule in feedback:
        find_rule(rule)
    given = {"feedback": tuple(dict.fromkeys(feedback)) or None, "repeats": repeats, "seed": seed}
    return {name: value for name, value in given.items() if value is not None}


def read_datasets(
    data: Sequence[str], label: str | None, openml: Sequence[int], *, skip: bool = False
) -> list[Dataset]:
    """Return the datasets that options name, read with a progress bar.

    With `skip`, those that cannot be had are told and left out, unless it is the first one.
    """
    from bciigl.study.labelled import describe
    from bciigl.tasks.labelled import LabelledError
    from bciigl.tasks.sources import find_sources, openml_sources

    sources: list[Source] = [
        each for place in data for each in find_sources(place, label=label)
    ] + openml_sources(openml)
    found = []
    with bar("reading datasets") as progress:
        for number, source in enumerate(sources):
            try:
                found.append(describe(source))
            except LabelledError as error:
                if not (skip and found):
                    raise
                click.echo(f"left out: {error}", err=True)
            progress(number + 1, len(sources))
    return found


def _reproduce(
    study: LabelledStudy,
    out: str,
    jobs: int | None,
    cluster: str | None,
    share: tuple[int, int] | None,
    as_json: bool,
    parts: Callable[[list[LabelledRow]], list[tuple[str, Table]]],
) -> None:
    from bciigl.study.labelled_notes import labelled_notes
    from bciigl.study.labelled_rows import labelled_rows

    outcome = run_labelled(study, out, jobs, cluster, share)
    rows = labelled_rows(study, outcome.results)
    if shared.worth_a_table(outcome, as_json, share is not None):
        if as_json:
            echo_json([row.as_dict() for row in rows])
        elif not rows:
            click.echo("no results yet")
        else:
            for heading, table in parts(rows):
                click.echo(f"{heading}\n\n{table.as_text()}\n")
            for note in labelled_notes(study):
                click.echo(f"- {note}")
    shared.tell_outcome(study, out, outcome, as_json, "repeats")


def run_labelled(
    study: LabelledStudy,
    out: str,
    jobs: int | None,
    cluster: str | None,
    share: tuple[int, int] | None,
) -> Outcome:
    """Run a study of labelled data with a progress bar."""
    return shared.run(study, out, jobs=jobs, cluster=cluster, share=share, doing="learning")


def _table1_parts(rows: list[LabelledRow]) -> list[tuple[str, Table]]:
    from bciigl.report.labelled_tables import average_table, dataset_tables, over_repeats
    from bciigl.study.labelled_rows import averages

    parts = [
        (f"feedback {rule}: {over_repeats(rows)}", table)
        for rule, table in dataset_tables(rows).items()
    ]
    heading = "means over datasets, ± standard error over them"
    return [*parts, (heading, average_table(averages(rows)))]


def _table3_parts(rows: list[LabelledRow]) -> list[tuple[str, Table]]:
    from bciigl.report.labelled_tables import learner_table, over_repeats

    return [(over_repeats(rows), learner_table(rows))]
