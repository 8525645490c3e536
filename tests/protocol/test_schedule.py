"""Times that follow from a protocol."""

import pytest
from recordings import frames_per_run

from bciigl.protocol import Protocol
from bciigl.protocol import schedule as s
from bciigl.protocol.timetable import timetable


def protocol(**sections) -> Protocol:
    task = {"options": [7, 8, 9], **sections.pop("task", {})}
    return Protocol.model_validate({"name": "x", "task": task, **sections})


def test_paper_s_session_takes_five_hours():
    # 666 trials of three events, 9 s each, and 15 runs that begin with 12 s of rest
    assert s.session_hours(protocol(), 666) == pytest.approx((666 * 27 + 15 * 12) / 3600)


def test_trial_is_as_long_as_its_events():
    assert s.trial_seconds(protocol(task={"events": ["imagination", "judgment"]})) == 18


def test_events_of_a_shared_recording_follow_each_other():
    assert s.event_offsets(protocol()) == {"imagination": 0, "perception": 9, "judgment": 18}
    two = protocol(task={"events": ["imagination", "judgment"]})
    assert s.event_offsets(two) == {"imagination": 0, "judgment": 9}


def test_separate_recordings_have_one_event_a_trial():
    separate = protocol(recording="separate")
    assert s.event_offsets(separate) == {"imagination": 0, "perception": 2, "judgment": 2}
    assert s.trial_seconds(separate) == 9
    # three recordings, each with its rest before each of 15 runs
    assert s.session_hours(separate, 666) == pytest.approx(3 * (666 * 9 + 15 * 12) / 3600)


def test_agent_decides_as_late_as_the_screen_allows():
    assert s.decision_time(protocol()) == 9
    assert s.decision_time(protocol(timing={"latency": 0.5})) == 8.5
    assert s.decision_time(protocol(timing={"decision": 6.0, "latency": 0.5})) == 6


@pytest.mark.parametrize(("trials", "runs"), [(1, 1), (46, 1), (47, 2), (666, 15)])
def test_last_run_may_be_shorter(trials, runs):
    assert s.run_count(protocol(), trials) == runs


def test_trials_are_dealt_to_runs():
    assert s.trials_per_run(protocol(), 100) == [46, 46, 8]
    assert s.trials_per_run(protocol(), 92) == [46, 46]
    assert s.trials_per_run(protocol(), 3) == [3]
    sessions = s.session_trials(protocol(task={"trials": 70}, evaluation={"test_trials": 5}))
    assert sessions == {"train": 70, "test": 5}


def test_frames_cover_the_run_without_rounding_errors():
    timing = {"tr": 0.1, "burn_in": 0.3, "event": 0.2, "isi": 0.1}
    assert frames_per_run(protocol(timing=timing), 1) == 12
    # 39 s hold 22.9 frames of 1.7 s; the last second counts too
    assert frames_per_run(protocol(timing={"tr": 1.7}), 1) == 23
    assert frames_per_run(protocol(), 46) == (12 + 46 * 27) / 1.5


def test_trials_follow_each_other_after_the_rest():
    assert timetable(protocol(), 46).starts[[0, 1, 45]].tolist() == [12, 39, 1227]
    two = protocol(task={"events": ["imagination", "judgment"]}, timing={"burn_in": 5.0})
    assert timetable(two, 3).starts[2] == 41
    assert timetable(protocol(recording="separate"), 3).starts[2] == 30


@pytest.mark.parametrize(
    ("seconds", "tr", "frames"),
    [
        (0.0, 1.5, 0),
        (1.49, 1.5, 0),
        (1.5, 1.5, 1),
        (2.99, 1.5, 1),
        (3.0, 1.5, 2),
        (5.6, 0.1, 56),  # 55.99999999999999 in floating point
        (0.1 + 0.2, 0.1, 3),  # 3.0000000000000004
        (1.3999, 0.7, 1),
        (-0.1, 1.5, -1),  # before the run nothing is complete
    ],
)
def test_frame_is_complete_when_its_time_is_over(seconds, tr, frames):
    assert s.frames_complete(seconds, tr) == frames


@pytest.mark.parametrize("tr", [0.1, 0.3, 0.7, 1.1, 1.5, 2.2])
def test_rounding_errors_neither_add_nor_lose_a_frame(tr):
    assert [s.frames_complete(k * tr, tr) for k in range(2000)] == list(range(2000))
    assert [s.frames_complete((k - 1e-4) * tr, tr) for k in range(1, 2000)] == list(range(1999))


def test_guesses_can_be_judged_while_they_are_seen():
    timing = {"event": 2.0, "isi": 0.0, "tr": 1.0, "together": True, "frame_lag": 0.0}
    mine = protocol(timing=timing, estimate="window")
    assert s.event_offsets(mine) == {"imagination": 0, "perception": 2, "judgment": 2}
    assert s.trial_seconds(mine) == 4
    assert s.estimate_frames(mine) == 2
    assert s.estimate_frames(protocol()) == 1
