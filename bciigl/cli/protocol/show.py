"""`bciigl protocol show`."""

import click

from bciigl.cli.output import echo_json, json_option


@click.command()
@click.argument("file", metavar="FILE")
@json_option
def show(file: str, as_json: bool) -> None:
    """Print the full protocol, defaults included, with a comment on every field.

    The output, YAML or JSON, is itself a valid protocol.
    """
    from bciigl.protocol import dump, load

    protocol = load(file)
    if as_json:
        echo_json(protocol.model_dump(mode="json"))
    else:
        click.echo(dump(protocol), nl=False)
