"""What `bciigl sweep` and `bciigl reproduce` share: how a study is run, and what it prints."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo_json
from bciigl.cli.progress import bar

if TYPE_CHECKING:
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
        say = functools.partial(click.echo, err=True)
        return run_study(study, out, progress=progress, report=say, **where)


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
    from bciigl.study.notes import notes

    outcome = run(study, out, **where)
    if worth_a_table(outcome, as_json, where["share"] is not None):
        echo_table(outcome.rows, notes(study, outcome.rows), as_json)
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
        click.echo(f"{count} are still to be run in {out}", err=True)
    if others := len(list(Path(out, CELLS).glob("*.json"))) - len(outcome.results):
        said = f"{others} finished {what} in {out} are of other settings, and not in this table"
        click.echo(said, err=True)
    if not as_json:
        click.echo(f"results in {out}; figures and all else: bciigl report {shlex.quote(out)}")
    if outcome.failed:
        raise click.exceptions.Exit(1)


def echo_table(table: list[Row], notes: list[str], as_json: bool, heading: str = "") -> None:
    """Print rows as JSON, or as tables with notes; the heading says what the means are over."""
    if as_json:
        echo_json([row.as_dict() for row in table])
        return
    if not table:
        click.echo("no results yet")
        return
    from bciigl.report.study_tables import accuracy_tables, difference_tables, over_repeats

    parts, differences = [heading or over_repeats(table)], difference_tables(table)
    paired = "paired differences, session by session (95 % by bootstrap, p by random signs)"
    for name, each in accuracy_tables(table).items():
        parts.append("\n".join(filter(None, [name, each.as_text()])))
        if name in differences:
            parts.append(f"{paired}\n{differences[name].as_text()}")
    click.echo("\n".join(["\n\n".join(parts), "", *(f"- {note}" for note in notes)]))
