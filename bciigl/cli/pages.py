"""The pages of a session, as commands serve them, and the same in the terminal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bciigl.base.progress import silent
from bciigl.cli.progress import noted_bar, on_terminal

if TYPE_CHECKING:
    from bciigl.brain.events import Event
    from bciigl.live.stage import Stage
    from bciigl.live.state import SessionState
    from bciigl.loop.live import Watching

WORDS = {"imagination": "imagine", "perception": "the guess:", "judgment": "right or wrong?"}


def page_options(command: Callable) -> Callable:
    """Return a command with the options of its pages' address."""
    host = click.option(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="Serve the pages at this address, to other computers too; links then have a token.",
    )
    port = click.option("--port", type=click.IntRange(0, 65535), help="By default 8765 if free.")
    return host(port(command))


class Terminal:
    """Shows in the terminal what a monitor shows: a line of the state, below the last note."""

    def __init__(self, state: SessionState, note: Callable[[str], None]) -> None:
        self._state, self._note, self._last = state, note, ""

    def note(self, words: str) -> None:
        """Show a note, such as what the session waits for."""
        self._last = words
        self._note(words)

    def draw(self, event: Event) -> None:
        """Show an event to the person."""
        content = "" if event.content is None or event.kind == "judgment" else f" {event.content}"
        self.note(f"{WORDS[event.kind]}{content}")

    def refresh(self) -> None:
        """Show the state of the session; only where lines can be drawn again."""
        if on_terminal():
            from bciigl.live.status import status_line

            line = status_line(self._state.snapshot())
            self._note(f"{self._last}\n{line}" if self._last else line)


@contextmanager
def pages(
    state: SessionState, *, step: str = "trials", announce: bool = True, **how: Any
) -> Iterator[tuple[Stage, Terminal, Callable[[int, int], None]]]:
    """Serve the pages of a session, and give these, what the terminal shows, and its bar.

    Further arguments are those of `bciigl.live.stage.Stage`.
    """
    from bciigl.live.stage import Stage

    with _stoppable() as stop, Stage(state, stop=stop, **how) as stage:
        if announce:
            click.echo(f"participant's screen: {stage.server.link('screen')}", err=True)
        click.echo(f"operator's monitor:   {stage.server.link('monitor')}", err=True)
        with noted_bar(step) as (progress, note):
            terminal = Terminal(state, note)
            stage.notify, stage.fallback = terminal.note, terminal.draw
            yield stage, terminal, progress


@contextmanager
def _stoppable() -> Iterator[Callable[[], None]]:
    """Give a function that stops this program as Ctrl-C does, from any thread.

    It works by SIGTERM, since shells let programs in the background ignore SIGINT.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield silent
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield lambda: os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def watching(
    stage: Stage,
    terminal: Terminal,
    triggers: Any,
    progress: Callable[[int, int], None] = silent,
    lateness: Callable[[float], None] = silent,
) -> Watching:
    """Return who watches a live session that has pages."""
    from bciigl.loop.live import Watching

    def line(entry: dict[str, Any]) -> None:
        stage.line(entry)
        # Not for what was recorded before a session was stopped: it has to catch up.
        if begun and ("volume" in entry or "shown" in entry):
            terminal.refresh()

    begun: list[Any] = []

    def begin(source: Any) -> None:
        begun.append(source)
        triggers.begin(source)
        stage.begin(source, triggers.triggered)
        stage.screen.pressed = triggers.press  # before, there is nobody to take keys

    return Watching(
        progress,
        lateness,
        draw=triggers.draw,
        is_drawn=stage.is_drawn,
        gate=stage.gate,
        paused=stage.is_paused,
        line=line,
        begin=begin,
        notify=stage.say,
    )
