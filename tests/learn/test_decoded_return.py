"""The decoded return: its objective by hand, its gradient and its search."""

import itertools

import numpy as np
import pytest
from interactions import example_3, interactions
from scipy.optimize import check_grad

from bciigl.learn import decoded_return
from bciigl.learn.decoded_return import (
    Solution,
    climb,
    maximise,
    objective_terms,
    smooth_loss,
    starts,
)
from bciigl.learn.interactions import Scalings, importance, prepare


def with_ones(data):
    ones = np.ones((data.trials, 1))
    return data._replace(
        context=np.hstack([data.context, ones]), feedback=np.hstack([data.feedback, ones])
    )


def scaled(data):
    return with_ones(Scalings.of(data).apply(data))


def choices(solution, data):
    return np.argmax(data.context @ solution.policy, axis=1)


def objective(taken, decoded, weight, n_actions):
    return objective_terms(taken, decoded, weight, n_actions).mean()


def test_objective_has_the_exact_values_of_example_3():
    # The paper says 0.9 for the constant policy 1 and the decoder of y = 2, but it forgets that
    # y = 1 there unless x = 1: the exact value is 0. The decoder of y = 1 reaches 0.9 - 0.1.
    context, action = np.array(list(itertools.product(range(10), range(10)))).T
    feedback = (action + (context == action)) % 10
    even = np.ones(100)
    for decoder in np.random.default_rng(0).random((5, 10)):
        assert objective(context == action, decoder[feedback], even, 10) == pytest.approx(0)
    assert objective(action == 1, 1.0 * (feedback == 2), even, 10) == pytest.approx(0)
    assert objective(action == 1, 1.0 * (feedback == 1), even, 10) == pytest.approx(0.8)
    # feedback that is always a + 1 gives the 0.9 of the paper's sum
    assert objective(action == 1, 1.0 * (action + 1 == 2), even, 10) == pytest.approx(0.9)


def test_objective_undoes_the_propensities():
    # Action 0 is taken 3 times in 4; only its feedback decodes to 1. V = 1, V_bad = 1/2.
    action = np.array([0, 0, 0, 1])
    weight = importance(np.array([0.75, 0.75, 0.75, 0.25]), 2)
    assert objective(action == 0, 1.0 - action, weight, 2) == pytest.approx(0.5)


def test_a_solution_chooses_and_decodes_by_sign():
    solution = Solution(np.array([[1.0, -1.0], [0.0, 0.5]]), np.array([2.0, -1.0]))
    context, feedback = np.array([[1.0], [0.0], [0.0]]), np.array([[1.0], [0.6], [0.5]])
    for rows, expected in (([0], 1), ([1], -1), ([2], 0), ([0, 1, 2], 0), ([0, 0, 1], 1 / 3)):
        shown = {"context": context[rows], "feedback": feedback[rows]}
        data = interactions(len(rows), 2, action=np.zeros(len(rows), int), **shown)
        # chosen: 2 * 1 - 1; not chosen: 2 * 0 - 1; the last is not decoded as a reward
        assert solution.objective(with_ones(data)) == pytest.approx(expected)


def test_gradient_agrees_with_finite_differences():
    data = with_ones(interactions(40, weight=np.random.default_rng(1).uniform(0.2, 0.9, 40)))
    parameters = np.random.default_rng(0).standard_normal(4 * 3 + 3 + 5 + 1)
    error = check_grad(
        lambda p: smooth_loss(p, data)[0], lambda p: smooth_loss(p, data)[1], parameters
    )
    # forward differences with steps of 1.5e-8 are exact to about 1e-7
    assert error < 1e-6


def test_climbing_raises_the_smooth_objective():
    data = scaled(interactions(200, seed=5))
    for start in starts(data):
        climbed = climb(data, start)
        packed = [np.concatenate([np.ravel(part) for part in each]) for each in (start, climbed)]
        assert smooth_loss(packed[1], data)[0] < smooth_loss(packed[0], data)[0]


