"""A watched folder: every file is named, whatever the disk, and whatever happens to the folder."""

import errno
import logging
import os
import shutil
import sys
from pathlib import Path

import pytest
from watchdog.observers import Observer

from bciigl.base.errors import BciiglError
from bciigl.source import folder as watched
from bciigl.source.folder import FolderWatcher

LONG = 60.0
"""Seconds that no test waits for unless it fails."""


def write(path: Path, content: str = "content", seconds: int | None = None) -> Path:
    """Write a file, changed some seconds after 1970."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    if seconds is not None:
        os.utime(path, (seconds, seconds))
    return path


def next_name(watcher: FolderWatcher) -> str:
    return watcher.next(LONG).name


@pytest.fixture
def no_events(monkeypatch):
    """Have no events from the operating system, as if there were no more watches."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "schedule", refused)


@pytest.fixture
def no_looks(monkeypatch):
    """Have the folder looked at when a session begins, and never again."""
    monkeypatch.setattr(watched, "POLL", 1e6)


def test_files_are_named_once_the_oldest_first(tmp_path):
    for number, name in enumerate(["late", "early", "middle"]):
        write(tmp_path / name, seconds=[300, 100, 200][number])
    with FolderWatcher(tmp_path) as watcher:
        assert [next_name(watcher) for _ in range(3)] == ["early", "middle", "late"]
        assert watcher.next(0.0) is None
        write(tmp_path / "new")
        assert watcher.next(LONG) == tmp_path / "new"
        assert watcher.next(0.3) is None  # by events and by looking, but once


def test_relative_folder_is_that_of_the_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FolderWatcher("volumes") as watcher:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir("elsewhere")
        write(tmp_path / "volumes" / "1")
        assert watcher.next(LONG) == tmp_path / "volumes" / "1"


def test_file_that_changes_is_named_again(tmp_path):
    write(tmp_path / "1", "half")
    with FolderWatcher(tmp_path) as watcher:
        assert next_name(watcher) == "1"
        write(tmp_path / "1", "half and half")
        assert next_name(watcher) == "1"
        os.utime(tmp_path / "1", (1, 1))  # as large, but not as old
        assert next_name(watcher) == "1"
        assert watcher.next(0.0) is None


def test_files_are_found_by_looking_alone(tmp_path, no_events):
    with FolderWatcher(tmp_path) as watcher:
        for name in ("1", "2", "in/a/folder/3"):
            write(tmp_path / name)
            assert watcher.next(LONG) == tmp_path / name
        write(tmp_path / "1", "changed")
        assert next_name(watcher) == "1"
        write(tmp_path / ".4").rename(tmp_path / "4")
        assert next_name(watcher) == "4"


def test_files_are_found_by_events_alone(tmp_path, no_looks):
    with FolderWatcher(tmp_path) as watcher:
        assert watcher.next(0.0) is None
        write(tmp_path / "1")
        assert next_name(watcher) == "1"
        write(tmp_path / "1", "changed")
        assert next_name(watcher) == "1"
        write(tmp_path / "2.part").rename(tmp_path / "2")
        names = {next_name(watcher)}
        if names == {"2.part"}:  # it was still there
            names = {next_name(watcher)}
        assert names == {"2"}


@pytest.mark.parametrize("way", ["events", "looking"])
def test_files_that_are_moved_into_the_folder_are_found(tmp_path, way, request):
    if way == "looking":
        request.getfixturevalue("no_events")
    folder = tmp_path / "volumes"
    folder.mkdir()
    with FolderWatcher(folder) as watcher:
        assert watcher.next(0.0) is None
        write(tmp_path / "outside" / "1").rename(folder / "1")
        assert watcher.next(LONG) == folder / "1"
        write(tmp_path / "series" / "deep" / "2")
        (tmp_path / "series").rename(folder / "series")
        assert watcher.next(LONG) == folder / "series" / "deep" / "2"


def test_what_is_no_file_is_not_named(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")  # to read it would take for ever
    write(tmp_path / "elsewhere" / "1", seconds=1)
    (tmp_path / "link").symlink_to("elsewhere/1")
    with FolderWatcher(tmp_path) as watcher:
        assert {next_name(watcher), next_name(watcher)} == {"1", "link"}
        assert watcher.next(0.3) is None


def test_file_that_is_gone_when_its_turn_comes_is_not_named(tmp_path):
    for number in (1, 2, 3):
        write(tmp_path / str(number), seconds=number)
    with FolderWatcher(tmp_path) as watcher:
        assert next_name(watcher) == "1"
        (tmp_path / "2").unlink()
        assert next_name(watcher) == "3"


@pytest.mark.slow
def test_folder_may_be_absent_vanish_and_come_back(tmp_path, caplog):
    folder = tmp_path / "volumes"
    with caplog.at_level(logging.WARNING, "bciigl"), FolderWatcher(folder) as watcher:
        assert watcher.next(0.6) is None
        for name in ("1", "2"):
            write(folder / name)
            assert next_name(watcher) == name
            write(folder / f"{name} by event or look")
            assert next_name(watcher) == f"{name} by event or look"
            shutil.rmtree(folder)
            while "waiting for it" not in caplog.messages[-1]:
                assert watcher.next(0.1) is None
    waits, back = f"{folder}: is not there; waiting for it", f"{folder}: is there again"
    assert caplog.messages == [waits, back, waits, back, waits]


def test_folder_that_returns_between_two_looks_is_watched(tmp_path):
    folder = tmp_path / "volumes"
    write(folder / "1")
    with FolderWatcher(folder) as watcher:
        assert next_name(watcher) == "1"
        folder.rename(tmp_path / "old")
        write(folder / "2")
        assert watcher.next(LONG) == folder / "2"


def test_folder_that_cannot_be_looked_at_is_waited_for(tmp_path):
    """A share that is gone gives errors of many kinds, not only that there is no such folder."""
    folder = tmp_path / "volumes"
    folder.symlink_to("x" * 300)  # no name is as long
    with pytest.raises(OSError, match="name too long"):
        folder.stat()
    with FolderWatcher(folder) as watcher:
        assert watcher.next(0.3) is None
        write(tmp_path / "share" / "1")
        folder.unlink()
        folder.symlink_to("share")
        assert watcher.next(LONG) == folder / "1"


def test_missing_watchdog_is_said_before_anything_is_watched(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchdog.observers", None)
    with pytest.raises(BciiglError, match=r"needs watchdog: pip install 'bciigl\[live\]'"):
        FolderWatcher(tmp_path)


def test_nothing_is_left_running(tmp_path):
    with FolderWatcher(tmp_path) as watcher:
        observer = watcher._observer
        assert observer.is_alive()
    assert not observer.is_alive()
