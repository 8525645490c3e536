"""What the participant sees, when a page says that it was seen, and what it never shows."""

import json
import queue
import threading

import pytest
from page_clients import WAIT, until
from recordings import small

from bciigl.base.errors import BciiglError
from bciigl.brain.events import Event
from bciigl.live import screen as screens
from bciigl.live.screen import ParticipantScreen
from bciigl.protocol import Protocol
from bciigl.protocol.timetable import timetable
from bciigl.source.display import NotSeenError

OPTIONS = ["apple", "brick", "cloud"]
PNG, GIF = b"\x89PNG\r\n\x1a\n" + bytes(20), b"GIF89a" + bytes(20)
FAST = 1e6
"""Of a session in which events are over at once."""


def protocol_of(**sections) -> Protocol:
    """Return an experiment of runs of four and three trials."""
    return small(task={"options": OPTIONS, **sections.pop("task", {})}, **sections)


def screen_of(speed: float = 0.01, folder="", **sections) -> ParticipantScreen:
    """Return a screen on which, by default, no event is over while a test runs."""
    return ParticipantScreen(protocol_of(**sections), speed, folder)


def event(screen: ParticipantScreen, kind: str, content=None, trial: int = 0) -> Event:
    """Return an event of a trial of the first run."""
    onsets = timetable(screen.protocol, 4, "train", 1).onsets
    return Event(kind, float(onsets[kind][trial]), content)


def shown(screen: ParticipantScreen, *names: str) -> tuple:
    found = screen.snapshot()
    return tuple(found[name] for name in names or ("view", "text"))


class Page:
    """A page that says it has drawn each view, some milliseconds after it came."""

    def __init__(self, screen: ParticipantScreen, delay: float = 10.0, visible: bool = True):
        self._screen, self._delay, self._known = screen, delay, 0
        screen.opened(self)
        self.say(visible=visible)
        screen.changed = self.draw

    def say(self, **message) -> None:
        """Send a message."""
        self._screen.heard(self, json.loads(json.dumps(message)))

    def draw(self) -> None:
        """Say later that the present view was seen."""
        number = self._screen.snapshot()["id"]

        def answer() -> None:
            self._screen.sending(self)
            self.say(seen=number, delay=self._delay)

        threading.Timer(0.03, answer).start()


WORDS = {
    "instructions": "One of {options}; {match_key} or {mismatch_key}; {runs} runs",
    "imagine": "think! {trial} of {trials}, run {run}",
    "imagine_cued": "think of {option}!",
    "guess": "{option}, trial {trial}?",
    "judge": "was it {option}, {match_key} or {mismatch_key}?",
    "rest": "rest after {run} of {runs}",
    "paused": "a break in run {run}",
    "goodbye": "bye",
}


def test_a_session_is_shown_in_the_protocol_s_own_words():
    screen = screen_of(screen=WORDS)
    words = "One of apple, brick, cloud; 1 or 2; "
    assert shown(screen) == ("instructions", f"{words}{{runs}} runs")
    screen.begin_run(1)
    assert shown(screen) == ("instructions", f"{words}2 runs")
    screen.fixate()
    assert shown(screen) == ("fixation", "")
    screen.mirror(event(screen, "imagination", trial=1))
    assert shown(screen) == ("imagine", "think! 2 of 4, run 1")
    screen.mirror(event(screen, "imagination", "cloud"))
    assert shown(screen) == ("imagine", "think of cloud!")
    screen.mirror(event(screen, "perception", "brick", trial=3))
    assert shown(screen) == ("guess", "brick, trial 4?")
    screen.mirror(event(screen, "judgment"))
    assert shown(screen) == ("judge", "was it brick, 1 or 2?")
    screen.fixate()
    screen.pause(True, running=True)
    assert shown(screen) == ("paused", "a break in run 1")
    screen.pause(False, running=True)
    assert shown(screen) == ("fixation", "")
    screen.begin_run(2)
    assert shown(screen) == ("rest", "rest after 2 of 2")
    screen.pause(True, running=False)
    assert shown(screen) == ("paused", "a break in run 2")
    screen.pause(False, running=False)
    assert shown(screen) == ("rest", "rest after 2 of 2")
    screen.finish()
    assert shown(screen) == ("over", "bye")


