"""A source that tells somebody what it gives and what happens to the person."""

from collections.abc import Callable
from typing import Any

from bciigl.brain.events import Event
from bciigl.source.interface import LATE, Frame, Source
from bciigl.source.live import MISSED


class WatchedSource(Source):
    """Another source, whose frames and events are told in lines such as a live journal has.

    What an event is about, which may be the truth, is not told.
    """

    def __init__(self, source: Source, line: Callable[[dict[str, Any]], None]) -> None:
        self._source, self._line = source, line
        self._place: dict[str, Any] = {}
        self._coming: list[Event] = []
        same = ("elapsed", "onset", "participant", "report", "skip_run")
        for name in (*Source.__annotations__, *same):
            setattr(self, name, getattr(source, name))

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run."""
        self._place, self._coming = {"session": session, "run": run}, []
        self._tell(begun=True)
        self._source.begin_run(session, run, frames, elapsed=elapsed)

    def announce(self, event: Event) -> None:
        """Learn that something happens to the person, which is told when it does."""
        self._coming.append(event)
        self._source.announce(event)

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet."""
        frames = self._source.read(stop)
        for frame in frames:
            while self._coming and self._coming[0].onset <= frame.acquired:
                event = self._coming.pop(0)
                self._tell(shown=event.kind, planned=event.onset, onset=event.onset)
            arrived = {"arrived": frame.arrived, "late": frame.status == LATE}
            if frame.values is None:
                self._tell(fault=MISSED, number=frame.index + 1, seconds=frame.arrived)
            else:
                moved = None if frame.movement is None else frame.movement.tolist()
                self._tell(volume=frame.index, values=frame.values, movement=moved, **arrived)
        return frames

    def _tell(self, **what: Any) -> None:
        self._line({**self._place, **what})
