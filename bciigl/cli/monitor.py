"""`bciigl monitor`."""

from __future__ import annotations

from contextlib import suppress

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.pages import page_options, pages


@click.command(short_help="Watch a recorded session again.")
@click.argument("dataset", type=click.Path())
@click.option(
    "--speed", type=float, default=20.0, show_default=True, help="How many times as fast."
)
@page_options
def monitor(dataset: str, speed: float, host: str, port: int | None) -> None:
    """Watch a recorded session again, on the monitor of live sessions.

    DATASET is what `bciigl run`, `bciigl rehearse` or `bciigl simulate` recorded. The verdict
    develops as it would have; nothing in the dataset changes. When it has been played, the monitor
    stays until Ctrl-C.
    """
    from bciigl.live.recorded import Player, recorded_lines
    from bciigl.live.state import SessionState
    from bciigl.loop.yoked import has_condition
    from bciigl.recording import open_dataset

    if not 0 < speed < float("inf"):
        raise BciiglError(f"--speed should be above 0, got {speed:g}")
    recorded = open_dataset(dataset)
    if recorded.protocol.recording != "shared":
        raise BciiglError(f"{dataset}: has several series; only sessions with one can be watched")
    sessions = tuple(each for each in ("train", "test") if recorded.has(each))
    if not sessions:
        raise BciiglError(f"{dataset}: has no recorded session")
    how = {"sessions": sessions, "blinded": has_condition(recorded)}
    state = SessionState(recorded.protocol, "recording", speed, **how)
    served = {"folder": None, "host": host, "port": port}
    with pages(state, step="recorded trials", announce=False, **served) as (stage, terminal, _):
        player = Player(recorded_lines(recorded), speed, stage.is_paused)
        state.elapsed = player.elapsed

        def take(line: dict) -> None:
            stage.line(line)
            terminal.refresh()

        player.play(take)
        stage.end()
        with suppress(KeyboardInterrupt):
            terminal.note("played; Ctrl-C ends the monitor")
            stage.wait_for_end()
