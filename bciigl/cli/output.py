"""JSON output of commands."""

import json
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def echo_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(document, indent=2))
