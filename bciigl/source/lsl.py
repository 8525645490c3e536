"""Region vectors over LSL: one sample a volume, with its run and its number first.

The channels of a stream of type ``fMRI-region`` are the run's number, the volume's number in the
run, from 1 and with dummies, and the region's voxels, as float32. Volumes may be lost: the numbers
say which. The time of a sample is when its acquisition began, by the sender's clock.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from bciigl.base.errors import BciiglError, needs, printable
from bciigl.base.progress import silent
from bciigl.brain.region import Region
from bciigl.recording.trial import RunId
from bciigl.source.display import Line
from bciigl.source.folder_feed import LATEST_FIRST
from bciigl.source.live import Arrival, Feed

KIND = "fMRI-region"
"""The type of our streams."""
HEADER = 2
"""Channels before the voxels: run and volume."""
LARGEST = 2**24
"""Whole numbers up to this are exact as float32."""
CONNECT = 5.0
"""Seconds to wait for a stream when a session begins, and for a listener when a run does."""
LOOK = 0.5
"""Seconds that a look for a stream takes at most."""
WAKE = 0.1
"""Seconds after which one who waits for samples sees that nobody wants them any more."""
ON_THIS_MACHINE = """\
[ports]
IPv6 = disable
[multicast]
ResolveScope = machine
ListenAddress = 127.0.0.1
[tuning]
MulticastMinRTT = 0.05
MulticastMaxRTT = 0.2
UnicastMinRTT = 0.05
UnicastMaxRTT = 0.2
[log]
level = -3
"""
"""How liblsl is set up unless LSLAPICFG says otherwise: no packet leaves the machine."""


@cache
def load_pylsl() -> ModuleType:
    """Return pylsl. It finds streams of other machines only if LSLAPICFG names a configuration."""
    try:
        import pylsl

        if not os.environ.get("LSLAPICFG"):
            pylsl.set_config_content(ON_THIS_MACHINE)
    except (ImportError, AttributeError, RuntimeError) as error:  # absent, old, without liblsl
        raise needs("LSL", "pylsl", "lsl") from error
    return pylsl


def check_stream(name: str) -> None:
    """Refuse a stream that cannot be looked for: by its name, or because there is no pylsl."""
    load_pylsl()
    if not name or "'" in name or not name.isprintable():
        raise BciiglError(
            f"the name of an LSL stream should be printable, without ', got {printable(name)!r}"
        )


def samples(
    name: str,
    kind: str | None,
    stop: threading.Event,
    connected: Callable[[bool], None] = silent,
) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield the samples of a stream and their times until `stop` is set, whenever it is there.

    Parameters
    ----------
    name, kind
        Of the stream; a `kind` of None is any.
    stop : Event
        Ends the waiting.
    connected : function
        Called with whether the stream is there, when that changes.
    """
    check_stream(name)
    pylsl = load_pylsl()
    wanted = f"name='{name}'" + ("" if kind is None else f" and type='{kind}'")
    while not stop.is_set():
        for info in pylsl.resolve_bypred(wanted, 1, LOOK)[:1]:
            there = False
            try:
                inlet = pylsl.StreamInlet(info, recover=False)
                inlet.open_stream(CONNECT)
                connected(there := True)
                while not stop.is_set():
                    sample, when = inlet.pull_sample(WAKE)
                    if sample is not None:
                        yield sample, when
            except RuntimeError:  # as pylsl's errors are: the stream is lost
                if there:
                    connected(False)
                stop.wait(LOOK)


