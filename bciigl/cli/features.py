"""`bciigl reproduce features`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from bciigl.cli import study as shared
from bciigl.cli.labelled import Asked, labelled_options, table1_study
from bciigl.cli.output import echo_json, json_option


@click.command()
@labelled_options
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(),
    help="The folder of Table 1's results, to which missing ones are added; by default table1.",
)
@json_option
def features(out: str | None, as_json: bool, **options: Any) -> None:
    """Tell what makes a dataset learnable: 15 meta-features, and a forest that predicts success.

    AI-IGL succeeds on a dataset where it reaches 0.7 of what is reached with known rewards. Takes
    the results of `bciigl reproduce table1` with the same data, and adds those that are missing.
    The published figures are told beside.
    """
    from bciigl.cli.progress import bar
    from bciigl.labelled.learnable import keep_learnability, learnability, measured
    from bciigl.report.learnable import forest_table
    from bciigl.study.store import cells_digest

    asked = Asked(**options)
    study = table1_study(asked)
    out = out or "table1"
    outcome = asked.run(study, out)
    with bar("measuring datasets") as progress:
        found = learnability(outcome.rows, measured(study, out, progress=progress))
    keep_learnability(out, found, cells_digest(outcome.results))
    if as_json:
        echo_json([asdict(each) for each in found])
    else:
        for each in found:
            plural = "" if len(each.datasets) == 1 else "s"
            words = f"results: {each.results}, {len(each.datasets)} dataset{plural}"
            click.echo(f"{words}\n\n{forest_table(each.forests).as_text()}\n")
            for reason in dict.fromkeys(one.reason for one in each.forests if one.reason):
                which = "; ".join(one.subset for one in each.forests if one.reason == reason)
                click.echo(f"- no forest ({which}): {reason}\n")
    shared.tell_outcome(study, out, outcome, as_json, "repeats")
