"""Where a person sees what happens, and who says when it was seen."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.brain.events import Event
from bciigl.recording.trial import KeyPress
from bciigl.source.channel import Address, connect

Line = dict[str, Any]
"""A line of a journal, without the run that it is of."""
Keep = Callable[[Line], None]
"""Called with what is to be written to the journal."""
Planned = tuple[str, float]
"""An event of a run: its kind, and when it is planned, in seconds of the run."""
WAIT = 5.0
"""Seconds to wait for an answer of the screen that is due."""
NEVER = -1.0
"""A time before all others: the latest one of an event that is not to be seen."""

Draw = Callable[[Event], float | None]
"""Shows an event now, and returns the seconds until it was seen, or None for none.

Raises `NotSeenError` if it was not.
"""


class NotSeenError(Exception):
    """An event was not seen, though there was time for it."""


def never() -> bool:
    """Return False."""
    return False


class Display(ABC):
    """Shows events of a run at their times, and knows when each was seen."""

    fault: Callable[[str], None] = staticmethod(silent)
    paused: Callable[[], bool] = staticmethod(never)
    """Tells whether nothing is to be shown now."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._onsets: dict[Planned, float | None] = {}
        self._awaited: set[Planned] = set()  # shown, and perhaps still to be seen
        self._changed = threading.Condition()
        self.keys: dict[float, KeyPress] = {}
        """Judgments that were given by a key, by when the judgment was planned."""

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Get ready for a run, of which some lines may be in the journal."""
        self._awaited.clear()
        shown = (line for line in past if "shown" in line)
        self._onsets = {(line["shown"], line["planned"]): line["onset"] for line in shown}
        keys = (line for line in past if "key" in line)
        self.keys = {line["key"]: KeyPress(line["match"], line["seconds"]) for line in keys}

    @abstractmethod
    def show(self, event: Event, latest: float) -> None:
        """Show an event when it is planned, or as soon as possible until it is too late."""
        with self._changed:
            self._awaited.add((event.kind, event.onset))

    def _is_known(self, event: Event) -> bool:
        """Tell whether an event was seen, or not seen, before the session was resumed."""
        return (event.kind, event.onset) in self._onsets

    def onset(self, planned: Planned) -> float | None:
        """Return when an event was seen; None if it was not."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_settled(planned), WAIT):
                self.seen(planned, None)
            return self._onsets.get(planned)

    def _is_settled(self, planned: Planned) -> bool:
        return planned in self._onsets or planned not in self._awaited

    def stood_still(self) -> float:
        """Return until when, by this computer's clock, nothing could come as something was drawn.

        At a scanner time never stands still.
        """
        return NEVER

    def wake(self) -> None:
        """Look at the clock, which has been set."""
        with self._changed:
            self._changed.notify_all()

    def seen(self, planned: Planned, onset: float | None) -> None:
        """Take down when an event was seen."""
        with self._changed:
            if planned in self._onsets:
                return
            # To the millisecond, as screens tell it, and analyses look it up.
            onset = None if onset is None else round(onset, 3)
            self._onsets[planned] = onset
            self._keep({"shown": planned[0], "planned": planned[1], "onset": onset})
            self._changed.notify_all()

    def pressed(self, planned: float, key: KeyPress) -> None:
        """Take down by which key a judgment was given."""
        self.keys[planned] = key
        self._keep({"key": planned, **key._asdict()})

    @abstractmethod
    def close(self) -> None:
        """Show nothing any more."""


class ClockDisplay(Display):
    """Shows events by a clock: at a scanner, where the person sees what `draw` draws.

    Parameters
    ----------
    keep : function
        Called with each line for the journal.
    elapsed : function
        Returns the seconds since the run began; negative before that is known.
    draw : function
        Called with an event at the time at which it is to be seen (`Draw`).
    speed : float
        How many times as fast as a scanner it is.
    """

    def __init__(
        self, keep: Keep, elapsed: Callable[[], float], draw: Draw, speed: float = 1.0
    ) -> None:
        super().__init__(keep)
        self._elapsed, self._draw, self._speed = elapsed, draw, speed
        self._due: list[tuple[float, float, Event]] = []
        self._open = True
        threading.Thread(target=self._run, daemon=True).start()

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Get ready for a run."""
        with self._changed:
            self._due.clear()
        super().begin_run(session, run, past)

    def show(self, event: Event, latest: float) -> None:
        """Show an event when it is planned, or as soon as possible until it is too late."""
        if self._is_known(event):
            return
        super().show(event, latest)
        with self._changed:
            self._due.append((event.onset, latest, event))
            self._due.sort(key=lambda each: each[0])
            self._changed.notify_all()

    def onset(self, planned: Planned) -> float | None:
        """Return when an event was seen, waiting until it is due; None if it was not."""
        time.sleep(max(min(planned[1] - self._elapsed(), 60.0), 0.0))
        return super().onset(planned)

    def close(self) -> None:
        """Show nothing any more."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._open:
                    return
                left = self._due[0][0] - self._elapsed() if self._due else 1.0
                if left > 0:
                    self._changed.wait(min(left / self._speed, 1.0))
                    continue
                planned, latest, event = self._due.pop(0)
            onset = self._time(planned)
            in_time = onset <= latest and not self.paused()
            delay = self._drawn(event) if in_time else None
            self._told(event, None if delay is None else onset + delay)

    def _time(self, planned: float) -> float:
        """Return the time of the run at which an event is shown that is due."""
        return max(self._elapsed(), planned)

    def _told(self, event: Event, onset: float | None) -> None:
        """Take down when an event was seen, or that it was not."""
        self.seen((event.kind, event.onset), onset)

    def _drawn(self, event: Event) -> float | None:
        """Draw an event, and return the seconds until it was seen; None if it was not."""
        try:
            return self._draw(event) or 0.0
        except NotSeenError:
            self.fault(f"{event.kind} at {event.onset:g} s was not seen")
        except Exception:  # what comes next may be shown all the same
            logging.getLogger("bciigl").exception("%s cannot be shown", event.kind)
            self.fault(f"{event.kind} at {event.onset:g} s could not be shown")
        return None


