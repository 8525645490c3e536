"""A writer of volumes that injects faults, and a disk that can be filled."""

import gzip
import logging
import os
import struct
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from bciigl.brain.subject import load_subject
from bciigl.loop.scanner import volume_writer
from bciigl.protocol import Protocol
from bciigl.recording.trial import RunId
from bciigl.source.volumes import write_whole

ELSEWHERE = 50
"""Runs from this on are of another series."""
LONGEST = 90.0
"""Seconds after which a session that has not ended never will."""

Which = tuple[int, int]
"""A volume: its run and its number, both from 1."""


class FaultyWriter:
    """Writes volumes as a simulated scanner does, but for those that a plan has a fault for.

    Parameters
    ----------
    kind : str
        ``"nifti"`` or ``"dicom"``.
    folder : path-like
        Where volumes go. Each is made in another folder, so that no other file is ever seen.
    protocol : Protocol
        The experiment.
    plan : dict
        The fault of each volume that has one.
    """

    def __init__(
        self, kind: str, folder: Path, protocol: Protocol, plan: Mapping[Which, "Fault"]
    ) -> None:
        self.folder, self.plan = folder, plan
        self.before: dict[Which, list[Callable[[], None]]] = defaultdict(list)
        self.after: dict[Which, list[Callable[[], None]]] = defaultdict(list)
        self.open = []
        self.renamed = False  # whether file names have another number than headers
        self._workshop = folder.with_name("workshop")
        self._workshop.mkdir(exist_ok=True)
        subject = load_subject(protocol.brain.subject)
        self._write = volume_writer(kind, self._workshop, protocol, subject)

    def __call__(self, place: RunId, number: int, volume: np.ndarray) -> None:
        """Write a volume, or do with it what the plan says."""
        which = place.run, number
        for action in self.before.pop(which, []):
            action()
        self.plan.get(which, whole)(self, place, number, volume)
        for action in self.after.pop(which, []):
            action()

    def made(self, place: RunId, number: int, volume: np.ndarray) -> tuple[str, bytes]:
        """Return a volume's file: its name and what is in it."""
        self._write(place, number, volume)
        (path,) = self._workshop.iterdir()
        content = path.read_bytes()
        path.unlink()
        stem, _, rest = path.name.rpartition("_")
        return f"{stem}_9{rest[1:]}" if self.renamed else path.name, content

    def put(self, name: str, content: bytes) -> None:
        """Let a file appear at once; it is lost where there is no folder."""
        if self.folder.is_dir():
            write_whole(self.folder / name, content)


Fault = Callable[[FaultyWriter, RunId, int, np.ndarray], None]
"""What is done with a volume in place of writing it."""


def whole(writer: FaultyWriter, place: RunId, number: int, volume: np.ndarray) -> None:
    """Write a volume as it is."""
    writer.put(*writer.made(place, number, volume))


def missing(writer: FaultyWriter, *volume: object) -> None:
    """Do not write it."""


def late(until: int) -> Fault:
    """Write it just before another volume of the run."""

    def write(writer: FaultyWriter, place: RunId, *volume: object) -> None:
        writer.before[place.run, until].append(lambda: whole(writer, place, *volume))

    return write


def after_the_next(writer: FaultyWriter, place: RunId, number: int, volume: np.ndarray) -> None:
    """Write it just after the next one."""
    writer.after[place.run, number + 1].append(lambda: whole(writer, place, number, volume))


def twice(until: int) -> Fault:
    """Write it, and again to the same file just before another volume of the run."""

    def write(writer: FaultyWriter, place: RunId, *volume: object) -> None:
        whole(writer, place, *volume)
        writer.before[place.run, until].append(lambda: whole(writer, place, *volume))

    return write


def truncated(writer: FaultyWriter, *volume: object) -> None:
    """Write most of it."""
    name, content = writer.made(*volume)
    writer.put(name, content[: int(0.9 * len(content))])


def packed_and_truncated(writer: FaultyWriter, *volume: object) -> None:
    """Write most of it, packed."""
    name, content = writer.made(*volume)
    packed = gzip.compress(content, 1)
    writer.put(f"{name}.gz", packed[: int(0.9 * len(packed))])


def packed(writer: FaultyWriter, *volume: object) -> None:
    """Write it packed: no fault."""
    name, content = writer.made(*volume)
    writer.put(f"{name}.gz", gzip.compress(content, 1))


