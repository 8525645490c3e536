"""How soon a guess is on the participant's screen, and what the server of the pages needs.

A rehearsal is run with the screen and three monitors open in a browser, and with a fourth monitor
that never reads what it is sent.

- From a decision (the agent has answered) to the frame of the browser that draws the guess, by the
  computer's clock on both sides; a frame lasts 16.7 ms. Beside it what the dataset has.
- CPU time of the server's thread, at the speed of a real scanner.

Usage: python benchmarks/pages.py [onset|server]   (seven minutes; needs Chromium)
"""

import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from bciigl.cli.pages import watching
from bciigl.cli.rehearse import _scanner
from bciigl.live.stage import Stage
from bciigl.live.state import SessionState
from bciigl.loop.live import record_live
from bciigl.loop.timely import TimelyAgent
from bciigl.protocol import Protocol, draw, dump, load
from bciigl.source.triggers import Triggers

FRAME = 1000 / 60
MONITORS = 3
RECORD = """document.addEventListener('shown', ({ detail }) => {
  window.record({ ...detail, at: performance.timeOrigin + performance.now() });
})"""


@contextmanager
def rehearsal(protocol: Protocol, speed: float) -> Iterator[tuple[Stage, threading.Thread, Path]]:
    """Give a rehearsal that has not begun: its stage and its thread."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as opened:
        volumes, given = Path(made, "volumes"), Path(made, "protocol.yaml")
        given.write_text(dump(protocol), encoding="utf-8")
        opened.enter_context(_scanner(given, Path(), volumes, speed, 0.0))
        stage = opened.enter_context(
            Stage(SessionState(draw(protocol), "rehearsal", speed), port=0)
        )
        triggers = opened.enter_context(Triggers(stage.draw))
        watched = watching(stage, _Silent(), triggers)
        how = {"watching": watched}
        out = Path(made, "out")
        yield (
            stage,
            threading.Thread(target=record_live, args=(protocol, volumes, out), kwargs=how),
            out,
        )


class _Silent:
    """A terminal that shows nothing."""

    def refresh(self) -> None:
        """Show nothing."""


@contextmanager
def open_pages(stage: Stage) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Open the pages in a browser, and a monitor that does not read; give what the screen shows."""
    shown: list[dict[str, Any]] = []
    path = which("chromium") or which("google-chrome")
    with sync_playwright() as playwright, _deaf_monitor(stage):
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        screen = browser.new_context().new_page()
        screen.expose_function("record", lambda each: shown.append(each))
        screen.add_init_script(RECORD)
        screen.goto(stage.server.link("screen"))
        for _ in range(MONITORS):
            browser.new_context().new_page().goto(stage.server.link("monitor"))
        screen.wait_for_timeout(5000)  # its self-test
        yield screen, shown
        browser.close()


@contextmanager
def _deaf_monitor(stage: Stage) -> Iterator[None]:
    """Open a monitor's socket, and never read from it."""
    host = f"127.0.0.1:{stage.server.port}"
    asked = {"Host": host, "Origin": f"http://{host}", "Upgrade": "websocket"}
    asked |= {"Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    asked |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    lines = ["GET /monitor/socket HTTP/1.1", *(f"{name}: {what}" for name, what in asked.items())]
    with socket.create_connection(("127.0.0.1", stage.server.port)) as deaf:
        deaf.sendall("\r\n".join([*lines, "", ""]).encode())
        yield


def onset() -> None:
    """Print how long after a decision its guess is drawn."""
    changes = {"task.trials": 92, "task.trials_per_run": 92, "timing.isi": 2.5}
    protocol = load("number_guessing", changes=changes | {"brain.noise": 0.5})
    decided: list[float] = []
    act = TimelyAgent.act

    def timed(agent: TimelyAgent, context: np.ndarray) -> Any:
        answer = act(agent, context)
        decided.append(1000 * time.time())
        return answer

    TimelyAgent.act = timed
    with (
        rehearsal(protocol, 6.0) as (stage, session, out),
        open_pages(stage) as (screen, shown),
    ):
        session.start()
        while session.is_alive():
            screen.wait_for_timeout(100)
        lines = [json.loads(line.partition(" ")[2]) for line in _journal(out)]
    TimelyAgent.act = act
    drawn = [each for each in shown if each["view"] == "guess"]
    delays = np.array([one["at"] - at for one, at in zip(drawn, decided, strict=True)])
    known = [
        1000 * (line["onset"] - line["planned"])
        for line in lines
        if line.get("shown") == "perception"
    ]
    for name, values in {
        "decision to frame, by both clocks": delays,
        "draw to frame, as in the dataset": np.array(known),
        "difference": delays - np.array(known),
    }.items():
        most = np.percentile(values, 95)
        print(
            f"{len(values)} guesses, {name}: median {np.median(values):.0f} ms, 95th percentile "
            f"{most:.0f} ms ({most / FRAME:.1f} frames), at most {values.max():.0f} ms"
        )


def _journal(out: Path) -> list[str]:
    return next(out.rglob("journal.txt")).read_text(encoding="utf-8").splitlines()[1:]


def server() -> None:
    """Print the CPU that the server's thread needs with all monitors open."""
    protocol = load("number_guessing", changes={"task.trials": 46, "brain.noise": 0.5})
    with rehearsal(protocol, 1.0) as (stage, session, _), open_pages(stage) as (screen, _):
        session.daemon = True
        session.start()
        clock = time.pthread_getcpuclockid(stage.server._thread.ident)
        screen.wait_for_timeout(90_000)
        before, began = time.clock_gettime(clock), time.monotonic()
        screen.wait_for_timeout(90_000)
        share = (time.clock_gettime(clock) - before) / (time.monotonic() - began)
        print(f"server with {MONITORS} monitors and a screen: {100 * share:.1f} % of one core")


def main() -> None:
    """Measure what is asked for, or all."""
    names = {"onset": onset, "server": server}
    for name in [each for each in sys.argv[1:] if each in names] or names:
        names[name]()


if __name__ == "__main__":
    main()
