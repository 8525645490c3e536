"""Real time: frames come when a scanner would give them."""

import time

import numpy as np


class Clock:
    """Paces runs, and keeps how late guesses were.

    Attributes
    ----------
    lateness : list of float
        Seconds from the time of each decision to its guess.
    """

    def __init__(self) -> None:
        self.lateness: list[float] = []
        self._began = 0.0

    def begin(self, seconds: float = 0.0) -> None:
        """Begin a run now, or go on so many seconds after its beginning."""
        self._began = time.monotonic() - seconds

    def wait(self, seconds: float) -> None:
        """Sleep until so many seconds after the run's beginning."""
        time.sleep(max(self._began + seconds - time.monotonic(), 0.0))

    def note_guess(self, due: float) -> None:
        """Keep how late a guess is, that was due so many seconds after the run's beginning."""
        self.lateness.append(max(time.monotonic() - self._began - due, 0.0))

    def report(self) -> dict[str, float]:
        """Return the median and the largest lateness of guesses in seconds, as plain data."""
        late = np.array(self.lateness or [0.0])
        return {"median": float(np.median(late)), "largest": float(late.max())}
