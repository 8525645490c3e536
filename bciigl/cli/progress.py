"""Progress on standard error: a moving line on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what begins, and how long it has been going on."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda step: click.echo(f"{step} ...", err=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def begin(step: str) -> None:
            for task in progress.tasks:
                progress.update(task.id, total=1, completed=1)
            progress.add_task(step, total=None)

        yield begin
        for task in progress.tasks:
            progress.update(task.id, total=1, completed=1)
