"""Trials as plain data: not a bit is lost."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bciigl.recording.trial import Trial

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ESTIMATES = st.lists(NUMBERS | st.just(np.nan), max_size=5).map(lambda each: np.array(each, float))
TRIALS = st.builds(
    Trial,
    ESTIMATES,
    st.integers(0, 99),
    NUMBERS,
    st.booleans(),
    st.booleans(),
    ESTIMATES,
)


@given(TRIALS)
def test_trial_survives_json_without_the_loss_of_a_bit(trial):
    again = Trial.from_dict(json.loads(json.dumps(trial.as_dict(), allow_nan=False)))
    for name in ("context", "feedback"):
        before, after = getattr(trial, name), getattr(again, name)
        assert after.dtype == float
        assert after.tobytes() == before.tobytes()  # -0.0 and 0.0 are told apart
        assert after.shape == before.shape
    assert np.float64(again.propensity).tobytes() == np.float64(trial.propensity).tobytes()
    for name in ("action", "explored", "catch"):
        assert getattr(again, name) == getattr(trial, name)
        assert type(getattr(again, name)) is type(getattr(trial, name))
    assert again.same_as(trial)
    estimates = [*trial.context, *trial.feedback]
    assert again.usable == trial.usable == (not np.isnan(estimates).any())


def test_what_else_a_line_says_is_left_out():
    trial = Trial(np.array([1.5]), 2, 0.25, True, False, np.array([-1.0, 0.0]))
    line = {"session": "train", "run": 1, "trial": 3, **trial.as_dict()}
    assert Trial.from_dict(line).same_as(trial)


def test_trials_that_differ_in_one_bit_are_not_the_same():
    trial = Trial(np.array([1.0, 2.0]), 1, 0.5, True, False, np.array([3.0]))
    others = [
        trial._replace(context=np.array([1.0, np.nextafter(2.0, 3.0)])),
        trial._replace(context=np.array([1.0])),
        trial._replace(action=2),
        trial._replace(propensity=np.nextafter(0.5, 1.0)),
        trial._replace(explored=False),
        trial._replace(catch=True),
        trial._replace(feedback=np.array([np.nextafter(3.0, 4.0)])),
    ]
    assert trial.same_as(trial._replace(context=trial.context.copy()))
    assert not any(trial.same_as(other) for other in others)
