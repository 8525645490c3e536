"""`bciigl reproduce`: commands for the paper's tables, its theory, and real recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli import study as shared
from bciigl.cli.labelled import features, table1, table3
from bciigl.cli.output import echo_json, json_option, path_option, table_text, wrapped
from bciigl.cli.real import real
from bciigl.cli.theory import theory


@click.group(short_help="Reproduce the paper's tables and theory.")
def reproduce() -> None:
    """Reproduce the paper's tables beside its figures, its theory, or games with real brains."""


for command in (table1, table3, features, real, theory):
    reproduce.add_command(command)


@reproduce.command()
@shared.study_options
@click.option(
    "--separate",
    is_flag=True,
    help="Separate recordings and single frames, as in the paper's code.",
)
@path_option("--released", "Learn from the arrays that the paper's authors released.")
@click.option(
    "--as-published",
    is_flag=True,
    help="By the procedure of the authors' released code; hours.",
)
@click.option("--arm", "arms", multiple=True, help="With --as-published, only this arm.")
@path_option(
    "--out", "Keep results here; by default in table2, table2_separate or table2_as_published."
)
@json_option
def table2(
    noise: tuple[float, ...],
    repeats: int | None,
    seed: int | None,
    separate: bool,
    released: str | None,
    as_published: bool,
    arms: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Reproduce Table 2: decoding imagined numbers at growing noise.

    The number-guessing task, 20 sessions at each noise level, six learners and three controls. To
    the paper's levels 0.01, 0.05 and 0.1 are added 0.2, 0.5 and 1, the noise of a real brain. By
    default it is simulated as a closed loop in one BOLD series, with contexts estimated by
    regression from frames before the guess.

    With --as-published it is learned by the procedure of the code that the authors released: their
    networks, on their arrays (--released) and on separate recordings of ours, beside arms that
    depart from it in one thing each. That takes 90 minutes on two cores.

    What is finished is kept at once: if it is stopped, the same command resumes it.
    """
    from bciigl.study import table2 as paper

    if arms and not as_published:
        raise BciiglError("--arm goes with --as-published")
    if as_published:
        if separate:
            raise BciiglError("--as-published needs no --separate: it learns from such recordings")
        given = {"repeats": repeats, "seed": seed or 0, "arms": arms, "noise": noise}
        _as_published(released, given, out or "table2_as_published", as_json, where)
        return
    if released is not None:
        given = {"--separate": separate, "--out": out, "--noise": noise}
        given |= {"--seed": seed is not None, "--jobs": where["jobs"]}
        given |= {"--cluster": where["cluster"], "--cell": where["share"]}
        _released(released, repeats, [name for name, value in given.items() if value], as_json)
        return
    levels = noise or paper.PUBLISHED_NOISE + paper.FURTHER_NOISE
    study = paper.table2(noise=levels, repeats=repeats, seed=seed, separate=separate)
    out = out or ("table2_separate" if separate else "table2")
    shared.simulate(study, out, as_json, **where)


def _released(folder: str, repeats: int | None, unused: list[str], as_json: bool) -> None:
    from bciigl.cli.progress import bar
    from bciigl.study import released
    from bciigl.study.controls import MEAN_REMOVED, PERMUTED
    from bciigl.study.notes import control_notes

    if unused:
        raise BciiglError(f"--released takes no {unused[0]}: there is nothing to simulate")
    if repeats is not None and repeats < 1:
        raise BciiglError(f"--repeats should be 1 or more, got {repeats}")
    with bar("learning") as progress:
        table = released.released_rows(folder, repeats=repeats or 20, progress=progress)
    notes = [*released.NOTES, *control_notes([PERMUTED, MEAN_REMOVED])]
    shared.echo_table(table, notes, as_json, "accuracy in percent, of one recording a noise level")


def _as_published(
    released: str | None, given: dict[str, Any], out: str, as_json: bool, where: dict[str, Any]
) -> None:
    from bciigl.report.as_published import attribution, finding, outcome_tables, published_tables
    from bciigl.study.as_published import NOTES, TABLE, published_study, write_table

    study = published_study(released, **given)
    outcome = shared.run(study, out, doing="training", **where)
    write_table(outcome.rows, Path(out, TABLE))
    if as_json:
        echo_json([row.as_dict() for row in outcome.rows])
    elif shared.worth_a_table(outcome, as_json, where["share"] is not None):
        click.echo(click.style(wrapped(finding(outcome.rows)), bold=True) + "\n")
        for table in published_tables(outcome.rows) + outcome_tables(outcome.rows):
            click.echo(f"{wrapped(table.caption)}\n\n{table_text(table)}\n")
        for said in attribution(outcome.rows):
            click.echo(f"{wrapped(said)}\n")
        click.echo(shared.in_notes(NOTES, "notes"))
    shared.tell_outcome(study, out, outcome, as_json, "trainings")
