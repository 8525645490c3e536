"""What is kept while a session runs: one line for each trial, written before the next begins.

A line is a checksum, a space and a JSON document. The first one says what session it is. Whatever
stops the program, all lines but perhaps the last are whole, and a last one that is not is dropped.
"""

import errno
import fcntl
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bciigl.base.errors import BciiglError
from bciigl.base.files import make_folder, named_errors, written_file
from bciigl.base.json_files import parse_json
from bciigl.base.progress import silent
from bciigl.recording.layout import JOURNAL, POLICY

VERSION = 3


class JournalError(BciiglError):
    """A journal from which a session cannot be resumed."""


AnyJournal = TypeVar("AnyJournal", bound="Journal")


class Journal:
    """An append-only file in a folder that one process at a time holds."""

    def __init__(self, path: Path, header: dict[str, Any], lock: int) -> None:
        self.path = path
        self.header = header
        self._lock = lock
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (it stays open)

    @classmethod
    def create(
        cls: type[AnyJournal],
        folder: Path,
        header: dict[str, Any],
        prepare: Callable[[], None] = silent,
    ) -> AnyJournal:
        """Begin a journal in a folder that is absent or empty; `prepare` is called before."""
        path = folder / JOURNAL
        if not folder.is_dir() or folder.is_symlink():
            make_folder(folder)
        with _locked(folder) as lock:
            if path.exists():
                raise JournalError(
                    f"{folder}: a recording was begun there; resume it, or use another folder"
                )
            _clear(folder)
            prepare()
            header = {"version": VERSION, **header}
            # It appears with its header: every journal that is found can be resumed.
            with written_file(path) as temporary:
                temporary.write_bytes(_line(header))
            return cls(path, header, lock)

    @classmethod
    def reopen(cls: type[AnyJournal], folder: Path) -> AnyJournal:
        """Open the journal in a folder again; a half-written last line is dropped."""
        path = folder / JOURNAL
        if not path.exists():
            raise JournalError(f"{folder}: there is no session to resume")
        with _locked(folder) as lock:
            if not path.exists():
                raise JournalError(f"{folder}: the session has just been finished")
            header, whole = _read(path)
            with named_errors(path):
                os.truncate(path, whole)
            return cls(path, header, lock)

    def append(self, entry: dict[str, Any]) -> None:
        """Write one line; when this returns, the program may be killed."""
        line = _line(entry)
        with named_errors(self.path):
            before = os.fstat(self._file.fileno()).st_size
            if self._file.write(line) != len(line):
                # Without the part that was written: what is appended next begins a line.
                os.ftruncate(self._file.fileno(), before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield what was appended after the header, from the beginning."""
        with self.path.open("rb") as file:
            next(file)
            for line in file:
                yield _entry(line)

    def sync(self) -> None:
        """Have the disk keep what was written, so that not even a power cut loses it."""
        with named_errors(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the folder."""
        if not self._file.closed:
            self._file.close()
            os.close(self._lock)

    def remove(self) -> None:
        """Delete the file: the session is over."""
        self.path.unlink()
        self.close()


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entry(line: bytes) -> Any:
    """Return what a line says, or None if it is not whole."""
    checksum, _, text = line[:-1].partition(b" ")
    if line[-1:] != b"\n" or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        entry = parse_json(text)
    except BciiglError:
        return None
    return entry if isinstance(entry, dict) else None


def _read(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header, and how many bytes there are without a half-written last line."""
    header, whole = None, 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            entry = _entry(line)
            if entry is None and (number == 1 or lines.read(1)):
                raise JournalError(f"{path}: line {number} is damaged; it cannot be resumed")
            if entry is None:
                break
            header = header or entry
            whole += len(line)
    version = header and header.get("version")
    if version in (1, 2):
        raise JournalError(f"{path}: was begun by bciigl 0.{version}: resume it with that version")
    if header is None or version != VERSION:
        raise JournalError(f"{path}: is not a journal that this version can resume")
    return header, whole


def _clear(folder: Path) -> None:
    """Delete what a recording leaves that is killed before its journal; refuse all other files."""
    policy = folder / POLICY
    for path in sorted(folder.rglob("*")):
        half_written = ".tmp" in path.name and path.name.startswith(".")
        inside = any(path.is_relative_to(each) for each in (policy, *folder.rglob(".*.tmp")))
        if not (half_written or inside or path in (policy, *policy.parents)):
            raise FileExistsError(
                errno.EEXIST, "exists already and is not an empty folder", str(folder)
            )
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Hold a folder, and let go of it only if something fails."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    except BaseException as error:
        os.close(lock)
        if isinstance(error, BlockingIOError):
            raise JournalError(f"{folder}: another process is recording there") from error
        raise
