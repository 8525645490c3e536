"""`bciigl protocol list`."""

import click

from bciigl.cli.output import echo_json, json_option


@click.command(name="list")
@json_option
def list_shipped(as_json: bool) -> None:
    """List the shipped protocols."""
    from bciigl.protocol import load, shipped
    from bciigl.protocol.summary import summary

    rows = [summary(load(name)) for name in shipped()]
    if as_json:
        echo_json(rows)
        return

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading, side in [("name", "left"), ("options", "right"), ("trials", "right")]:
        table.add_column(heading, justify=side, no_wrap=True)
    table.add_column("scanner", justify="right", no_wrap=True)
    table.add_column("what it is")
    for row in rows:
        hours = f"{row['scanner_hours']:.1f} h"
        options, trials = str(len(row["options"])), str(row["trials"])
        table.add_row(row["name"], options, trials, hours, row["description"])
    Console().print(table)
