"""`bciigl rehearse`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import json_option, notice, path_option, protocol_of, set_option
from bciigl.cli.pages import page_options, pages, watching
from bciigl.cli.run import echo_live
from bciigl.cli.simulate import DEFAULT, free_folder

if TYPE_CHECKING:
    from bciigl.protocol import Protocol

START = 60.0
"""Seconds in which a simulated scanner should be ready."""


@click.command(short_help="Rehearse an experiment at your desk.")
@click.argument("protocol", default=DEFAULT)
@click.option("--speed", type=float, default=1.0, help="How many times as fast as a real scanner.")
@click.option("--noise", type=float, help="Share of a real brain's noise (brain.noise).")
@click.option("--trials", type=int, help="How many trials there are (task.trials).")
@click.option("--seed", type=int, help="Which simulated person it is (seed).")
@click.option("--motion", type=float, default=0.0, help="How far the head strays, in mm.")
@path_option("--out", "Record here; by default NAME_rehearsal, with a number if that is taken.")
@click.option("--start", is_flag=True, help="Begin at once.")
@page_options
@set_option("timing.isi=8")
@json_option
def rehearse(
    protocol: str,
    speed: float,
    noise: float | None,
    trials: int | None,
    seed: int | None,
    motion: float,
    out: str | None,
    start: bool,
    host: str,
    port: int | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rehearse an experiment at your desk: scanner, session, screen and monitor in one command.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol, number_guessing by
    default. A simulated scanner with a simulated person writes volumes, the session guesses from
    them, and two pages show what the participant and the operator of a real session would see. Open
    both, each in a window of its own: once the screen is open in a run, the simulated person sees
    what it shows, when it shows it, and nothing while it is closed or hidden. Ctrl-C ends
    everything.

    The session begins when you press Start on the monitor, or Enter here; with --start, at once.
    """
    from bciigl.live.state import SessionState
    from bciigl.loop.live import record_live
    from bciigl.protocol import draw, dump, find, parse_change
    from bciigl.recording import open_dataset
    from bciigl.recording.layout import TRUTH
    from bciigl.source.triggers import Triggers

    if not 0 < speed < float("inf"):
        raise BciiglError(f"--speed should be above 0, got {speed:g}")
    fields = {"brain.noise": noise, "task.trials": trials, "seed": seed}
    changes = {name: value for name, value in fields.items() if value is not None}
    wanted = protocol_of(protocol, changes | dict(map(parse_change, settings)))
    paths, folder = find(protocol).parent, out or free_folder(f"{wanted.name}_rehearsal")
    person = draw(wanted)
    late: list[float] = []
    # Beside the recording: volumes of the whole head need more space than temporary folders have.
    beside = Path(folder).absolute().parent
    if not beside.is_dir():
        raise BciiglError(f"--out: there is no folder {beside}")
    notice("starting the simulated scanner ...")
    with tempfile.TemporaryDirectory(dir=beside, prefix=".volumes_") as made:
        volumes = Path(made, "volumes")
        given = Path(made, "protocol.yaml")
        given.write_text(dump(wanted), encoding="utf-8")
        state = SessionState(person, "rehearsal", speed)
        how = {"folder": paths, "host": host, "port": port, "waits": not start}
        how["truth"] = lambda place: _truth(volumes, person, place)
        with (
            _scanner(given, paths, volumes, speed, motion) as scanner,
            _stopped(folder),
            pages(state, **how) as (stage, terminal, progress),
            Triggers(stage.draw) as triggers,
        ):
            if not start:
                _start_by_enter(stage.start)
            watched = watching(stage, terminal, triggers, progress, late.append)
            watched.notify = _alive(scanner, watched.notify)
            record_live(wanted, volumes, folder, folder=paths, watching=watched)
            scanner.wait(START)
        # So that a rehearsal can be scored; no learner is given it that needs no labels.
        shutil.copytree(volumes / TRUTH, open_dataset(folder).folder / TRUTH)
    echo_live(folder, late, as_json)


def _truth(volumes: Path, protocol: Protocol, place: object) -> object:
    """Return what the simulated person thought in a run that is over."""
    from bciigl.recording import Dataset

    return Dataset(volumes, protocol).run_truth(*place)


@contextmanager
def _scanner(
    protocol: Path, paths: Path, volumes: Path, speed: float, motion: float
) -> Iterator[subprocess.Popen]:
    """Give a simulated scanner, a process of its own, that is ready; end it on leaving."""
    from bciigl.source.channel import ADDRESS_FILE

    call = [sys.executable, "-m", "bciigl.cli.main", "scan", str(protocol), "--to", str(volumes)]
    call += [
        "--speed",
        f"{speed!r}",
        "--motion",
        f"{motion!r}",
        "--paths",
        str(paths),
        "--with-parent",
    ]
    # Ctrl-C is for the session, which then ends the scanner.
    scanner = subprocess.Popen(  # noqa: S603 (our own command)
        call, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        until = time.monotonic() + START
        while not (volumes / ADDRESS_FILE).exists():
            if scanner.poll() is not None or time.monotonic() > until:
                scanner.kill()
                raise BciiglError(f"the simulated scanner did not start: {scanner.stderr.read()}")
            time.sleep(0.05)
        threading.Thread(target=scanner.stderr.read, daemon=True).start()
        yield scanner
    finally:
        scanner.terminate()
        try:
            scanner.wait(5.0)
        except subprocess.TimeoutExpired:
            scanner.kill()


def _alive(scanner: subprocess.Popen, notify: Callable[[str], None]) -> Callable[[str], None]:
    """Return what notifies, as long as the scanner runs."""

    def checked(note: str) -> None:
        if scanner.poll() not in (None, 0):
            raise BciiglError("the simulated scanner has stopped")
        notify(note)

    return checked


@contextmanager
def _stopped(folder: str) -> Iterator[None]:
    """Say that a rehearsal was stopped; it cannot be resumed, for its scanner is gone."""
    try:
        yield
    except KeyboardInterrupt:
        what = f"stopped; {folder} is not complete, and cannot be resumed: its scanner has ended"
        click.echo(what, err=True)
        raise SystemExit(130) from None  # as a shell tells Ctrl-C


def _start_by_enter(start: Callable[[], None]) -> None:
    """Start when Enter is pressed."""

    def wait() -> None:
        if sys.stdin is not None and sys.stdin.readline():
            start()

    threading.Thread(target=wait, daemon=True).start()
