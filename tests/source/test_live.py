"""The source of live sessions: what it gives, when it stops waiting, and what the journal has."""

import base64
import json
import queue
import threading
import time

import numpy as np
import pytest
from recordings import REGION, small

from bciigl.brain.events import Event
from bciigl.recording.dataset import MOST_LATE
from bciigl.recording.trial import KeyPress
from bciigl.source.display import ClockDisplay
from bciigl.source.live import Arrival, Feed, LiveSource
from bciigl.source.live_person import LivePerson
from bciigl.testing import check_source

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
LENGTH, TR = 8, 0.1


class GivenFeed(Feed):
    """A feed of volumes that the test gives it."""

    def __init__(self) -> None:
        self.begun, self.running, self.closed = [], False, False

    def begin_run(self, session, run, past) -> None:
        """Take down what it is told."""
        self.begun.append((session, run, list(past)))
        self.running = True

    def end_run(self) -> None:
        """Take that down, too."""
        self.running = False

    def close(self) -> None:
        """Take that down, too."""
        self.closed = True

    def give(self, *numbers: int, **how: object) -> None:
        """Give volumes by number from 0, dummies first."""
        for number in numbers:
            self.take(Arrival(number, values_of(number), **how))


def values_of(number: int) -> np.ndarray:
    """Return what a volume has in the region, which is not as round in 32 bits."""
    return 1000 + np.random.default_rng(number).standard_normal(len(REGION))


class Session:
    """A live source in its first run, a feed, and its lines of the journal."""

    def __init__(
        self, *, speed: float | None = None, tr: float = TR, past=(), begun: bool = True, **live
    ) -> None:
        sections = {"timing": {"tr": tr}, "live": {"deadline": 1.0, **live}}
        self.lines, self.feed = [], GivenFeed()
        self.source = LiveSource(
            small(**sections),
            REGION,
            self.feed,
            lambda keep, elapsed: ClockDisplay(keep, elapsed, lambda event: None),
            keep=self.keep,
            speed=speed,
        )
        self.source.past = past
        if begun:
            self.source.begin_run("train", 1, LENGTH)

    def keep(self, session: str, run: int, line: dict) -> None:
        """Take down a line as the journal would."""
        self.lines.append(json.loads(json.dumps({"session": session, "run": run, **line})))

    def about(self, key: str) -> list:
        """Return what the lines have under a key."""
        return [line[key] for line in self.lines if key in line]

    def faults(self) -> list[tuple[int | None, str]]:
        """Return what went wrong, by volume, as the journal has it."""
        return [(line["number"], line["fault"]) for line in self.lines if "fault" in line]


@pytest.fixture
def patient():
    """Give a session that waits as long as it takes."""
    return Session(deadline=20.0, speed=0.01)


def indices(frames) -> list[tuple[int, str]]:
    return [(each.index, each.status) for each in frames]


def test_frames_are_given_once_in_order_as_they_came(patient):
    patient.feed.give(0, 2, 1, 3)  # out of order
    first = patient.source.read(3)
    assert indices(first) == [(0, "ok"), (1, "ok"), (2, "ok")]
    for frame in first:
        np.testing.assert_array_equal(frame.values, np.float32(values_of(frame.index)))
        assert frame.acquired == (frame.index + 1) * TR <= frame.arrived
    assert patient.source.read(3) == []
    assert indices(patient.source.read(4)) == [(3, "ok")]
    patient.feed.give(4, 5, 6, 7)
    assert indices(patient.source.read(100)) == [(each, "ok") for each in range(4, 8)]
    assert patient.source.read(100) == []
    assert patient.about("volume") == [0, 2, 1, 3, 4, 5, 6, 7]
    assert patient.faults() == [(2, "came after a later one")]


def test_frames_are_waited_for(patient):
    def give() -> None:
        for number in range(LENGTH):
            patient.feed.give(number)

    thread = threading.Timer(0.1, give)
    thread.start()
    assert indices(patient.source.read(LENGTH)) == [(each, "ok") for each in range(LENGTH)]
    thread.join()


