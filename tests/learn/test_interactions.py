"""What a learner is given: checks, importance, folds and scaling."""

import numpy as np
import pytest

from bciigl.base.errors import BciiglError
from bciigl.learn.interactions import (
    FEWEST_TRIALS_TO_CENTRE,
    LARGEST_VALUE,
    LARGEST_WEIGHT,
    MOST_ACTIONS,
    InputError,
    Scaling,
    folds,
    importance,
    prepare,
    run_codes,
    run_means,
    without_outliers,
)

CONTEXT, ACTION, FEEDBACK = np.ones((4, 2)), np.array([0, 1, 2, 1]), np.ones((4, 3))


def refusal(**changed):
    arrays = {"context": CONTEXT, "action": ACTION, "feedback": FEEDBACK, **changed}
    with pytest.raises(InputError) as error:
        prepare(**arrays)
    return str(error.value)


def test_defaults_are_uniform_guesses_in_one_run_without_baseline():
    data = prepare(CONTEXT.tolist(), ACTION.tolist(), FEEDBACK.tolist())
    assert (data.trials, data.n_actions) == (4, 3)
    assert data.taken.tolist() == [1, 2, 1]
    assert data.weight.tolist() == [1, 1, 1, 1]
    assert data.run.tolist() == [0, 0, 0, 0]
    assert not data.catch.any()


def test_two_actions_are_the_fewest():
    assert prepare(CONTEXT, [0, 0, 0, 0], FEEDBACK).n_actions == 2
    assert prepare(CONTEXT, ACTION, FEEDBACK, n_actions=5).taken.tolist() == [
        1,
        2,
        1,
        0,
        0,
    ]


def test_rows_takes_the_same_trials_of_all_arrays():
    data = prepare(
        np.arange(8).reshape(4, 2), ACTION, FEEDBACK, run=[1, 1, 2, 2], catch=[0, 1, 0, 1]
    ).rows(np.array([3, 0]))
    assert data.context.tolist() == [[6, 7], [0, 1]]
    assert data.action.tolist() == [1, 0]
    assert data.run.tolist() == [1, 0]
    assert data.catch.tolist() == [True, False]
    assert data.n_actions == 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"context": np.ones(4)}, ["context", "(trials, features)", "(4,)"]),
        ({"context": np.ones((0, 2))}, ["context", "(0, 2)"]),
        ({"context": np.ones((4, 0))}, ["context", "(4, 0)"]),
        ({"context": [["a", "b"]] * 4}, ["context", "numbers", "'a'"]),
        ({"context": [[1], [1, 2]]}, ["context", "numbers"]),
        ({"context": None}, ["context", "numbers", "None"]),
        ({"context": CONTEXT + 1j}, ["context", "numbers"]),
        ({"context": CONTEXT.astype(object)}, ["context", "numbers"]),
        ({"context": [["1", "2"]] * 4}, ["context", "numbers", "'1'"]),
        ({"context": LARGEST_VALUE * CONTEXT}, ["context", "finite numbers", "1e+100", "(0, 0)"]),
        ({"feedback": -1e200 * FEEDBACK}, ["feedback", "finite numbers", "-1e+200", "(0, 0)"]),
        (
            {"context": [[1, 2], [1, np.nan], [1, 2], [1, 2]]},
            ["context", "finite", "nan", "(1, 1)"],
        ),
        ({"feedback": np.full((4, 3), np.inf)}, ["feedback", "finite", "inf", "(0, 0)"]),
        ({"feedback": np.ones((3, 3))}, ["feedback", "4 trials", "3"]),
        ({"feedback": np.ones(4)}, ["feedback", "(4,)"]),
        ({"action": [0, 1, 2]}, ["action", "4 trials", "3"]),
        ({"action": [[0], [1], [2], [1]]}, ["action", "(trials,)", "(4, 1)"]),
        ({"action": [0, 1, 2, -1]}, ["action", "0 to 2", "-1 to 2"]),
        ({"action": [0, 1, 2, 1.5]}, ["action", "whole", "1.5"]),
        ({"action": list("abcd")}, ["action", "numbers", "'a'"]),
        ({"action": [0, 1, 2, np.nan]}, ["action", "finite", "nan", "(3,)"]),
        ({"action": [0, 1, 2, 1e12]}, ["there can be at most 1000 actions", "1000000000001"]),
        ({"action": [0, 1, 2, 1e18]}, ["action must be whole numbers, got 1e+18"]),
        ({"action": [0, 1, 2, MOST_ACTIONS]}, ["there can be at most 1000 actions", "1001"]),
        ({"n_actions": 1001}, ["there can be at most 1000 actions", "1001"]),
        ({"n_actions": 2}, ["action", "0 to 1", "0 to 2"]),
        ({"n_actions": 1}, ["n_actions", "whole number of 2 or more", "got 1"]),
        ({"n_actions": 0}, ["n_actions", "whole number of 2 or more", "got 0"]),
        ({"n_actions": 3.0}, ["n_actions", "whole number of 2 or more", "got 3.0"]),
        ({"n_actions": 2.5}, ["n_actions", "whole number of 2 or more", "got 2.5"]),
        ({"n_actions": "3"}, ["n_actions", "whole number of 2 or more", "got '3'"]),
        ({"propensity": [0, 1, 1, 1]}, ["propensity", "above 0", "0 to 1"]),
        ({"propensity": [0.5, 1, 1, 1.5]}, ["propensity", "at most 1", "0.5 to 1.5"]),
        ({"propensity": [0.5]}, ["propensity", "4 trials", "1"]),
        ({"run": [1, 2]}, ["run", "4 trials", "2"]),
        ({"run": list("aabb")}, ["run", "numbers", "'a'"]),
        ({"catch": [True]}, ["catch", "4 trials", "1"]),
        ({"catch": [0, 2, 3, 1]}, ["catch", "a mask"]),
        ({"catch": [0, 0.5, 1, 1]}, ["catch", "a mask"]),
    ],
)
def test_refusal_names_the_array_and_what_was_got(changed, words):
    message = refusal(**changed)
    assert message.startswith(words[0])
    assert all(word in message for word in words), message