class LslFeed(Feed):
    """Takes volumes from a stream; they are not realigned.

    What is sent while nobody listens is lost, so a run that is resumed lacks those volumes.

    Parameters
    ----------
    name : str
        The stream's.
    voxels : int
        How many voxels the region has.
    dummies : int
        Volumes at the beginning of a run that are not used.
    old : collection of str
        Series of earlier runs, as in the journal.
    """

    def __init__(
        self, name: str, voxels: int, *, dummies: int = 0, old: Collection[str] = ()
    ) -> None:
        check_stream(name)
        self._name, self._voxels, self._dummies = name, voxels, dummies
        self._old, self._joins = set(old), False
        self._series: str | None = None
        self._there, self._running, self._stop = (threading.Event() for _ in range(3))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        # A rehearsal begins when it is asked to: the first volume would come before a connection.
        if not self._there.wait(CONNECT):
            _log("the LSL stream %s is not there; waiting for it", printable(name))

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Wait for a new run number, or for the one that is in the journal."""
        if self._series is not None:
            self._old.add(self._series)
        self._series = next((line["series"] for line in past if "series" in line), None)
        self._joins = bool(past)
        self._running.set()

    def end_run(self) -> None:
        """Read nothing until the next run begins."""
        self._running.clear()

    def close(self) -> None:
        """Leave the stream."""
        self._stop.set()
        self._running.set()
        self._thread.join(CONNECT)

    def _run(self) -> None:
        for sample, acquired in samples(self._name, KIND, self._stop, self._connected):
            self._running.wait()  # it may be the first one of the next run
            try:
                self._read(np.array(sample, float), acquired)
            except Exception as error:  # one sample must never end the session
                logging.getLogger("bciigl").exception("a sample cannot be used")
                self.fault(f"cannot be used: {printable(str(error))}", None)

    def _connected(self, there: bool) -> None:
        if there:
            _log("the LSL stream %s is there", printable(self._name), level=logging.INFO)
            self._there.set()
        elif not self._stop.is_set():
            self.fault("the LSL stream is gone; waiting for it", None)

    def _read(self, sample: np.ndarray, acquired: float) -> None:
        run: Any  # a run or a number of None is a problem
        number: Any
        run, number = (_whole(each) for each in (*sample[:HEADER], np.nan, np.nan)[:HEADER])
        problem = self._problem(run, number, sample[HEADER:])
        if problem is not None:
            self.fault(problem, number)
            return
        about = {"series": self._series}
        self.take(Arrival(number - 1, sample[HEADER:], None, acquired, about))

    def _problem(self, run: int | None, number: int | None, values: np.ndarray) -> str | None:
        """Return why a volume is not one of the run, or None; it may be the first one of it."""
        series = f"run {run}"
        if len(values) != self._voxels:
            return f"has {len(values)} voxels, but the region has {self._voxels}"
        if run is None or number is None:
            return "has no number, or no run"
        if series in self._old or self._series not in (None, series):
            return "is of another series"
        if not np.isfinite(values).all():
            return "has values that are not finite"
        if self._series is None:
            if number > LATEST_FIRST + self._dummies and not self._joins:
                return "is of a series that was begun before"
            self._series = series
        return None


def lsl_writer(name: str, region: Region, tr: float) -> Callable[[RunId, int, np.ndarray], None]:
    """Return what sends the region of a volume, (x, y, z), of a run, by number from 1.

    Times of samples are the scanner's: in a rehearsal that is fast, its clock is as fast.
    """
    check_stream(name)
    pylsl = load_pylsl()
    channels = HEADER + len(region)
    info = pylsl.StreamInfo(name, KIND, channels, 1 / tr, "float32", f"bciigl scan {name}")
    outlet, began = pylsl.StreamOutlet(info), {}

    def send(place: RunId, number: int, volume: np.ndarray) -> None:
        if place not in began:
            outlet.wait_for_consumers(CONNECT)
            began[place] = pylsl.local_clock() - number * tr
        sample = np.array([place.run, number, *volume[region.index]], np.float32)
        outlet.push_sample(sample, began[place] + (number - 1) * tr)

    return send


def _whole(value: float) -> int | None:
    """Return a whole number from 1, if it is one."""
    return int(value) if 1 <= value <= LARGEST and value == int(value) else None


def _log(message: str, *values: object, level: int = logging.WARNING) -> None:
    logging.getLogger("bciigl").log(level, message, *values)