def test_runs_are_counted_where_nothing_is_to_be_done():
    screen = screen_of()
    screen.begin_run(2)
    assert shown(screen, "small") == ("Part 2 of 2",)
    screen.pause(True, running=False)
    assert shown(screen, "small") == ("Part 2 of 2",)
    for kind, content in (("imagination", None), ("perception", "apple"), ("judgment", None)):
        screen.mirror(event(screen, kind, content))
        assert shown(screen, "small") == ("",)
    screen.fixate()
    assert shown(screen, "small") == ("",)
    screen.begin_run(1, "test")  # a simulation that is watched has such runs, too
    assert shown(screen, "small") == ("Part 1 of 1",)


def test_pages_learn_how_all_is_to_look_and_which_keys_count():
    look = {"language": "de", "font_size": 8, "text_colour": "#ffff00", "background": "#000080"}
    told = screen_of(screen=look).snapshot()
    assert told["look"] == {
        "language": "de",
        "font_size": 8,
        "text": "#ffff00",
        "background": "#000080",
    }
    assert told["keys"] == []  # answers are in thought, and volumes begin runs
    live = {"trigger": "key", "trigger_from": "t", "answers": ["a", "b"]}
    assert screen_of(live=live).snapshot()["keys"] == ["t"]
    both = screen_of(live=live, human={"key_press": True}).snapshot()
    assert both["keys"] == ["t", "a", "b"]
    json.dumps(both, allow_nan=False)


