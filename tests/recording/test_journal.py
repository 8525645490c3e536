"""The journal: whatever happens, all but the last line is there."""

import fcntl
import json
import resource
import shutil
import signal
import zlib
from multiprocessing import get_context

import pytest

from bciigl.recording.journal import VERSION, Journal, JournalError
from bciigl.recording.layout import JOURNAL, POLICY

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


def elsewhere(function, *arguments):
    """Return what a function returns in another process."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(function, arguments)


def refused(folder) -> str:
    """Return why a journal cannot be opened."""
    with pytest.raises(JournalError) as error:
        Journal.reopen(folder)
    return str(error.value)


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


def test_damage_in_the_middle_is_refused_with_the_lines_number(folder):
    whole = (folder / JOURNAL).read_bytes()
    for damaged in (1, 2, 3):
        lines = whole.splitlines(keepends=True)
        lines[damaged - 1] = lines[damaged - 1].replace(b"1", b"7").replace(b"2", b"7")
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
    assert elsewhere(refused, folder) == f"{folder}: another process is recording there"
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


def test_folder_without_a_journal_has_nothing_to_resume(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(JournalError, match="there is no session to resume") as error:
            Journal.reopen(folder)
        assert str(error.value).startswith(f"{folder}: ")
    assert not list(tmp_path.iterdir())


def test_what_is_no_journal_of_this_version_is_refused_and_left_alone(tmp_path):
    for content, message in [
        (b"", "this version can resume"),
        (line(b'{"version":%d}' % VERSION)[:-1], "line 1 is damaged"),
        (line(b'{"version":%d}' % (VERSION + 1)), "this version can resume"),
        (line(b'{"version":1}') + line(b'{"trial":0}'), "begun by bciigl 0.1: resume it with that"),
        (line(b'{"version":2}'), "begun by bciigl 0.2: resume it with that"),
        (line(b'{"protocol":1}'), "this version can resume"),
        (line(b"[1]"), "line 1 is damaged"),
        (line(b"null"), "line 1 is damaged"),
        (line(b"{"), "line 1 is damaged"),
        (line(b""), "line 1 is damaged"),
        (b"Tuesday: cats", "line 1 is damaged"),
        (b"Tuesday\nWednesday\n", "line 1 is damaged"),
    ]:
        (tmp_path / JOURNAL).write_bytes(content)
        for _ in range(2):  # what was refused is not held
            with pytest.raises(JournalError, match=message) as error:
                Journal.reopen(tmp_path)
            assert str(tmp_path / JOURNAL) in str(error.value), content
        assert (tmp_path / JOURNAL).read_bytes() == content


def test_what_a_killed_recording_left_before_its_journal_is_begun_again(tmp_path):
    left = [
        POLICY / "learner.json",
        POLICY / "learner.npz",
        POLICY.parent / ".policy.0123456789abcdef.tmp" / "learner.npz",
        POLICY.parent / ".policy.0123456789abcdef.tmp" / ".77.tmp.learner.json",
        f".0123456789abcdef.tmp.{JOURNAL}",
    ]
    for name in left:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half of a fi")

    def prepare() -> None:
        assert not list(tmp_path.iterdir())
        (tmp_path / "mine").touch()

    Journal.create(tmp_path, HEADER, prepare).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [JOURNAL, "mine"]
    # Where preparing fails, as where it is killed, there is no journal.
    shutil.rmtree(tmp_path)
    with pytest.raises(ZeroDivisionError):
        Journal.create(tmp_path, HEADER, lambda: 1 / 0)
    Journal.create(tmp_path, HEADER).close()


def test_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    for number, name in enumerate(
        [
            "notes.txt",
            "derivatives/notes.txt",
            f"{POLICY.parent}/protocol.yaml",
            "sub-01/x",
            ".git/x",
        ]
    ):
        folder = tmp_path / str(number)
        for each in (name, POLICY / "learner.json", f".12.tmp.{JOURNAL}"):
            (folder / each).parent.mkdir(parents=True, exist_ok=True)
            (folder / each).write_text("x")
        before = sorted(folder.rglob("*"))
        with pytest.raises(FileExistsError, match="exists already and is not an empty folder"):
            Journal.create(folder, HEADER)
        assert sorted(folder.rglob("*")) == before, name


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


def write_with_little_room(folder) -> list[OSError]:
    """Append to a journal where a limit on file sizes stands for a disk that is full."""
    journal, errors = Journal.reopen(folder), []
    size, most = journal.path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for room in (0, 1, 40):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, most))
        with pytest.raises(OSError) as error:
            journal.append({"context": [0.1] * 100})
        errors.append((error.value.filename, error.value.strerror))
    return errors


def test_write_that_fails_names_the_file_and_leaves_what_was_there(folder):
    for name, reason in elsewhere(write_with_little_room, folder):
        assert name == str(folder / JOURNAL)
        assert reason in ("File too large", "No space left on device")
    assert content(folder) == ENTRIES
