"""`bciigl protocol`: protocol files."""

import click

from bciigl.cli.protocol.check import check
from bciigl.cli.protocol.draw import draw
from bciigl.cli.protocol.list import list_shipped
from bciigl.cli.protocol.new import new
from bciigl.cli.protocol.schema import schema
from bciigl.cli.protocol.show import show


@click.group()
def protocol() -> None:
    """Write, check, draw and show protocol files.

    FILE is the path of a YAML file, or the name of a shipped protocol.
    """


for command in (check, draw, list_shipped, new, schema, show):
    protocol.add_command(command)