def test_options_are_shown_by_their_images(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "c.gif").write_bytes(GIF)
    images = {"apple": "a.png", "cloud": "c.gif"}
    screen = screen_of(folder=tmp_path, screen={"images": images})
    assert list(screen.images.values()) == [("image/png", PNG), ("image/gif", GIF)]
    assert shown(screen, "images") == (["/images/0", "/images/1"],)
    screen.mirror(event(screen, "imagination"))
    assert shown(screen, "image") == (None,)
    screen.mirror(event(screen, "imagination", "apple"))  # a cue
    assert shown(screen, "image", "text") == ("/images/0", "Imagine: apple")
    screen.mirror(event(screen, "perception", "cloud"))
    assert shown(screen, "image") == ("/images/1",)
    screen.mirror(event(screen, "perception", "brick"))
    assert shown(screen, "image", "text") == (None, "Guess: brick")
    # Of a recording, whose images are not beside it, names are shown.
    again = screen_of(folder=None, screen={"images": images})
    again.mirror(event(again, "perception", "cloud"))
    assert shown(again, "image", "text") == (None, "Guess: cloud")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file or directory"), (b"<svg/>", "is no PNG, JPEG or GIF image")],
)
def test_images_that_cannot_be_shown_are_refused_before_a_session(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(BciiglError, match=f"screen.images.apple: .*a.png.*{reason}"):
        screen_of(folder=tmp_path, screen={"images": {"apple": "a.png"}})


DESIGNS = {
    "asked later": {},
    "together": {"timing": {"together": True}},
    "not seen first": {"task": {"events": ["imagination", "judgment"]}},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_a_judgment_never_shows_what_was_imagined_or_judged(tmp_path, design):
    (tmp_path / "c.png").write_bytes(PNG)
    sections = {"screen": {"images": {"cloud": "c.png"}}, **DESIGNS[design]}
    screen = screen_of(folder=tmp_path, **sections)
    screen.begin_run(1)
    screen.guess = "apple"
    views = []
    # What the events of simulated people are about is the truth.
    for content in (None, "cloud", "brick", True, False):
        screen.mirror(event(screen, "judgment", content))
        view = screen.snapshot()
        del view["id"]
        views.append(view)
    assert all(view == views[0] for view in views)
    assert "cloud" not in views[0]["text"] and "brick" not in views[0]["text"]
    assert ("apple" in views[0]["text"]) == (design != "asked later")


class Clock:
    """A clock that the test sets, in place of this computer's."""

    def __init__(self, monkeypatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(screens.time, "monotonic", lambda: self.now)


def test_an_event_is_seen_when_it_was_sent_and_half_the_way_there_and_back_and_drawn(monkeypatch):
    screen, clock = screen_of(), Clock(monkeypatch)
    screen.opened("page")
    screen.heard("page", {"visible": True})

    def answer() -> None:
        clock.now += 0.25  # the server was busy
        screen.sending("page")
        clock.now += 0.5
        screen.heard("page", {"seen": screen.snapshot()["id"], "delay": 10.0})

    screen.changed = answer
    assert screen.draw(event(screen, "imagination")) == pytest.approx(0.26)
    screen.round_trip("page", 0.03)
    screen.round_trip("page", 0.004)  # the fastest counts
    screen.round_trip("page", 0.02)
    assert screen.draw(event(screen, "perception", "apple")) == pytest.approx(0.262)


def test_no_page_has_seen_an_event_later_than_it_said_so():
    screen = screen_of()
    Page(screen, delay=90_000.0)
    assert screen.draw(event(screen, "imagination")) < WAIT


def test_an_event_is_seen_when_the_last_of_several_pages_has_drawn_it(monkeypatch):
    monkeypatch.setattr(screens, "ANSWER", 0.02)
    screen, clock = screen_of(), Clock(monkeypatch)
    for page in ("hidden", "one", "other"):
        screen.opened(page)
        screen.heard(page, {"visible": page != "hidden"})
    answers = {"hidden": 9, "one": 5, "other": 2}

    def say() -> None:
        for page in answers:
            screen.sending(page)
        clock.now += 1
        for page, delay in answers.items():
            screen.heard(page, {"seen": screen.snapshot()["id"], "delay": delay})

    screen.changed = say
    assert screen.draw(event(screen, "imagination")) == pytest.approx(0.005)
    # Perhaps it is the silent one that the person looks at.
    del answers["one"]
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "perception", "apple"))


def test_an_event_that_is_shown_when_a_break_begins_is_shown_to_its_end():
    screen = screen_of(speed=20.0)  # it is over in a tenth of a second
    screen.mirror(event(screen, "perception", "apple"))
    screen.pause(True, running=True)
    assert shown(screen) == ("guess", "Guess: apple")
    until(lambda: shown(screen, "view") == ("paused",))
    screen.pause(False, running=True)
    assert shown(screen, "view") == ("fixation",)
    screen.mirror(event(screen, "judgment"))
    for paused in (True, False):
        screen.pause(paused, running=True)
        assert shown(screen, "view") == ("judge",)
    until(lambda: shown(screen, "view") == ("fixation",))


def test_without_a_page_that_can_be_seen_nothing_is_seen(monkeypatch):
    monkeypatch.setattr(screens, "ANSWER", "not a number of seconds")  # nobody is waited for
    screen = screen_of()
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "imagination"))
    page = Page(screen, visible=False)
    assert not screen.visible
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "perception", "apple"))
    assert shown(screen) == ("guess", "Guess: apple")  # all the same, for who opens it now
    page.say(visible=True)
    screen.left(page)
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "judgment"))


def test_a_page_that_does_not_answer_has_not_shown_anything(monkeypatch):
    monkeypatch.setattr(screens, "ANSWER", 0.02)
    screen = screen_of()
    screen.opened("page")
    screen.heard("page", {"visible": True})
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "imagination"))


