"""Triggers begin runs, once each; keys answer judgments; all is left as it was."""

import logging
import os
import sys
import termios
import time
import uuid
from contextlib import contextmanager

import numpy as np
import pytest
from recordings import REGION, small

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.recording.trial import KeyPress
from bciigl.source.display import ClockDisplay
from bciigl.source.live import Arrival, Feed, LiveSource
from bciigl.source.lsl import load_pylsl
from bciigl.source.triggers import Triggers, check_trigger

WAIT = 20.0
"""Seconds after which a test has failed."""


class Silent(Feed):
    """Volumes that a test gives."""

    def begin_run(self, session, run, past) -> None:
        """Wait for the test."""

    def close(self) -> None:
        """Leave."""


def source_of(speed=None, **sections) -> LiveSource:
    """Return a source in its first run, and its display, which nothing is shown on."""
    lines = []
    source = LiveSource(
        small(**sections),
        REGION,
        Silent(),
        lambda keep, elapsed: ClockDisplay(keep, elapsed, lambda event: None),
        keep=lambda session, run, line: lines.append(line),
        speed=speed,
    )
    source.lines = lines
    source.begin_run("train", 1, 20)
    return source


def arrive(source: LiveSource, number: int = 0) -> None:
    source.feed.take(Arrival(number, np.zeros(len(REGION)), about={"series": "1"}))


def zeros(source: LiveSource) -> int:
    return sum("zero" in line for line in source.lines)


def until(condition) -> None:
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@contextmanager
def terminal(monkeypatch):
    """Give the far end of a terminal that is standard input."""
    far, near = os.openpty()
    with os.fdopen(near) as standard:
        monkeypatch.setattr(sys, "stdin", standard)
        yield far
    os.close(far)


@contextmanager
def pipe(monkeypatch):
    """Give the far end of a pipe that is standard input; the test closes it."""
    near, far = os.pipe()
    with os.fdopen(near) as standard:
        monkeypatch.setattr(sys, "stdin", standard)
        yield far


def press_last(far: int, keys: bytes, triggers: Triggers) -> None:
    """Press keys after which there are no more, and wait until all have been heard."""
    os.write(far, keys)
    os.close(far)
    triggers._threads[0].join(WAIT)
    assert not triggers._threads[0].is_alive()


KEY = {"trigger": "key", "trigger_from": "5"}


def test_a_key_begins_a_run_and_the_terminal_is_left_as_it_was(monkeypatch):
    with terminal(monkeypatch) as far:
        before = termios.tcgetattr(sys.stdin.fileno())
        source = source_of(live=KEY)
        with Triggers() as triggers:
            triggers.begin(source)
            now = termios.tcgetattr(sys.stdin.fileno())
            assert not now[3] & (termios.ICANON | termios.ECHO)  # keys come at once, unseen
            assert now[3] & termios.ISIG  # Ctrl-C still works
            assert source.elapsed() < 0
            os.write(far, b"5")  # no newline
            until(lambda: source.elapsed() >= 0)
        assert termios.tcgetattr(sys.stdin.fileno()) == before
        assert zeros(source) == 1
        assert source.report().faults == ()


def test_the_terminal_is_left_as_it_was_if_the_session_fails(monkeypatch):
    with terminal(monkeypatch):
        before = termios.tcgetattr(sys.stdin.fileno())
        with pytest.raises(RuntimeError), Triggers() as triggers:
            triggers.begin(source_of(live=KEY))
            raise RuntimeError
        assert termios.tcgetattr(sys.stdin.fileno()) == before


def test_other_keys_and_the_end_of_the_input_begin_nothing(monkeypatch, caplog):
    with pipe(monkeypatch) as far, Triggers() as triggers:
        source = source_of(live=KEY)
        triggers.begin(source)
        with caplog.at_level(logging.WARNING, "bciigl"):
            press_last(far, "4\n6 ä\x00\xff".encode(), triggers)
        assert source.elapsed() < 0
        assert "nothing more can come from keys" in caplog.text


