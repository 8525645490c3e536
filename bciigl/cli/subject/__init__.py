"""`bciigl subject`: the simulated subject."""

import click

from bciigl.cli.subject.fit import fit
from bciigl.cli.subject.show import show


@click.group()
def subject() -> None:
    """Fit subjects to recordings, and show their noise.

    A protocol names its subject in brain.subject: brainiak, or a folder that `fit` wrote.
    """


for command in (fit, show):
    subject.add_command(command)
