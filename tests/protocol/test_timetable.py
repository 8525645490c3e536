"""When things happen in a run: designs with jitter, null trials and times of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bciigl.base.errors import BciiglError
from bciigl.protocol import Protocol, schedule
from bciigl.protocol.timetable import timetable


def protocol(timing: dict, **sections) -> Protocol:
    task = {"options": [7, 8, 9], **sections.pop("task", {})}
    return Protocol.model_validate({"name": "x", "task": task, "timing": timing, **sections})


def test_each_event_has_its_own_times():
    own = {
        "imagination": {"duration": 4.0, "pause": 6.0},
        "perception": {"pause": 1.0},
        "judgment": {"duration": 0.5},
    }
    when = timetable(protocol({**own, "iti": 2.5, "cool_down": 9.0}), 3)
    # 4 + 6 s, 2 + 1 s, then 0.5 + 7 s and 2.5 s between trials
    assert when.starts.tolist() == [12, 35, 58, 81]
    assert when.onsets["perception"].tolist() == [22, 45, 68]
    assert when.onsets["judgment"].tolist() == [25, 48, 71]
    assert when.decisions.tolist() == [22, 45, 68]
    assert when.seconds == 90


def test_what_begins_together_lasts_as_long_as_the_longer():
    own = {"perception": {"duration": 3.0, "pause": 1.0}, "judgment": {"duration": 1.0}}
    when = timetable(protocol({**own, "together": True}), 2)
    assert when.starts.tolist() == [12, 29, 46]  # 9 s, then 1 + 7 s
    assert when.onsets["judgment"].tolist() == when.onsets["perception"].tolist() == [21, 38]


@st.composite
def timings(draw) -> dict:
    seconds = st.sampled_from([0.0, 0.3, 2.0, 5.5])
    events = {
        kind: {"duration": draw(st.sampled_from([None, 0.7, 3.0])), "jitter": draw(seconds)}
        for kind in ("imagination", "perception", "judgment")
    }
    return events | {
        "jitter_distribution": draw(st.sampled_from(["uniform", "exponential"])),
        "null_trials": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "together": draw(st.booleans()),
        "iti": draw(seconds),
        "latency": draw(st.sampled_from([0.0, 0.4])),
    }


@given(timings(), st.integers(1, 12), st.integers(1, 3))
def test_events_follow_each_other_and_are_late_by_no_more_than_the_jitter(timing, trials, run):
    mine = protocol(timing)
    when = timetable(mine, trials, "train", run)
    parts = schedule.steps(mine)
    begin = np.column_stack([when.onsets[part.kinds[0]] for part in parts])
    assert len(when.nulls) == schedule.null_trials(mine, trials)
    np.testing.assert_allclose(begin[:, 0], when.starts[:-1], atol=1e-9)
    for number, part in enumerate(parts[:-1]):
        later = np.diff(begin[:, number : number + 2], axis=1)[:, 0] - part.seconds
        assert (later > -1e-6).all() and (later < part.jitter + 2e-3).all()
    length = np.round(schedule.trial_seconds(mine), 3)
    followed = np.isin(np.arange(trials), np.searchsorted(when.starts, when.nulls) - 1)
    rest = when.starts[1:] - begin[:, -1] - parts[-1].seconds - followed * length
    assert (rest > -2e-3).all() and (rest < parts[-1].jitter + 2e-3).all()
    np.testing.assert_allclose(when.decisions, begin[:, 1] - timing["latency"], atol=1e-9)
    most = schedule.longest_run_seconds(mine, trials)
    assert when.seconds <= most + 1e-2


def test_jitter_is_of_the_seed_and_of_the_run():
    mine = protocol({"jitter": 4.0})
    one = timetable(mine, 20, "train", 1)
    np.testing.assert_array_equal(one.starts, timetable(mine, 20, "train", 1).starts)
    # A longer run begins with the same times, as a session does that goes on for longer.
    np.testing.assert_array_equal(one.starts, timetable(mine, 30, "train", 1).starts[:21])
    for other in (("train", 2), ("test", 1)):
        assert (one.starts[1:] != timetable(mine, 20, *other).starts[1:]).all()
    another = mine.model_copy(update={"seed": 1})
    assert (one.starts[1:] != timetable(another, 20, "train", 1).starts[1:]).all()
    with pytest.raises(BciiglError, match="when=timetable"):
        timetable(mine, 20)


@pytest.mark.parametrize("distribution", ["uniform", "exponential"])
def test_sessions_take_as_long_on_average_as_is_told(distribution):
    timing = {"jitter": 6.0, "jitter_distribution": distribution, "null_trials": 0.25}
    mine = protocol(timing, task={"trials": 4000, "trials_per_run": 400})
    hours = sum(timetable(mine, 400, "train", run).seconds for run in range(1, 11)) / 3600
    # The mean of 12 000 pauses of SD 1.7 s is within 0.016 s (SE), of 27 s and more a trial.
    assert hours == pytest.approx(schedule.session_hours(mine, 4000), rel=2e-3)


def test_run_that_ends_early_has_the_times_of_its_first_trials():
    mine = protocol({"jitter": 4.0, "null_trials": 0.5, "cool_down": 5.0})
    whole = timetable(mine, 10, "train", 1)
    part = whole.first(6)
    assert part.trials == 6
    assert part.seconds == whole.starts[6]
    assert len(part.nulls) == (whole.nulls < whole.starts[6]).sum()
    np.testing.assert_array_equal(part.onsets["judgment"], whole.onsets["judgment"][:6])
