"""What commands share: their options, how they read protocols, and how they print."""

from __future__ import annotations

import json
import logging
import os
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bciigl.protocol import Protocol

VERBOSE, QUIET = "bciigl.verbose", "bciigl.quiet"
TEXT_WIDTH = 88
"""The longest lines of sentences, on terminals that are wider."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def path_option(name: str, words: str, **how: Any) -> Callable:
    """Return the option of a path, by default that of a folder."""
    return click.option(name, help=words, **{"metavar": "FOLDER", "type": click.Path(), **how})


def set_option(example: str) -> Callable:
    """Return the option that changes fields of the protocol."""
    words = f"Any field of the protocol, such as {example}; may be repeated."
    return click.option("--set", "settings", metavar="FIELD=VALUE", multiple=True, help=words)


def add_verbosity(command: click.Command) -> None:
    """Give a command, and all commands below it, the options ``--verbose`` and ``--quiet``."""
    for short, name, words in (
        ("-v", VERBOSE, "Print details too: statistics, notes."),
        ("-q", QUIET, "Print results and errors only: no progress, no warnings."),
    ):
        long = f"--{name.removeprefix('bciigl.')}"
        how = {"is_flag": True, "expose_value": False, "help": words}
        command.params.append(click.Option([short, long], callback=_kept_as(name), **how))
    for each in getattr(command, "commands", {}).values():
        add_verbosity(each)


def _kept_as(name: str) -> Callable:
    def keep(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if not given:
            return
        ctx.meta[name] = True  # which commands below share
        if name == QUIET:
            log = logging.getLogger("bciigl")
            ctx.find_root().call_on_close(lambda level=log.level: log.setLevel(level))
            log.setLevel(logging.ERROR)

    return keep


def verbose() -> bool:
    """Tell whether details are asked for."""
    return _given(VERBOSE)


def quiet() -> bool:
    """Tell whether nothing but results and errors is asked for."""
    return _given(QUIET)


def _given(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))


def set_colour(context: click.Context) -> None:
    """Print without colour where it is not wanted; click leaves it out of what is no terminal."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False


def echo_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))


def echo(as_json: bool, document: Any, *lines: str) -> None:
    """Print a JSON document, or the lines that say the same."""
    if as_json:
        echo_json(document)
    else:
        click.echo("\n".join(lines))


def wrapped(words: str, begin: str = "", then: str | None = None) -> str:
    """Return a sentence in lines that fit the terminal; the first begins so, the others so.

    Words such as paths are never broken.
    """
    from bciigl.report.table import terminal_width

    whole = words.replace(" %", "\xa0%")  # a number stays with its sign
    lines = textwrap.fill(
        whole,
        min(terminal_width(), TEXT_WIDTH),
        initial_indent=begin,
        subsequent_indent=begin if then is None else then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\xa0", " ")


def table_text(table: Any) -> str:
    """Return a `bciigl.report.table.Table` as a terminal shows it, its head in bold."""
    blocks = table.as_text().split("\n\n")
    heads = (block.partition("\n") for block in blocks)
    return "\n\n".join(f"{click.style(head, bold=True)}{gap}{rows}" for head, gap, rows in heads)


def notice(words: str) -> None:
    """Print on standard error what is no result, unless quiet is asked for."""
    if not quiet():
        click.echo(words, err=True)


def warn(words: str) -> None:
    """Print a warning on standard error."""
    said = f"warning: {words}"
    # Programs that read warnings, such as editors, want a line each.
    if sys.stderr is not None and sys.stderr.isatty():
        said = wrapped(said, then="  ")
    notice(said.replace("warning:", click.style("warning:", fg="yellow"), 1))


def protocol_of(source: str, changes: dict[str, Any], unused: str = "") -> Protocol:
    """Return the protocol with its changes; warnings, but of an unused field, are printed."""
    from bciigl.brain.check import brain_findings
    from bciigl.protocol import ProtocolError, check

    report = check(source, brain_findings, changes)
    if report.protocol is None:
        raise ProtocolError(report.problems)
    for warning in report.warnings:
        if warning.path != unused:
            warn(str(warning))
    return report.protocol