def test_lost_frame_is_missing_and_late_when_it_comes():
    session = Session()
    session.feed.give(0, 1, 3, 4)
    frames = session.source.read(5)
    assert indices(frames) == [(0, "ok"), (1, "ok"), (2, "missing"), (3, "ok"), (4, "ok")]
    assert frames[2].values is None
    session.feed.give(2, 5)
    frames = session.source.read(6)
    assert indices(frames) == [(2, "late"), (5, "ok")]
    np.testing.assert_array_equal(frames[0].values, np.float32(values_of(2)))
    assert frames[0].arrived > frames[0].acquired
    assert indices(session.source.read(6)) == []
    assert session.faults() == [(3, "missing when it was needed"), (3, "came late")]
    assert [(each.volume, each.what) for each in session.source.report().faults] == session.faults()


def test_late_frames_are_given_at_the_next_call_whatever_it_asks_for():
    session = Session()
    session.feed.give(0, 3)
    session.source.read(4)
    session.feed.give(2, 1)
    assert indices(session.source.read(4)) == [(1, "late"), (2, "late")]


def test_scanner_that_stops_does_not_hold_up_the_session():
    session = Session()
    session.feed.give(0, 1)
    frames = session.source.read(LENGTH)
    assert indices(frames) == [(0, "ok"), (1, "ok")] + [(each, "missing") for each in range(2, 8)]
    assert sorted(session.source.report().arrived) == [0, 1]


def test_first_frames_may_be_lost():
    session = Session()
    session.feed.give(2)
    assert indices(session.source.read(3)) == [(0, "missing"), (1, "missing"), (2, "ok")]


def test_volume_with_a_wrong_number_does_not_make_others_lost():
    session, found = Session(tr=4.0, deadline=0.02), queue.Queue()
    session.feed.give(0, 7)
    thread = threading.Thread(target=lambda: found.put(session.source.read(2)), daemon=True)
    thread.start()
    thread.join(0.3)  # more than the deadline, but the next volume is due in four seconds
    assert found.empty()
    session.feed.give(1)
    assert indices(found.get(timeout=LONG)) == [(0, "ok"), (1, "ok")]


