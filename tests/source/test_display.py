"""Displays: what was seen, when, and that the journal has it."""

import queue
import threading
import time

import pytest

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.recording.trial import KeyPress
from bciigl.source import display as displays
from bciigl.source.channel import Listener, find_scanner
from bciigl.source.display import ClockDisplay, RehearsalDisplay

LONG = 60.0
"""Seconds that no test waits for unless it fails."""
CUE, GUESS, JUDGMENT = (
    Event("imagination", 3.0, "a"),
    Event("perception", 9.25, "b"),
    Event("judgment", 15.5, None),
)


class Screen:
    """A display by a clock that the test sets, what it has drawn, and its lines for the journal."""

    def __init__(self, draw=None) -> None:
        self.now, self.lines, self.drawn = -1.0, [], queue.Queue()
        draw = draw or self.drawn.put
        self.display = ClockDisplay(self.lines.append, lambda: self.now, draw)
        self.display.begin_run("train", 1, ())

    def onset(self, event: Event) -> float | None:
        """Return when an event was seen."""
        return self.display.onset((event.kind, event.onset))


@pytest.fixture
def screen():
    """Give a display whose clock has not begun."""
    found = Screen()
    yield found
    found.display.close()


def line(event: Event, onset: float | None) -> dict:
    return {"shown": event.kind, "planned": event.onset, "onset": onset}


def test_events_are_drawn_in_the_order_of_their_times(screen):
    for event in (JUDGMENT, CUE, GUESS):
        screen.display.show(event, 20.0)
    assert screen.drawn.empty()  # the run has not begun
    screen.now = 16.0
    assert [screen.drawn.get(timeout=LONG) for _ in range(3)] == [CUE, GUESS, JUDGMENT]
    assert [screen.onset(each) for each in (CUE, GUESS, JUDGMENT)] == [16.0] * 3
    assert screen.lines == [line(each, 16.0) for each in (CUE, GUESS, JUDGMENT)]


def test_event_is_shown_at_its_time_or_as_soon_as_possible(screen):
    screen.now = 3.0
    screen.display.show(CUE, 9.0)
    assert screen.drawn.get(timeout=LONG) == CUE
    assert screen.onset(CUE) == 3.0
    screen.now = 11.0
    screen.display.show(GUESS, 15.25)  # it was decided on late
    assert screen.onset(GUESS) == 11.0
    assert screen.lines == [line(CUE, 3.0), line(GUESS, 11.0)]


def test_event_that_is_too_late_is_not_shown(screen):
    screen.now = 9.001
    screen.display.show(CUE, 9.0)
    assert screen.onset(CUE) is None
    assert screen.drawn.empty()
    assert screen.lines == [line(CUE, None)]
    screen.now = 15.25
    screen.display.show(GUESS, 15.25)  # just in time
    assert screen.onset(GUESS) == 15.25


def test_onsets_are_in_whole_milliseconds(screen):
    screen.now = 3.12345
    screen.display.show(CUE, 9.0)
    assert screen.onset(CUE) == 3.123
    assert screen.lines == [line(CUE, 3.123)]


def test_first_word_counts_on_when_something_was_seen(screen):
    screen.now = 5.0
    screen.display.seen(("imagination", 3.0), 3.5)
    screen.display.seen(("imagination", 3.0), 4.5)
    screen.display.seen(("imagination", 3.0), None)
    assert screen.onset(CUE) == 3.5
    assert screen.lines == [line(CUE, 3.5)]


def test_one_who_asks_early_waits(screen):
    screen.now = 2.99
    found = queue.Queue()
    thread = threading.Thread(target=lambda: found.put(screen.onset(CUE)))
    screen.display.show(CUE, 9.0)
    thread.start()
    screen.now = 3.25
    assert found.get(timeout=LONG) == 3.25


def test_what_was_never_shown_is_not_waited_for(screen, monkeypatch):
    """A session that is resumed asks for all events of the past; some trials had none."""
    monkeypatch.setattr(displays, "WAIT", "not a number of seconds")
    screen.now = 100.0
    assert screen.onset(GUESS) is None
    assert screen.lines == []


def test_what_was_shown_to_no_answer_is_taken_for_not_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(displays, "WAIT", 0.0)
    lines = []
    with Listener(tmp_path, 20.0, lambda *_: None):
        display = RehearsalDisplay(lines.append, find_scanner(tmp_path))
        display.show(CUE, 9.0)
        assert display.onset(("imagination", 3.0)) is None
        assert lines == [line(CUE, None)]
        display.seen(("imagination", 3.0), 3.0)  # too late: a decision was made on it
        assert display.onset(("imagination", 3.0)) is None
        assert lines == [line(CUE, None)]
        display.close()


def test_past_of_a_run_that_is_resumed_is_known(screen):
    screen.now = 3.5
    screen.display.show(CUE, 9.0)
    screen.onset(CUE)
    screen.now = 40.0
    screen.display.show(GUESS, 15.25)
    assert screen.onset(GUESS) is None
    screen.display.pressed(15.5, KeyPress(True, 0.75))
    others = [{"zero": 1.5}, {"volume": 1}, {"fault": "x", "number": 1, "seconds": 0.0}]
    past = others + screen.lines + others
    again = Screen()
    again.display.begin_run("train", 1, past)
    again.now = 41.0
    assert (again.onset(CUE), again.onset(GUESS)) == (3.5, None)
    assert again.display.keys == {15.5: KeyPress(True, 0.75)}
    assert again.lines == []  # the journal has them already
    again.display.begin_run("train", 2, ())
    assert again.display.keys == {}
    assert again.onset(CUE) is None
    again.display.close()


