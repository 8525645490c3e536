"""`bciigl reproduce table1` and `bciigl reproduce table3`: labelled data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bciigl.cli import study as shared
from bciigl.cli.output import echo_json, json_option
from bciigl.cli.progress import bar

if TYPE_CHECKING:
    from bciigl.labelled.study import Dataset, LabelledStudy
    from bciigl.report.table import Table
    from bciigl.study.run import Outcome


class Asked(NamedTuple):
    """What the options of all commands about labelled data ask for."""

    data: tuple[str, ...]
    label: str | None
    openml: tuple[int, ...]
    feedback: tuple[str, ...]
    repeats: int | None
    seed: int | None
    jobs: int | None
    cluster: str | None
    share: tuple[int, int] | None

    def given(self) -> dict[str, Any]:
        """Return what was given of what a table has defaults for."""
        from bciigl.labelled.rules import find_rule

        for rule in self.feedback:
            find_rule(rule)
        rules = tuple(dict.fromkeys(self.feedback)) or None
        given = {"feedback": rules, "repeats": self.repeats, "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}

    def datasets(self, usual: Sequence[int]) -> list[Dataset]:
        """Return the datasets asked for, by default the usual ones of OpenML, read with a bar.

        Of several usual ones, those that cannot be had are told and left out, but not the first.
        """
        from bciigl.labelled.rules import LabelledError
        from bciigl.labelled.sources import Source, find_sources
        from bciigl.labelled.study import describe

        own = bool(self.data or self.openml)
        sources = [each for place in self.data for each in find_sources(place, label=self.label)]
        sources += [Source("openml", str(each)) for each in (self.openml if own else usual)]
        found = []
        with bar("reading datasets") as progress:
            for number, source in enumerate(sources):
                try:
                    found.append(describe(source))
                except LabelledError as error:
                    if own or not found:
                        raise
                    click.echo(f"left out: {error}", err=True)
                progress(number + 1, len(sources))
        return found

    def run(self, study: LabelledStudy, out: str) -> Outcome:
        """Run a study with a progress bar."""
        where = {"jobs": self.jobs, "cluster": self.cluster, "share": self.share}
        return shared.run(study, out, doing="learning", **where)


def labelled_options(command: Callable) -> Callable:
    """Add the options that `Asked` has."""
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
    ]
    for option in reversed(options):
        command = option(command)
    return command


out_option = click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(),
    help="Keep results here; by default in the table's name.",
)


@click.command()
@labelled_options
@out_option
@json_option
def table1(out: str | None, as_json: bool, **options: Any) -> None:
    """Reproduce Table 1: labels of OpenML's datasets, guessed without labels.

    Of every dataset with 3 classes or more, and no label above 50 %, nine tenths are learned from
    and one tenth is tested on, 20 times; once with the paper's feedback (action_reward), once with
    one that hides the reward (coded). Without --data and --openml the paper's 271 datasets are
    fetched from OpenML, which takes a network, and hours.

    A finished repeat is kept at once: if it is stopped, the same command resumes it.
    """
    asked = Asked(**options)
    _reproduce(asked, table1_study(asked), out or "table1", as_json)


@click.command()
@labelled_options
@out_option
@json_option
def table3(out: str | None, as_json: bool, **options: Any) -> None:
    """Reproduce Table 3: MNIST, answered with images of other digits.

    20 000 guesses of a digit, each answered with an image: of the digit (a + 6 r - 3) mod 10
    (action_inclusive), or of the digit r (action_exclusive); 20 times. Without --data MNIST is
    fetched from OpenML, which takes a network.

    A finished repeat is kept at once: if it is stopped, the same command resumes it.
    """
    from bciigl.labelled import paper

    asked = Asked(**options)
    given = asked.given()
    study = paper.table3(asked.datasets([paper.MNIST_ID]), **given)
    _reproduce(asked, study, out or "table3", as_json)


def table1_study(asked: Asked) -> LabelledStudy:
    """Return the study of Table 1 that is asked for; tell which datasets are left out."""
    from bciigl.labelled import paper

    given = asked.given()
    datasets = asked.datasets(paper.openml_ids())
    study = paper.table1(datasets, **given)
    for words in paper.left_out(datasets):
        click.echo(words, err=True)
    return study


def _reproduce(asked: Asked, study: LabelledStudy, out: str, as_json: bool) -> None:
    from bciigl.labelled.paper import labelled_notes

    outcome = asked.run(study, out)
    if shared.worth_a_table(outcome, as_json, asked.share is not None):
        if as_json:
            echo_json([row.as_dict() for row in outcome.rows])
        elif not outcome.rows:
            click.echo("no results yet")
        else:
            for heading, table in _parts(study, outcome):
                click.echo(f"{heading}\n\n{table.as_text()}\n")
            for note in labelled_notes(study):
                click.echo(f"- {note}")
    shared.tell_outcome(study, out, outcome, as_json, "repeats")


def _parts(study: LabelledStudy, outcome: Outcome) -> Iterator[tuple[str, Table]]:
    """Give the tables of a study, each with its heading."""
    from bciigl.labelled.paper import TABLE3
    from bciigl.labelled.rows import averages
    from bciigl.report.labelled import average_table, dataset_tables, learner_table
    from bciigl.report.study_tables import over_repeats

    rows = outcome.rows
    words = over_repeats(rows, "repeat")
    if study.table == TABLE3:
        yield words, learner_table(rows)
        return
    for rule, table in dataset_tables(rows).items():
        yield f"feedback {rule}: {words}", table
    yield "means over datasets, ± standard error over them", average_table(averages(rows))
