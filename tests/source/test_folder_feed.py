"""Volumes of a watched folder: which of them are the run's, and which number they have."""

import os
import queue
import shutil
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from recordings import REGION, small

from bciigl.base.errors import BciiglError
from bciigl.source import folder, folder_feed
from bciigl.source.dicom_writer import MosaicWriter
from bciigl.source.folder_feed import FolderFeed
from bciigl.source.live import Arrival
from bciigl.source.volumes import write_nifti_volume

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
SHAPE, TR = (6, 7, 10), 1.5
AFFINE = REGION.affine


def data_of(number: int, shape=SHAPE) -> np.ndarray:
    """Return the voxels of a volume, which no other has."""
    return np.random.default_rng(number).uniform(100, 200, shape).astype(np.float32)


class Scanner:
    """Writes volumes, by number as their names count."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds = folder, 1_000_000_000

    def path(self, number: int, series: str = "bold_") -> Path:
        """Return where a volume is."""
        return self.folder / f"{series}{number:04}.nii"

    def write(self, *numbers, series="bold_", shape=SHAPE, tr=TR, offset=None, data=None) -> None:
        """Write volumes, each later than those before; the offset may depend on the number."""
        self.folder.mkdir(exist_ok=True)
        for number in numbers:
            path = self.path(number, series)
            voxels = data_of(number, shape) if data is None else data
            begins = 0.0 if offset is None else offset(number)
            write_nifti_volume(self.folder / ".hidden", voxels, AFFINE, tr, begins)
            self.put(path, (self.folder / ".hidden").read_bytes())

    def put(self, path: Path, content: bytes) -> None:
        """Have a file appear with its content, later than those before."""
        hidden = self.folder / ".hidden"
        hidden.write_bytes(content)
        self.seconds += 1
        os.utime(hidden, (self.seconds, self.seconds))
        hidden.rename(path)


class Heard:
    """What a feed gives, and what went wrong."""

    def __init__(self, feed: FolderFeed) -> None:
        self.feed, self._came = feed, queue.Queue()
        feed.take = self._came.put
        feed.fault = lambda what, number: self._came.put((number, what))

    def next(self) -> Arrival | tuple[int | None, str]:
        """Return what comes next: a volume or a fault."""
        return self._came.get(timeout=LONG)

    def number(self) -> int:
        """Return the number of the next volume, from 0."""
        return self.next().number

    def line(self) -> dict:
        """Return a journal's line about the next volume, of a run without dummies."""
        arrival = self.next()
        return {"volume": arrival.number, **arrival.about}

    def end_run(self) -> list[tuple[int | None, str]]:
        """End the run, and return the faults that have not been asked for."""
        self.feed.end_run()
        rest = [self._came.get() for _ in range(self._came.qsize())]
        return [each for each in rest if not isinstance(each, Arrival)]


