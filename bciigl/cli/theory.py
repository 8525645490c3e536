"""`bciigl reproduce theory`."""

from __future__ import annotations

import shlex

import click

from bciigl.cli.output import echo_json, json_option, path_option, table_text, wrapped
from bciigl.cli.progress import bar


@click.command()
@click.option("--repeats", type=int, help="Sessions at each place.  [default: 8]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all sessions.")
@path_option("--out", "Keep results and report here.", default="theory", show_default=True)
@json_option
def theory(repeats: int | None, seed: int, out: str, as_json: bool) -> None:
    """Check the paper's theory by numbers.

    Error against trials and options (Theorem 1), the objective of full-CI in Example 3, and match
    rates at which sessions are learned upside down (Assumption 4), on made-up interactions that
    keep to the assumptions. 2 minutes on one core. The report is written at once.

    What is in the folder already is not measured again.
    """
    from dataclasses import asdict

    from bciigl.report.theory import findings, fit_table, reached_table
    from bciigl.report.write import write_report_of
    from bciigl.study import theory as study

    how = {"seed": seed, "repeats": study.REPEATS if repeats is None else repeats}
    with bar("learning") as progress:
        found = study.theory(out, **how, progress=progress)
    page = write_report_of(out)
    if as_json:
        echo_json(asdict(found))
        return
    for each in findings(found):
        click.echo(wrapped(each) + "\n")
    for table in (fit_table(found), reached_table(found.reached)):
        click.echo(f"{wrapped(table.caption)}\n\n{table_text(table)}\n")
    click.echo(f"Results in {shlex.quote(out)}\nReport:  {page}")
