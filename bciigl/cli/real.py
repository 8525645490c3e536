"""`bciigl reproduce real`."""

from __future__ import annotations

from typing import Any

import click

from bciigl.cli import study as shared
from bciigl.cli.output import echo_json, json_option, path_option, table_text, wrapped


@click.command()
@path_option("--data", "Where the recordings are.", default="real", show_default=True)
@click.option(
    "--bed",
    "beds",
    type=click.Choice(["A", "B", "C"]),
    multiple=True,
    help="Only this test bed; may be repeated.",
)
@shared.run_options
@path_option("--out", "Keep results here.", default="real_brains", show_default=True)
@json_option
def real(
    data: str,
    beds: tuple[str, ...],
    repeats: int | None,
    seed: int | None,
    out: str,
    as_json: bool,
    **where: Any,
) -> None:
    """Learn from real brains: games put together from recorded fMRI and EEG.

    Test bed A is fMRI of seen pictures, with a judgment that is simulated; in B the judgment is
    real EEG; in C all is EEG. 12 draws of each setting, all learners, with controls: 5 minutes on
    two cores. The recordings do not come with bciigl; docs/real_brains.md says where to get them.

    A finished draw is kept at once: if it is stopped, the same command resumes it.
    """
    from bciigl.report.real import real_tables
    from bciigl.study.real_study import NOTES, REPEATS, real_study

    given = {"repeats": REPEATS if repeats is None else repeats, "seed": seed or 0}
    study = real_study(data, beds, **given)
    outcome = shared.run(study, out, doing="learning", **where)
    if as_json:
        echo_json([row.as_dict() for row in outcome.rows])
    elif shared.worth_a_table(outcome, as_json, where["share"] is not None):
        for table in real_tables(outcome.rows):
            click.echo(f"{wrapped(table.caption)}\n\n{table_text(table)}\n")
        click.echo("\n".join(wrapped(note, "- ", "  ") for note in NOTES))
    shared.tell_outcome(study, out, outcome, as_json, "draws")
