"""Progress on standard error: a moving line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what begins, and how long it has been going on."""
    if not _on_terminal():
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


@contextmanager
def bar(step: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how much of a step is done: so many, of so many in all."""
    if not _on_terminal():
        yield _tenths(step)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(step, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _tenths(step: str) -> Callable[[int, int], None]:
    """Return a function that prints a line whenever another tenth is done."""
    tenths, began, before = 0, None, 0

    def show(done: int, total: int) -> None:
        nonlocal tenths, began, before
        if began is None:
            began, before = time.monotonic(), done
        if total and 10 * done // total > tenths:
            tenths = 10 * done // total
            left = _left(time.monotonic() - began, done - before, total - done)
            click.echo(f"{step}: {done} of {total}{left}", err=True)

    return show


def _left(seconds: float, done: int, to_do: int) -> str:
    """Return how long it will take, if that is a minute or more."""
    minutes = seconds * to_do / max(done, 1) / 60
    return f", about {minutes:.0f} min left" if minutes >= 1 else ""


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