def test_dummies_come_before_time_zero(monkeypatch):
    with pipe(monkeypatch) as far, Triggers() as triggers:
        source = source_of(live={**KEY, "dummies": 100}, timing={"tr": 2.0})
        triggers.begin(source)
        press_last(far, b"5", triggers)
        assert -200 <= source.elapsed() < WAIT - 200


def test_a_run_begins_when_its_key_was_pressed():
    source = source_of(live=KEY)
    with Triggers() as triggers:
        triggers._source = source  # keys of the screen alone
        before = time.monotonic()
        triggers.press("5", ago=0.8)
        assert source._zero == pytest.approx(before - 0.8, abs=0.2)


def test_pulses_of_every_volume_do_not_begin_the_next_run(monkeypatch):
    with pipe(monkeypatch) as far, Triggers() as triggers:
        source = source_of(live=KEY)
        source.tr = 1000.0
        triggers.begin(source)
        os.write(far, b"555")
        until(lambda: zeros(source) == 1)
        source.report()
        source.begin_run("train", 2, 20)
        press_last(far, b"555", triggers)  # still of the run before, as two TRs have not passed
        assert (source.elapsed(), zeros(source)) == (-1.0, 1)


def test_each_run_has_its_trigger(monkeypatch):
    with pipe(monkeypatch) as far, Triggers() as triggers:
        source = source_of(live=KEY)
        source.tr = 1e-6
        triggers.begin(source)
        for run in (1, 2, 3):
            source.begin_run("train", run, 20)
            assert source.elapsed() < 0
            os.write(far, b"5")
            until(lambda: source.elapsed() >= 0)
            first = source._zero
            source.trigger()  # a later one
            assert source._zero == first
            source.report()
        os.close(far)
    assert zeros(source) == 3


def test_a_byte_at_a_serial_port_begins_a_run_and_the_port_is_left_as_it_was():
    far, near = os.openpty()
    path, before = os.ttyname(near), termios.tcgetattr(near)
    source = source_of(live={"trigger": "serial", "trigger_from": path})
    with Triggers() as triggers:
        triggers.begin(source)
        assert not termios.tcgetattr(near)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)
        os.write(far, b"\x03")  # would interrupt, were it a terminal
        until(lambda: source.elapsed() >= 0)
    assert termios.tcgetattr(near) == before
    os.close(near)
    os.close(far)


def test_a_port_that_is_unplugged_does_not_end_the_session(caplog):
    far, near = os.openpty()
    source = source_of(live={"trigger": "serial", "trigger_from": os.ttyname(near)})
    os.close(near)
    with Triggers() as triggers:
        triggers.begin(source)
        with caplog.at_level(logging.WARNING, "bciigl"):
            os.close(far)
            triggers._threads[0].join(WAIT)
        assert "nothing more can come from the serial port" in caplog.text
        arrive(source)
        assert source.elapsed() >= source.tr


def test_an_lsl_marker_begins_a_run():
    pytest.importorskip("pylsl")
    pylsl, name = load_pylsl(), str(uuid.uuid4())
    stream = pylsl.StreamOutlet(pylsl.StreamInfo(name, "Markers", 1, 0.0, "string", name))
    source = source_of(live={"trigger": "lsl", "trigger_from": name})
    with Triggers() as triggers:
        triggers.begin(source)
        assert stream.wait_for_consumers(WAIT)
        assert source.elapsed() < 0
        stream.push_sample(["scanner"])
        until(lambda: source.elapsed() >= 0)


def test_volumes_set_no_clock_that_a_trigger_has_set():
    source = source_of(live=KEY, timing={"tr": 2.0})
    source.trigger()
    zero = source._zero = source._zero - 6.0  # as if time had passed
    for number in range(3):
        arrive(source, number)
    assert (source._zero, source.report().faults) == (zero, ())


