"""The clock: waits at least as long as asked, and keeps how late guesses were."""

import time

import pytest

from bciigl.loop import Clock


def test_clock_waits_at_least_as_long_as_asked():
    clock = Clock()
    before = time.monotonic()
    clock.begin()
    for seconds in (0.005, 0.01, 0.02):
        clock.wait(seconds)
        assert time.monotonic() - before >= seconds


def test_time_that_has_passed_is_not_waited_for():
    clock = Clock()
    clock.begin(1e6)
    clock.wait(1e6 - 5)  # would be five days and more from the beginning
    clock.wait(-1.0)


def test_run_goes_on_from_its_middle():
    clock = Clock()
    before = time.monotonic()
    clock.begin(1000.0)
    clock.wait(1000.01)
    assert time.monotonic() - before >= 0.01


def test_each_run_begins_anew():
    clock = Clock()
    clock.begin(1e6)
    before = time.monotonic()
    clock.begin()
    clock.wait(0.01)
    assert time.monotonic() - before >= 0.01


def test_lateness_is_from_the_time_a_guess_was_due():
    clock = Clock()
    clock.begin(100.0)
    clock.note_guess(90.0)
    clock.note_guess(99.0)
    clock.note_guess(95.0)
    assert clock.lateness[0] >= 10 and clock.lateness[1] >= 1 and clock.lateness[2] >= 5
    report = clock.report()
    assert report["largest"] == max(clock.lateness)
    assert report["median"] == clock.lateness[2]
    assert all(type(each) is float for each in report.values())


def test_guess_before_its_time_is_not_late():
    clock = Clock()
    clock.begin()
    clock.note_guess(1e6)
    assert clock.lateness == [0.0]


def test_where_nothing_was_guessed_nothing_was_late():
    assert Clock().report() == pytest.approx({"median": 0.0, "largest": 0.0})