def in_pieces(seconds: float, *, allocated: bool = False) -> Fault:
    """Write it in place, with a pause; its full size may be there from the beginning."""

    def write(writer: FaultyWriter, *volume: object) -> None:
        name, content = writer.made(*volume)
        with (writer.folder / name).open("wb") as file:
            if allocated:
                file.truncate(len(content))
            file.write(content[: len(content) // 2])
            file.flush()
            time.sleep(seconds)
            file.write(content[len(content) // 2 :])

    return write


def never_completed(writer: FaultyWriter, *volume: object) -> None:
    """Write half of it in place, and keep the file open."""
    name, content = writer.made(*volume)
    file = (writer.folder / name).open("wb")
    writer.open.append(file)
    file.write(content[: len(content) // 2])
    file.flush()


def completed(until: int) -> Fault:
    """Write half of it in place, and the rest just before another volume of the run."""

    def write(writer: FaultyWriter, place: RunId, *volume: object) -> None:
        never_completed(writer, place, *volume)
        file, (_, content) = writer.open.pop(), writer.made(place, *volume)

        def complete() -> None:
            file.write(content[len(content) // 2 :])
            file.close()

        writer.before[place.run, until].append(complete)

    return write


def other_shape(writer: FaultyWriter, place: RunId, number: int, volume: np.ndarray) -> None:
    """Write it without a slice."""
    whole(writer, place, number, volume[..., 1:])


def not_finite(writer: FaultyWriter, place: RunId, number: int, volume: np.ndarray) -> None:
    """Write it with one voxel that is not a number."""
    damaged = volume.copy()
    damaged[0, 0, 0] = np.nan
    whole(writer, place, number, damaged)


def other_tr(writer: FaultyWriter, *volume: object) -> None:
    """Write it with another TR in the header (NIfTI)."""
    name, content = writer.made(*volume)
    writer.put(name, content[:92] + struct.pack("<f", 0.7) + content[96:])


def other_series(writer: FaultyWriter, place: RunId, number: int, volume: np.ndarray) -> None:
    """Write it as one of another series."""
    whole(writer, RunId(place.session, place.run + ELSEWHERE), number, volume)


def also(fault: Fault) -> Fault:
    """Write a volume as it is, and one with a fault to another file."""

    def write(writer: FaultyWriter, *volume: object) -> None:
        whole(writer, *volume)
        writer.renamed = fault is not other_series
        fault(writer, *volume)
        writer.renamed = False

    return write


copied = also(whole)


def after(action: Callable[[], object]) -> Fault:
    """Do something else first, and write the volume then."""

    def write(writer: FaultyWriter, *volume: object) -> None:
        action()
        whole(writer, *volume)

    return write


def vanishing(told: "Told", until: int, *, lost: bool) -> Fault:
    """Let the folder vanish before a volume is written, and come back just before another one.

    In between volumes are lost, or written to the folder wherever it is.
    """

    def write(writer: FaultyWriter, place: RunId, *volume: object) -> None:
        folder, away = writer.folder, writer.folder.with_name("away")

        def come_back() -> None:
            writer.folder = away.rename(folder)
            told.wait("is there again" if lost else f"volume {until - 1} came late")

        folder.rename(away)
        told.wait("is not there")
        writer.folder = folder if lost else away
        writer.before[place.run, until].append(come_back)
        whole(writer, place, *volume)

    return write


class Told(logging.Handler):
    """Waits for what a session says, so that no test depends on how long something takes."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self.messages: list[str] = []

    def __enter__(self) -> "Told":
        """Begin to listen."""
        logging.getLogger("bciigl").addHandler(self)
        logging.getLogger("bciigl").setLevel(logging.DEBUG)  # many of a kind are not shown
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        logging.getLogger("bciigl").removeHandler(self)
        logging.getLogger("bciigl").setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        """Take down a message."""
        with self._changed:
            self.messages.append(record.getMessage())
            self._changed.notify_all()

    def wait(self, text: str, times: int = 1) -> None:
        """Wait until this was said."""
        with self._changed:
            said = self._changed.wait_for(
                lambda: sum(text in each for each in self.messages) >= times, LONGEST
            )
        assert said, f"nobody has said {text!r}"


@contextmanager
def small_disk(folder: Path, size: str = "3m") -> Iterator[Path]:
    """Give a disk that can be filled; skip the test where none can be had."""
    folder.mkdir()
    own = [] if os.geteuid() == 0 else ["sudo", "-n"]
    mount = [*own, "mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run([*own, "umount", "-l", str(folder)], check=True, capture_output=True)


def fill(disk: Path) -> Path:
    """Fill a disk to its last byte, and return the file that does."""
    path = disk / "ballast"
    with path.open("ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                pass
    return path
