"""Softmax policies from evidence about the reward of one action a trial."""

import warnings

import numpy as np
import pytest
from interactions import interactions, session
from scipy.optimize import check_grad
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bciigl.labelled import one_right
from bciigl.labelled.one_right import SURE, OneRightBandit, fit_one_right
from bciigl.learn.bandit import fit_policy
from bciigl.learn.logistic import minimum


def told_by(seed, *, trials=300, n_actions=3, features=4, distance=4.0):
    """Return contexts, actions and which is right, of clusters that are the same for all seeds."""
    centres = distance * np.random.default_rng(1).standard_normal((n_actions, features))
    rng = np.random.default_rng([seed, 5])
    option, action = rng.integers(n_actions, size=(2, trials))
    return centres[option] + rng.standard_normal((trials, features)), action, option


def choice(policy, context):
    return (context @ policy[:-1] + policy[-1]).argmax(axis=1)


def minus_log_likelihood(policy, context, action, odds, ridge):
    """Return the loss by loops and the formula, per trial."""
    total = -0.5 * ridge * np.sum(policy[:-1] ** 2)
    for x, each, ratio in zip(context, action, np.exp(odds), strict=True):
        powers = np.exp(x @ policy[:-1] + policy[-1])
        right = powers[each] / powers.sum()
        total += np.log(right * ratio + 1 - right)
    return -total / len(context)


@pytest.fixture
def climbed(monkeypatch):
    """Return what is minimised for some arguments: its value, and its gradient."""

    def caught(*arguments, **settings):
        seen = []

        def spy(loss, *rest, **options):
            seen.append(loss)
            return minimum(loss, *rest, **options)

        with monkeypatch.context() as patch:
            patch.setattr(one_right, "minimum", spy)
            fit_one_right(*arguments, **settings)
        return lambda p: seen[0](p)[0], lambda p: seen[0](p)[1]

    return caught


@pytest.mark.parametrize("n_actions", [2, 5])
@pytest.mark.parametrize("sure", [False, True])
def test_gradient_agrees_with_finite_differences(n_actions, sure, climbed):
    rng = np.random.default_rng(0)
    context, action, option = told_by(0, trials=40, n_actions=n_actions, distance=1.0)
    odds = np.where(action == option, np.inf, -np.inf) if sure else 3 * rng.standard_normal(40)
    value, slope = climbed(context, action, odds, n_actions, ridge=0.7)
    for scale in (0.1, 1.0):
        # forward differences with steps of 1.5e-8 are exact to about 1e-7 of the slope
        parameters = scale * rng.standard_normal(5 * n_actions)
        assert check_grad(value, slope, parameters) < 1e-5


def test_what_is_climbed_is_the_likelihood_of_the_formula(climbed):
    rng = np.random.default_rng(0)
    context, action, _ = told_by(0, trials=40)
    odds = 3 * rng.standard_normal(40)
    value, _ = climbed(context, action, odds, 3, ridge=0.7)
    for scale in (0.0, 0.3, 2.0):
        policy = scale * rng.standard_normal((5, 3))
        expected = minus_log_likelihood(policy, context, action, odds, 0.7)
        assert value(policy.ravel()) == pytest.approx(expected)


def test_a_constant_added_to_all_scores_changes_nothing(climbed):
    rng = np.random.default_rng(0)
    context, action, _ = told_by(0, trials=40)
    value, slope = climbed(context, action, rng.standard_normal(40), 3)
    policy = rng.standard_normal((5, 3))
    moved = policy.copy()
    moved[-1] += 50
    assert value(moved.ravel()) == pytest.approx(value(policy.ravel()))
    np.testing.assert_allclose(slope(moved.ravel()), slope(policy.ravel()), atol=1e-9)


