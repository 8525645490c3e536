"""What `bciigl sweep` and `bciigl reproduce` share: how a study is run, and what it prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo_json, notice, table_text, verbose, wrapped
from bciigl.cli.progress import bar

if TYPE_CHECKING:
    from bciigl.report.table import Table
    from bciigl.study import Row, Study
    from bciigl.study.run import Outcome
    from bciigl.study.store import AnyStudy


def _share(value: str) -> tuple[int, int]:
    """Return the numbers of a share of a grid such as 3/10."""
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", value.strip())
    part, parts = map(int, match.groups()) if match else (0, 0)
    if not 1 <= part <= parts:
        said = f"{value!r} should be a share such as 3/10, from 1/10 to 10/10"
        raise click.BadParameter(said)
    return part, parts


def study_options(command: Callable) -> Callable:
    """Add the options of a simulated study: its noise levels, and where it is run."""
    noise = click.option("--noise", type=float, multiple=True, help="Noise level; may be repeated.")
    return noise(run_options(command))


def run_options(command: Callable) -> Callable:
    """Add the options that say how often and where a study is run."""
    repeats = click.option("--repeats", type=int, help="Repeats at each place in the grid.")
    return repeats(where_options(command))


def where_options(command: Callable) -> Callable:
    """Add the options that say where a study is run, and its seed."""
    options = [
        click.option("--seed", type=int, help="Of the whole study (seed)."),
        click.option(
            "--jobs", type=click.IntRange(min=1), help="Processes; by default one for each core."
        ),
        click.option(
            "--cluster", metavar="ADDRESS", help="Use the workers of this dask scheduler instead."
        ),
        click.option(
            "--cell",
            "share",
            metavar="I/N",
            type=_share,
            help="Run only this share, such as 3/10: for arrays.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def run(study: AnyStudy, out: str, *, doing: str = "simulating sessions", **where: Any) -> Outcome:
    """Run a study with a progress bar where `run_options` say; tell how to resume it."""
    from bciigl.study import run_study

    with resumable(out, where["jobs"], where["cluster"]), bar(doing) as progress:
        return run_study(study, out, progress=progress, report=notice, **where)


@contextmanager
def resumable(out: str, jobs: int | None, cluster: str | None) -> Iterator[None]:
    """Refuse two kinds of workers at once; if what is run here is stopped, tell how to resume."""
    if jobs is not None and cluster is not None:
        raise BciiglError("--jobs is for processes here, --cluster for workers elsewhere: give one")
    try:
        yield
    except KeyboardInterrupt:
        again = "run the same command again to resume it"
        click.echo(f"stopped; what is finished is in {shlex.quote(out)}: {again}", err=True)
        raise


def simulate(study: Study, out: str, as_json: bool, **where: Any) -> None:
    """Run a simulated study, and print its table as far as it has come; fail if cells failed."""
    from bciigl.study.notes import caveats, notes

    outcome = run(study, out, **where)
    if worth_a_table(outcome, as_json, where["share"] is not None):
        unreal = caveats(study)
        others = [each for each in notes(study, outcome.rows) if each not in unreal]
        echo_table(outcome.rows, others, as_json, caveats=unreal)
    tell_outcome(study, out, outcome, as_json, "sessions")


def worth_a_table(outcome: Outcome, as_json: bool, partial: bool) -> bool:
    """Tell whether to print a table: of a part of a study there is none until all are done."""
    return as_json or not (partial and outcome.missing)


def tell_outcome(study: AnyStudy, out: str, outcome: Outcome, as_json: bool, what: str) -> None:
    """Say what has become of the cells of a study, and fail if some have failed."""
    from bciigl.study.store import CELLS

    count = f"{len(outcome.failed) or outcome.missing} of {len(study.cells)} cells"
    if outcome.failed:
        click.echo(f"{count} failed; the first: {outcome.failed[0]}", err=True)
    elif outcome.missing:
        notice(f"{count} are still to be run in {out}")
    if others := len(list(Path(out, CELLS).glob("*.json"))) - len(outcome.results):
        said = f"{others} finished {what} in {out} are of other settings, and not in this table"
        notice(said)
    if not as_json:
        click.echo(f"\nResults in {out}\nReport:  bciigl report {shlex.quote(out)} --open")
    if outcome.failed:
        raise click.exceptions.Exit(1)


def echo_table(
    table: list[Row],
    notes: Iterable[str],
    as_json: bool,
    heading: str = "",
    caveats: Iterable[str] = (),
) -> None:
    """Print rows as JSON, or as tables; the heading says what the means are over.

    Notes are details; caveats are not, for without them the table would be misread.
    """
    if as_json:
        echo_json([row.as_dict() for row in table])
        return
    if not table:
        click.echo("no results yet")
        return
    from bciigl.report.findings import finding
    from bciigl.report.study_tables import accuracy_tables, difference_tables, over_repeats

    parts = [click.style(wrapped(f"{finding(table)}."), bold=True)]
    parts.append(wrapped(f"{heading or over_repeats(table)}; {_told(table)}"))
    differences = difference_tables(table) if verbose() else {}
    paired = "paired differences, session by session (95 % by bootstrap, p by random signs)"
    for name, each in accuracy_tables(table).items():
        parts.append("\n".join(filter(None, [name, table_text(shown(each))])))
        if name in differences:
            parts.append(f"{paired}\n{table_text(differences[name])}")
    parts += (wrapped(each) for each in caveats)
    parts.append(in_notes(notes, "intervals, failed and trusted sessions, differences, notes"))
    click.echo("\n\n".join(parts))


def shown(table: Table) -> Table:
    """Return a table with details of its rows if they are asked for, or what was published."""
    from bciigl.report.table import INDENT

    if verbose():
        return table
    kept = f"{INDENT}published"
    rows = (row for row in table.rows if not row[0].startswith(INDENT) or row[0] == kept)
    return table._replace(rows=list(rows))


def in_notes(notes: Iterable[str], others: str) -> str:
    """Return notes if details are asked for, or how to see them and other details."""
    if not verbose():
        return f"-v shows {others}."
    return "\n".join(wrapped(note, "- ", "  ") for note in notes)


def _told(table: list[Row]) -> str:
    """Return what the learners of a table are told."""
    from bciigl.report.results import told
    from bciigl.report.study_tables import learner_name

    by_what: dict[str, list[str]] = {}
    for each in dict.fromkeys(row.learner for row in table):
        by_what.setdefault(told(each), []).append(learner_name(each))
    return "; ".join(f"{', '.join(names)}: {what}" for what, names in by_what.items())
