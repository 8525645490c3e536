"""Policy and decoder together: the bound they climb, by loops and by finite differences."""

import warnings

import numpy as np
import pytest
from interactions import interactions
from scipy.optimize import check_grad
from sklearn.metrics import log_loss

from bciigl.labelled import agreement
from bciigl.labelled.agreement import Linear, fit_agreement
from bciigl.labelled.one_right import SURE
from bciigl.learn.interactions import Prepared
from bciigl.learn.logistic import minimum

# The decoder that generated the feedback of `agreeing`: log-odds of bits in each feature.
SHIFT = 1.5 * np.random.default_rng(8).standard_normal((6, 3))


def agreeing(seed: int = 0, trials: int = 600) -> tuple[Prepared, np.ndarray]:
    """Return trials of bits, in which the reward moves the feedback, and the rewards."""
    rng = np.random.default_rng([seed, 9])
    context = 1.0 * (rng.random((trials, 6)) < 0.5) - 0.5
    weights = 4 * np.random.default_rng(7).standard_normal((6, 3))
    option = (context @ weights + rng.gumbel(size=(trials, 3))).argmax(axis=1)
    data = interactions(trials, seed=seed, context=context)
    reward = option == data.action
    odds = np.where(reward[:, None], SHIFT.T[data.action], 0.0)
    feedback = 1.0 * (rng.random((trials, 6)) < 1 / (1 + np.exp(-odds))) - 0.5
    return data._replace(feedback=feedback), reward


def rough(seed: int = 3) -> Linear:
    """Return a start that is right, but neither sure nor exact."""
    rng = np.random.default_rng(seed)
    policy = np.random.default_rng(7).standard_normal((6, 3)) + 0.3 * rng.standard_normal((6, 3))
    decoder = 0.3 * SHIFT + 0.1 * rng.standard_normal((6, 3))
    return Linear(np.vstack([policy, np.zeros(3)]), np.vstack([decoder, np.zeros(3)]))


def bound(linear: Linear, data: Prepared) -> float:
    """Return J by loops over trials."""
    right, ratio = [], []
    for x, action, y in zip(data.context, data.action, data.feedback, strict=True):
        powers = np.exp(x @ linear.policy[:-1] + linear.policy[-1])
        right.append(powers[action] / powers.sum())
        ratio.append(np.exp(y @ linear.decoder[:-1, action] + linear.decoder[-1, action]))
    right, ratio = np.array(right), np.array(ratio)
    mean = np.array([right[data.action == each].mean() for each in data.action])
    return float(np.mean(np.log((right * ratio + 1 - right) / (mean * ratio + 1 - mean))))


def penalised(linear: Linear, data: Prepared, ridge: float = 1.0) -> float:
    """Return J less the ridge."""
    squares = np.sum(linear.policy[:-1] ** 2) + np.sum(linear.decoder[:-1] ** 2)
    return bound(linear, data) - 0.5 * ridge * squares / data.trials


def packed(linear: Linear) -> np.ndarray:
    return np.concatenate([each.ravel() for each in linear])


@pytest.fixture
def climbed(monkeypatch):
    """Return what is minimised for some trials: its value, and its gradient."""

    def caught(data, start, **settings):
        seen = []

        def spy(loss, *rest, **options):
            seen.append(loss)
            return minimum(loss, *rest, **options)

        with monkeypatch.context() as patch:
            patch.setattr(agreement, "minimum", spy)
            fit_agreement(data, start, **settings)
        return lambda p: seen[0](p)[0], lambda p: seen[0](p)[1]

    return caught


def any_linear(seed: int, scale: float) -> Linear:
    rng = np.random.default_rng(seed)
    return Linear(*(scale * rng.standard_normal((7, 3)) for _ in range(2)))


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.5])
def test_what_is_climbed_is_the_bound_of_the_formula(scale, climbed):
    data, _ = agreeing(trials=40)
    value, _ = climbed(data, rough(), ridge=0.7)
    linear = any_linear(0, scale)
    assert value(packed(linear)) == pytest.approx(-penalised(linear, data, 0.7))


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_gradient_agrees_with_finite_differences(scale, climbed):
    data, _ = agreeing(trials=40)
    value, slope = climbed(data, rough(), ridge=0.7)
    # forward differences with steps of 1.5e-8 are exact to about 1e-7 of the slope
    assert check_grad(value, slope, packed(any_linear(0, scale))) < 1e-5


def test_evidence_that_is_sure_enough_is_not_made_surer(climbed):
    data, _ = agreeing(trials=40)
    value, slope = climbed(data, rough(), ridge=0.7)
    linear = any_linear(0, 0.5)
    linear.decoder[-1] = [2 * SURE, 0.0, -2 * SURE]
    assert check_grad(value, slope, packed(linear)) < 1e-5
    of_bias = slope(packed(linear))[-3:]
    assert of_bias[0] == of_bias[2] == 0
    assert of_bias[1] != 0


