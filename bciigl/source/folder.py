"""A watched folder: names files as soon as they are new or have changed, whatever the disk."""

import logging
import os
import queue
import stat
import time
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bciigl.base.errors import needs

POLL = 0.25
"""Seconds from one look at the folder to the next, at least."""
SHARE = 0.1
"""The share of the time that looking may take: a folder of many files is looked at less often."""
CHANGES = 30.0
"""Seconds for which a file that was named may still change without an event that tells of it."""
SETTLE = 0.1
"""Seconds for which a file that is found by looking must not change."""

_State = tuple[int, int]
"""Size and time of the last change, in nanoseconds."""


class FolderWatcher:
    """Watches a folder and all in it, as a context manager.

    The operating system's events tell of files at once. They do not for network shares, so the
    folder is also looked at now and then. What is found so is named if it stays the same for a
    moment: a file may have its full size before it is written. A file that changes after it was
    named is named again.

    Parameters
    ----------
    folder : path-like
        It may be absent, and may vanish and come back.
    warn : function, optional
        Called when it does, with what happened; by default that is logged.
    """

    def __init__(
        self, folder: str | os.PathLike, warn: Callable[[str], None] | None = None
    ) -> None:
        try:
            import watchdog.observers  # noqa: F401 (later is too late to say that it is missing)
        except ImportError as error:
            raise needs("watching a folder", "watchdog", "live") from error
        self.folder = Path(os.path.abspath(folder))
        self._warn = warn or (lambda what: _log("%s: %s", self.folder, what))
        self._events: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._named: dict[Path, _State] = {}
        self._named_at: dict[Path, float] = {}
        self._fresh: dict[Path, _State] = {}  # of the last look, to be seen once more
        self._found: list[Path] = []  # of these, the ones to name, the next one last
        self._next_look = self._settled = 0.0
        self._observer: Any = None
        self._there = True

    def __enter__(self) -> "FolderWatcher":
        """Begin to watch."""
        self._observe()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop watching."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None

    def next(self, seconds: float) -> Path | None:
        """Return the next file that is new or has changed; None if there is none by then."""
        until = time.monotonic() + seconds
        while True:
            path = self._next(until)
            if path is None or self._is_new(path):
                return path

    def look_now(self) -> None:
        """Look at the folder before anything else is named."""
        self._next_look = 0.0

    @property
    def pending(self) -> bool:
        """Whether files were found that have not been named yet."""
        return bool(self._found or self._fresh)

    def forget(self, path: Path) -> None:
        """Name a file again that could not be read, even if it does not change."""
        self._named.pop(path, None)
        self._named_at.pop(path, None)

    def _next(self, until: float) -> Path | None:
        """Return a file that may be new."""
        while True:
            if self._found:
                return self._found.pop()
            began = time.monotonic()
            if self._fresh and began >= self._settled:
                found = [path for path, state in self._fresh.items() if _state(path) == state]
                self._fresh, self._found = {}, found[::-1]
                continue
            if began >= self._next_look:
                self._fresh = self._look()
                now = time.monotonic()
                self._next_look = now + max(POLL, (now - began) / SHARE)
                self._settled = now + SETTLE
            wake = min(until, self._settled if self._fresh else self._next_look)
            try:
                return self._events.get(timeout=max(wake - time.monotonic(), 0.0))
            except queue.Empty:
                if time.monotonic() >= until:
                    return None

    def _is_new(self, path: Path) -> bool:
        """Tell whether a file is there and not as it was when it was named, and name it."""
        state = _state(path)
        if state is None or self._named.get(path) == state:
            return False
        self._named[path] = state
        self._named_at[path] = time.monotonic()
        return True

    def _look(self) -> dict[Path, _State]:
        """Return the files that are new or have changed, the oldest first."""
        if not os.path.isdir(self.folder):  # whatever the error: shares are gone in many ways
            if self._there:
                self._warn("is not there; waiting for it")
            self._there = False
            return {}
        if not self._there:
            self._there = True
            self._observe()
            self._warn("is there again")
        before = time.monotonic() - CHANGES
        old = {path for path, at in self._named_at.items() if at < before}
        states = file_states(self.folder, old)
        new = ((path, state) for path, state in states.items() if self._named.get(path) != state)
        return dict(sorted(new, key=lambda each: (each[1][1], each[0])))

    def _observe(self) -> None:
        """Ask the operating system for the folder's events."""
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        self.__exit__()
        events = self._events

        class Handler(FileSystemEventHandler):
            # An exception here would end the observer's thread, so nothing else is done.
            def on_closed(self, event: Any) -> None:
                events.put(Path(os.fsdecode(event.src_path)))

            def on_moved(self, event: Any) -> None:
                events.put(Path(os.fsdecode(event.dest_path)))

        # It warns of folders that are made while it looks at others; all are looked at anyway.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="watchdog")
        observer = Observer()
        try:
            observer.schedule(Handler(), str(self.folder), recursive=True)
            observer.start()
            self._observer = observer
        except OSError:  # not there, or no more watches to be had: then it is only looked at
            pass


def file_states(folder: str | os.PathLike, but: Collection[Path] = ()) -> dict[Path, _State]:
    """Return the state of files of a folder, at any depth: their sizes, and when they changed."""
    paths = (Path(place, name) for place, _, names in os.walk(Path(folder)) for name in names)
    return {path: state for path in paths if path not in but and (state := _state(path))}


def _state(path: Path) -> _State | None:
    """Return the state of a file; None for what is no file, or not any more."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _log(message: str, *values: object) -> None:
    logging.getLogger("bciigl").warning(message, *values)
