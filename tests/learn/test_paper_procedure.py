"""The paper's plain procedure: Adam on the contrastive objective, and a flip by the mean."""

import numpy as np
import pytest
from interactions import interactions, session

from bciigl.learn import paper_procedure
from bciigl.learn.contrastive import gradient, predicted
from bciigl.learn.interactions import prepare


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
        assert gradient(pair, data.context[mine], data.feedback[mine])[0] > 0.1


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
