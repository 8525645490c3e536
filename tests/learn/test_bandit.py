"""The contextual bandit oracle, by hand and where the behaviour policy was not uniform."""

import numpy as np
import pytest
from interactions import interactions, session
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bciigl.learn import ContextualBandit, InputError, bandit
from bciigl.learn.bandit import ESTIMATORS, NEVER, without_never_taken
from bciigl.learn.logistic import fit_logistic


def fit_policy(context, action, reward, weight, n_actions, **how):
    data = interactions(len(action), n_actions, context=context, action=action, weight=weight)
    return bandit.fit_policy(data, reward, **how)


def few(seed=0, trials=60):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((trials, 2)),
        rng.integers(3, size=trials),
        1.0 * (rng.random(trials) < 0.5),
        rng.uniform(0.5, 1.5, trials),
    )


def test_direct_scores_are_a_logistic_regression_of_each_action():
    context, action, reward, weight = few()
    policy = fit_policy(context, action, reward, weight, 3)
    for each in range(3):
        mine = action == each
        reference = LogisticRegression(tol=1e-8).fit(context[mine], reward[mine])
        expected = [*reference.coef_[0], *reference.intercept_]
        # L-BFGS stops at a gradient of 1e-5 per trial
        np.testing.assert_allclose(policy[:, each], expected, atol=5e-3)


def test_ips_scores_predict_which_rewarded_actions_were_taken():
    context, action, reward, weight = few()
    policy = fit_policy(context, action, reward, weight, 3, estimator="ips")
    for each in range(3):
        reference = LogisticRegression(tol=1e-8).fit(
            context, action == each, sample_weight=reward * weight
        )
        expected = [*reference.coef_[0], *reference.intercept_]
        np.testing.assert_allclose(policy[:, each], expected, atol=5e-3)


def test_ips_of_contexts_that_do_not_vary_by_hand():
    # rewarded: action 0 with importance 3, action 1 with importance 1
    policy = fit_policy(
        np.zeros((4, 1)),
        np.array([0, 0, 1, 1]),
        np.array([1.0, 0, 1, 0]),
        np.array([3.0, 3, 1, 1]),
        2,
        estimator="ips",
    )
    np.testing.assert_allclose(expit(policy[-1]), [3 / 4, 1 / 4], atol=1e-4)


def test_doubly_robust_scores_by_loops():
    context, action, reward, weight = few()
    direct = np.array(
        [
            fit_logistic(
                context[action == each], reward[action == each], np.ones(sum(action == each))
            )
            for each in range(3)
        ]
    )
    target = np.empty((60, 3))
    for i in range(60):
        for each in range(3):
            target[i, each] = expit(context[i] @ direct[each, :-1] + direct[each, -1])
            if action[i] == each:
                # 1 / propensity is actions times importance
                target[i, each] += 3 * weight[i] * (reward[i] - target[i, each])
    features = np.column_stack([context, np.ones(60)])
    ridge = np.diag([1.0, 1.0, 0.0])
    expected = np.linalg.inv(features.T @ features + ridge) @ features.T @ target
    policy = fit_policy(context, action, reward, weight, 3, estimator="dr")
    np.testing.assert_allclose(policy, expected, atol=1e-6)


def test_doubly_robust_scores_correct_a_model_that_was_learned_from_chosen_contexts():
    # Action 0 is right one time in two, but was mostly taken where it is; its model, which sees no
    # context feature, believes what it saw. Action 1 always pays 0.6.
    rng = np.random.default_rng(0)
    good = rng.random(4000) < 0.5
    propensity_of_0 = np.where(good, 0.9, 0.1)
    action = np.where(rng.random(4000) < propensity_of_0, 0, 1)
    propensity = np.where(action == 0, propensity_of_0, 1 - propensity_of_0)
    reward = np.where(action == 0, good, rng.random(4000) < 0.6)
    weight = 1 / (2 * propensity)
    blind = np.zeros((4000, 1)), action, reward.astype(float), weight / weight.mean(), 2
    direct, robust = (fit_policy(*blind, estimator=each)[-1] for each in ("direct", "dr"))
    assert direct.argmax() == 0
    assert robust.argmax() == 1
    # the standard error of an importance-weighted mean of 4000 is about 0.02
    np.testing.assert_allclose(robust, [0.5, 0.6], atol=0.08)