def test_scores_of_all_actions_add_up_to_nothing():
    # what they could add up to, the likelihood does not see and the ridge takes away
    context, action, option = told_by(0)
    policy = fit_one_right(context, action, np.where(action == option, 3.0, -2.0), 3)
    np.testing.assert_allclose(policy.sum(axis=1), 0, atol=1e-8)
    assert np.abs(policy).max() > 0.5


def test_nothing_near_the_policy_is_likelier():
    context, action, option = told_by(0, trials=100, distance=1.0)
    odds = np.where(action == option, 2.0, -2.0)
    policy = fit_one_right(context, action, odds, 3)
    best = minus_log_likelihood(policy, context, action, odds, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        near = policy + 0.1 * rng.standard_normal(policy.shape)
        assert minus_log_likelihood(near, context, action, odds, 1.0) > best


@pytest.mark.parametrize("ridge", [1.0, 10.0])
def test_where_all_actions_are_known_to_be_right_it_is_multinomial_regression(ridge):
    context, _, option = told_by(0, distance=1.0)
    policy = fit_one_right(context, option, np.full(300, np.inf), 3, ridge=ridge)
    reference = LogisticRegression(C=1 / ridge, tol=1e-8).fit(context, option)
    # L-BFGS stops at a gradient of 1e-5 per trial
    np.testing.assert_allclose(policy[:-1], reference.coef_.T, atol=5e-3)
    np.testing.assert_allclose(policy[-1], reference.intercept_, atol=5e-3)


def test_of_two_actions_one_that_is_wrong_tells_as_much_as_one_that_is_right():
    context, action, option = told_by(0, n_actions=2, distance=1.0)
    partial = fit_one_right(context, action, np.where(action == option, np.inf, -np.inf), 2)
    full = fit_one_right(context, option, np.full(300, np.inf), 2)
    np.testing.assert_allclose(partial, full, atol=5e-3)


@pytest.mark.parametrize("n_actions", [2, 3, 10, 30])
def test_known_rewards_are_learned_from_whatever_the_number_of_actions(n_actions):
    law = {"n_actions": n_actions, "features": 10, "trials": 60 * n_actions}
    context, action, option = told_by(0, **law)
    fresh, _, right = told_by(1, **law)
    policy = fit_one_right(context, action, logit(1.0 * (action == option)), n_actions)
    full = LogisticRegression().fit(context, option)
    # one reward a trial tells less than the label; chance is 1 / n_actions
    assert np.mean(choice(policy, fresh) == right) > 0.9 * full.score(fresh, right) > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_few_trials_of_many_actions_tell_more_than_each_action_by_itself(seed):
    # each action is taken 40 times, and right in two of them
    law = {"n_actions": 20, "features": 10, "distance": 3.0}
    context, action, option = told_by(seed, trials=800, **law)
    fresh, _, right = told_by(seed + 10, trials=2000, **law)
    reward = 1.0 * (action == option)
    policies = (
        fit_one_right(context, action, logit(reward), 20),
        fit_policy(interactions(800, 20, context=context, action=action), reward),
    )
    shared, direct = (np.mean(choice(policy, fresh) == right) for policy in policies)
    # 2000 fresh trials have a standard error of 0.01
    assert shared > direct + 0.03


def test_doubtful_rewards_are_learned_from():
    context, action, option = told_by(0, trials=1500)
    fresh, _, right = told_by(1, trials=1000)
    # the reward moves a feedback of unit noise by 2
    value = 2.0 * (action == option) + np.random.default_rng(2).standard_normal(1500)
    doubtful, sure = (
        np.mean(choice(fit_one_right(context, action, odds, 3), fresh) == right)
        for odds in (2 * value - 2, np.where(action == option, np.inf, -np.inf))
    )
    assert doubtful > sure - 0.02 > 0.9


def test_feedback_that_tells_nothing_teaches_nothing():
    context, action, _ = told_by(0)
    np.testing.assert_allclose(fit_one_right(context, action, np.zeros(300), 3), 0, atol=1e-12)


def test_an_action_never_taken_has_what_the_others_leave():
    context, action, option = told_by(0)
    seen = action != 2
    odds = np.where(action == option, np.inf, -np.inf)[seen]
    policy = fit_one_right(context[seen], action[seen], odds, 3)
    assert np.isfinite(policy).all()
    # where neither of the others is right, it is
    assert np.mean(choice(policy, context) == option) > 0.9


@pytest.mark.parametrize("certain", [np.inf, 1e6, SURE])
def test_infinite_odds_are_sure_ones(certain):
    context, action, option = told_by(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = fit_one_right(context, action, np.where(action == option, certain, -certain), 3)
    expected = fit_one_right(context, action, np.where(action == option, SURE, -SURE), 3)
    np.testing.assert_array_equal(policy, expected)


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_features_of_another_scale_lead_to_the_same_choices(scale):
    context, action, option = told_by(0)
    odds = np.where(action == option, np.inf, -np.inf)
    expected = choice(fit_one_right(context, action, odds, 3), context)
    # with a ridge in the units of the features
    policy = fit_one_right(scale * context, action, odds, 3, ridge=scale**2)
    assert np.mean(choice(policy, scale * context) == expected) > 0.97


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_features_of_extreme_scale_are_borne(scale):
    context, action, option = told_by(0)
    odds = np.where(action == option, np.inf, -np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = fit_one_right(scale * context, action, odds, 3)
    assert np.isfinite(policy).all()


def test_one_sure_error_does_not_spoil_the_rest():
    told, fresh = session(0), session(1)
    reward = told.reward.copy()
    reward[:6] = ~reward[:6]
    policy = fit_one_right(told.context, told.action, logit(1.0 * reward), 3)
    assert np.mean(choice(policy, fresh.context) == fresh.right.argmax(axis=1)) > 0.95


def test_a_larger_ridge_makes_smaller_weights():
    context, action, option = told_by(0)
    odds = np.where(action == option, 3.0, -3.0)
    sizes = [
        np.abs(fit_one_right(context, action, odds, 3, ridge=ridge)[:-1]).sum()
        for ridge in (0.1, 1.0, 10.0, 1e6)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-2


@pytest.mark.parametrize("sure", [True, False])
def test_bandit_s_scores_are_those_of_a_softmax_of_all_actions(sure):
    told = session(trials=60)
    reward = told.reward.astype(float) if sure else np.clip(told.reward, 0.2, 0.9)
    learner = OneRightBandit(ridge=2.0).fit(told.context, told.action, reward)
    scaled = learner.context_scaling_.apply(told.context, np.zeros(60, int))
    expected = fit_one_right(scaled, told.action, logit(reward), 3, ridge=2.0)
    np.testing.assert_array_equal(learner.policy_, expected)
    np.testing.assert_allclose(learner.policy_.sum(axis=1), 0, atol=1e-8)


def test_rewards_of_one_half_teach_the_bandit_nothing():
    told = session(trials=60)
    learner = OneRightBandit().fit(told.context, told.action, np.full(60, 0.5))
    np.testing.assert_allclose(learner.policy_, 0, atol=1e-12)


def test_where_one_is_right_propensities_do_not_matter():
    # given the context, how an action came to be taken tells nothing of which is right
    told = session(epsilon=0.3)
    known = told.context, told.action, told.reward
    learner = OneRightBandit()
    with_them = clone(learner).fit(*known, propensity=told.propensity)
    np.testing.assert_array_equal(with_them.policy_, learner.fit(*known).policy_)


@pytest.mark.parametrize("unit", [1e-50, 1e50])
def test_units_and_origin_of_features_do_not_matter_where_one_is_right(unit):
    told = session()
    first, second = (
        OneRightBandit().fit(context, told.action, told.reward)
        for context in (told.context, unit * (told.context + 3))
    )
    np.testing.assert_allclose(second.policy_, first.policy_, atol=1e-3)
