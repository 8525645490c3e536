"""The decoded return: its objective by hand, its gradient, its threshold and its search."""

import itertools

import numpy as np
import pytest
from interactions import example_3, interactions
from scipy.optimize import check_grad

from bciigl.learn import decoded_return
from bciigl.learn.decoded_return import (
    Solution,
    best_threshold,
    climb,
    judge,
    maximise,
    objective_terms,
    sharp_terms,
    sharpen,
    smooth_loss,
    starts,
)
from bciigl.learn.interactions import Scalings, importance, prepare


def scaled(data):
    return Scalings.of(data).apply(data)


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
    assert solution.choose(np.array([[1.0], [0.0]])).tolist() == [0, 1]
    context, feedback = np.array([[1.0], [0.0], [0.0]]), np.array([[1.0], [0.6], [0.5]])
    data = interactions(3, 2, context=context, action=np.zeros(3, int), feedback=feedback)
    # chosen: 2 * 1 - 1; not chosen: 2 * 0 - 1; the last is not decoded as a reward
    assert sharp_terms(solution, data).tolist() == [1, -1, 0]


def test_gradient_agrees_with_finite_differences():
    data = interactions(40, weight=np.random.default_rng(1).uniform(0.2, 0.9, 40))
    parameters = np.random.default_rng(0).standard_normal(4 * 3 + 3 + 5 + 1)
    error = check_grad(
        lambda p: smooth_loss(p, data)[0], lambda p: smooth_loss(p, data)[1], parameters
    )
    # forward differences with steps of 1.5e-8 are exact to about 1e-7
    assert error < 1e-6


def test_threshold_is_the_best_of_all_cuts():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, gain = rng.integers(6, size=15).astype(float), rng.standard_normal(15)
        cuts = np.append(np.unique(scores), np.inf) - 0.5
        best = max(gain[scores > cut].sum() for cut in cuts)
        assert gain[scores > best_threshold(scores, gain)].sum() == pytest.approx(best)


def test_nothing_is_decoded_as_a_reward_where_all_would_cost():
    assert best_threshold(np.array([1.0, 2.0]), np.array([-1.0, -1.0])) == 2


def test_climbing_and_sharpening_raise_the_objective():
    data = scaled(interactions(200, seed=5))
    for start in starts(data, np.random.default_rng(0)):
        climbed = climb(data, start)
        packed = [np.concatenate([np.ravel(part) for part in each]) for each in (start, climbed)]
        assert smooth_loss(packed[1], data)[0] < smooth_loss(packed[0], data)[0]
        sharp = sharpen(data, climbed)
        np.testing.assert_array_equal(sharp.policy, climbed.policy)
        # the threshold is never worse than decoding nothing as a reward
        assert sharp_terms(sharp, data).mean() >= 0


def test_there_are_at_least_ten_starts():
    for n_actions in (2, 3, 12):
        data = scaled(interactions(80, n_actions))
        assert len(starts(data, np.random.default_rng(0))) >= 10


def test_restarts_are_judged_with_their_like_on_trials_they_have_not_seen():
    # Feedback 1 is decoded as a reward. In the first half action 0 has it, in the second action 1
    # in three of four trials: what was climbed on either half is judged on the other.
    action = np.array([0, 1, 0, 1, 0, 1, 1, 1])
    rewarded = np.array([1, 0, 1, 0, 0, 1, 1, 1])
    data = interactions(
        8,
        2,
        context=np.ones((8, 1)),
        action=action,
        feedback=np.where(rewarded, 1.0, -1.0)[:, None],
    )
    zero, one = (
        Solution(np.array([[0.0, 0.0], bias]), np.array([1.0, 0.0]))
        for bias in ([1.0, 0.0], [0.0, 1.0])
    )
    halves = np.arange(4), np.arange(4, 8)
    # always 0: +1 in two of the first four, -1 in three of the last four; always 1 the opposite
    held_out = judge(data, [[zero, one], [one, zero]], halves)
    of_zero, of_one = (-0.75 + 0.5) / 2, (0.75 - 0.5) / 2
    assert held_out.tolist() == [of_zero, of_one, of_one, of_zero]
    # with one like it only, a restart is judged on the half that each of the two has not seen
    assert judge(data, [[zero], [one]], halves).tolist() == [(-0.75 - 0.5) / 2] * 2


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
    found = maximise(data, np.random.default_rng(0))
    restarts = 2 * len(starts(data, np.random.default_rng(0)))
    assert found.held_out.shape == found.constant.shape == (restarts,)
    assert found.constant[found.held_out.argmax()]
    assert np.bincount(found.solution.choose(data.context)).max() > 0.9 * 300
    # a third of the trials has 3 - 1, half of the trials vary by three standard errors of 0.12
    assert found.held_out.max() == pytest.approx(2 / 3, abs=0.35)


def test_constant_policies_are_worse_where_feedback_tells_the_reward():
    option = np.random.default_rng(5).integers(3, size=300)
    data = told_by(option, lambda action: np.outer(action == option, np.ones(3)))
    found = maximise(data, np.random.default_rng(0))
    best = found.held_out.argmax()
    assert not found.constant[best]
    assert found.held_out[found.constant].max(initial=0) < 0.5 * found.held_out[best]
    assert np.mean(found.solution.choose(data.context) == option) > 0.97


@pytest.mark.parametrize(("most", "half"), [(100, 50), (300, 150), (12_000, 150)])
def test_restarts_see_no_more_trials_than_they_need(most, half, monkeypatch):
    option = np.random.default_rng(5).integers(3, size=300)
    data = told_by(option, lambda action: np.outer(action == option, np.ones(3)))
    seen, judged = [], []

    def counted_climb(data, start):
        seen.append(data)
        return climb(data, start)

    def counted_judge(data, *rest):
        judged.append(data.trials)
        return judge(data, *rest)

    monkeypatch.setattr(decoded_return, "MOST_RESTARTED", most)
    monkeypatch.setattr(decoded_return, "climb", counted_climb)
    monkeypatch.setattr(decoded_return, "judge", counted_judge)
    found = maximise(data, np.random.default_rng(0))
    # the best climbs on all, and its objective is of all
    assert [each.trials for each in seen] == [half] * (len(seen) - 1) + [300]
    assert judged == [2 * half]
    assert found.objective == pytest.approx(sharp_terms(found.solution, data).mean())
    assert np.mean(found.solution.choose(data.context) == option) > 0.97
    # they are drawn from all trials, and none is in both halves
    first, second = ({row.tobytes() for row in each.context} for each in (seen[0], seen[-2]))
    assert not first & second
    assert any(row.tobytes() in first for row in data.context[100:])


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
    found = maximise(data, np.random.default_rng(0))
    assert found.objective == pytest.approx(best, abs=1e-9)
    assert found.objective == pytest.approx(sharp_terms(found.solution, data).mean())


def test_example_3_has_a_high_objective_at_the_wrong_policy():
    told = example_3(3000)
    data = scaled(prepare(*told.seen))
    found = maximise(data, np.random.default_rng(0))
    # that of the truth is 0
    assert found.objective > 0.75
    assert told.right[np.arange(3000), found.solution.choose(data.context)].mean() < 0.2
