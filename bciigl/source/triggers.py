"""Triggers of a scanner, which begin runs, and keys by which the person answers."""

import codecs
import logging
import os
import select
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from bciigl.base.errors import BciiglError, printable
from bciigl.base.progress import silent
from bciigl.brain.events import Event
from bciigl.protocol import Protocol
from bciigl.recording.trial import KeyPress
from bciigl.source.display import Draw
from bciigl.source.live import LiveSource
from bciigl.source.lsl import check_stream, samples

PAUSE = 2.0
"""TRs without a trigger before one that begins a run; scanners may send one with every volume."""
WAKE = 0.2
"""Seconds after which a thread sees that it is to end."""


class Triggers:
    """Begins each run of a live session at its first trigger, and takes answers by keys.

    As a context manager: on leaving, the terminal and the serial port are as they were. A rehearsal
    needs neither: its simulated scanner keeps the time, and its simulated person answers, unless
    somebody presses keys on the participant's screen.

    Parameters
    ----------
    draw : function
        Shows an event to the person (`bciigl.source.display.Draw`).

    Attributes
    ----------
    triggered : threading.Event
        Whether there was a trigger, in a rehearsal.
    """

    def __init__(self, draw: Draw = silent) -> None:
        self._draw, self._opened, self.triggered = draw, ExitStack(), threading.Event()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._newest = -float("inf")  # when the newest trigger came
        # In which run; when it was planned, in seconds of that, and seen, by this computer's clock.
        self._judged: tuple[tuple[str, int], float, float] | None = None

    def __enter__(self) -> "Triggers":
        """Open nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Listen to nothing any more."""
        self._stop.set()
        for each in self._threads:
            each.join()
        self._opened.close()

    def begin(self, source: LiveSource) -> None:
        """Listen to what the protocol of a session says, until the end."""
        self._source, live = source, source.protocol.live
        if source.rehearsed:
            return
        check_trigger(source.protocol)
        if _needs_keys(source.protocol):
            keys = self._opened.enter_context(_open_keys())
            decode = codecs.getincrementaldecoder("utf-8")("replace").decode

            def heard(data: bytes) -> None:
                for key in decode(data):
                    self.press(key)

            self._start(lambda: self._listen(keys, heard, "keys"))
        if live.trigger == "serial":
            port = self._opened.enter_context(_open_serial(live.trigger_from))
            self._start(lambda: self._listen(port, lambda _: self._trigger(), "the serial port"))
        elif live.trigger == "lsl":
            self._start(self._listen_to_stream)

    def draw(self, event: Event) -> float:
        """Show an event to the person, who answers a judgment from now on until the next event.

        Returns the seconds until it was seen.
        """
        began = time.monotonic()
        # At once: a key may be here before the page's word that it has drawn the question.
        place, judged = self._source.place, event.kind == "judgment"
        asked = self._judged = (place, event.onset, began) if judged else None
        delay = self._draw(event) or 0.0
        if asked is not None and self._judged is asked:  # not answered yet
            self._judged = place, event.onset, began + delay
        return delay

    def _start(self, listen: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=listen, daemon=True))
        self._threads[-1].start()

    def _listen(self, file: int, heard: Callable[[bytes], None], name: str) -> None:
        """Hand over what comes, as soon as it comes."""
        with suppress(OSError):  # it was unplugged
            while not self._stop.is_set():
                if select.select([file], [], [], WAKE)[0]:
                    data = os.read(file, 1024)
                    if not data:
                        break
                    heard(data)
        if not self._stop.is_set():
            logging.getLogger("bciigl").warning("nothing more can come from %s", name)

    def _listen_to_stream(self) -> None:
        for _ in samples(self._source.protocol.live.trigger_from, None, self._stop):
            self._trigger()

    def _trigger(self, ago: float = 0.0) -> None:
        at, before = time.monotonic() - ago, self._newest
        self._newest = at
        if self._source.rehearsed:
            self.triggered.set()
        elif at - before > PAUSE * self._source.tr:
            self._source.trigger(at)

    def press(self, key: str, ago: float = 0.0) -> None:
        """Take a key that was pressed, here or on the participant's screen, some seconds ago."""
        live = self._source.protocol.live
        if live.trigger == "key" and key == live.trigger_from:
            self._trigger(ago)
        if self._source.protocol.human.key_press and key in live.answers:
            self._answer(key == live.answers[0], time.monotonic() - ago)

    def _answer(self, match: bool, at: float) -> None:
        """Take the first key of a judgment."""
        judged, self._judged = self._judged, None
        if judged is None:
            return
        place, planned, seen = judged
        if place == self._source.place:  # not in the next run
            seconds = round(max(at - seen, 0.0), 3)
            self._source.display.pressed(planned, KeyPress(match, seconds))


def check_trigger(protocol: Protocol) -> None:
    """Refuse a protocol whose triggers or keys cannot be had here."""
    live = protocol.live
    if live.trigger == "serial":
        with _open_serial(live.trigger_from):
            pass
    elif live.trigger == "lsl":
        check_stream(live.trigger_from)
    if not _needs_keys(protocol):
        return
    keys = {"live.trigger_from": live.trigger_from} if live.trigger == "key" else {}
    if protocol.human.key_press:
        keys |= {f"live.answers.{number}": key for number, key in enumerate(live.answers)}
    for name, key in keys.items():
        if len(key) != 1:
            raise BciiglError(f"{name} should be a key, one character, got {printable(key)!r}")
    if sys.stdin is None or sys.stdin.closed:
        raise BciiglError("keys are read from standard input, which is closed")


def _needs_keys(protocol: Protocol) -> bool:
    return protocol.live.trigger == "key" or protocol.human.key_press


@contextmanager
def _open_keys() -> Iterator[int]:
    """Give standard input; a terminal hands over each key at once, and does not show it."""
    keys = sys.stdin.fileno()
    if not os.isatty(keys):
        yield keys
        return
    with _restored(keys):
        tty.setcbreak(keys)
        yield keys


@contextmanager
def _open_serial(path: str) -> Iterator[int]:
    """Give a serial port, at the speed that it has; what had come before is dropped."""
    name = f"live.trigger_from: the serial port {printable(path)}"
    try:
        port = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BciiglError(f"{name} cannot be opened: {reason}") from error
    try:
        if not os.isatty(port):
            raise BciiglError(f"{name} is no serial port")
        with _restored(port):
            tty.setraw(port)
            settings = termios.tcgetattr(port)
            settings[2] |= termios.CLOCAL | termios.CREAD  # no modem, so no carrier to wait for
            termios.tcsetattr(port, termios.TCSANOW, settings)
            yield port
    finally:
        os.close(port)


@contextmanager
def _restored(terminal: int) -> Iterator[None]:
    """Have a terminal as it was, afterwards."""
    before = termios.tcgetattr(terminal)
    try:
        yield
    finally:
        with suppress(termios.error):  # it may be gone
            termios.tcsetattr(terminal, termios.TCSANOW, before)
