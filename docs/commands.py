"""Write docs/commands.md, the page of all commands, from the commands themselves."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from bciigl.cli.main import cli

PAGE = Path(__file__).with_suffix(".md")
MORE = {
    "learn": "[Estimates and learners](learning.md)",
    "monitor": "[The screen and the monitor](pages.md)",
    "plan": "[Planning scanner hours](planning.md)",
    "protocol": "[Protocols](protocols.md)",
    "protocol check": "[Protocols](protocols.md#what-a-check-tells)",
    "region": "[Live sessions](live.md)",
    "rehearse": "[Live sessions](live.md), [the screen and the monitor](pages.md)",
    "reproduce features": "[Labelled data](labelled.md)",
    "reproduce real": "[Real brains](real_brains.md)",
    "reproduce table1": "[Labelled data](labelled.md)",
    "reproduce table2": "[Studies](studies.md#table-2)",
    "reproduce table3": "[Labelled data](labelled.md)",
    "reproduce theory": "[The theory in numbers](theory.md)",
    "run": "[Live sessions](live.md)",
    "scan": "[Live sessions](live.md)",
    "simulate": "[The closed loop](loop.md)",
    "subject": "[The simulated brain](brain.md)",
    "subject from-recording": "[Recorded subjects](recorded_subjects.md)",
    "sweep": "[Studies](studies.md)",
}
"""The page that has more about a command."""
EVERYWHERE = {"--help", "--verbose", "--quiet"}
HEAD = """\
# Commands

<!-- Written by docs/commands.py: to renew it, run `python docs/commands.py`. -->

Every command, as `bciigl COMMAND --help` has it. `PROTOCOL` and `FILE` of a protocol are a path or
the name of a [shipped protocol](protocols.md). All commands have `-h` or `--help`, `-v` or
`--verbose` (details too: statistics, notes) and `-q` or `--quiet` (results and errors only: no
progress, no warnings). With `--json` the result is one JSON document on standard output. Errors are
on standard error, and the exit code is then 2.

The shell completes commands and options with Tab after `eval "$(_BCIIGL_COMPLETE=bash_source
bciigl)"` in `~/.bashrc`; for zsh it is `zsh_source` in `~/.zshrc`, for fish
`_BCIIGL_COMPLETE=fish_source bciigl | source` in `~/.config/fish/config.fish`.
"""


def page() -> str:
    """Return the page."""
    commands = list(_commands(cli, "bciigl"))
    table = ["| command | what it does |", "|---|---|"]
    for name, command in commands:
        does = command.get_short_help_str(limit=1000).rstrip(".")
        table.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {does} |")
    return "\n".join([HEAD, *table, *(line for each in commands for line in _section(*each))])


def _commands(group: click.Group, name: str) -> Iterator[tuple[str, click.Command]]:
    for each, command in sorted(group.commands.items()):
        yield f"{name} {each}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} {each}")


def _section(name: str, command: click.Command) -> Iterator[str]:
    # With the root's settings: click keeps a command's help option once it is made.
    context = click.Context(command, **cli.context_settings)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield from ("", f"## {name}", "", f"`{usage}`", "", inspect.cleandoc(command.help), "")
    if more := MORE.get(name.removeprefix("bciigl ")):
        yield from (f"More: {more}.", "")
    options = [
        each.get_help_record(context)
        for each in command.params
        if isinstance(each, click.Option) and not EVERYWHERE.intersection(each.opts)
    ]
    if options:
        yield from ("| option | |", "|---|---|")
    for option, words in filter(None, options):  # None: of a hidden one
        cells = (f"`{option}`", words.replace("  [", " ["))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
