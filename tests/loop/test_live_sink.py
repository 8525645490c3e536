"""How a live session is kept: full disks are waited for, and no line is lost or out of order."""

import logging
import resource
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from recordings import REGION, made_up_estimates, made_up_run, small

from bciigl.estimate import UNCALIBRATED
from bciigl.loop import live_sink
from bciigl.loop.live_sink import LiveSink, PatientJournal, patiently
from bciigl.recording import open_dataset
from bciigl.recording.journal import Journal
from bciigl.recording.layout import ESTIMATES, JOURNAL
from bciigl.recording.trial import Fault, RunId, RunReport
from bciigl.source.interface import Frame, Source

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
PROTOCOL = small(task={"trials": 4})
HEADER = {"protocol": PROTOCOL.model_dump(mode="json"), "live": {"volumes": "/data/Doe_Jane"}}
PLACE = RunId("train", 1)
LINES = [{"session": "train", "run": 1, "shown": "imagination", "planned": x} for x in range(20)]


@contextmanager
def full_disk(path: Path, room: int = 0):
    """Have room for some bytes more in files of the size of this one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def journal(tmp_path):
    """Give a journal that has begun."""
    with closing(PatientJournal.create(tmp_path / "out", HEADER)) as found:
        yield found


def entries(folder: Path) -> list[dict]:
    """Return the lines of a journal that nobody holds."""
    with closing(Journal.reopen(folder)) as journal:
        return list(journal.entries())


@pytest.mark.parametrize("room", [0, 1, 40, 100, 200])
def test_lines_that_could_not_be_written_come_later_in_order(journal, room, caplog):
    journal.append(LINES[0])
    with caplog.at_level(logging.WARNING, "bciigl"), full_disk(journal.path, room):
        for line in LINES[1:10]:
            journal.append(line)
        content = journal.path.read_bytes()
        assert content.endswith(b"\n")  # no half line
        assert content.count(b"\n") < 10
    assert len(caplog.messages) == 1  # however many lines wait
    assert "nothing is lost as long as the session runs" in caplog.text
    for line in LINES[10:]:
        journal.append(line)
    journal.close()
    assert entries(journal.path.parent) == LINES


def test_disk_that_is_full_again_is_told_of_again(journal, caplog):
    for number in (0, 2):
        with full_disk(journal.path):
            journal.append(LINES[number])
        journal.append(LINES[number + 1])
    assert len(caplog.messages) == 2
    assert len(journal.faults) == 2
    assert "Doe" not in str(journal.faults)
    journal.close()
    assert entries(journal.path.parent) == LINES[:4]


def test_threads_may_append_while_the_disk_is_full(journal):
    def append(sender: int) -> None:
        for number in range(100):
            journal.append({"session": "train", "run": 1, "sender": sender, "number": number})

    threads = [threading.Thread(target=append, args=(sender,)) for sender in range(4)]
    with full_disk(journal.path, 1000):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    journal.sync()
    journal.close()
    found = entries(journal.path.parent)
    for sender in range(4):
        mine = [each["number"] for each in found if each["sender"] == sender]
        assert mine == [*range(100)]


def test_sync_waits_until_all_lines_are_written(journal, monkeypatch):
    monkeypatch.setattr(live_sink.time, "sleep", lambda seconds: freed.wait(LONG))
    freed = threading.Event()
    with full_disk(journal.path):
        for line in LINES:
            journal.append(line)
        thread = threading.Thread(target=journal.sync)
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
    freed.set()
    thread.join(LONG)
    assert not thread.is_alive()
    journal.close()
    assert entries(journal.path.parent) == LINES


def test_writing_is_tried_until_it_can_be_done(tmp_path, monkeypatch, caplog):
    path, tries = tmp_path / "file", []
    path.symlink_to("/dev/full")

    def free_some_space(seconds: float) -> None:
        tries.append(seconds)
        if len(tries) == 3:
            path.unlink()

    monkeypatch.setattr(live_sink.time, "sleep", free_some_space)
    assert patiently(lambda: path.write_text("content")) == len("content")
    assert path.read_text() == "content"
    assert len(tries) == 3
    assert len(caplog.messages) == 1
    assert "No space left on device" in caplog.text


def test_what_is_no_matter_of_disks_is_not_tried_again():
    with pytest.raises(ZeroDivisionError):
        patiently(lambda: 1 / 0)


class Scanned(Source):
    """A source of a run that is over."""

    tr, region = PROTOCOL.timing.tr, REGION
    repeatable = False
    past = ()

    def begin_run(self, session, run, frames, *, elapsed=0.0) -> None:
        """Do nothing."""

    def read(self, stop) -> list[Frame]:
        """Return nothing."""
        return []

    def elapsed(self) -> float:
        """Return a time of the run."""
        return 12.5


@pytest.fixture
def sink(journal):
    """Give where a session is kept."""
    return LiveSink(journal, PROTOCOL, Scanned())


def run_of(*faults: Fault):
    """Return a run of four trials."""
    run = made_up_run(PROTOCOL, 4, np.random.default_rng(0))
    return run._replace(truth=None, report=RunReport({0: 1.5}, None, faults))


def finish(sink: LiveSink, run) -> None:
    """Finish a session of one run."""
    sink.past(PLACE, 4)
    for number, trial in enumerate(run.trials):
        sink.keep(PLACE, number, trial)
    sink.write(PLACE, run)
    sink.write_estimates(PLACE, *made_up_estimates(run))
    sink.finish(UNCALIBRATED)


def test_journal_stays_in_the_dataset_without_its_header(sink, journal):
    journal.append(LINES[0])
    finish(sink, run_of())
    folder = journal.path.parent
    assert not journal.path.exists()
    kept = (folder / ESTIMATES / JOURNAL).read_text().splitlines()
    assert len(kept) == 6  # four trials, and that the run was written
    assert '"planned":0' in kept[0]
    assert '"trial":3' in kept[4]
    assert '"written"' in kept[5]
    assert open_dataset(folder).trials("train", 1) == 4
    for path in folder.rglob("*"):
        assert path.is_dir() or b"Doe_Jane" not in path.read_bytes()


def test_log_of_the_run_says_when_the_disk_was_full(sink, journal):
    early, late = Fault(1.0, 2, "missing when it was needed"), Fault(20.0, 9, "came late")
    with full_disk(journal.path):
        journal.append(LINES[0])
    finish(sink, run_of(early, late))
    (path,) = journal.path.parent.rglob("*_log.tsv")
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert [row[0] for row in rows] == ["seconds", "1.000", "12.500", "20.000"]
    assert rows[2][2].startswith("the dataset could not be written for a while: ")
    assert journal.faults == []


def test_what_can_wait_is_written_when_the_run_is_over(sink, journal, tmp_path):
    path = tmp_path / "reference"
    path.symlink_to("/dev/full")
    sink.attempt(lambda: path.write_text("content"))  # nobody waits for it
    path.unlink()
    sink.attempt(lambda: (tmp_path / "other").write_text("at once"))
    assert (tmp_path / "other").read_text() == "at once"
    assert not path.exists()
    finish(sink, run_of())
    assert path.read_text() == "content"


def test_dataset_that_is_gone_is_waited_for_and_not_made_anew(sink, journal, monkeypatch):
    folder, elsewhere = journal.path.parent, journal.path.parent.with_name("elsewhere")
    waited = []

    def come_back(seconds: float) -> None:
        waited.append(folder.exists())
        elsewhere.rename(folder)

    monkeypatch.setattr(live_sink.time, "sleep", come_back)
    folder.rename(elsewhere)
    sink.write(PLACE, run_of())
    assert waited == [False]
    assert next(folder.rglob("*_bold.nii.gz")).is_file()


def test_source_is_told_of_the_past_of_a_run(sink, journal):
    begun = []
    sink.begin_trial = lambda *place: begun.append(place)
    run = run_of()
    assert sink.past(PLACE, 4) == ([], False)
    journal.append(LINES[0])
    sink.decide(PLACE, 0, run.trials[0].context, run.trials[0].shown)
    sink.keep(PLACE, 0, run.trials[0])
    journal.append(LINES[1])
    assert begun == [(1, 0), (1, 1)]
    journal.close()
    with closing(PatientJournal.reopen(journal.path.parent)) as again:
        source = Scanned()
        resumed = LiveSink(again, PROTOCOL, source)
        resumed.begin_trial = lambda *place: begun.append(place)
        (trial,), finished = resumed.past(PLACE, 4)
        assert not finished
        assert trial.same_as(run.trials[0])
        assert [each for each in source.past if "shown" in each] == LINES[:2]
        assert sorted(resumed.decided) == [0]
        assert begun[-1] == (1, 1)


def test_run_that_was_written_twice_is_finished(sink, journal):
    """As it is where the disk was full when it had been written for the first time."""
    run = run_of()
    sink.past(PLACE, 4)
    for number, trial in enumerate(run.trials):
        sink.keep(PLACE, number, trial)
    for _ in range(2):
        sink.write(PLACE, run)
    journal.close()
    with closing(PatientJournal.reopen(journal.path.parent)) as again:
        past, finished = LiveSink(again, PROTOCOL, Scanned()).past(PLACE, 4)
    assert finished
    assert len(past) == 4
