"""The paper's plain procedure: Adam on the contrastive objective, and a flip by the mean."""

import itertools

import numpy as np
import pytest
from interactions import interactions, session
from scipy.optimize import check_grad

from bciigl.learn import paper_procedure
from bciigl.learn.interactions import prepare
from bciigl.learn.paper_procedure import gradient, predicted

RNG = np.random.default_rng(0)
CONTEXT, FEEDBACK = RNG.standard_normal((12, 3)), RNG.standard_normal((12, 2))
PAIR = RNG.standard_normal(7)
ONES, WEIGHT = np.ones(12), RNG.integers(1, 4, size=12)


def test_prediction_by_hand():
    # 2 * 1 - 1 * 3 + 1 = 0, and one log(3) more
    weights = np.array([2.0, -1.0, 1.0])
    found = predicted(weights, np.array([[1.0, 3.0], [1.0, 3.0 - np.log(3)]]))
    np.testing.assert_allclose(found, [0.5, 0.75])


def objective(*arguments):
    return gradient(*arguments)[0]


def test_objective_is_the_covariance():
    f, psi = predicted(PAIR[:4], CONTEXT), predicted(PAIR[4:], FEEDBACK)
    assert objective(PAIR, CONTEXT, FEEDBACK, ONES) == pytest.approx(
        np.cov(f, psi, bias=True)[0, 1]
    )


def test_objective_is_minus_half_of_the_papers_loss_over_all_pairs():
    # Eq. 2: mean over true pairs of (f - psi)^2, less that over all pairs, each as likely
    f, psi = predicted(PAIR[:4], CONTEXT), predicted(PAIR[4:], FEEDBACK)
    true = np.mean([(a - b) ** 2 for a, b in zip(f, psi, strict=True)])
    shuffled = np.mean([(a - b) ** 2 for a, b in itertools.product(f, psi)])
    assert objective(PAIR, CONTEXT, FEEDBACK, ONES) == pytest.approx(-(true - shuffled) / 2)


def test_a_weight_is_a_number_of_repetitions():
    again = np.repeat(np.arange(12), WEIGHT)
    once = gradient(PAIR, CONTEXT, FEEDBACK, WEIGHT)
    repeated = gradient(PAIR, CONTEXT[again], FEEDBACK[again], np.ones(len(again)))
    assert objective(PAIR, CONTEXT, FEEDBACK, WEIGHT) == pytest.approx(repeated[0])
    assert once[0] == pytest.approx(repeated[0])
    np.testing.assert_allclose(once[1], repeated[1])


@pytest.mark.parametrize("weight", [ONES, WEIGHT])
def test_gradient_agrees_with_finite_differences(weight):
    def value(weights):
        return gradient(weights, CONTEXT, FEEDBACK, weight)[0]

    def slope(weights):
        return gradient(weights, CONTEXT, FEEDBACK, weight)[1]

    # forward differences with steps of 1.5e-8 are exact to about 1e-7
    assert check_grad(value, slope, PAIR) < 1e-6


def test_flipping_both_changes_nothing_and_flipping_one_the_sign():
    flipped = -PAIR
    value = objective(PAIR, CONTEXT, FEEDBACK, ONES)
    assert objective(flipped, CONTEXT, FEEDBACK, ONES) == pytest.approx(value)
    half = np.append(PAIR[:4], -PAIR[4:])
    assert objective(half, CONTEXT, FEEDBACK, ONES) == pytest.approx(-value)


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


def test_the_first_step_of_adam_goes_by_the_rate_in_each_direction(monkeypatch):
    # after one step, mean and root mean square are both the gradient itself
    monkeypatch.setattr(paper_procedure, "STEPS", 1)
    data = interactions()
    start = np.append(np.linspace(-1, 1, 5), np.linspace(-1, 1, 6))
    slope = gradient(start, data.context, data.feedback, data.weight)[1]
    found = paper_procedure.ascend(start, data.context, data.feedback, data.weight)
    np.testing.assert_allclose(found, start + paper_procedure.RATE * np.sign(slope), atol=1e-4)


def test_two_steps_of_adam_by_hand(monkeypatch):
    monkeypatch.setattr(paper_procedure, "STEPS", 2)
    context, feedback, weight = np.array([[1.0], [-1.0]]), np.array([[2.0], [0.0]]), np.ones(2)
    weights = np.array([0.5, 0.0, 0.3, 0.1])

    def slope(at):
        return gradient(at, context, feedback, weight)[1]

    first = slope(weights)
    after_one = weights + 0.01 * first / (np.abs(first) + 1e-8)
    second = slope(after_one)
    # means of both gradients with weights 0.9 and 1, and squares with 0.999 and 1, made unbiased
    mean = (0.9 * first + second) / 1.9
    square = (0.999 * first**2 + second**2) / 1.999
    expected = after_one + 0.01 * mean / (np.sqrt(square) + 1e-8)
    found = paper_procedure.ascend(weights, context, feedback, weight)
    np.testing.assert_allclose(found, expected)


def test_training_climbs_and_decodes_fewer_than_half_as_rewards():
    told = session(distance=6, strength=6)
    data = prepare(*told.seen)
    pairs, reward = paper_procedure.train(data, np.random.default_rng(0))
    for action, pair in enumerate(pairs):
        mine = data.action == action
        # Algorithm 1, lines 4 to 8
        assert reward[mine].mean() <= 0.5
        np.testing.assert_allclose(reward[mine], predicted(pair[9:], data.feedback[mine]))
        assert gradient(pair, data.context[mine], data.feedback[mine], data.weight[mine])[0] > 0.1


def test_a_flip_turns_predictor_and_decoder_over():
    # two features of feedback, one always there: whatever the start, the mean ends at most at 1/2
    for seed in range(5):
        data = interactions(seed=seed, context=np.ones((60, 4)), feedback=np.ones((60, 5)))
        _, reward = paper_procedure.train(data, np.random.default_rng(seed))
        assert reward.max() <= 0.5


def test_an_action_never_taken_keeps_its_start():
    data = interactions(action=np.zeros(60, int))
    pairs, reward = paper_procedure.train(data, np.random.default_rng(0))
    assert len(pairs) == 3
    assert np.isfinite(pairs).all()
    assert np.isfinite(reward).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_trains_the_same(seed):
    data = interactions()
    twice = [paper_procedure.train(data, np.random.default_rng(seed))[1] for _ in range(2)]
    np.testing.assert_array_equal(*twice)
