"""`bciigl protocol new`."""

from pathlib import Path

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import echo_json, json_option

HEADER = """\
# A starting point: every field has its default, and a comment with its unit and range.
# Change what differs in your experiment, delete what does not, then run
#   bciigl protocol check {name}.yaml
# Most experiments change task.options, task.trials and the timing; brain.noise 1 is a real brain.
# For completion in your editor: bciigl protocol schema > protocol.schema.json
# yaml-language-server: $schema=protocol.schema.json

"""


@click.command()
@click.argument("name")
@json_option
def new(name: str, as_json: bool) -> None:
    """Write NAME.yaml, a commented protocol to start from, into this folder."""
    from pydantic import ValidationError

    from bciigl.base.files import write_text
    from bciigl.protocol import Protocol, dump, shipped

    name = name.removesuffix(".yaml")

    try:
        protocol = Protocol(name=name, task={"options": [7, 8, 9]})
    except ValidationError as error:
        raise BciiglError(
            f"{name!r}: a name should be at most 64 letters, digits, _ and -, "
            "and begin with a letter or digit"
        ) from error
    if name in shipped():
        raise BciiglError(f"{name!r} is the name of a shipped protocol; choose another")
    path = Path(f"{name}.yaml")
    try:
        write_text(path, HEADER.format(name=name) + dump(protocol))
    except FileExistsError as error:
        raise BciiglError(f"{path}: exists already; choose another name or remove it") from error
    except OSError as error:
        raise BciiglError(f"{path}: cannot be written: {error.strerror}") from error
    if as_json:
        echo_json({"name": name, "file": str(path)})
    else:
        click.echo(f"wrote {path}; edit it, then: bciigl protocol check {path}")
