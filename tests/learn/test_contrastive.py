"""The contrastive objective is the paper's, its gradient exact, and refining climbs it."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad

from bciigl.learn.contrastive import gradient, predicted, refine

RNG = np.random.default_rng(0)
CONTEXT, FEEDBACK = RNG.standard_normal((12, 3)), RNG.standard_normal((12, 2))
PAIR = RNG.standard_normal(7)
WEIGHT = RNG.integers(1, 4, size=12)


def two_clusters(trials=200, seed=0):
    """Return contexts and feedback whose first feature tells the reward."""
    rng = np.random.default_rng(seed)
    reward = rng.random(trials) < 0.3
    views = [rng.standard_normal((trials, size)) for size in (3, 2)]
    for view in views:
        view[:, 0] += 4 * reward
    return *views, reward


def test_prediction_by_hand():
    # 2 * 1 - 1 * 3 + 1 = 0, and one log(3) more
    weights = np.array([2.0, -1.0, 1.0])
    found = predicted(weights, np.array([[1.0, 3.0], [1.0, 3.0 - np.log(3)]]))
    np.testing.assert_allclose(found, [0.5, 0.75])


def objective(*arguments):
    return gradient(*arguments)[0]


def test_objective_is_the_covariance():
    f, psi = predicted(PAIR[:4], CONTEXT), predicted(PAIR[4:], FEEDBACK)
    assert objective(PAIR, CONTEXT, FEEDBACK) == pytest.approx(np.cov(f, psi, bias=True)[0, 1])


def test_objective_is_minus_half_of_the_papers_loss_over_all_pairs():
    # Eq. 2: mean over true pairs of (f - psi)^2, less that over all pairs, each as likely
    f, psi = predicted(PAIR[:4], CONTEXT), predicted(PAIR[4:], FEEDBACK)
    true = np.mean([(a - b) ** 2 for a, b in zip(f, psi, strict=True)])
    shuffled = np.mean([(a - b) ** 2 for a, b in itertools.product(f, psi)])
    assert objective(PAIR, CONTEXT, FEEDBACK) == pytest.approx(-(true - shuffled) / 2)


def test_a_weight_is_a_number_of_repetitions():
    again = np.repeat(np.arange(12), WEIGHT)
    once = gradient(PAIR, CONTEXT, FEEDBACK, WEIGHT)
    repeated = gradient(PAIR, CONTEXT[again], FEEDBACK[again])
    assert objective(PAIR, CONTEXT, FEEDBACK, WEIGHT) == pytest.approx(repeated[0])
    assert once[0] == pytest.approx(repeated[0])
    np.testing.assert_allclose(once[1], repeated[1])


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_gradient_agrees_with_finite_differences(weight):
    def value(weights):
        return gradient(weights, CONTEXT, FEEDBACK, weight)[0]

    def slope(weights):
        return gradient(weights, CONTEXT, FEEDBACK, weight)[1]

    # forward differences with steps of 1.5e-8 are exact to about 1e-7
    assert check_grad(value, slope, PAIR) < 1e-6


def test_flipping_both_changes_nothing_and_flipping_one_the_sign():
    flipped = -PAIR
    value = objective(PAIR, CONTEXT, FEEDBACK)
    assert objective(flipped, CONTEXT, FEEDBACK) == pytest.approx(value)
    half = np.append(PAIR[:4], -PAIR[4:])
    assert objective(half, CONTEXT, FEEDBACK) == pytest.approx(-value)


@pytest.mark.parametrize("n_actions", [3, 10])
def test_the_indicator_inside_the_averages_would_prefer_constants(n_actions):
    # Why Eq. 5 is not used as it is printed: all contexts with all actions, once each.
    context, action = np.array(list(itertools.product(range(n_actions), repeat=2))).T
    mine = action == 0
    reward = 1.0 * (context == action)

    def literal(f, psi):
        return np.mean(f * psi * mine) - np.mean(f * mine) * np.mean(psi * mine)

    constant = np.ones(len(context))
    assert literal(constant, constant) > literal(reward, reward)
    # by hand: 1/K - 1/K^2 against 1/K^2 - 1/K^4
    k = n_actions
    assert literal(constant, constant) == pytest.approx(1 / k - 1 / k**2)
    assert literal(reward, reward) == pytest.approx(1 / k**2 - 1 / k**4)
    # averages over the action's trials alone do not
    assert np.cov(constant[mine], constant[mine])[0, 1] == 0
    assert np.cov(reward[mine], reward[mine])[0, 1] > 0


def test_refining_climbs_to_the_reward():
    context, feedback, reward = two_clusters()
    start = np.array([0.5, 0.2, -0.2, 0.0, 0.5, 0.3, 0.0])
    found = refine(start, context, feedback)
    assert objective(found, context, feedback) > objective(start, context, feedback)
    # the covariance of the reward with itself is rate * (1 - rate)
    rate = reward.mean()
    assert objective(found, context, feedback) > 0.8 * rate * (1 - rate)
    assert np.mean((predicted(found[4:], feedback) > 0.5) == reward) > 0.9


def test_ridge_keeps_weights_small():
    context, feedback, _ = two_clusters()
    start = np.array([0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0])
    weak, strong = (refine(start, context, feedback, ridge=each) for each in (1e-3, 1e-1))
    assert np.linalg.norm(strong[4:-1]) < np.linalg.norm(weak[4:-1])
