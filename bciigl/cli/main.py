"""The `bciigl` command and what all its commands share."""

import os
import sys

import click

from bciigl import __version__
from bciigl.base.errors import BciiglError
from bciigl.cli.doctor import doctor
from bciigl.cli.learn import learn
from bciigl.cli.monitor import monitor
from bciigl.cli.output import add_verbosity, set_colour
from bciigl.cli.plan import plan
from bciigl.cli.protocol import protocol
from bciigl.cli.region import region
from bciigl.cli.rehearse import rehearse
from bciigl.cli.report import report
from bciigl.cli.reproduce import reproduce
from bciigl.cli.run import run
from bciigl.cli.scan import scan
from bciigl.cli.simulate import simulate
from bciigl.cli.subject import subject
from bciigl.cli.sweep import sweep


class _Refusal(click.ClickException):
    """An error the user can correct: its message is printed without a traceback."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        click.echo(click.style(self.format_message(), fg="red"), err=True)


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        if sys.stdout is not None:
            # A character that the terminal cannot show should not stop the program.
            sys.stdout.reconfigure(errors="backslashreplace")
        set_colour(ctx)
        try:
            return super().invoke(ctx)
        except BciiglError as error:
            raise _Refusal(str(error)) from error
        except BrokenPipeError:
            raise  # the reader of our output has closed it; click handles that
        except OSError as error:
            what = "standard output" if error.filename is None else error.filename
            if error.filename is None and sys.stdout is not None and sys.stdout is sys.__stdout__:
                # Discard what could not be written: Python would try again at exit, and fail.
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, sys.stdout.fileno())
                os.close(nowhere)
            raise _Refusal(f"{what}: {error.strerror}") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bciigl", message="%(prog)s %(version)s")
def cli() -> None:
    """Closed-loop brain-computer-interface experiments on fMRI, simulated or at a scanner.

    A person imagines an option, an agent guesses it from the brain's signal, and the brain's own
    reaction is all the agent learns from: no labels, no rewards.
    """


live = (monitor, region, rehearse, run, scan)
for command in (doctor, learn, plan, protocol, report, reproduce, simulate, subject, sweep, *live):
    cli.add_command(command)
add_verbosity(cli)

if __name__ == "__main__":
    cli()
