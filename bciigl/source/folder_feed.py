"""Volumes of a watched folder: which of them belong to the run."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bciigl.base.errors import BciiglError
from bciigl.base.progress import silent
from bciigl.brain.images import dimensions
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.source.channel import ADDRESS_FILE
from bciigl.source.display import Line
from bciigl.source.folder import FolderWatcher
from bciigl.source.volume_feed import VolumeFeed, digest, volume_number
from bciigl.source.volumes import Volume, VolumeError, VolumeReader, is_volume_name

TOLERANCE = 0.01
"""By how much a header's TR may differ from the protocol's, as a share of it."""
LATEST_FIRST = 20
"""The number up to which the first volume of a new series may be lost; others are old series."""
BEGUN_BEFORE = "is of a series that was begun before"
MOST_APART = 1.0
"""Distance in mm up to which a volume lies where the region was drawn."""
LONGEST_DRAIN = 60.0
GIVEN_UP = 3.0
"""Seconds after which a file that cannot be read is taken for damaged, not for half-written."""


class FolderFeed(VolumeFeed):
    """Reads volumes of one series a run, by what their headers say, in whatever order they come.

    Parameters
    ----------
    folder : path-like
        Where the scanner writes volumes.
    protocol, region, reference, on_reference
        As in `VolumeFeed`.
    shape : tuple
        That of volumes.
    salt : bytes
        Names of series can tell who the person is, so journals have digests with this key.
    old : collection of str
        Digests of the series of earlier runs.
    newest : int
        Files that were not changed after this time, in nanoseconds, are old.
    existing : dict
        Files that are old as long as they have this size and this time of their last change.
    """

    def __init__(
        self,
        folder: Path,
        protocol: Protocol,
        region: Region,
        shape: tuple[int, ...],
        *,
        reference: Volume | None = None,
        on_reference: Callable[[Volume], None] = silent,
        salt: bytes = b"",
        old: Collection[str] = (),
        newest: int = 0,
        existing: Mapping[Path, tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(protocol, region, reference, on_reference)
        self._shape, self._salt = tuple(shape), salt
        self._old, self._newest, self._existing = set(old), newest, existing or {}
        self._series: str | None = None
        self._joins = False
        self._counts_from: int | None = None  # what volumes without a time count from: 0 or 1
        self._recorded: set[str] = set()
        self._taken: set[Path] = set()
        self._reader = VolumeReader()
        self._unreadable: dict[Path, tuple[float, str]] = {}
        self._postponed: set[Path] = set()
        self._began = time.time_ns()
        self._running, self._closed = threading.Event(), False
        self._asked, self._drained = threading.Event(), threading.Event()
        self._drained.set()
        self._reading = threading.Lock()  # a run does not end or begin while a file is read
        # Without the folder's name, which may be that of the person.
        self._watcher = FolderWatcher(folder, lambda what: self.fault(f"the folder {what}", None))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin_run(self, session: str, run: int, past: Sequence[Line]) -> None:
        """Look for a new series, or for the rest of the one that is in the journal."""
        if self._series is not None:
            self._old.add(self._series)
        volumes = [line for line in past if "volume" in line]
        self._taken.clear()
        self._series = volumes[0]["series"] if volumes else None
        self._counts_from = volumes[-1]["counts_from"] if volumes else None
        self._recorded = {line["data"] for line in volumes}
        self._joins = bool(past)
        self._running.set()

    def drain(self) -> None:
        """Read all files that are there, if that takes no more than a minute."""
        self._asked.set()
        until = time.monotonic() + LONGEST_DRAIN
        while self._asked.is_set() and time.monotonic() < until:
            time.sleep(0.01)

    def end_run(self) -> None:
        """Read nothing until the next run begins."""
        with self._reading:
            self._running.clear()
            self._give_up(0.0)

    def close(self) -> None:
        """Look for no more volumes."""
        self._closed = True
        self._running.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        path = None
        with self._watcher as watcher:
            while not self._closed:
                self._running.wait()
                if self._asked.is_set() and self._drained.is_set():
                    self._drained.clear()
                    watcher.look_now()
                path = path or watcher.next(0.05)
                if path is None and not self._drained.is_set() and not watcher.pending:
                    self._asked.clear()
                    self._drained.set()
                with self._reading:
                    if self._running.is_set():  # or else it may be the first one of the next run
                        self._use(path)
                        path = None

    def _use(self, path: Path | None) -> None:
        try:
            if path is not None and is_volume_name(path.name):
                self._read(path)
            elif path is not None and path.name == ADDRESS_FILE:
                self._warn_of_scanner(path)
            self._give_up(GIVEN_UP)
        except BciiglError as error:
            self.fault(str(error), None)
        except Exception as error:  # one file must never end the session
            logging.getLogger("bciigl").exception("a volume cannot be used")
            # Not the text of any error, which may quote a header: names of people are there.
            reason = error.strerror if isinstance(error, OSError) else type(error).__name__
            self.fault(f"cannot be used: {reason}", None)

    def _warn_of_scanner(self, path: Path) -> None:
        """Say that a simulated scanner has come too late to be rehearsed with."""
        if path.stat().st_mtime_ns > self._began:
            again = "stop the session, and begin it again in another folder"
            self.fault(f"a simulated scanner was started after the session: {again}", None)

    def _read(self, path: Path) -> None:
        try:
            found = path.stat()
            changed, state = found.st_mtime_ns, (found.st_size, found.st_mtime_ns)
            is_old = changed <= self._newest or self._existing.get(path) == state
            volumes = [] if is_old else self._reader.read(path)
        except OSError:
            self._watcher.forget(path)  # it is gone; if it comes back, it is read again
            return
        except VolumeError as error:
            # It may not be whole yet, or another program may keep it to itself.
            reason = str(error).removeprefix(f"{path}: ")
            since, _ = self._unreadable.setdefault(path, (time.monotonic(), reason))
            if since != np.inf:
                self._watcher.forget(path)
            return
        self._unreadable.pop(path, None)
        for volume in volumes:
            problem = self._problem(volume)
            number: Any = volume_number(volume, self._protocol.timing.tr)  # None is a problem
            if problem is not None:
                if problem == BEGUN_BEFORE and path not in self._postponed:
                    self._postponed.add(path)  # it may have been read before the first ones
                    self._watcher.forget(path)
                else:
                    self.fault(problem, number)
            elif self._recorded and (content := digest(volume)) in self._recorded:
                self._recorded.remove(content)  # before the session was resumed
            else:
                about = {"series": self._series, "changed": changed}
                about |= {"counts_from": self._counts_from}
                arrival = self._arrival(volume, number - self._first_number(volume), **about)
                if arrival is not None:
                    self.take(arrival._replace(again=path in self._taken))
                    self._taken.add(path)

    def _give_up(self, seconds: float) -> None:
        """Log files that have been unreadable for that long."""
        now = time.monotonic()
        for path, (since, reason) in list(self._unreadable.items()):
            if not os.path.lexists(path):  # it was a temporary one
                del self._unreadable[path]
            elif now - since >= seconds:
                self._unreadable[path] = (np.inf, reason)  # once; it may still be completed
                self.fault(f"a volume cannot be read: {reason}", None)

    def _problem(self, volume: Volume) -> str | None:
        """Return why a volume is not one of the run, or None; it may be the first one of it."""
        tr, live = self._protocol.timing.tr, self._protocol.live
        key = hashlib.blake2b(volume.series.encode(), key=self._salt, digest_size=8).hexdigest()
        number = volume_number(volume, tr)
        if volume.description.lower().endswith("_sbref"):
            return "is a reference image of its scanner (SBRef)"
        if live.series not in volume.description:
            return f"is of another series, not of {live.series!r}"
        if key in self._old or self._series not in (None, key):
            return "is of another series"
        if volume.data.shape != self._shape:
            got, expected = dimensions(volume.data.shape), dimensions(self._shape)
            return f"has {got} voxels, not {expected}; bciigl region draws a region in its space"
        if volume.tr is not None and abs(volume.tr - tr) > TOLERANCE * tr:
            return f"has a TR of {volume.tr:g} s, not of {tr:g} s"
        if number is None:
            return "has no number, in its header or its name"
        if not np.isfinite(volume.data).all():
            return "has values that are not finite"
        if self._series is None:
            if number > LATEST_FIRST + live.dummies and not self._joins:
                return BEGUN_BEFORE
            self._series = key
            if (apart := _apart(volume.affine, self._region.affine, self._shape)) > MOST_APART:
                place = "from where the region was drawn; bciigl region draws it anew"
                self.fault(f"lies up to {apart:.0f} mm {place}", number)
        if self._counts_from is None and volume.offset is None:
            self._counts_from = min(number, 1)
        if number < self._first_number(volume):
            return "has a number below that of the first volume"
        return None

    def _first_number(self, volume: Volume) -> int:
        """Return the number of the first volume, as this one is counted."""
        return 1 if volume.offset is not None or self._counts_from is None else self._counts_from


def _apart(one: np.ndarray, other: np.ndarray, shape: tuple[int, ...]) -> float:
    """Return how far apart two affines put the corners of a volume, at most, in mm."""
    corners = np.argwhere(np.ones((2, 2, 2))) * (np.array(shape) - 1)
    moved = (one - other)[:3] @ np.column_stack([corners, np.ones(8)]).T
    return float(np.linalg.norm(moved, axis=0).max())
