"""Real time: frames come when a scanner would give them."""

import time
from collections.abc import Mapping
from typing import Any

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.source.interface import Frame, Source


class PacedSource(Source):
    """Another source, whose frames are given in real time, or faster.

    Parameters
    ----------
    source : Source
        Where the frames come from.
    speed : float
        How much faster than a scanner; 1 is real time.
    """

    def __init__(self, source: Source, speed: float = 1.0) -> None:
        if not 0 < speed < float("inf"):
            raise BciiglError(f"speed should be a number above 0, got {speed!r}")
        self._source = source
        self._speed = speed
        self._began: float | None = None
        self._resumed_at = self._read_until = 0.0
        self.tr, self.region = source.tr, source.region
        self.fingerprint, self.group = source.fingerprint, source.group

    @property
    def sidecar(self) -> Mapping[str, Any]:
        """What the other source says."""
        return self._source.sidecar

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run; what was recorded before comes as fast as possible."""
        self._source.begin_run(session, run, frames, elapsed=elapsed)
        self._began, self._resumed_at, self._read_until = None, elapsed, 0.0

    def announce(self, event: Event) -> None:
        """Announce an event to the other source."""
        self._source.announce(event)

    def participant(self, session: str, run: int, trials: int) -> Any:
        """Return the other source's participant."""
        return self._source.participant(session, run, trials)

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet, each when it is complete."""
        frames: list[Frame] = []
        first = round(self._read_until / self.tr)
        for index in range(first, stop):
            self._wait((index + 1) * self.tr)
            late = self.elapsed() if self._began is not None else (index + 1) * self.tr
            frames += [each._replace(arrived=late) for each in self._source.read(index + 1)]
            self._read_until = (index + 1) * self.tr
        return frames

    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        if self._began is None:
            return self._read_until
        return (time.monotonic() - self._began) * self._speed

    def _wait(self, seconds: float) -> None:
        """Sleep until that time of the run."""
        if seconds <= self._resumed_at:
            return
        if self._began is None:
            self._began = time.monotonic() - self._resumed_at / self._speed
        due = self._began + seconds / self._speed
        time.sleep(max(due - time.monotonic(), 0.0))
