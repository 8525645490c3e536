"""The pages of commands, and what their terminal shows."""

import pytest
from page_clients import Client
from recordings import small

from bciigl.brain.events import Event
from bciigl.cli import pages as commands
from bciigl.cli.pages import Terminal, pages
from bciigl.live.state import SessionState


@pytest.fixture
def state():
    """Give the state of a session that has not begun."""
    return SessionState(small(), "simulation", 20.0)


def test_links_are_told_and_what_happens_is_shown(state, capsys):
    with pages(state, folder=None, port=0) as (stage, terminal, progress):
        told = capsys.readouterr()
        assert told.out == ""  # which is for results
        assert told.err == (
            f"participant's screen: {stage.server.link('screen')}\n"
            f"operator's monitor:   {stage.server.link('monitor')}\n"
        )
        with Client(stage.server, "monitor") as page:
            stage.say("waiting for somebody")
            page.wait_for(lambda each: each["note"] == "waiting for somebody")
        stage.draw(Event("perception", 1.0, "b"))  # nobody looks at a page
        progress(1, 10)
        terminal.refresh()
    assert capsys.readouterr().err == "waiting for somebody\nthe guess: b\ntrials: 1 of 10\n"


def test_links_of_pages_that_nobody_should_open_are_not_told(state, capsys):
    with pages(state, announce=False, folder=None, port=0) as (stage, *_):
        assert stage.server.link("screen") not in capsys.readouterr().err


def test_a_terminal_shows_events_but_not_what_is_judged(state):
    notes = []
    terminal = Terminal(state, notes.append)
    for kind, content in [
        *(("imagination", None), ("imagination", "a"), ("perception", "b")),
        *(("judgment", None), ("judgment", True), ("judgment", "c")),
    ]:
        terminal.draw(Event(kind, 1.0, content))
    assert notes == ["imagine", "imagine a", "the guess: b", *["right or wrong?"] * 3]


def test_a_terminal_has_the_state_in_a_line_below_the_last_note(state, monkeypatch):
    notes = []
    terminal = Terminal(state, notes.append)
    terminal.refresh()
    assert notes == []  # a file cannot draw a line again
    monkeypatch.setattr(commands, "on_terminal", lambda: True)
    terminal.refresh()
    assert notes[0].startswith("run 1 of 2 · ready to start · 0 of ")
    terminal.note("waiting")
    terminal.refresh()
    assert notes[1:] == ["waiting", f"waiting\n{notes[0]}"]
