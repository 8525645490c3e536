"""What commands share: their options, how they read protocols, and how they print."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bciigl.protocol import Protocol

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def path_option(name: str, words: str, **how: Any) -> Callable:
    """Return the option of a path, by default that of a folder."""
    return click.option(name, help=words, **{"metavar": "FOLDER", "type": click.Path(), **how})


def set_option(example: str) -> Callable:
    """Return the option that changes fields of the protocol."""
    words = f"Any field of the protocol, such as {example}; may be repeated."
    return click.option("--set", "settings", metavar="FIELD=VALUE", multiple=True, help=words)


def echo_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))


def echo(as_json: bool, document: Any, *lines: str) -> None:
    """Print a JSON document, or the lines that say the same."""
    if as_json:
        echo_json(document)
    else:
        click.echo("\n".join(lines))


def warn(words: str) -> None:
    """Print a warning on standard error."""
    click.echo(f"warning: {words}", err=True)


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
