"""Canonical directions against a brute-force eigenproblem, and what cleaning takes away."""

import numpy as np
import pytest
from interactions import interactions
from scipy.linalg import eigh

from bciigl.learn.canonical import CrossCovariance, principal_axes, serial_covariance, whitening
from bciigl.learn.interactions import less_means


def aligned(found, expected):
    """Return the cosine of two directions, whatever their sign and length."""
    return abs(found @ expected) / (np.linalg.norm(found) * np.linalg.norm(expected))


def covariances(data):
    """Return the covariances of context and feedback, and the cross-covariance per action."""
    feedback = less_means(data.feedback, data.action)
    cross = []
    for action in range(data.n_actions):
        mine = np.flatnonzero(data.action == action)
        x, y = data.context[mine], feedback[mine]
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        cross.append(sum(np.outer(a, b) for a, b in zip(x, y, strict=True)) / len(mine))
    square = [each.T @ each / len(each) for each in (data.context, feedback)]
    return *square, np.array(cross)


def canonical_pair(of_context, of_feedback, cross, ridge, place=0):
    """Return a pair by the generalised eigenproblem of canonical correlation analysis."""
    left, right = (each + ridge * np.eye(len(each)) for each in (of_context, of_feedback))
    feedback = eigh(cross.T @ np.linalg.solve(left, cross), right)[1][:, -1 - place]
    return np.linalg.solve(left, cross @ feedback), feedback


def test_values_within_actions_by_hand():
    values = less_means(np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0]))
    assert values.tolist() == [[-1], [0], [1]]


def test_axes_have_the_variances_of_the_values():
    values = np.random.default_rng(0).standard_normal((50, 3)) * [1, 2, 3]
    vectors, variance = principal_axes(values)
    np.testing.assert_allclose(((values @ vectors) ** 2).mean(axis=0), variance)
    np.testing.assert_allclose(whitening(values, 0.5), vectors * (variance + 0.5) ** -0.5)


@pytest.mark.parametrize("ridge", [0.01, 0.3])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("cleaned", [True, False])
def test_directions_of_each_action_solve_the_eigenproblem(ridge, place, cleaned):
    data = interactions(seed=1)
    of_context, of_feedback, cross = covariances(data)
    found = CrossCovariance(data, True).directions(
        ridge, shared=False, cleaned=cleaned, place=place
    )
    if cleaned:
        cross = cross - cross.mean(axis=0)
    for action in range(3):
        pair = canonical_pair(of_context, of_feedback, cross[action], ridge, place)
        assert aligned(found[0][action], pair[0]) == pytest.approx(1)
        assert aligned(found[1][action], pair[1]) == pytest.approx(1)


def test_the_shared_direction_is_that_of_all_actions_on_top_of_each_other():
    data = interactions(seed=3)
    of_context, of_feedback, cross = covariances(data)
    found = CrossCovariance(data, False).directions(0.1, shared=True, cleaned=False)
    stacked = np.concatenate(cross)
    pair = canonical_pair(np.kron(np.eye(3), of_context), of_feedback, stacked, 0.1)
    for action in range(3):
        assert aligned(found[1][action], pair[1]) == pytest.approx(1)
    assert aligned(np.concatenate(found[0]), pair[0]) == pytest.approx(1)


def test_a_place_beyond_the_last_is_the_last():
    cross = CrossCovariance(interactions(), True)
    last, beyond = (cross.directions(0.1, shared=True, place=place) for place in (4, 9))
    np.testing.assert_array_equal(last[1], beyond[1])


def balanced(leak):
    """Return every option with every action, the reward in feature 0 of feedback, a leak in 1.

    A factor of two signs that context and feedback both have is the leak, and each combination
    occurs once, so that all covariances are exact.
    """
    option, action, sign = np.array(
        [(o, a, s) for o in range(3) for a in range(3) for s in (-1, 1)]
    ).T
    reward = option == action
    context = np.column_stack([np.eye(3)[option] - 1 / 3, leak * sign])
    feedback = np.column_stack([reward - 1 / 3, leak * sign])
    return interactions(18, context=context, action=action, feedback=feedback)


def test_the_rewards_part_cancels_over_actions_where_one_is_right():
    cross = covariances(balanced(leak=0))[2]
    assert np.abs(cross).max() > 0.1
    np.testing.assert_allclose(cross.sum(axis=0), 0, atol=1e-12)


def test_cleaning_removes_a_leak_exactly():
    data = balanced(leak=5.0)
    cross = CrossCovariance(data, True)
    leaky = cross.directions(0.1, shared=True, cleaned=False)
    clean = cross.directions(0.1, shared=True)
    for action in range(3):
        assert aligned(leaky[1][action], np.array([0, 1])) == pytest.approx(1)
        assert aligned(clean[1][action], np.array([1, 0])) == pytest.approx(1)
        # what is said of the context is free of the leak, and is the option against the others
        option = np.append(np.eye(3)[action] - 1 / 3, 0)
        assert aligned(clean[0][action], option) == pytest.approx(1)


def test_serial_covariance_by_hand():
    # pairs within runs: (context 1, feedback 0) and (context 3, feedback 2)
    context = np.array([[1.0], [2.0], [3.0], [4.0]])
    feedback = np.array([[10.0, 0], [20.0, 0], [30.0, 1], [40.0, 1]])
    found = serial_covariance(context, feedback, np.array([0, 0, 1, 1]))
    assert found.tolist() == [[(2 * 10 + 4 * 30) / 2, (2 * 0 + 4 * 1) / 2]]


def test_serial_covariance_of_runs_of_one_trial_is_nothing():
    found = serial_covariance(np.ones((3, 2)), np.ones((3, 4)), np.arange(3))
    assert found.tolist() == np.zeros((2, 4)).tolist()


def test_noise_that_lasts_is_cleaned_where_several_may_be_right():
    # one and the same slow noise is in feature 0 of context and feedback, the reward in feature 1
    rng = np.random.default_rng(0)
    slow = np.repeat(rng.standard_normal(100), 20)
    reward = rng.random(2000) < 0.3
    noise = 0.3 * rng.standard_normal((2, 2000, 2))
    data = interactions(
        2000,
        1,
        context=np.column_stack([3 * slow, reward - 0.3]) + noise[0],
        feedback=np.column_stack([3 * slow, reward - 0.3]) + noise[1],
        run=np.zeros(2000, int),
    )
    cross = CrossCovariance(data, False)
    leaky, clean = (
        cross.directions(0.01, shared=False, cleaned=cleaned)[1][0] for cleaned in (False, True)
    )
    assert aligned(leaky, np.array([1, 0])) > 0.9
    assert aligned(clean, np.array([0, 1])) > 0.9


def test_an_action_never_taken_has_directions_all_the_same():
    data = interactions(action=np.arange(60) % 2)
    found = CrossCovariance(data, True).directions(0.1, shared=False)
    assert np.isfinite(found[0]).all()
    assert np.isfinite(found[1]).all()