@pytest.mark.parametrize("how", ["hidden", "closed"])
def test_a_page_that_goes_while_it_draws_is_not_waited_for(monkeypatch, how):
    monkeypatch.setattr(screens, "ANSWER", 1e6)
    screen, found = screen_of(), queue.Queue()
    screen.opened("page")
    screen.heard("page", {"visible": True})

    def draw() -> None:
        with pytest.raises(NotSeenError):
            screen.draw(event(screen, "imagination"))
        found.put(True)

    threading.Thread(target=draw, daemon=True).start()
    until(lambda: screen.snapshot()["view"] == "imagine")
    if how == "hidden":
        screen.heard("page", {"visible": False})
    else:
        screen.left("page")
    assert found.get(timeout=WAIT)


def test_words_about_other_views_and_of_strangers_do_not_count(monkeypatch):
    monkeypatch.setattr(screens, "ANSWER", 0.02)
    screen = screen_of()
    screen.opened("page")
    screen.heard("page", {"visible": True})

    def draw() -> None:
        number = screen.snapshot()["id"]
        screen.heard("page", {"seen": number - 1, "delay": 1})
        screen.heard("page", {"seen": number + 1, "delay": 1})
        screen.heard("page", {"seen": str(number), "delay": 1})
        screen.heard("page", {"seen": number, "delay": -1})
        screen.heard("page", {"seen": number, "delay": float("nan")})
        screen.heard("page", {"seen": number, "delay": "1"})
        screen.heard("page", {"seen": number})
        screen.heard("stranger", {"seen": number, "delay": 1})

    screen.changed = draw
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "imagination"))
    # What was said too late is not taken for the next view.
    screen.changed = lambda: None
    with pytest.raises(NotSeenError):
        screen.draw(event(screen, "perception", "apple"))


def test_when_an_event_is_over_the_cross_is_shown():
    screen = screen_of(FAST)
    screen.mirror(event(screen, "imagination"))
    until(lambda: shown(screen, "view") == ("fixation",))


def test_an_event_does_not_end_what_is_shown_after_it():
    screen, before = screen_of(speed=20.0), {*threading.enumerate()}
    screen.mirror(event(screen, "imagination"))  # it is over in a tenth of a second
    (timer,) = {*threading.enumerate()} - before
    screen.begin_run(2)
    timer.join(WAIT)
    assert not timer.is_alive()
    assert shown(screen, "view") == ("rest",)


def test_keys_are_handed_over_with_how_long_ago_they_were_pressed():
    screen, keys = screen_of(), []
    screen.pressed = lambda key, ago: keys.append((key, ago))
    page = Page(screen)
    for ago in (0, 12.5, -3, 1e6):
        page.say(key="5", ago=ago)
    page.say(key="a very long name of no key", ago=1)
    screen.heard("stranger", {"key": "5", "ago": 1})
    assert keys == [("5", 0.0), ("5", 0.0125), ("5", 0.0), ("5", 1.0)]


def test_the_operator_is_told_of_pages_and_their_self_test():
    screen, told = screen_of(), []
    screen.pages_changed = lambda: told.append(screen.about)
    nothing = {"pages": 0, "visible": 0, "focused": False, "keys": False}
    nothing |= {"frame_rate": None, "onset_error": None}
    assert screen.about == nothing
    page = Page(screen)
    page.say(test={"frame_rate": 59.9, "onset_error": [8.1, 17]})
    page.say(visible=False)
    screen.left(page)
    test = {"frame_rate": 59.9, "onset_error": [8.1, 17]}
    assert told[0] == {**nothing, "pages": 1, "visible": 1}
    assert told[1] == {**nothing, "pages": 1, "visible": 1, **test}
    assert told[2] == {**nothing, "pages": 1, **test}
    assert told[-1] == nothing


def test_the_operator_is_told_whether_keys_go_to_the_screen():
    screen = screen_of(live={"trigger": "key"})
    page = Page(screen)
    assert screen.about["keys"] and not screen.about["focused"]
    page.say(visible=True, focused=True)
    assert screen.about["focused"]
    page.say(visible=False, focused=True)
    assert not screen.about["focused"]