def test_events_of_the_last_run_are_not_shown_in_the_next(screen):
    screen.display.show(JUDGMENT, 20.0)
    screen.display.begin_run("train", 2, ())
    screen.now = 16.0
    screen.display.show(GUESS, 16.0)
    assert screen.drawn.get(timeout=LONG) == GUESS
    assert screen.onset(GUESS) == 16.0
    assert screen.drawn.empty()


def test_keys_are_kept(screen):
    screen.display.pressed(15.5, KeyPress(False, 1.25))
    assert screen.display.keys == {15.5: KeyPress(False, 1.25)}
    assert screen.lines == [{"key": 15.5, "match": False, "seconds": 1.25}]


def test_screen_that_fails_once_shows_what_comes_next(caplog):
    drawn = queue.Queue()

    def draw(event: Event) -> None:
        if event is CUE:
            raise RuntimeError("no picture")
        drawn.put(event)

    screen = Screen(draw)
    screen.now = 10.0
    screen.display.show(CUE, 11.0)
    assert screen.onset(CUE) is None
    screen.display.show(GUESS, 11.0)
    assert drawn.get(timeout=LONG) == GUESS
    assert screen.onset(GUESS) == 10.0
    assert "cannot be shown" in caplog.text
    screen.display.close()


def test_closed_display_shows_nothing():
    before = {*threading.enumerate()}
    screen = Screen()
    (thread,) = {*threading.enumerate()} - before
    screen.display.close()
    thread.join(LONG)
    assert not thread.is_alive()
    screen.now = 3.0
    screen.display.show(CUE, 9.0)
    assert screen.drawn.empty()


@pytest.fixture
def scanner(tmp_path):
    """Give a scanner without a person: the test answers in its place."""
    heard = queue.Queue()
    with Listener(tmp_path, 20.0, lambda *message: heard.put(message)) as listener:
        listener.heard = heard
        yield listener


def test_rehearsal_shows_events_to_the_scanner(scanner, tmp_path):
    lines = []
    display = RehearsalDisplay(lines.append, find_scanner(tmp_path))
    display.begin_run("train", 2, ())
    display.show(GUESS, 15.25)
    assert [scanner.heard.get(timeout=LONG) for _ in range(3)] == [
        ("hello", {}),
        ("run", {"session": "train", "run": 2}),
        ("show", {"kind": "perception", "onset": 9.25, "content": "b", "run": 2, "latest": 15.25}),
    ]
    scanner.send(
        "shown", run=1, kind="perception", planned=9.25, onset=1.0
    )  # of a run that is over
    scanner.send("shown", run=2, kind="perception", planned=9.25, onset=9.5)
    assert display.onset(("perception", 9.25)) == 9.5
    scanner.send("key", planned=15.5, match=True, seconds=0.5)
    display.show(JUDGMENT, 16.0)
    scanner.send("shown", run=2, kind="judgment", planned=15.5, onset=None)
    assert display.onset(("judgment", 15.5)) is None
    assert display.keys == {15.5: KeyPress(True, 0.5)}
    assert lines == [
        line(GUESS, 9.5),
        {"key": 15.5, "match": True, "seconds": 0.5},
        line(JUDGMENT, None),
    ]
    display.close()
    assert [scanner.heard.get(timeout=LONG)[0] for _ in range(2)] == ["show", "closed"]


def test_nothing_is_seen_without_a_scanner(scanner, tmp_path, monkeypatch):
    monkeypatch.setattr(displays, "WAIT", "not a number of seconds")
    gone = RehearsalDisplay([].append, find_scanner(tmp_path))
    scanner.heard.get(timeout=LONG)
    scanner.connection.close()
    while gone._scanner.open:
        threading.Event().wait(0.01)
    never = RehearsalDisplay([].append, None)
    for display in (gone, never):
        with pytest.raises(BciiglError, match="scanner has stopped: there are no volumes to come"):
            display.begin_run("train", 1, ())
        display.begin_run("train", 1, [{"zero": 1.5}])  # what is in the folder is caught up on
        display.show(CUE, 9.0)
        assert display.onset(("imagination", 3.0)) is None
        display.close()


def test_scanner_that_goes_is_not_waited_for(scanner, tmp_path, monkeypatch):
    monkeypatch.setattr(displays, "WAIT", 1e6)
    display, found = RehearsalDisplay([].append, find_scanner(tmp_path)), queue.Queue()
    display.show(CUE, 9.0)

    def ask() -> None:
        found.put(display.onset(("imagination", 3.0)))

    threading.Thread(target=ask, daemon=True).start()
    while scanner.heard.get(timeout=LONG)[0] != "show":
        pass
    scanner.connection.close()
    assert found.get(timeout=LONG) is None


def test_in_a_fast_rehearsal_events_are_shown_when_they_are_due():
    began, shown = time.monotonic(), queue.Queue()
    elapsed = lambda: 10 * (time.monotonic() - began)  # noqa: E731
    display = ClockDisplay([].append, elapsed, lambda event: shown.put(elapsed()), speed=10.0)
    display.show(CUE, 100.0)  # planned at 3 s
    at = shown.get(timeout=LONG)
    display.close()
    # Looked for once a second of this computer's, it would be shown at 10 s.
    assert 3.0 <= at < 9.0
