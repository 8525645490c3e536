"""The contextual bandit oracle, by hand and where the behaviour policy was not uniform."""

import numpy as np
import pytest
from interactions import interactions, session
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from bciigl.learn import ContextualBandit, InputError
from bciigl.learn.bandit import NEVER, fit_policy, without_never_taken


def few(seed=0, trials=60):
    rng = np.random.default_rng(seed)
    context, action = rng.standard_normal((trials, 2)), rng.integers(3, size=trials)
    return context, action, 1.0 * (rng.random(trials) < 0.5)


def test_scores_are_a_logistic_regression_of_each_action():
    context, action, reward = few()
    policy = fit_policy(interactions(60, context=context, action=action), reward)
    for each in range(3):
        mine = action == each
        reference = LogisticRegression(tol=1e-8).fit(context[mine], reward[mine])
        expected = [*reference.coef_[0], *reference.intercept_]
        # L-BFGS stops at a gradient of 1e-5 per trial
        np.testing.assert_allclose(policy[:, each], expected, atol=5e-3)


def test_propensities_do_not_matter():
    told = session(epsilon=0.3)
    known = told.context, told.action, told.reward
    without, with_them = (
        ContextualBandit().fit(*known, propensity=each).policy_ for each in (None, told.propensity)
    )
    np.testing.assert_array_equal(without, with_them)


def test_an_action_never_taken_is_never_chosen():
    told = session(trials=300)
    kept = told.action != 1
    # where nothing was ever rewarded, all the others have scores as low as they get
    for reward in (told.reward[kept], np.zeros(kept.sum())):
        learner = ContextualBandit(n_actions=3)
        learner.fit(told.context[kept], told.action[kept], reward)
        assert 1 not in learner.predict(told.context)
        assert np.isfinite(learner.policy_).all()


def test_the_score_of_an_action_never_taken_is_marked():
    context, action, reward = few()
    policy = fit_policy(interactions(60, context=context, action=np.minimum(action, 1)), reward)
    assert policy[:, 2].tolist() == [0, 0, NEVER]


def test_only_actions_never_taken_lose_their_scores():
    policy = np.arange(6.0).reshape(2, 3)
    found = without_never_taken(policy, np.array([0, 2]))
    assert found.tolist() == [[0, 0, 2], [3, NEVER, 5]]
    assert policy.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("epsilon", [1.0, 0.3])
def test_known_rewards_are_learned_from(epsilon):
    told, fresh = session(0, epsilon=epsilon), session(1)
    learner = ContextualBandit()
    learner.fit(told.context, told.action, told.reward, propensity=told.propensity, run=told.run)
    assert fresh.accuracy(learner) > 0.95


def test_clones_have_the_ridge_and_forget_the_rest():
    told = session(trials=100)
    learner = ContextualBandit(ridge=0.5)
    learner.fit(told.context, told.action, told.reward)
    expected = {"n_actions": None, "ridge": 0.5}
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
