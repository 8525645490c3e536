"""The state of a session in one line."""

import pytest
from recordings import small

from bciigl.live.state import SessionState
from bciigl.live.status import clock, status_line
from bciigl.protocol.timetable import timetable
from bciigl.recording.trial import NOT_ESTIMATED, Trial

PLACE = {"session": "train", "run": 1}


def volume(index: int, **about) -> dict:
    """Return the line of a volume."""
    return {**PLACE, "volume": index, "values": [1.0], "arrived": 1.5 * (index + 1), **about}


@pytest.fixture
def state():
    """Give the state of a rehearsal of two runs, ten times as fast, in its first seconds."""
    found = SessionState(small(task={"options": [7, 8, 9]}), "rehearsal", 10.0)
    found.elapsed = lambda: 20.0
    return found


def test_a_line_says_run_trial_what_happens_the_guess_volumes_and_time_left(state):
    onset = float(timetable(state.protocol, 4).onsets["perception"][0])
    state.elapsed = lambda: onset + 1.0
    guess = Trial(NOT_ESTIMATED, 1, 0.5, False, False, NOT_ESTIMATED).as_dict()
    for line in (volume(0), volume(1), {**PLACE, "decision": 0, **guess}):
        state.take(line)
    state.take({**PLACE, "shown": "perception", "planned": onset, "onset": onset})
    due, length = (state.snapshot()[name] for name in ("volumes", "length"))
    left = clock((length - onset - 1) / 10)
    both = clock((state.snapshot()["seconds_left"]) / 10)
    assert status_line(state.snapshot()) == (
        "run 1 of 2 · trial 1 of 4 · sees the guess: 8 · last guess 8 · "
        f"2 of {due['due']} volumes · {left} left of the run · {both} of the session"
    )


def test_late_and_lost_volumes_are_counted_only_if_there_are_any(state):
    state.take(volume(0, late=True))
    line = status_line(state.snapshot())
    assert "volumes, 1 late · " in line
    fault = "missing when it was needed"
    state.take({**PLACE, "fault": fault, "number": 2, "seconds": 3.0})
    state.take(volume(2))
    assert "volumes, 1 late, 1 lost · " in status_line(state.snapshot())


def test_what_a_session_waits_for_is_said_before_it_runs(state):
    assert status_line(state.snapshot()).startswith("run 1 of 2 · ready to start · 0 of ")
    state.take({**PLACE, "begun": True})
    assert status_line(state.snapshot()).startswith("run 1 of 2 · waiting · 0 of ")
    state.take(volume(0))
    state.enter("paused")
    assert status_line(state.snapshot()).startswith("run 1 of 2 · trial 1 of 4 · paused · 1 of ")


def test_a_session_of_one_run_has_the_time_of_that_alone():
    state = SessionState(small(), "simulation", sessions=("test",))
    line = status_line(state.snapshot())
    assert line.startswith("run 1 of 1, test session · ready")
    assert line.endswith("left of the run")
    state.enter("over")
    assert " · over · " in status_line(state.snapshot())


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3600, "1:00:00")]
)
def test_times_are_minutes_and_seconds(seconds, words):
    assert clock(seconds) == words
