"""The journal: whatever happens, all but the last line is there."""

import fcntl
import json
import subprocess
import sys
import zlib

import pytest

from bciigl.recording.journal import VERSION, Journal, JournalError
from bciigl.recording.layout import JOURNAL

HEADER = {"protocol": {"name": "é"}, "folder": None}
ENTRIES = [{"trial": number, "context": [0.1 * number, -1e-300], "é": "ü"} for number in range(3)]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a journal that nobody holds."""
    write(tmp_path, *ENTRIES)
    return tmp_path


def write(folder, *entries):
    """Write a journal and let go of it."""
    journal = Journal.create(folder, HEADER)
    for entry in entries:
        journal.append(entry)
    journal.close()


def content(folder) -> list[dict]:
    """Return what a journal has, as the one who goes on with it would see it."""
    journal = Journal.reopen(folder)
    entries = list(journal.entries())
    journal.close()
    return entries


def line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_what_was_appended_is_read_again(folder):
    journal = Journal.reopen(folder)
    assert journal.path == folder / JOURNAL
    assert {name: journal.header[name] for name in HEADER} == HEADER
    assert list(journal.entries()) == ENTRIES
    assert list(journal.entries()) == ENTRIES  # from the beginning each time
    journal.append({"trial": 3})
    journal.sync()
    assert list(journal.entries()) == [*ENTRIES, {"trial": 3}]
    journal.close()
    assert content(folder) == [*ENTRIES, {"trial": 3}]


def test_line_is_on_disk_when_append_returns(tmp_path):
    journal = Journal.create(tmp_path, HEADER)
    for number, entry in enumerate(ENTRIES, start=2):
        journal.append(entry)
        # Read apart from the journal: nothing may wait in a buffer of the process.
        lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
        assert len(lines) == number
        assert json.loads(lines[-1].partition(b" ")[2]) == entry
    journal.close()


def test_half_written_last_line_is_dropped_wherever_it_was_cut(folder):
    whole = (folder / JOURNAL).read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        (folder / JOURNAL).write_bytes(whole[:cut])
        journal = Journal.reopen(folder)
        assert list(journal.entries()) == ENTRIES[:-1]
        journal.append(ENTRIES[-1])
        journal.close()
        assert (folder / JOURNAL).read_bytes() == whole


def test_last_line_that_is_damaged_is_dropped_too(folder):
    whole = (folder / JOURNAL).read_bytes()
    # A power cut may leave the file's length but not its content.
    (folder / JOURNAL).write_bytes(whole + bytes(50))
    assert content(folder) == ENTRIES
    (folder / JOURNAL).write_bytes(whole[:-10] + b"#" + whole[-9:])
    assert content(folder) == ENTRIES[:-1]


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_damage_in_the_middle_is_refused_with_the_lines_number(folder, damaged):
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    lines[damaged - 1] = lines[damaged - 1].replace(b"1", b"7")
    (folder / JOURNAL).write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=rf"journal.txt: line {damaged} is damaged"):
        Journal.reopen(folder)
    # Nothing is taken from what is there: it may still be mended.
    assert (folder / JOURNAL).read_bytes() == b"".join(lines)


def test_journal_that_was_refused_is_not_held(folder):
    whole = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(whole.replace(b'"trial":0', b'"trial":7'))
    with pytest.raises(JournalError, match="line 2 is damaged") as error:
        Journal.reopen(folder)
    (folder / JOURNAL).write_bytes(whole)
    assert content(folder) == ENTRIES
    del error  # which was there all the while, with all that it refers to


def test_line_that_lost_its_end_is_damage_in_the_middle(folder):
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(lines[0] + lines[1][:-1] + lines[2] + lines[3])
    with pytest.raises(JournalError, match="line 2 is damaged"):
        Journal.reopen(folder)


def test_journal_is_held_by_one_at_a_time(folder):
    held = Journal.reopen(folder)
    before = held.path.read_bytes()
    with pytest.raises(JournalError, match="another process is recording there") as error:
        Journal.reopen(folder)
    assert str(error.value).startswith(f"{folder}: ")
    program = (
        "import pathlib, sys; from bciigl.recording.journal import *\n"
        "try: Journal.reopen(pathlib.Path(sys.argv[1]))\n"
        "except JournalError as error: print(error)"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, folder], capture_output=True, text=True, check=True
    )
    assert other.stdout == f"{folder}: another process is recording there\n"
    assert held.path.read_bytes() == before
    held.close()
    assert content(folder) == ENTRIES


def test_new_journal_is_held_and_takes_no_others_place(tmp_path):
    held = Journal.create(tmp_path, HEADER)
    with pytest.raises(JournalError, match="another process"):
        Journal.reopen(tmp_path)
    held.append(ENTRIES[0])
    held.close()
    with pytest.raises(JournalError, match="a recording was begun there"):
        Journal.create(tmp_path, HEADER)
    assert content(tmp_path) == ENTRIES[:1]


def test_folder_without_a_journal_has_nothing_to_go_on_with(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(JournalError, match="there is no session to go on with") as error:
            Journal.reopen(folder)
        assert str(error.value).startswith(f"{folder}: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "first",
    [
        b"",
        line(b'{"version":%d}' % VERSION)[:-1],
        line(b'{"version":%d}' % (VERSION + 1)),
        line(b'{"protocol":1}'),
        line(b"[1]"),
        line(b"null"),
        line(b"{"),
        line(b""),
    ],
)
def test_journal_without_a_header_of_this_version_is_refused(tmp_path, first):
    (tmp_path / JOURNAL).write_bytes(first)
    for _ in range(2):  # what was refused is not held
        with pytest.raises(JournalError, match="this version can go on with|line 1 is damaged"):
            Journal.reopen(tmp_path)


@pytest.mark.parametrize("notes", [b"Tuesday: cats", b"Tuesday: cats\n", b"Tuesday\nWednesday\n"])
def test_file_of_that_name_that_is_no_journal_is_left_alone(tmp_path, notes):
    (tmp_path / JOURNAL).write_bytes(notes)
    with pytest.raises(JournalError):
        Journal.reopen(tmp_path)
    assert (tmp_path / JOURNAL).read_bytes() == notes


def test_journal_that_is_removed_while_it_is_opened_is_over(folder, monkeypatch):
    finished = Journal.reopen(folder)

    def lock_after_the_other_finished(file, how):
        finished.remove()
        return take(file, how)

    take = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lock_after_the_other_finished)
    with pytest.raises(JournalError, match="has just been finished"):
        Journal.reopen(folder)
    assert not list(folder.iterdir())


def test_removed_journal_is_gone_and_another_can_begin(folder):
    Journal.reopen(folder).remove()
    assert not list(folder.iterdir())
    write(folder, ENTRIES[1])
    assert content(folder) == ENTRIES[1:2]


@pytest.mark.parametrize("room", [0, 1, 40])
def test_write_that_fails_names_the_file_and_leaves_what_was_there(folder, room):
    # A limit on file sizes stands for a disk that is full; it holds for the whole process.
    program = (
        "import pathlib, resource, sys; from bciigl.recording.journal import Journal\n"
        "journal = Journal.reopen(pathlib.Path(sys.argv[1]))\n"
        "limit = journal.path.stat().st_size + int(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "try: journal.append({'context': [0.1] * 100})\n"
        "except OSError as error: print(error.filename, error.strerror, sep='\\n')"
    )
    other = subprocess.run(
        [sys.executable, "-c", program, folder, str(room)],
        capture_output=True,
        text=True,
        check=True,
    )
    name, reason = other.stdout.splitlines()
    assert name == str(folder / JOURNAL)
    assert reason in ("File too large", "No space left on device")
    assert content(folder) == ENTRIES