@contextmanager
def feeding(scanner: Scanner, past=(), begin: bool = True, live=None, **how):
    """Give what is heard of a feed in its first run."""
    protocol = small(live={"realign": False, **(live or {})})
    feed = FolderFeed(scanner.folder, protocol, REGION, SHAPE, salt=b"salt", **how)
    heard = Heard(feed)
    try:
        if begin:
            feed.begin_run("train", 1, past)
        yield heard
    finally:
        feed.close()


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Look at folders often, so that tests take less time."""
    monkeypatch.setattr(folder, "POLL", 0.05)
    monkeypatch.setattr(folder, "SETTLE", 0.02)


@pytest.fixture
def scanner(tmp_path):
    """Give a scanner that writes to a folder."""
    found = Scanner(tmp_path / "Doe_Jane")
    found.folder.mkdir()
    return found


def test_volumes_have_the_regions_values_and_what_the_journal_needs(scanner):
    with feeding(scanner) as heard:
        for number in (1, 2):
            scanner.write(number)
            arrival = heard.next()
            assert arrival.number == number - 1
            np.testing.assert_array_equal(arrival.values, data_of(number)[REGION.index])
            assert arrival.movement is None
            assert arrival.about["changed"] == scanner.path(number).stat().st_mtime_ns
            assert len(arrival.about["data"]) == 32
            assert "bold" not in str(arrival.about)


def test_order_is_that_of_the_numbers_not_of_arrival(scanner):
    with feeding(scanner) as heard:
        for number in (2, 1, 4, 3):
            scanner.write(number)
            assert heard.number() == number - 1


def test_other_files_are_not_looked_at(scanner):
    with feeding(scanner) as heard:
        for name in (".hidden.nii", "about.json", "notes.txt", "bold_0001.nii.part", "DICOMDIR"):
            (scanner.folder / name).write_text("nothing")
        scanner.write(1)
        assert heard.number() == 0


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_count_from_0_or_from_1(scanner, first):
    with feeding(scanner) as heard:
        for index in range(3):
            scanner.write(first + index)
            assert heard.number() == index


def test_number_is_that_of_the_time_in_the_header(scanner):
    with feeding(scanner) as heard:  # names may count whatever they like
        for number in (12, 15, 14):
            scanner.write(number, offset=lambda number: (number - 10) * TR)
            assert heard.number() == number - 10


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)], ids=["in order", "out of order"])
def test_first_volume_has_no_time_that_could_be_told_from_none(scanner, first, order):
    """A header whose offset is 0 may be of the first volume, or of a tool that knows no times."""
    with feeding(scanner) as heard:
        for index in order:
            scanner.write(first + index, offset=lambda number: (number - first) * TR)
            assert heard.number() == index


def test_drained_feed_has_read_all_that_was_there(scanner):
    with feeding(scanner) as heard:
        heard.feed.drain()  # nothing
        scanner.write(*range(1, 9))
        heard.feed.drain()
        assert [heard._came.get_nowait().number for _ in range(8)] == list(range(8))


def test_simulated_scanner_that_comes_too_late_is_told_of(scanner):
    with feeding(scanner) as heard:
        (scanner.folder / "scanner.json").write_text("{}")
        number, what = heard.next()
        assert number is None
        assert what.startswith("a simulated scanner was started after the session: stop")


def test_volume_before_the_first_is_refused(scanner):
    with feeding(scanner) as heard:
        scanner.write(1)
        assert heard.number() == 0
        scanner.write(0)
        assert heard.next() == (0, "has a number below that of the first volume")
        scanner.write(5, offset=lambda number: -2 * TR)
        assert heard.next() == (-1, "has a number below that of the first volume")


def test_volume_without_a_number_is_refused(scanner):
    with feeding(scanner) as heard:
        scanner.write(1)
        assert heard.number() == 0
        scanner.path(1).rename(scanner.folder / "bold_.nii")
        assert heard.next() == (None, "has no number, in its header or its name")


def test_volumes_of_other_series_are_refused(scanner):
    with feeding(scanner) as heard:
        scanner.write(1)
        assert heard.number() == 0
        scanner.write(2, series="moco_")
        assert heard.next() == (2, "is of another series")
        scanner.write(2)
        assert heard.number() == 1


def test_protocol_says_of_which_series_volumes_are(scanner):
    with feeding(scanner, live={"series": "bold"}) as heard:
        scanner.write(1, series="localiser_")
        assert heard.next() == (1, "is of another series, not of 'bold'")
        scanner.write(1)
        assert heard.number() == 0


def test_volumes_that_do_not_fit_are_refused_and_begin_no_run(scanner):
    bad = np.full(SHAPE, np.nan)
    with feeding(scanner) as heard:
        for how, problem in [
            ({"shape": (7, 7, 10)}, "has 7 x 7 x 10 voxels, not 6 x 7 x 10; bciigl region draws"),
            ({"tr": 2.0}, "has a TR of 2 s, not of 1.5 s"),
            ({"data": bad}, "has values that are not finite"),
        ]:
            scanner.write(1, series="a_", **how)
            number, what = heard.next()
            assert number == 1
            assert what.startswith(problem)
        scanner.write(1, series="b_", tr=1.505)  # within a hundredth
        assert heard.number() == 0
        scanner.write(2, series="b_", tr=0.0)  # some do not know it
        assert heard.number() == 1


def test_series_that_was_begun_before_is_none_of_the_run(scanner):
    with feeding(scanner, live={"dummies": 3}) as heard:
        scanner.write(24)
        assert heard.next() == (24, "is of a series that was begun before")
        scanner.write(23, series="new_")  # the first ones may have been lost
        assert heard.number() == 22


def test_run_that_is_joined_may_have_any_number(scanner):
    with feeding(scanner, past=[{"zero": 1.5}]) as heard:
        scanner.write(150)
        assert heard.number() == 149


def test_files_from_before_the_session_are_old(scanner):
    scanner.write(1, 2)
    newest = scanner.path(2).stat().st_mtime_ns
    with feeding(scanner, newest=newest) as heard:
        scanner.write(1, series="new_")
        assert heard.number() == 0
        scanner.write(2)  # even if it is of an old series' name
        assert heard.next() == (2, "is of another series")


def test_series_of_earlier_runs_are_old(scanner):
    with feeding(scanner) as heard:
        scanner.write(1)
        series = heard.next().about["series"]
        heard.feed.end_run()
        heard.feed.begin_run("train", 2, ())
        scanner.write(2)  # scanned after the end
        assert heard.next() == (2, "is of another series")
        scanner.write(1, series="second_")
        assert heard.number() == 0
    with feeding(scanner, newest=scanner.seconds * 10**9, old=[series]) as heard:
        scanner.write(3)
        assert heard.next() == (3, "is of another series")


def test_volumes_that_come_before_their_run_begins_wait_for_it(scanner):
    with feeding(scanner, begin=False) as heard:
        scanner.write(1)
        heard.feed.begin_run("train", 1, ())
        assert heard.number() == 0
        heard.feed.end_run()
        scanner.write(1, 2, series="second_")
        time.sleep(0.5)  # so that they would have been read; nothing hangs on it
        assert heard._came.empty()
        heard.feed.begin_run("train", 2, ())
        assert {heard.number(), heard.number()} == {0, 1}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("timed", [False, True], ids=["by name", "by time"])
def test_resumed_run_goes_on_with_its_series(scanner, first, timed):
    offset = (lambda number: (number - first) * TR) if timed else None
    with feeding(scanner) as heard:
        scanner.write(first, offset=offset)
        past = [heard.line()]
        scanner.write(first + 1, offset=offset)
        past.append(heard.line())
    scanner.write(first + 2, offset=offset)  # while nobody was there
    scanner.write(first, series="another_")
    with feeding(scanner, past=past) as heard:
        assert heard.number() == 2
        assert heard.next() == (first, "is of another series")
        scanner.write(first + 3, offset=offset)
        assert heard.number() == 3


def test_file_that_is_half_written_is_read_when_it_is_whole(scanner, monkeypatch):
    monkeypatch.setattr(folder_feed, "GIVEN_UP", 1e6)
    scanner.write(1)
    content = scanner.path(1).read_bytes()
    scanner.path(1).unlink()
    with feeding(scanner) as heard:
        scanner.put(scanner.path(1), content[:1000])
        scanner.write(2)
        assert heard.number() == 1
        scanner.put(scanner.path(1), content)
        assert heard.number() == 0
        assert heard.end_run() == []


def test_file_that_cannot_be_read_is_given_up_once_and_taken_when_it_can(scanner, monkeypatch):
    monkeypatch.setattr(folder_feed, "GIVEN_UP", 0.0)
    scanner.write(1)
    content = scanner.path(1).read_bytes()
    scanner.path(1).unlink()
    with feeding(scanner) as heard:
        scanner.put(scanner.path(1), content[:1000])
        number, what = heard.next()
        assert number is None
        assert what.startswith("a volume cannot be read: is truncated or damaged: 1000 bytes")
        assert "Doe" not in what
        scanner.put(scanner.path(1), content[:1100])  # it grows, and is still not whole
        scanner.write(2)
        assert heard.number() == 1
        scanner.put(scanner.path(1), content)
        assert heard.number() == 0
        assert heard.end_run() == []


def test_unreadable_file_is_logged_at_the_end_of_the_run_at_last(scanner):
    with feeding(scanner) as heard:
        (scanner.folder / "bold_0001.nii").write_bytes(b"no volume")
        while not heard.feed._unreadable:
            time.sleep(0.01)
        ((number, what),) = heard.end_run()
        assert number is None
        assert what.startswith("a volume cannot be read: should be a NIfTI or DICOM")


def test_temporary_file_that_is_gone_is_no_damaged_volume(scanner):
    with feeding(scanner) as heard:
        half = scanner.folder / "copying_12"
        half.write_bytes(b"half")
        while not heard.feed._unreadable:
            time.sleep(0.01)
        half.unlink()
        assert heard.end_run() == []


def test_mosaics_are_numbered_by_their_headers(scanner):
    pytest.importorskip("pydicom")
    writers = {
        name: MosaicWriter(
            SHAPE, np.diag([3.0, 3, 3, 1]), TR, description="bold", slope=1.0, identity=name
        )
        for name in "ab"
    }
    with feeding(scanner) as heard:
        for name, series, number in [("9.dcm", "a", 3), ("10.dcm", "a", 1), ("8.dcm", "b", 2)]:
            path = scanner.folder / name
            writers[series].write(path, data_of(number), number, 40_000.0 + number)
            found = heard.next()
            if number == 3:  # the grid is not the region's
                assert "mm from where the region was drawn" in found[1]
                found = heard.next()
            if series == "a":
                assert (found.number, found.acquired) == (number - 1, 40_000.0 + number)
            else:
                assert found == (2, "is of another series")


def test_folder_that_vanishes_is_waited_for(scanner):
    with feeding(scanner) as heard:
        scanner.write(1)
        assert heard.number() == 0
        shutil.rmtree(scanner.folder)
        assert heard.next() == (None, "the folder is not there; waiting for it")
        scanner.write(2)
        assert heard.next() == (None, "the folder is there again")
        assert heard.number() == 1


def test_failure_with_one_volume_ends_nothing_and_names_nobody(scanner, caplog):
    def refuse(arrival: Arrival) -> None:
        raise OSError(28, "No space left on device", "/data/Doe_Jane/journal")

    with feeding(scanner) as heard:
        take, heard.feed.take = heard.feed.take, refuse
        scanner.write(1)
        assert heard.next() == (None, "cannot be used: No space left on device")
        heard.feed.take = take
        scanner.write(2)
        assert heard.number() == 1


def test_missing_watchdog_is_said_to_who_begins_the_session(scanner, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchdog.observers", None)
    with pytest.raises(BciiglError, match="needs watchdog"), feeding(scanner):
        pass


def test_volumes_are_not_changed(scanner):
    with feeding(scanner) as heard:
        scanner.write(1, 2, 3)
        assert {heard.number(), heard.number(), heard.number()} == {0, 1, 2}
    for number in (1, 2, 3):
        write_nifti_volume(scanner.folder / "again.nii", data_of(number), AFFINE, TR, 0.0)
        assert scanner.path(number).read_bytes() == (scanner.folder / "again.nii").read_bytes()
    assert len(list(scanner.folder.iterdir())) == 4


def test_closed_feed_has_no_thread(scanner):
    with feeding(scanner) as heard:
        pass
    assert not heard.feed._thread.is_alive()
