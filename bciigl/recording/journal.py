"""What is kept while a session runs: one line for each trial, written before the next begins.

A line is a checksum, a space and a JSON document. The first one says what session it is. Whatever
stops the program, all lines but perhaps the last are whole, and a last one that is not is dropped.
"""

import errno
import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from bciigl.base.errors import BciiglError
from bciigl.base.files import named_errors
from bciigl.recording.layout import JOURNAL

VERSION = 1


class JournalError(BciiglError):
    """A journal that cannot be gone on with."""


class Journal:
    """An append-only file, held by one process at a time. `create` and `reopen` make it.

    Attributes
    ----------
    path : Path
        Of the file.
    header : dict
        What session it is.
    """

    def __init__(self, path: Path, file: BinaryIO, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self._file = file

    @classmethod
    def create(cls, folder: Path, header: dict[str, Any]) -> "Journal":
        """Begin a journal in a folder that has none.

        Raises
        ------
        FileExistsError
            If there is one.
        """
        path = folder / JOURNAL
        file = open(path, "xb", buffering=0)  # noqa: SIM115 (it stays open)
        journal = cls(path, file, header)
        _lock(path, file)
        journal.append({"version": VERSION, **header})
        return journal

    @classmethod
    def reopen(cls, folder: Path) -> "Journal":
        """Go on with the journal in a folder; a half-written last line is dropped.

        Raises
        ------
        JournalError
            If there is none, if another process has it, or if it is damaged.
        """
        path = folder / JOURNAL
        try:
            file = open(path, "r+b", buffering=0)  # noqa: SIM115
        except FileNotFoundError:
            raise JournalError(f"{folder}: there is no session to go on with") from None
        _lock(path, file)
        try:
            return cls(path, file, _recover(path, file))
        except BaseException:
            file.close()  # and with it the lock
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Write one line; when this returns, the program may be killed."""
        line = _line(entry)
        with named_errors(self.path):
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield what was appended after the header, from the beginning."""
        lines = self._lines()
        next(lines)
        return lines

    def sync(self) -> None:
        """Have the disk keep what was written, so that not even a power cut loses it."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def remove(self) -> None:
        """Delete the file: the session is over."""
        self.path.unlink()
        self.close()

    def _lines(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            for line in file:
                yield _entry(line)


def _line(entry: dict[str, Any]) -> bytes:
    text = json.dumps(entry, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return what a line says, or None if it is not whole."""
    checksum, _, text = line[:-1].partition(b" ")
    if line[-1:] != b"\n" or checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        entry = json.loads(text)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _recover(path: Path, file: BinaryIO) -> dict[str, Any]:
    """Drop a half-written last line, go to the end, and return the header."""
    if not os.fstat(file.fileno()).st_nlink:
        raise JournalError(f"{path.parent}: the session has just been finished")
    header, whole = None, 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            entry = _entry(line)
            if entry is None:
                if lines.read(1):
                    raise JournalError(f"{path}: line {number} is damaged")
                break
            header = header or entry
            whole += len(line)
    if header is None:
        raise JournalError(
            f"{path.parent}: was stopped before anything was recorded: delete it and begin again"
        )
    if header.get("version") != VERSION:
        raise JournalError(f"{path}: is not a journal that this version can go on with")
    file.truncate(whole)
    file.seek(0, os.SEEK_END)
    return header


def _lock(path: Path, file: BinaryIO) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise JournalError(f"{path.parent}: another process is recording there") from error
