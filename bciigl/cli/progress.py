"""Progress on standard error: a moving line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from bciigl.base.progress import silent
from bciigl.cli.output import quiet


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Give a function that shows the step that starts now, and how long each has taken."""
    if quiet() or not on_terminal():
        yield silent if quiet() else lambda step: click.echo(f"{step} ...", err=True)
        return
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    with _shown(SpinnerColumn(), "{task.description}", TimeElapsedColumn()) as progress:

        def finish() -> None:
            for task in progress.tasks:
                progress.update(task.id, total=1, completed=1)

        def begin(step: str) -> None:
            finish()
            progress.add_task(step, total=None)

        yield begin
        finish()


@contextmanager
def bar(step: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how much of a step is done, out of a total."""
    with noted_bar(step) as (progress, _):
        yield progress


@contextmanager
def noted_bar(
    step: str,
) -> Iterator[tuple[Callable[[int, int], None], Callable[[str], None]]]:
    """Give what `bar` gives, and a function that shows a note below it in place of the last."""
    if quiet():
        yield silent, silent
        return
    if not on_terminal():
        yield _tenths(step), lambda note: click.echo(note, err=True)
        return
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    class Left(TimeRemainingColumn):
        """The time left, once it can be told."""

        def render(self, task: Any) -> Text:
            return Text("") if task.time_remaining is None else super().render(task)

    # The count is empty until the first part is done, which takes half a minute where a trial does.
    columns = ("{task.description}", BarColumn(), "{task.fields[count]}")
    shown, below = _shown(*columns, TimeElapsedColumn(), Left()), Text()
    task = shown.add_task(step, total=None, count="")

    def update(done: int, total: int) -> None:
        shown.update(task, completed=done, total=total, count=f"{done}/{total}")

    def note(text: str) -> None:
        below.plain = text

    def whole() -> object:
        return Group(shown, below) if below.plain else shown

    with Live(get_renderable=whole, console=shown.console):
        yield update, note


def _shown(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True))


def _tenths(step: str) -> Callable[[int, int], None]:
    """Return a function that prints a line for each tenth that is done."""
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
    """Return the time left in words, if it is a minute or more."""
    minutes = seconds * to_do / max(done, 1) / 60
    return f", about {minutes:.0f} min left" if minutes >= 1 else ""


def on_terminal() -> bool:
    """Tell whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