def test_a_constant_added_to_all_scores_changes_nothing(climbed):
    data, _ = agreeing(trials=40)
    value, _ = climbed(data, rough())
    linear = any_linear(0, 1.0)
    moved = linear._replace(policy=linear.policy + np.append(np.zeros(6), 50.0)[:, None])
    assert value(packed(moved)) == pytest.approx(value(packed(linear)))


@pytest.mark.parametrize("ridge", [1.0, 20.0])
def test_it_is_better_than_its_start_by_its_own_objective(ridge):
    data, _ = agreeing()
    start = rough()
    found = fit_agreement(data, start, ridge=ridge)
    assert penalised(found, data, ridge) > penalised(start, data, ridge) + 0.01


def test_nothing_near_it_is_better():
    data, _ = agreeing()
    found = fit_agreement(data, rough())
    best = penalised(found, data)
    for seed in range(10):
        step = any_linear(seed, 0.1)
        near = Linear(*(a + b for a, b in zip(found, step, strict=True)))
        assert penalised(near, data) < best


@pytest.mark.parametrize("seed", range(3))
def test_unseen_trials_are_decoded_and_predicted_better_than_by_the_start(seed):
    data, _ = agreeing(seed)
    fresh, reward = agreeing(seed + 50, 2000)
    start = rough(seed)
    found = fit_agreement(data, start)
    assert bound(found, fresh) > bound(start, fresh) + 0.02
    before, after = (
        log_loss(reward, each.evidence(fresh).reward(fresh.action)) for each in (start, found)
    )
    assert after < 0.95 * before


def test_views_that_have_nothing_in_common_tell_nothing_of_each_other_on_unseen_trials():
    for seed in range(5):
        data, _ = agreeing(seed)
        rng = np.random.default_rng(seed)
        # contexts of other trials
        data = data._replace(context=rng.permutation(data.context))
        seen, unseen = data.rows(np.arange(300)), data.rows(np.arange(300, 600))
        found = fit_agreement(seen, rough())
        assert bound(found, seen) > 0
        assert bound(found, unseen) < 0.01


def test_the_order_of_trials_does_not_matter():
    data, _ = agreeing()
    shuffled = data.rows(np.random.default_rng(0).permutation(data.trials))
    first, second = fit_agreement(data, rough()), fit_agreement(shuffled, rough())
    # L-BFGS stops after steps, and rounding may lead it by other ones
    np.testing.assert_allclose(second.policy, first.policy, atol=0.02)
    np.testing.assert_allclose(second.decoder, first.decoder, atol=0.02)


def test_names_of_actions_do_not_matter():
    data, _ = agreeing()
    start, names = rough(), np.array([2, 0, 1])
    renamed = Linear(*(np.empty_like(each) for each in start))
    for each, other in zip(start, renamed, strict=True):
        other[:, names] = each
    first = fit_agreement(data, start)
    second = fit_agreement(data._replace(action=names[data.action]), renamed)
    np.testing.assert_allclose(second.policy[:, names], first.policy, atol=0.02)
    np.testing.assert_allclose(second.decoder[:, names], first.decoder, atol=0.02)


def test_trials_and_start_are_left_as_they_were():
    data, _ = agreeing()
    start = rough()
    before = [each.copy() for each in (*data[:3], *start)]
    fit_agreement(data, start)
    for each, was in zip((*data[:3], *start), before, strict=True):
        np.testing.assert_array_equal(each, was)


def test_an_action_never_taken_is_borne():
    data, _ = agreeing()
    data = data.rows(np.flatnonzero(data.action != 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_agreement(data, rough())
    assert np.isfinite(packed(found)).all()
    # nothing tells how its reward would show
    np.testing.assert_allclose(found.decoder[:-1, 1], 0, atol=0.05)
    assert found.decoder[-1, 1] == 0
    assert np.abs(found.decoder[:-1, 0]).max() > 0.5


def test_evidence_of_policy_and_decoder_by_hand():
    # log-odds 1 : 3 of the actions for the first context, even ones for the second
    policy = np.array([[0.0, np.log(3)], [0.0, 0.0]])
    decoder = np.array([[1.0, 10.0], [0.5, -1.0]])
    data = interactions(
        2, 2, context=np.array([[1.0], [0.0]]), action=np.array([0, 1]), feedback=np.ones((2, 1))
    )
    evidence = Linear(policy, decoder).evidence(data)
    np.testing.assert_allclose(evidence.context, [[0.25, 0.75], [0.5, 0.5]])
    assert evidence.feedback.tolist() == [1.5, 9.0]
