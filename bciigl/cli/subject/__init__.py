"""`bciigl subject`: who lies in the scanner."""

import click

from bciigl.cli.subject.fit import fit
from bciigl.cli.subject.show import show


@click.group()
def subject() -> None:
    """Make subjects from recordings, and show what noise they have.

    A protocol names its subject in brain.subject: brainiak, or a folder that `fit` wrote.
    """


for command in (fit, show):
    subject.add_command(command)
