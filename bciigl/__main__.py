"""`python -m bciigl` is the `bciigl` command."""

from bciigl.cli.main import cli

cli(prog_name="bciigl")