def test_displays_and_feeds_do_not_wait_for_each_other():
    session = Session()
    zero = session.source._zero = time.monotonic()

    def see() -> None:
        for number in range(2000):
            session.source.display.seen(("imagination", float(number)), 0.0)

    def set_clock() -> None:
        for _ in range(2000):
            with session.source._changed:
                session.source._set_zero(zero)

    threads = [threading.Thread(target=each, daemon=True) for each in (see, set_clock)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    assert len([line for line in session.lines if "begun" not in line]) == 4000


def test_first_volume_is_waited_for_without_a_limit():
    session, found = Session(), queue.Queue()
    thread = threading.Thread(target=lambda: found.put(session.source.read(1)), daemon=True)
    thread.start()
    thread.join(0.5)  # five times the deadline
    assert found.empty()
    session.feed.give(0)
    assert indices(found.get(timeout=LONG)) == [(0, "ok")]


def test_duplicates_are_ignored_and_logged(patient):
    patient.feed.give(0, 1)
    patient.feed.take(Arrival(1, np.zeros(len(REGION))))
    np.testing.assert_array_equal(patient.source.read(2)[1].values, np.float32(values_of(1)))
    patient.feed.give(0)
    assert patient.source.read(2) == []
    assert patient.faults() == [(2, "is a duplicate"), (1, "is a duplicate")]
    assert patient.about("volume") == [0, 1]


def test_volume_that_has_changed_in_its_file_is_given_anew():
    session = Session()
    session.feed.give(0, 1, 1, again=True)
    session.source.read(2)
    session.feed.take(Arrival(1, np.arange(5.0), again=True))
    (frame,) = session.source.read(2)
    assert indices([frame]) == [(1, "late")]
    np.testing.assert_array_equal(frame.values, np.arange(5.0))
    assert session.faults() == [(2, "is a duplicate"), (2, "has changed since it was read")]
    assert session.about("volume") == [0, 1, 1]
    again = Session(past=session.lines)
    np.testing.assert_array_equal(again.source.read(2)[1].values, np.arange(5.0))


def test_volumes_after_the_end_are_ignored_and_logged(patient):
    patient.feed.give(*range(LENGTH))
    clock = patient.source.elapsed()
    patient.feed.give(LENGTH, LENGTH + 1000)
    assert clock <= patient.source.elapsed() < clock + TR  # it does not jump
    assert len(patient.source.read(1000)) == LENGTH
    assert patient.faults() == [
        (LENGTH + 1, "came after the end of the run"),
        (LENGTH + 1001, "came after the end of the run"),
    ]


def test_volume_after_the_end_does_not_change_the_time():
    session = Session()
    session.feed.give(0)
    before = session.about("zero")
    session.feed.give(LENGTH + 1000)
    assert session.about("zero") == before
    assert session.source.elapsed() < 1000 * TR


def test_dummies_are_not_given():
    session = Session(dummies=3)
    session.feed.give(0, 1, 2, 3, 5)
    frames = session.source.read(3)
    assert indices(frames) == [(0, "ok"), (1, "missing"), (2, "ok")]
    np.testing.assert_array_equal(frames[0].values, np.float32(values_of(3)))
    assert session.about("volume") == [0, 2]
    session.feed.give(4, 5, 3 + LENGTH)
    # Numbers are those of the scanner, which counts dummies.
    assert session.faults() == [
        (5, "missing when it was needed"),
        (5, "came late"),
        (6, "is a duplicate"),
        (4 + LENGTH, "came after the end of the run"),
    ]


def test_line_of_a_volume_has_all_that_is_known(patient):
    moved = np.array([0.12345678, 0, -1.5, 1e-7, 0, 0.02])
    patient.feed.give(0, movement=moved, about={"data": "d", "series": "s"})
    (line,) = [each for each in patient.lines if "volume" in each]
    assert (line["session"], line["run"], line["volume"]) == ("train", 1, 0)
    assert (line["data"], line["series"]) == ("d", "s")
    found = np.frombuffer(base64.b64decode(line["values"]), "<f4")
    np.testing.assert_array_equal(found, np.float32(values_of(0)))
    assert line["movement"] == [0.123457, 0.0, -1.5, 0.0, 0.0, 0.02]
    (frame,) = patient.source.read(1)
    np.testing.assert_array_equal(frame.movement, line["movement"])


def test_volume_is_in_the_journal_before_it_is_given():
    kept = threading.Event()

    def keep(*_: object) -> None:
        assert not session.source._frames
        kept.set()

    session = Session()
    session.source._keep_line = keep
    session.feed.give(0)
    assert kept.is_set()


def test_report_has_arrivals_and_movement():
    session = Session()
    session.feed.give(0, 2, movement=np.full(6, 0.25))
    session.feed.give(3)
    session.source.read(LENGTH)
    report = session.source.report()
    assert sorted(report.arrived) == [0, 2, 3]
    assert report.movement.shape == (LENGTH, 6)
    assert np.flatnonzero(np.isfinite(report.movement).all(axis=1)).tolist() == [0, 2]
    assert not session.feed.running


def test_head_that_nobody_measured_has_no_movement(patient):
    patient.feed.give(0)
    assert patient.source.report().movement is None


def test_nothing_is_journalled_after_the_report(patient):
    patient.feed.give(0, 1)
    patient.source.report()
    before = len(patient.lines)
    patient.feed.give(2, 1, LENGTH)
    patient.feed.fault("something", None)
    patient.source.display.seen(("imagination", 1.0), 1.0)
    patient.source.display.pressed(1.0, KeyPress(True, 0.5))
    patient.source.trigger()
    assert len(patient.lines) == before
    patient.source.begin_run("train", 2, LENGTH)
    patient.feed.give(0)
    assert indices(patient.source.read(1)) == [(0, "ok")]
    assert patient.lines[-1]["run"] == 2
    assert patient.source.report().faults == ()


@pytest.mark.parametrize("way", ["fault", "seen"])
def test_report_waits_for_a_line_that_is_being_written(patient, way):
    """A line after the run is written would make it look as if it had not been."""
    began, go, order = threading.Event(), threading.Event(), []

    def keep(*_: object) -> None:
        began.set()
        go.wait(LONG)
        order.append("line")

    patient.source._keep_line = keep
    write = {
        "fault": lambda: patient.feed.fault("something", None),
        "seen": lambda: patient.source.display.seen(("imagination", 1.0), 1.0),
    }[way]
    writes = threading.Thread(target=write)
    writes.start()
    assert began.wait(LONG)
    reports = threading.Thread(target=lambda: (patient.source.report(), order.append("report")))
    reports.start()
    reports.join(0.1)
    go.set()
    for thread in (writes, reports):
        thread.join(LONG)
    assert order == ["line", "report"]


def test_resumed_run_has_what_the_journal_has():
    session = Session(dummies=1)
    moved = np.random.default_rng(0).standard_normal(6)
    session.feed.give(1, 2, 4, movement=moved)
    session.source.read(4)
    session.feed.give(3)
    before = session.source.report()
    again = Session(dummies=1, past=session.lines, begun=False)
    again.source.begin_run("train", 1, LENGTH)
    assert again.feed.begun == [("train", 1, session.lines)]
    assert again.lines == []
    frames = again.source.read(4)
    # Given anew; the one that was late before still is.
    assert indices(frames) == [(0, "ok"), (1, "ok"), (2, "late"), (3, "ok")]
    for frame in frames:
        np.testing.assert_array_equal(frame.values, np.float32(values_of(frame.index + 1)))
        if frame.index != 2:
            np.testing.assert_array_equal(frame.movement, moved.round(6))
    after = again.source.report()
    assert after.faults == before.faults
    np.testing.assert_array_equal(after.movement, before.movement)
    assert after.arrived == pytest.approx(before.arrived, abs=0.0006)
    assert abs(again.source.elapsed() - session.source.elapsed()) < 1.0


def test_past_is_that_of_one_run():
    session = Session()
    session.feed.give(0, 1)
    again = Session(past=session.lines)
    again.source.begin_run("train", 2, LENGTH)
    again.feed.give(0)
    assert indices(again.source.read(1)) == [(0, "ok")]
    assert again.feed.begun[-1] == ("train", 2, [])
    assert again.faults() == []


def test_frame_that_stays_missing_is_logged_once_however_often_the_run_is_resumed(monkeypatch):
    monkeypatch.setattr("bciigl.source.live.JOINING", 0.0)
    lines = []
    for _ in range(3):
        session = Session(past=lines)
        if not lines:
            session.feed.give(0, 2)
        assert indices(session.source.read(3)) == [(0, "ok"), (1, "missing"), (2, "ok")]
        lines = lines + session.lines
    missing = [(each.volume, each.what) for each in session.source.report().faults]
    assert missing == [(2, "missing when it was needed")]
    assert sum("fault" in each for each in lines) == 1


def test_volumes_of_before_are_duplicates_when_a_run_is_resumed():
    session = Session()
    session.feed.give(0, 1)
    again = Session(past=session.lines)
    again.feed.give(1, 2)
    assert again.faults() == [(2, "is a duplicate")]
    assert again.about("volume") == [2]


def test_first_volume_sets_the_clock():
    session = Session()
    assert session.source.elapsed() < 0
    session.feed.give(3)
    assert session.source.elapsed() >= 4 * TR
    (zero,) = session.about("zero")
    assert abs(time.time() - session.source.elapsed() - zero) < 1.0


def test_trigger_sets_the_clock_once():
    session = Session(trigger="key", dummies=100, begun=False)
    session.source.trigger()  # nobody waits for it
    assert session.source.elapsed() == -1.0
    session.source.begin_run("train", 1, LENGTH)
    session.source.trigger()
    assert -100 * TR <= session.source.elapsed() < 0  # dummies come first
    zero = session.source._zero = session.source._zero - 101 * TR  # as if time had passed
    session.source.trigger()
    session.feed.give(100)
    assert session.source._zero == zero
    assert len(session.about("zero")) == 1
    assert session.faults() == []


def test_trigger_that_comes_too_late_is_corrected_by_volumes():
    session = Session(trigger="key")
    session.source.trigger()
    for number in range(4):  # they were scanned before
        session.feed.give(number)
    assert session.source.elapsed() == pytest.approx(4 * TR, abs=TR / 2 + 0.5)
    assert {what for _, what in session.faults()} == {
        "came before the trigger says it could: using its time"
    }


def test_volumes_without_a_trigger_set_the_clock_with_a_warning():
    session = Session(trigger="key")
    session.feed.give(0)
    session.source.trigger()
    assert len(session.about("zero")) == 1
    assert session.faults() == [
        (None, "volumes arrive, but no trigger has: using the first volume")
    ]


def test_clock_of_a_rehearsal_goes_by_its_volumes():
    session = Session(speed=0.001)  # so slow that only volumes make time pass
    session.feed.give(0, 1)
    assert 2 * TR <= session.source.elapsed() < 3 * TR
    session.feed.give(5)
    assert 6 * TR <= session.source.elapsed() < 7 * TR
    session.feed.give(3)  # late: time does not go back
    assert 6 * TR <= session.source.elapsed() < 7 * TR


def test_drift_is_logged():
    session = Session()
    for number in range(3):
        session.feed.take(Arrival(number, values_of(number), acquired=80_000 + number))
    assert session.faults()[0] == (2, "was acquired 0.90 s later than its number and the TR say")


def test_events_may_be_late_until_the_recording_would_not_take_them():
    session = Session()
    latest = []
    session.source.display.show = lambda event, until: latest.append(until)
    session.source.announce(Event("imagination", 2.0, None))
    # Rounded to the millisecond, it must be less late than a dataset may say.
    assert MOST_LATE * TR - 0.002 < latest[0] - 2.0 < MOST_LATE * TR - 0.0005


def test_onset_is_what_the_display_says():
    session = Session()
    session.source.display.seen(("perception", 2.0), 2.25)
    session.source._zero = time.monotonic() - 3.0
    assert session.source.onset(Event("perception", 2.0, "a")) == 2.25
    assert session.source.onset(Event("perception", 2.5, "a")) is None


def test_closing_ends_the_feed():
    session = Session()
    session.source.close()
    assert session.feed.closed


class WholeFeed(GivenFeed):
    """A feed that gives all volumes of a run at once, in a thread."""

    def begin_run(self, session, run, past) -> None:
        """Give all volumes."""
        threading.Thread(target=lambda: self.give(*range(2000)), daemon=True).start()


def test_live_source_is_one():
    session = Session(begun=False)
    feed = WholeFeed()
    feed.take, feed.fault = session.feed.take, session.feed.fault
    session.source.feed = feed
    check_source(session.source, session.source.protocol)


def person(session: str = "train", run: int = 1, seed: int = 0, **catch) -> LivePerson:
    """Return somebody with many trials."""
    protocol = small(task={"catch": catch}, seed=seed, human={"key_press": True})
    display = Session(begun=False).source.display
    return LivePerson(protocol, 200, session, run, display)


def test_person_is_cued_in_catch_trials_only():
    who = person(share=0.25, match_rate=0.5)
    catch = [trial for trial in range(200) if who.shown(trial) is not None]
    assert 30 < len(catch) < 70
    matches = 0
    for trial in range(200):
        cue, shown = who.imagine(trial).content, who.shown(trial)
        assert (cue is not None) == (trial in catch)
        if shown is not None:
            assert shown[1:] == (1 / 3, False, True)
            matches += cue == "abc"[shown.action]
    assert 0.3 < matches / len(catch) < 0.7
    assert {who.imagine(trial).content for trial in catch} == {*"abc"}
    assert who.truth([0] * 200) is None


def test_cues_are_those_of_the_seed_and_the_run():
    def cues(*given, **named) -> list:
        who = person(*given, share=0.5, match_rate=0.5, **named)
        return [(who.imagine(trial), who.shown(trial)) for trial in range(200)]

    assert cues() == cues()
    assert len({str(each) for each in (cues(), cues(run=2), cues(seed=1))}) == 3
    assert all(shown is None for _, shown in cues("test"))


def test_keys_are_those_of_the_display():
    who = person()
    onset = float(who.when.onsets["judgment"][3])
    who._display.pressed(onset, KeyPress(True, 0.5))
    assert who.key(3, 0) == KeyPress(True, 0.5)
    assert who.key(4, 0) is None
