"""Whether the scanner's clock, the TR and our clock agree."""

from collections import deque
from collections.abc import Callable

LIMIT = 0.25
"""How far clocks may differ before that is a fault, in TRs."""
WINDOW = 20
"""Volumes of which the one that came fastest counts: slow transfers are no drift."""
DAY = 86_400.0
"""Seconds after which the times in headers begin again."""


class DriftWatch:
    """Watches the times of acquisition in the headers of one run.

    Each kind of drift is told of when it exceeds a quarter of a TR, and again when it has doubled.

    Parameters
    ----------
    tr : float
        Seconds from one volume to the next.
    warn : function
        Called with what is wrong, and the number of a volume, from 1, or None.
    own_clock : bool
        Whether headers are compared with our clock, too; not where time is faster than it is.
    """

    def __init__(
        self, tr: float, warn: Callable[[str, int | None], None], *, own_clock: bool = True
    ) -> None:
        self._tr, self._warn, self._own_clock = tr, warn, own_clock
        self._first: tuple[int, float, float] | None = None
        self._limits = {"number": LIMIT * tr, "clock": LIMIT * tr}
        self._delays: deque[float] = deque(maxlen=WINDOW)
        self._least: float | None = None  # delay of the first volumes

    def take(self, number: int, acquired: float | None, now: float) -> None:
        """Take notice of a volume.

        Parameters
        ----------
        number : int
            The volume's, from 0.
        acquired : float or None
            Seconds by the scanner's clock, such as since midnight; None if the header has no time.
        now : float
            Seconds by our clock.
        """
        if acquired is None:
            return
        if self._first is None:
            self._first = number, acquired, now
        first, began, since = self._first
        passed = (acquired - began + DAY / 2) % DAY - DAY / 2
        if passed == 0 and number != first:
            return  # some scanners write the time of the series into all headers
        late = passed - (number - first) * self._tr
        if self._exceeds("number", late):
            when = f"{abs(late):.2f} s {'later' if late > 0 else 'earlier'}"
            self._warn(f"was acquired {when} than its number and the TR say", number + 1)
        if self._own_clock:
            self._compare(now - since - passed)

    def _compare(self, delay: float) -> None:
        """Compare how long the fastest of the last volumes took with that of the first ones."""
        self._delays.append(delay)
        if len(self._delays) < WINDOW:
            return
        least = min(self._delays)
        self._least = least if self._least is None else self._least
        drift = least - self._least
        if self._exceeds("clock", drift):
            words = "fallen behind" if drift > 0 else "run ahead of"
            self._warn(
                f"the scanner's clock has {words} this computer's by {abs(drift):.2f} s since the "
                "run began, or its volumes come ever later",
                None,
            )

    def _exceeds(self, kind: str, seconds: float) -> bool:
        exceeds = abs(seconds) > self._limits[kind]
        if exceeds:
            self._limits[kind] = 2 * abs(seconds)
        return exceeds
