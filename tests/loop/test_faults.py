"""Live sessions whose volumes are lost, late, damaged or not theirs, and whose disks fail."""

import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from faults import (
    Told,
    after,
    after_the_next,
    also,
    completed,
    copied,
    fill,
    in_pieces,
    late,
    missing,
    never_completed,
    not_finite,
    other_series,
    other_shape,
    other_tr,
    packed,
    packed_and_truncated,
    small_disk,
    truncated,
    twice,
    vanishing,
)
from faulty_sessions import assert_same, holds, log, random_plan, rehearse, statuses, without
from recordings import REGION, small
from rehearsals import short
from watchdog.observers import Observer

from bciigl.estimate import contexts, feedback
from bciigl.loop.live import REFERENCE
from bciigl.protocol import load
from bciigl.protocol.timetable import timetable
from bciigl.source.display import ClockDisplay
from bciigl.source.folder import FolderWatcher
from bciigl.source.folder_feed import FolderFeed
from bciigl.source.live import Arrival, Feed, LiveSource
from bciigl.source.volumes import VolumeError, VolumeReader, write_nifti_volume
from bciigl.study.session_results import learn_and_keep

PROTOCOL = short()
FRAMES = 28
GUESS, NEXT_GUESS = holds(PROTOCOL, 2)
"""Volumes before which the session has read, or given up, all others."""
NEEDED, LATE, OTHER = "missing when it was needed", "came late", "is of another series"
WAITED = "the dataset could not be written for a while: "


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Return a function that sets how long lost volumes are waited for: no pause is a loss."""

    def wait(seconds: float) -> None:
        monkeypatch.setattr("bciigl.source.live.SHORTEST_WAIT", seconds)

    wait(1.0)
    return wait


@pytest.mark.slow
def test_missing_and_late_volumes_cost_no_more_than_what_they_would_have_told(tmp_path):
    plan = {(1, 10): missing, (1, GUESS - 1): late(GUESS), (2, 14): missing, (2, 15): missing}
    live = rehearse(PROTOCOL, tmp_path, plan)
    lost = {(1, 10): None, (1, GUESS - 1): GUESS, (2, 14): None, (2, 15): None}
    assert_same(live, without(PROTOCOL, tmp_path / "expected", lost), 2)
    assert statuses(live, 1) == {10: "missing", GUESS - 1: "late"}
    assert log(live, 1) == [("10", NEEDED), (f"{GUESS - 1}", LATE), (f"{GUESS - 1}", NEEDED)]
    assert log(live, 2) == [("14", NEEDED), ("15", NEEDED)]


@pytest.mark.slow
def test_volumes_that_cannot_be_used_are_missing_and_each_is_logged(tmp_path):
    faults = [truncated, packed_and_truncated, never_completed, other_shape, not_finite, other_tr]
    plan = {(1, number): fault for number, fault in enumerate([*faults, other_series], start=2)}
    plan |= {(1, GUESS - 1): completed(GUESS), (2, FRAMES): truncated}
    live = rehearse(PROTOCOL, tmp_path, plan)
    lost = dict.fromkeys(plan) | {(1, GUESS - 1): GUESS}
    assert_same(live, without(PROTOCOL, tmp_path / "expected", lost), 2)
    numbers = [*range(2, 9), GUESS - 1]
    found = log(live, 1)
    assert [each for each in found if each[1] == NEEDED] == sorted(
        (f"{number}", NEEDED) for number in numbers
    )
    others = [each for each in found if each[1] != NEEDED and each[0] != "n/a"]
    assert others == [
        (f"{GUESS - 1}", LATE),
        (
            "5",
            "has 53 x 63 x 45 voxels, not 53 x 63 x 46; bciigl region draws a region in its space",
        ),
        ("6", "has values that are not finite"),
        ("7", "has a TR of 0.7 s, not of 1.5 s"),
        ("8", OTHER),
    ]
    unreadable = [what for number, what in found if number == "n/a"]
    assert len(unreadable) == 3
    assert all("a volume cannot be read: is truncated" in what for what in unreadable)
    assert [each[0] for each in log(live, 2)] == [f"{FRAMES}", "n/a"]


def test_volumes_that_come_oddly_but_whole_cost_nothing(tmp_path, patience):
    patience(10.0)
    faults = [copied, after_the_next, packed, in_pieces(0.3), also(other_series)]
    faults += [also(other_shape), also(other_tr), twice(GUESS)]
    plan = {(1, number): fault for number, fault in enumerate(faults, start=2)}
    # A file from a computer whose clock is wrong does not make volumes old.
    (tmp_path / "volumes").mkdir()
    (tmp_path / "volumes" / "notes.txt").touch()
    os.utime(tmp_path / "volumes" / "notes.txt", (4e9, 4e9))
    live = rehearse(PROTOCOL, tmp_path, plan)
    assert_same(live, without(PROTOCOL, tmp_path / "expected", {}), 2)
    assert log(live, 1) == [
        ("2", "is a duplicate"),
        ("3", "came after a later one"),
        ("6", OTHER),
        (
            "7",
            "has 53 x 63 x 45 voxels, not 53 x 63 x 46; bciigl region draws a region in its space",
        ),
        ("8", "has a TR of 0.7 s, not of 1.5 s"),
        ("9", "is a duplicate"),
    ]
    assert log(live, 2) == []


@pytest.mark.slow
def test_file_that_had_its_size_before_its_content_is_read_again(tmp_path, patience):
    patience(10.0)
    # So long that it is taken for whole in between.
    plan = {(1, 10): in_pieces(0.7, allocated=True)}
    live = rehearse(PROTOCOL, tmp_path, plan)
    assert_same(live, without(PROTOCOL, tmp_path / "expected", {}), 2)
    assert log(live, 1) in ([], [("10", "has changed since it was read")])


@pytest.mark.slow
def test_run_keeps_to_the_series_that_began_first(tmp_path, patience):
    patience(10.0)
    plan = {(run, number): also(other_series) for run in (1, 2) for number in range(1, FRAMES + 1)}
    live = rehearse(PROTOCOL, tmp_path, plan)
    assert_same(live, without(PROTOCOL, tmp_path / "expected", {}), 2)
    for run in (1, 2):
        # That of the last volume comes when the run is over.
        assert {(f"{number}", OTHER) for number in range(1, FRAMES)} <= set(log(live, run))


@pytest.mark.slow
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "kept"])
def test_folder_that_vanishes_is_waited_for(tmp_path, lost):
    with Told() as told:
        plan = {(1, GUESS): vanishing(told, NEXT_GUESS, lost=lost)}
        live = rehearse(PROTOCOL, tmp_path, plan)
    away = range(GUESS, NEXT_GUESS)
    gone = {(1, number): None if lost else NEXT_GUESS for number in away}
    assert_same(live, without(PROTOCOL, tmp_path / "expected", gone), 2)
    expected = [(f"{number}", NEEDED) for number in away]
    expected += [] if lost else [(f"{number}", LATE) for number in away]
    expected += [("n/a", "the folder is not there; waiting for it")]
    assert log(live, 1) == sorted([*expected, ("n/a", "the folder is there again")])


@pytest.mark.slow
def test_mosaics_that_cannot_be_used_are_missing_and_each_is_logged(tmp_path):
    faults = [truncated, never_completed, other_series, copied, after_the_next]
    plan = {(1, number): fault for number, fault in enumerate(faults, start=2)}
    live = rehearse(PROTOCOL, tmp_path, plan, "dicom")
    expected = without(PROTOCOL, tmp_path / "expected", dict.fromkeys([(1, 2), (1, 3), (1, 4)]))
    for run in (1, 2):
        found, frames = live.frames("train", run), expected.frames("train", run)
        # Mosaics hold multiples of their slope: for this subject, 1/16.
        assert np.allclose(found, frames, rtol=0, atol=1 / 32, equal_nan=True)
        assert statuses(live, run) == statuses(expected, run)
    found = log(live, 1)
    assert found[:-2] == [
        *(("2", NEEDED), ("3", NEEDED), ("4", OTHER), ("4", NEEDED)),
        *(("5", "is a duplicate"), ("6", "came after a later one")),
    ]
    assert all("a volume cannot be read: is truncated" in what for _, what in found[-2:])


@pytest.mark.slow
@pytest.mark.parametrize("realign", [False, True])
def test_full_disk_is_waited_for_and_nothing_is_lost(tmp_path, patience, realign):
    patience(10.0)
    protocol = short(live__realign=realign)
    with small_disk(tmp_path / "disk") as disk, Told() as told:

        def free() -> None:
            # While volumes come, and again when the run is over.
            told.wait("No space left", 3 if realign else 2)
            (disk / "ballast").unlink()

        threading.Thread(target=free, daemon=True).start()
        plan = {(1, 1): after(lambda: fill(disk))}
        live = rehearse(protocol, tmp_path, plan, out=disk / "out")
        waits = [each for each in log(live, 1) if each[1].startswith(WAITED + "No space")]
        assert len(waits) == (3 if realign else 2)
        assert log(live, 2) == []
        expected = without(PROTOCOL, tmp_path / "expected", {})
        if realign:
            assert (disk / "out" / REFERENCE).exists()
            assert np.isfinite(live.frames("train", 1)).all()
            assert live.events("train", 1) == expected.events("train", 1)
        else:
            assert_same(live, expected, 2)


@pytest.mark.slow
def test_dataset_whose_folder_vanishes_is_waited_for(tmp_path, patience):
    patience(10.0)
    out, away = tmp_path / "out", tmp_path / "away"
    with Told() as told:

        def bring_back() -> None:
            told.wait("No such file")
            away.rename(out)

        threading.Thread(target=bring_back, daemon=True).start()
        live = rehearse(PROTOCOL, tmp_path, {(1, 10): after(lambda: out.rename(away))})
    assert_same(live, without(PROTOCOL, tmp_path / "expected", {}), 2)
    assert log(live, 1) == [("n/a", f"{WAITED}No such file or directory")]


@pytest.fixture
def feed(tmp_path):
    """Give the feed of a run on small volumes, with what it has given in a list."""
    found = FolderFeed(tmp_path, small(live={"realign": False}), REGION, (8, 8, 10))
    found.taken, found.faults = [], []
    found.take = found.taken.append
    found.fault = lambda *fault: found.faults.append(fault)
    found.begin_run("train", 1, [])
    yield found
    found.close()


def write_small(folder, number):
    """Write a small volume."""
    volume = np.full((8, 8, 10), number)
    path, offset = folder / f"v_{number}.nii", 1.5 * (number - 1)
    write_nifti_volume(path, volume, REGION.affine, 1.5, offset)


def wait_until(true):
    """Wait for something to become true."""
    for _ in range(3000):
        if true():
            return
        threading.Event().wait(0.01)
    pytest.fail("nothing happens")


@pytest.mark.slow
def test_file_that_is_found_by_looking_is_named_when_it_stays_the_same(tmp_path, monkeypatch):
    """It may have its full size before its content, and a look may come in between."""

    def refused(*_, **__):
        raise OSError("no more watches")

    monkeypatch.setattr(Observer, "schedule", refused)
    monkeypatch.setattr("bciigl.source.folder.SETTLE", 1.0)
    (tmp_path / "volume").write_bytes(bytes(1000))
    with FolderWatcher(tmp_path) as watcher:
        assert watcher.next(0.0) is None
        (tmp_path / "volume").write_bytes(bytes(500) + b"1" * 500)
        assert watcher.next(60.0) == tmp_path / "volume"
        assert watcher.next(0.0) is None


def test_run_does_not_end_while_a_volume_is_read(feed, tmp_path):
    """Its volume would be one of the next run."""
    reads, go = threading.Event(), threading.Event()
    feed.take = lambda arrival: (reads.set(), go.wait(60))
    write_small(tmp_path, 1)
    assert reads.wait(60)
    ends = threading.Thread(target=feed.end_run)
    ends.start()
    ends.join(0.1)
    assert ends.is_alive()
    go.set()
    ends.join(60)
    assert not ends.is_alive()


def test_file_that_another_program_keeps_to_itself_is_read_when_it_lets_go(
    feed, tmp_path, monkeypatch
):
    read, refused = VolumeReader.read, []

    def busy(reader, path):
        if len(refused) < 2:
            refused.append(path)
            raise VolumeError(f"{path}: cannot be read: Permission denied")
        return read(reader, path)

    monkeypatch.setattr(VolumeReader, "read", busy)
    write_small(tmp_path, 1)
    wait_until(lambda: feed.taken)
    assert len(refused) == 2
    feed.end_run()
    assert feed.faults == []


def test_file_that_was_gone_for_a_moment_is_read_when_it_is_back(feed, tmp_path, monkeypatch):
    """It is as it was when it was found, so nothing tells of it but the folder itself."""
    read, away = VolumeReader.read, tmp_path.with_name("away")

    def gone(reader, path):
        monkeypatch.setattr(VolumeReader, "read", read)
        path.rename(away)
        raise FileNotFoundError(path)

    monkeypatch.setattr(VolumeReader, "read", gone)
    write_small(tmp_path, 1)
    wait_until(away.exists)
    away.rename(tmp_path / "v_1.nii")
    wait_until(lambda: feed.taken)


class GivenFeed(Feed):
    """A feed of what the test gives."""

    begin_run = close = lambda *_: None


class AtScanner:
    """A source at a scanner whose volumes, and whose time, the test gives; the TR is 0.1 s."""

    def __init__(self, monkeypatch):
        self.now, self.feed = 100.0, GivenFeed()
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: 1e9)
        monkeypatch.setattr("bciigl.source.live.time", clock)
        protocol = small(timing={"tr": 0.1})

        def display(keep, elapsed):
            return ClockDisplay(keep, elapsed, lambda event: None)

        self.source = LiveSource(protocol, REGION, self.feed, display)
        self.source.begin_run("train", 1, 200)

    def give(self, *numbers):
        """Give volumes by number from 0."""
        for number in numbers:
            self.feed.take(Arrival(number, np.zeros(len(REGION))))

    def read(self, stop):
        """Return the status of each frame, which must be there or lost by now."""
        found = []
        thread = threading.Thread(target=lambda: found.extend(self.source.read(stop)), daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive(), "it waits"
        return [frame.status for frame in found]


def test_volume_with_a_wrong_number_neither_sets_the_clock_nor_makes_others_lost(monkeypatch):
    scanner = AtScanner(monkeypatch)
    scanner.give(0, 150)
    scanner.now = 100.25  # when only the third volume is to come
    assert scanner.source.elapsed() == pytest.approx(0.35)
    come = threading.Timer(0.3, lambda: scanner.give(1, 2))
    come.start()
    assert scanner.read(3) == ["ok"] * 3
    come.join()
    scanner.source.close()


def test_decisions_wait_no_longer_than_the_deadline_whatever_comes_in_between(monkeypatch):
    scanner = AtScanner(monkeypatch)
    for number in (0, 1, 2, 4):
        scanner.now = 100 + 0.1 * number
        scanner.give(number)
    scanner.now += 0.001
    assert scanner.read(4) == ["ok", "ok", "ok", "missing"]
    scanner.source.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1))
def test_faults_of_all_kinds_cost_no_more_than_the_frames_that_they_lose(tmp_path, seed):
    protocol = short(task__trials=20, task__trials_per_run=20, brain__noise=0.1, seed=seed)
    plan, lost = random_plan(protocol, 20, 0.1, np.random.default_rng(seed))
    live = rehearse(protocol, tmp_path, plan)
    assert_same(live, without(protocol, tmp_path / "expected", lost), 1)
    logged = {int(number) for number, _ in log(live) if number != "n/a"}
    assert {number for _, number in lost} <= logged


@pytest.mark.slow
def test_realigned_sessions_lose_what_was_lost_and_nothing_else(tmp_path):
    protocol = short(live__realign=True, brain__noise=0.1)
    plan = {(1, 5): truncated, (1, GUESS - 1): late(GUESS), (2, 1): missing, (2, 14): missing}
    for each in ("whole", "lossy"):
        (tmp_path / each).mkdir()
    whole = rehearse(protocol, tmp_path / "whole", {}, motion=0.5)
    lossy = rehearse(protocol, tmp_path / "lossy", plan, motion=0.5)
    for run, lost in ((1, [4]), (2, [0, 13])):
        frames, movement = whole.frames("train", run), whole.movement("train", run)
        frames[lost] = movement[lost] = np.nan
        assert np.array_equal(lossy.frames("train", run), frames, equal_nan=True)
        assert np.array_equal(lossy.movement("train", run), movement, equal_nan=True)
        assert lossy.events("train", run) == whole.events("train", run)
        given = (frames, protocol, lossy.calibration, whole.timetable("train", run))
        name = f"*_run-{run:02}_estimates.npz"
        found = np.load(next(lossy.folder.rglob(name)))
        assert np.array_equal(found["context"], contexts(*given), equal_nan=True)
        assert np.array_equal(found["feedback"], feedback(*given), equal_nan=True)


@pytest.mark.slow
def test_with_a_twentieth_of_the_frames_missing_as_much_is_learned(tmp_path):
    changes = {"task.trials": 150, "task.trials_per_run": 50, "evaluation.test_trials": 100}
    changes |= {"timing.isi": 3.0, "brain.noise": 0.1, "brain.region.size": 3}
    falls = []
    for seed in range(5):
        protocol = load("number_guessing", changes=changes | {"learners": ["ai_igl"], "seed": seed})
        frames, rng = timetable(protocol, 50).frames(1.5), np.random.default_rng(seed)
        lost = {
            (run, int(number) + 1): None
            for run in (1, 2, 3)
            for number in rng.choice(frames, round(0.05 * frames), replace=False)
        }
        whole, lossy = (
            learn_and_keep(without(protocol, tmp_path / f"{seed} {len(each)}", each))[1][0].accuracy
            for each in ({}, lost)
        )
        falls.append(whole - lossy)
    # Measured over ten: a gain of one point, with a standard error of one; so of 1.4 over five.
    assert np.mean(falls) < 3.2