def test_a_refusal_is_an_error_of_the_user_and_of_a_value():
    assert issubclass(InputError, BciiglError)
    assert issubclass(InputError, ValueError)


def test_importance_is_the_inverse_propensity_with_a_mean_of_one():
    # 1 / (2 * 0.25) = 2 and 1 / (2 * 0.75) = 2 / 3: their ratio stays, their mean becomes 1
    np.testing.assert_allclose(importance(np.array([0.25, 0.75]), 2), [1.5, 0.5])
    assert importance(np.array([0.5, 0.5]), 2).tolist() == [1, 1]


def test_one_trials_importance_is_limited():
    # the others have 1 / (2 * 0.5) = 1 each; a limit after dividing by the mean would leave them 0
    weight = importance(np.array([1e-9] + [0.5] * 9), 2)
    expected = np.array([LARGEST_WEIGHT] + [1.0] * 9)
    np.testing.assert_allclose(weight, expected / expected.mean())


def test_the_largest_numbers_of_actions_and_values_will_do():
    largest = 0.99 * LARGEST_VALUE
    data = prepare(largest * CONTEXT, [0, 1, 2, MOST_ACTIONS - 1], FEEDBACK)
    assert data.n_actions == MOST_ACTIONS
    assert prepare(CONTEXT, ACTION, FEEDBACK, n_actions=np.int64(4)).n_actions == 4


def test_runs_become_numbers_from_0_in_ascending_order():
    assert run_codes(np.array([7.0, 3, 7, 9]), 4).tolist() == [1, 0, 1, 2]
    assert run_codes(None, 2).tolist() == [0, 0]


def test_a_fold_is_of_whole_runs_where_they_suffice():
    run = np.repeat(np.arange(7), 3)
    fold = folds(run)
    assert fold.tolist() == np.repeat([0, 1, 2, 3, 4, 0, 1], 3).tolist()


def test_a_fold_is_a_stretch_of_trials_where_runs_are_few():
    assert folds(np.zeros(10, int)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert folds(np.zeros(3, int)).tolist() == [0, 1, 2]
    assert folds(np.zeros(1, int)).tolist() == [0]


def test_scaling_centres_each_run_and_divides_by_the_sd_within_runs():
    rng = np.random.default_rng(0)
    run = np.repeat([0, 1], FEWEST_TRIALS_TO_CENTRE)
    values = rng.standard_normal((len(run), 2)) * [1, 5] + 100 * run[:, None]
    scaled = Scaling.of(values, run).apply(values, run)
    for each in (0, 1):
        np.testing.assert_allclose(scaled[run == each].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_scaling_without_runs_centres_by_the_training_mean():
    values = np.array([[0.0, 1.0], [4.0, 1.0]])
    scaling = Scaling.of(values, np.zeros(2, int))
    # the SD of 0 and 4 is 2; a constant becomes 0, whatever comes later
    assert scaling.apply(np.array([[6.0, 7.0]])).tolist() == [[2, 0]]


def test_a_constant_that_binary_cannot_hold_is_still_constant():
    # means of runs of different lengths differ by rounding
    run = np.repeat([0, 1, 2], [13, 30, 57])
    assert Scaling.of(np.full((100, 1), 0.1), run).scale.tolist() == [np.inf]


def test_a_short_run_is_centred_by_the_mean_of_all():
    run = np.array([0] * FEWEST_TRIALS_TO_CENTRE + [1])
    values = np.append(np.full(FEWEST_TRIALS_TO_CENTRE, 3.0), 9.0)[:, None]
    assert run_means(values, run, np.array([5.0]))[[0, -1]].tolist() == [[3], [5]]


def test_scaling_what_was_not_checked_yet():
    scaling = Scaling(np.array([1.0]), np.array([2.0]))
    assert scaling.check_and_apply([[3], [5]], "context", None).tolist() == [[1], [2]]
    # means of a run of ten 3, and of a run of ten 7
    values, run = [[3]] * 10 + [[7]] * 10, [5] * 10 + [2] * 10
    assert scaling.check_and_apply(values, "context", run).tolist() == [[0]] * 20


@pytest.mark.parametrize("name", ["context", "feedback"])
def test_scaling_names_the_array_that_it_refuses(name):
    scaling = Scaling(np.zeros(2), np.ones(2))
    with pytest.raises(InputError, match=f"{name} must have 2 features, got 3"):
        scaling.check_and_apply(np.ones((4, 3)), name, None)
    with pytest.raises(InputError, match=f"{name} must be of shape"):
        scaling.check_and_apply(np.ones(4), name, None)
    with pytest.raises(InputError, match="run must have one row for each of 4 trials, got 3"):
        scaling.check_and_apply(np.ones((4, 2)), name, np.zeros(3))


def test_artefacts_are_cut_off_and_all_else_is_left():
    values = np.random.default_rng(0).normal(size=(400, 3))
    values[:, 2] = 0.0
    values[7, 2] = 5.0  # nothing tells that this is far
    spoiled = values.copy()
    spoiled[3, 0] = 1e6
    found = without_outliers(spoiled)
    assert 3 < found[3, 0] < 5
    same = np.abs(values) < 3
    same[7, 2] = True
    same[3, 0] = False
    np.testing.assert_array_equal(found[same], values[same])