class RehearsalDisplay(ClockDisplay):
    """Shows events to the simulated person of a simulated scanner, which says when they saw it.

    Without an address the scanner is gone: then nothing is seen any more. While events are drawn,
    the person sees what is drawn, when it is seen there.

    Parameters
    ----------
    keep, elapsed, draw
        As in `ClockDisplay`.
    address : Address or None
        Where the scanner is.
    is_drawn : function
        Tells whether events are drawn.
    speed : float
        How many times as fast as real time the scanner is. Above 1 it waits for what is shown, so
        that time stands still meanwhile.
    """

    def __init__(
        self,
        keep: Keep,
        address: Address | None,
        elapsed: Callable[[], float] = float,
        draw: Draw = silent,
        is_drawn: Callable[[], bool] = never,
        speed: float = 1.0,
    ) -> None:
        super().__init__(keep, elapsed, draw, speed)
        self._is_drawn, self._waits, self._run_number = is_drawn, speed > 1, 0
        self._drawing, self._drew = False, NEVER
        self._latest: dict[Planned, float] = {}  # of events that are drawn
        self._scanner = None if address is None else connect(address, self._heard)

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Ask the scanner to begin a run, unless it has."""
        super().begin_run(session, run, past)
        self._latest.clear()
        self._run_number = run
        if not self._send("run", session=session, run=run) and not past:
            raise BciiglError("the simulated scanner has stopped: there are no volumes to come")

    def show(self, event: Event, latest: float) -> None:
        """Show an event when it is planned, or as soon as possible until it is too late."""
        if self._is_drawn():
            self._latest[event.kind, event.onset] = latest
            super().show(event, latest)
        elif not self._is_known(event):
            Display.show(self, event, latest)
            self._show_person(event, NEVER if self.paused() else latest)

    def onset(self, planned: Planned) -> float | None:
        """Return when an event was seen; None if it was not."""
        return Display.onset(self, planned)

    def stood_still(self) -> float:
        """Return until when the scanner has waited for what is drawn."""
        return time.monotonic() if self._drawing else self._drew

    def _time(self, planned: float) -> float:
        return planned if self._waits else super()._time(planned)

    def _drawn(self, event: Event) -> float | None:
        self._drawing = self._waits
        try:
            return super()._drawn(event)
        finally:
            self._drew = time.monotonic() if self._waits else NEVER
            self._drawing = False

    def _told(self, event: Event, onset: float | None) -> None:
        latest = NEVER if onset is None else self._latest[event.kind, event.onset]
        self._show_person(event, latest, onset)

    def _show_person(self, event: Event, latest: float, seen: float | None = None) -> None:
        """Let the simulated person see an event, by default as planned."""
        content = {"kind": event.kind, "onset": event.onset, "content": event.content}
        content["run"] = self._run_number
        content |= {} if seen is None else {"seen": round(seen, 3)}
        if not self._send("show", **content, latest=latest):
            self.seen((event.kind, event.onset), None)

    def close(self) -> None:
        """Leave the scanner."""
        super().close()
        if self._scanner is not None:
            self._scanner.close()

    def _send(self, what: str, **content: Any) -> bool:
        return self._scanner is not None and self._scanner.send(what, **content)

    def _heard(self, what: str, content: dict[str, Any]) -> None:
        if what == "shown" and content["run"] != self._run_number:
            return  # of a run that is over
        if what == "shown":
            self.seen((content["kind"], content["planned"]), content["onset"])
        elif what == "key" and ("judgment", content["planned"]) not in self._latest:
            self.pressed(content["planned"], KeyPress(content["match"], content["seconds"]))
        elif what == "closed":
            with self._changed:
                self._awaited.clear()
                self._changed.notify_all()