@pytest.mark.parametrize("n_actions", [2, 3, 12])
def test_policies_that_start_constant_stay_so_while_their_decoders_climb(n_actions):
    data = scaled(interactions(200, n_actions))
    most = np.sort(data.taken)[::-1][:6]
    found = starts(data)
    constant = found[: len(most)]
    assert len(found) == len(most) + 4
    for start, taken in zip(constant, most, strict=True):
        climbed = climb(data, start)
        (action,) = set(choices(climbed, data))
        assert data.taken[action] == taken
        assert climbed.decoder.any()


def told_by(option, feedback):
    """Return trials whose contexts tell the option, and whose feedback has three clear features."""
    data = interactions(300)
    noise = data._replace(context=data.context[:, :3], feedback=data.feedback[:, :3])
    return scaled(
        noise._replace(
            context=np.eye(3)[option] + 0.1 * noise.context,
            feedback=feedback(data.action) + 0.1 * noise.feedback,
        )
    )


def test_constant_policies_are_the_best_where_feedback_tells_the_action():
    option = np.random.default_rng(5).integers(3, size=300)
    data = told_by(option, lambda action: np.eye(3)[action])
    best, held_out = maximise(data, np.random.default_rng(0))
    assert held_out.shape == (len(starts(data)),)
    assert held_out[:3].max() == held_out.max()
    assert np.bincount(choices(best, data)).max() > 0.9 * 300
    # a third of the trials has 3 - 1, half of the trials vary by three standard errors of 0.12
    assert held_out.max() == pytest.approx(2 / 3, abs=0.35)


def test_constant_policies_are_worse_where_feedback_tells_the_reward():
    option = np.random.default_rng(5).integers(3, size=300)
    data = told_by(option, lambda action: np.outer(action == option, np.ones(3)))
    best, held_out = maximise(data, np.random.default_rng(0))
    assert held_out[:3].max() < 0.5 * held_out.max()
    assert np.mean(choices(best, data) == option) > 0.97


@pytest.mark.parametrize(("most", "half"), [(100, 100), (150, 150), (6_000, 150)])
def test_starts_are_judged_on_trials_they_have_not_seen(most, half, monkeypatch):
    option = np.random.default_rng(5).integers(3, size=300)
    data = told_by(option, lambda action: np.outer(action == option, np.ones(3)))
    seen, climbed = [], []

    def kept_climb(data, start):
        seen.append(data)
        climbed.append(climb(data, start))
        return climbed[-1]

    monkeypatch.setattr(decoded_return, "MOST_CLIMBED", most)
    monkeypatch.setattr(decoded_return, "climb", kept_climb)
    best, held_out = maximise(data, np.random.default_rng(0))
    # the best climbs on all
    assert [each.trials for each in seen] == [half] * len(held_out) + [300]
    assert np.mean(choices(best, data) == option) > 0.97
    # they are drawn from all trials; the others are those it is judged on
    rows = {row.tobytes() for row in seen[0].context}
    assert any(row.tobytes() in rows for row in data.context[150:])
    unseen = data.rows(np.array([row.tobytes() not in rows for row in data.context]))
    assert unseen.trials == 300 - half
    expected = [each.objective(unseen) for each in climbed[:-1]]
    np.testing.assert_allclose(held_out, expected)


def test_search_finds_the_brute_force_optimum_of_a_tiny_problem():
    rng = np.random.default_rng(1)
    context, action = rng.integers(3, size=600), rng.integers(2, size=600)
    feedback = (2 * context + 3 * action + rng.integers(2, size=600)) % 4
    best = max(
        objective(np.array(choice)[context] == action, np.array(psi)[feedback], np.ones(600), 2)
        for choice in itertools.product(range(2), repeat=3)
        for psi in itertools.product((0.0, 1.0), repeat=4)
    )
    data = scaled(prepare(np.eye(3)[context], action, np.eye(4)[feedback]))
    found, _ = maximise(data, np.random.default_rng(0))
    assert found.objective(data) == pytest.approx(best, abs=1e-9)


def test_example_3_has_a_high_objective_at_the_wrong_policy():
    told = example_3(3000)
    data = scaled(prepare(*told.seen))
    found, _ = maximise(data, np.random.default_rng(0))
    # that of the truth is 0
    assert found.objective(data) > 0.75
    assert told.right[np.arange(3000), choices(found, data)].mean() < 0.2