def test_ips_is_not_misled_by_how_often_an_action_was_taken():
    rng = np.random.default_rng(1)
    action = np.where(rng.random(2000) < 0.9, 0, 1)
    propensity = np.where(action == 0, 0.9, 0.1)
    reward = 1.0 * (rng.random(2000) < np.where(action == 0, 0.3, 0.7))
    weight = 1 / (2 * propensity)
    policy = fit_policy(
        np.zeros((2000, 1)), action, reward, weight / weight.mean(), 2, estimator="ips"
    )
    # 0.3 against 0.7
    assert expit(policy[-1]) == pytest.approx([0.3, 0.7], abs=0.06)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_tiny_propensity_does_not_undo_the_others(estimator):
    told = session()
    propensity = np.where(np.arange(600) == 0, 1e-9, 1 / 3)
    learner = ContextualBandit(estimator=estimator)
    learner.fit(told.context, told.action, told.reward, propensity=propensity)
    assert session(1).accuracy(learner) > 0.9


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_action_never_taken_is_never_chosen(estimator):
    told = session(trials=300)
    kept = told.action != 1
    # where nothing was ever rewarded, all the others have scores as low as they get
    for reward in (told.reward[kept], np.zeros(kept.sum())):
        learner = ContextualBandit(n_actions=3, estimator=estimator)
        learner.fit(told.context[kept], told.action[kept], reward)
        assert 1 not in learner.predict(told.context)
        assert np.isfinite(learner.policy_).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_score_of_an_action_never_taken_is_marked(estimator):
    context, action, reward, weight = few()
    policy = fit_policy(context, np.minimum(action, 1), reward, weight, 3, estimator=estimator)
    assert policy[:, 2].tolist() == [0, 0, NEVER]


def test_only_actions_never_taken_lose_their_scores():
    policy = np.arange(6.0).reshape(2, 3)
    found = without_never_taken(policy, np.array([0, 2]))
    assert found.tolist() == [[0, 0, 2], [3, NEVER, 5]]
    assert policy.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("epsilon", [1.0, 0.3])
def test_known_rewards_are_learned_from(estimator, epsilon):
    told, fresh = session(0, epsilon=epsilon), session(1)
    learner = ContextualBandit(estimator=estimator)
    learner.fit(told.context, told.action, told.reward, propensity=told.propensity, run=told.run)
    assert fresh.accuracy(learner) > 0.95


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clones_have_the_estimator_and_forget_the_rest(estimator):
    told = session(trials=100)
    learner = ContextualBandit(estimator=estimator, ridge=0.5)
    learner.fit(told.context, told.action, told.reward)
    expected = {"n_actions": None, "estimator": estimator, "ridge": 0.5}
    assert clone(learner).get_params() == learner.get_params() == expected
    assert not hasattr(clone(learner), "policy_")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reward": [0, 0.5, 2]}, "reward must be 0 to 1, got 0 to 2"),
        ({"reward": [0, 1]}, "3 trials, got 2"),
        ({"reward": [[0], [1], [1]]}, r"reward must be of shape \(trials,\), got \(3, 1\)"),
        ({"reward": [0, 1, np.nan]}, "reward must be finite numbers, got nan"),
    ],
)
def test_bad_rewards_are_refused(changed, message):
    arrays = {"context": np.ones((3, 1)), "action": [0, 1, 0], "reward": [0, 1, 1], **changed}
    with pytest.raises(InputError, match=message):
        ContextualBandit().fit(**arrays)


def test_an_unknown_estimator_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="estimator .* got 'drr'; did you mean 'dr'"):
        ContextualBandit(estimator="drr").fit([[1.0]], [0], [1])
