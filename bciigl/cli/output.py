"""What commands share: their options, and how they print."""

import json
from collections.abc import Callable
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def out_option(words: str, **how: Any) -> Callable:
    """Return the option of a folder to write to."""
    how = {"metavar": "FOLDER", "type": click.Path(), **how}
    return click.option("--out", help=words, **how)


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
