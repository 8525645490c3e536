"""Real time: frames come when a scanner would give them."""

import time
from collections.abc import Callable

from bciigl.base.errors import BciiglError
from bciigl.source.interface import Frame, Source

LOOK = 0.05
"""Seconds after which a pause is seen to be over."""


class PacedSource(Source):
    """Another source, whose frames are given in real time (a `speed` of 1), or faster."""

    paused: Callable[[], bool] = bool  # False
    """Tells whether time stands still."""

    def __init__(self, source: Source, speed: float = 1.0) -> None:
        if not 0 < speed < float("inf"):
            raise BciiglError(f"speed should be a number above 0, got {speed!r}")
        self._source, self._speed = source, speed
        self._began: float | None = None
        self._resumed_at, self._next = 0.0, 0
        same = ("announce", "onset", "participant", "report", "skip_run")
        for name in (*Source.__annotations__, *same):
            setattr(self, name, getattr(source, name))

    def begin_run(self, session: str, run: int, frames: int, *, elapsed: float = 0.0) -> None:
        """Begin a run; what was recorded before comes as fast as possible."""
        self._source.begin_run(session, run, frames, elapsed=elapsed)
        self._began, self._resumed_at, self._next = None, elapsed, 0

    def read(self, stop: int) -> list[Frame]:
        """Return the frames before `stop` that have not been read yet, each when it is complete."""
        frames: list[Frame] = []
        while self._next < stop:
            self._next += 1
            seconds = self._next * self.tr
            if seconds > self._resumed_at:
                if self._began is None:
                    self._began = time.monotonic() - self._resumed_at / self._speed
                while self.paused():
                    time.sleep(LOOK)
                    self._began += LOOK
                due = self._began + seconds / self._speed
                time.sleep(max(due - time.monotonic(), 0.0))
            arrived = self.elapsed()
            frames += [each._replace(arrived=arrived) for each in self._source.read(self._next)]
        return frames

    def elapsed(self) -> float:
        """Return the seconds since the run began."""
        if self._began is None:
            return self._next * self.tr
        return (time.monotonic() - self._began) * self._speed