def test_where_no_trigger_comes_the_first_volume_is_used_and_that_is_told(caplog):
    source = source_of(live={**KEY, "dummies": 1}, timing={"tr": 2.0})
    with caplog.at_level(logging.WARNING, "bciigl"):
        arrive(source, 0)
    assert 0.0 <= source.elapsed() < WAIT  # the dummy was complete at 0
    zero = source._zero
    source.trigger()  # too late
    assert source._zero == zero
    (fault,) = source.report().faults
    assert fault.what == "volumes arrive, but no trigger has: using the first volume"
    assert caplog.text.count("no trigger has") == 1


def test_in_a_rehearsal_the_volumes_keep_the_time_and_nothing_is_opened(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    live = {"trigger": "serial", "trigger_from": "/dev/none"}
    source = source_of(speed=20.0, live=live, human={"key_press": True})
    with Triggers() as triggers:
        triggers.begin(source)
        assert triggers._threads == []
        arrive(source)
    assert source.elapsed() >= source.tr
    assert source.report().faults == ()


JUDGMENT = Event("judgment", 30.0, None)


def answered(monkeypatch, keys: bytes, *drawn: Event, **human) -> dict[float, KeyPress]:
    """Return the answers to the events that were drawn, the last of which keys were pressed at."""
    with pipe(monkeypatch) as far:
        shown = []
        with Triggers(shown.append) as triggers:
            source = source_of(live=KEY, human={"key_press": True, **human})
            triggers.begin(source)
            source._set_zero(time.monotonic() - 40.0)
            for event in drawn:
                triggers.draw(event)
            press_last(far, keys, triggers)
    assert shown == list(drawn)
    keys = [line for line in source.lines if "key" in line]
    assert [(line["key"], line["match"]) for line in keys] == [
        (planned, key.match) for planned, key in source.display.keys.items()
    ]
    return source.display.keys


@pytest.mark.parametrize(("keys", "match"), [(b"1", True), (b"2", False), (b"x2112", False)])
def test_the_first_key_of_a_judgment_is_its_answer(monkeypatch, keys, match):
    (planned, key), *more = answered(monkeypatch, keys, JUDGMENT).items()
    assert (planned, key.match, more) == (30.0, match, [])
    assert 0 <= key.seconds < WAIT  # since it was seen, at 40, not since it was planned


@pytest.mark.parametrize(
    "drawn", [(), (Event("perception", 28.0, "a"),), (JUDGMENT, Event("imagination", 34.0, None))]
)
def test_keys_at_other_times_are_no_answers(monkeypatch, drawn):
    assert answered(monkeypatch, b"12", *drawn) == {}


def test_keys_are_no_answers_where_the_protocol_asks_for_none(monkeypatch):
    assert answered(monkeypatch, b"12", JUDGMENT, key_press=False) == {}


def test_a_key_between_runs_is_no_answer_of_the_next_one(monkeypatch):
    with pipe(monkeypatch) as far, Triggers() as triggers:
        source = source_of(live=KEY, human={"key_press": True})
        triggers.begin(source)
        source._set_zero(time.monotonic() - 40.0)
        triggers.draw(JUDGMENT)
        source.report()
        source.begin_run("train", 2, 20)
        press_last(far, b"1", triggers)
        assert source.display.keys == {}


@pytest.mark.parametrize(
    ("live", "words"),
    [
        ({"trigger": "key", "trigger_from": "space"}, "live.trigger_from should be a key"),
        ({"answers": ["left", "2"]}, "live.answers.0 should be a key, one character, got 'left'"),
        ({"trigger": "serial", "trigger_from": "/dev/none"}, "cannot be opened: No such file"),
        ({"trigger": "serial", "trigger_from": __file__}, "is no serial port"),
        ({"trigger": "lsl", "trigger_from": "it's"}, "name of an LSL stream"),
    ],
)
def test_what_cannot_be_had_is_refused(live, words):
    with pytest.raises(BciiglError, match=words):
        check_trigger(small(live=live, human={"key_press": True}))


def test_keys_need_an_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BciiglError, match="standard input, which is closed"):
        check_trigger(small(live=KEY))
    check_trigger(small())
