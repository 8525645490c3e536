"""`bciigl protocol schema`."""

import click

from bciigl.cli.output import json_option


@click.command()
@json_option
def schema(as_json: bool) -> None:
    """Print the JSON Schema of protocols, for completion and checks in editors.

    The output is one JSON document, with or without --json.
    """
    from bciigl.protocol.schema import json_schema

    click.echo(json_schema(), nl=False)
