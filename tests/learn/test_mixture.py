"""The two steps of expectation maximisation, against sums by hand and Bayes' rule."""

import numpy as np
import pytest
from interactions import interactions
from scipy.special import expit
from scipy.stats import multivariate_normal

from bciigl.learn.mixture import FEWEST_TRIALS_OF_ACTION, TwoViews, softmax

TRIALS, RIDGE = 150, 0.2
UNKNOWN = np.full(TRIALS, np.nan)
FOLD = np.arange(TRIALS) * 5 // TRIALS


def trials(seed=0):
    return interactions(TRIALS, seed=seed)


def any_belief(data, one_right):
    """Return a random belief of the kind that a step finds."""
    rng = np.random.default_rng(1)
    if one_right:
        return rng.dirichlet(np.ones(3), size=TRIALS)
    return np.eye(3)[data.action] * rng.random(TRIALS)[:, None]


def gaussians(data, belief, one_right, shared):
    """Return means and covariance of the context, the same of the feedback, and the shares.

    Contexts have a mean per option, or per action and reward; feedback per action and reward.
    """
    acted = np.eye(3)[data.action]
    rewarded = acted * belief
    states = belief if one_right else np.hstack([rewarded, acted - rewarded])
    size = states.sum(axis=0)
    means = np.array([np.average(data.context, axis=0, weights=each) for each in states.T])
    context = sum(
        states[i, k] * np.outer(data.context[i] - means[k], data.context[i] - means[k])
        for i in range(TRIALS)
        for k in range(len(means))
    )
    pair = np.array(
        [
            [np.average(data.feedback, axis=0, weights=w) for w in (r, a - r)]
            for r, a in zip(rewarded.T, acted.T, strict=True)
        ]
    )
    count, total = rewarded.sum(axis=0), acted.sum(axis=0)
    borrowing = np.full(3, True) if shared else total < FEWEST_TRIALS_OF_ACTION
    if borrowing.any():
        # least squares of one difference for all actions, about the mean of each
        told = count * (total - count) / total
        common = told @ (pair[:, 0] - pair[:, 1]) / told.sum()
        middle = (acted.T @ data.feedback) / total[:, None]
        share = (count / total)[:, None]
        lent = np.stack([middle + (1 - share) * common, middle - share * common], axis=1)
        pair = np.where(borrowing[:, None, None], lent, pair)
    feedback = 0
    for i, a in enumerate(data.action):
        for r, weight in enumerate((rewarded[i, a], 1 - rewarded[i, a])):
            away = data.feedback[i] - pair[a, r]
            feedback = feedback + weight * np.outer(away, away)
    smoothed = (size + 1) / (size + 1).sum()
    return means, context / TRIALS, pair, feedback / TRIALS, smoothed


def with_a_rare_action():
    action = np.where(np.arange(TRIALS) < FEWEST_TRIALS_OF_ACTION - 1, 2, np.arange(TRIALS) % 2)
    return interactions(TRIALS, action=action)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("one_right", [True, False])
@pytest.mark.parametrize("data", [trials(), with_a_rare_action()], ids=["usual", "rare"])
def test_parameters_are_those_of_weighted_gaussians(data, one_right, shared):
    belief = any_belief(data, one_right)
    model = TwoViews(data, FOLD, UNKNOWN, one_right).model(belief, ridge=RIDGE, shared=shared)
    means, of_context, pair, of_feedback, share = gaussians(data, belief, one_right, shared)
    of_context, of_feedback = (
        each + RIDGE * np.eye(len(each)) for each in (of_context, of_feedback)
    )
    log = np.column_stack(
        [multivariate_normal.logpdf(data.context, mean, of_context) for mean in means]
    ) + np.log(share)
    if one_right:
        expected = softmax(log)
    else:
        expected = expit(log[:, :3] - log[:, 3:])
    np.testing.assert_allclose(model.probable(model.context_scores(data.context)), expected)
    ratio = [
        multivariate_normal.logpdf(y, pair[a, 0], of_feedback)
        - multivariate_normal.logpdf(y, pair[a, 1], of_feedback)
        for y, a in zip(data.feedback, data.action, strict=True)
    ]
    np.testing.assert_allclose(
        model.feedback_evidence(data.feedback, data.action), ratio, atol=1e-9
    )


def test_shares_are_smoothed_by_one_trial_of_each_kind():
    data, acted = trials(), np.eye(3)[trials().action]
    belief = any_belief(data, True)
    model = TwoViews(data, FOLD, UNKNOWN, True).model(belief, ridge=RIDGE, shared=True)
    np.testing.assert_allclose(model.rate, (belief.sum(axis=0) + 1) / (TRIALS + 3))
    belief = any_belief(data, False)
    model = TwoViews(data, FOLD, UNKNOWN, False).model(belief, ridge=RIDGE, shared=True)
    np.testing.assert_allclose(model.rate, (belief.sum(axis=0) + 1) / (acted.sum(axis=0) + 2))


def step(data, reward, one_right, known=UNKNOWN, shared=True):
    """Return what one step makes of rewards."""
    views = TwoViews(data, FOLD, known, one_right)
    return views.fit(completed(data, reward, one_right), ridge=RIDGE, shared=shared, steps=1)


def completed(data, reward, one_right):
    """Return rewards as a belief: what is not right leaves the others equally likely."""
    acted = np.eye(3)[data.action]
    other = (1 - acted) * (1 - reward[:, None]) / 2 if one_right else 0
    return acted * reward[:, None] + other


@pytest.mark.parametrize("one_right", [True, False])
def test_a_first_guess_as_a_belief(one_right):
    data, reward = trials(), np.random.default_rng(2).random(TRIALS)
    belief = TwoViews(data, FOLD, UNKNOWN, one_right).completed(reward)
    np.testing.assert_allclose(belief, completed(data, reward, one_right))
    np.testing.assert_allclose(belief.sum(axis=1), 1 if one_right else reward)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("one_right", [True, False])
def test_belief_about_a_fold_is_bayes_rule_with_the_model_of_the_others(one_right, shared):
    data, reward = trials(), np.random.default_rng(2).random(TRIALS)
    belief, evidence = step(data, reward, one_right, shared=shared)
    for fold in range(5):
        rest, out = np.flatnonzero(FOLD != fold), np.flatnonzero(FOLD == fold)
        others = TwoViews(data.rows(rest), FOLD[rest], UNKNOWN[rest], one_right)
        model = others.model(completed(data, reward, one_right)[rest], ridge=RIDGE, shared=shared)
        prior = model.probable(model.context_scores(data.context[out]))
        ratio = model.feedback_evidence(data.feedback[out], data.action[out])
        np.testing.assert_allclose(evidence.context[out], prior)
        np.testing.assert_allclose(evidence.feedback[out], ratio, atol=1e-9)
        for i, before, each in zip(out, prior, ratio, strict=True):
            mine = np.eye(3, dtype=bool)[data.action[i]]
            if one_right:
                # feedback is exp(ratio) times as likely if the action taken is the right option
                after = before * np.where(mine, np.exp(each), 1)
                after /= after.sum()
            else:
                odds = before[mine] / (1 - before[mine]) * np.exp(each)
                after = np.where(mine, odds / (1 + odds), 0)
            np.testing.assert_allclose(belief[i], after, atol=1e-9)


@pytest.mark.parametrize("one_right", [True, False])
def test_what_is_believed_of_a_fold_never_judges_it(one_right):
    data, reward = trials(), np.random.default_rng(3).random(TRIALS)
    mine = FOLD == 2
    belief, evidence = step(data, reward, one_right)
    other_belief, other = step(data, np.where(mine, 1 - reward, reward), one_right)
    # sums over the other folds are differences, exact to rounding
    np.testing.assert_allclose(other_belief[mine], belief[mine], atol=1e-9)
    np.testing.assert_allclose(other.feedback[mine], evidence.feedback[mine], atol=1e-9)
    assert np.abs(other.feedback[~mine] - evidence.feedback[~mine]).max() > 1e-3


@pytest.mark.parametrize("one_right", [True, False])
def test_a_known_rate_takes_the_place_of_the_learned_one(one_right):
    data, reward = trials(), np.random.default_rng(4).random(TRIALS)
    known = np.where(np.arange(TRIALS) % 3 == 0, 0.9, np.nan)
    free, of_views = step(data, reward, one_right)
    held, evidence = step(data, reward, one_right, known)
    # what the views say by themselves is another matter
    np.testing.assert_array_equal(evidence.feedback, of_views.feedback)
    unknown = np.isnan(known)
    np.testing.assert_allclose(held[unknown], free[unknown])
    rows = np.arange(TRIALS)
    for i in np.flatnonzero(~unknown):
        rest = np.flatnonzero(FOLD != FOLD[i])
        others = TwoViews(data.rows(rest), FOLD[rest], UNKNOWN[rest], one_right)
        model = others.model(completed(data, reward, one_right)[rest], ridge=RIDGE, shared=True)
        rate = model.rate[data.action[i]]
        odds = [each[rows, data.action] / (1 - each[rows, data.action]) for each in (held, free)]
        # odds of the action taken move by those of the known rate over those of the learned one
        moved = (0.9 / 0.1) / (rate / (1 - rate))
        assert odds[0][i] == pytest.approx(moved * odds[1][i])


def test_a_rare_action_borrows_the_direction_of_the_others():
    data = with_a_rare_action()
    reward = np.random.default_rng(5).random(TRIALS)
    views = TwoViews(data, FOLD, UNKNOWN, True)
    belief = completed(data, reward, True)
    own = views.model(belief, ridge=RIDGE, shared=False).feedback_weights
    common = views.model(belief, ridge=RIDGE, shared=True).feedback_weights[:, 0]
    cosine = common @ own / (np.linalg.norm(common) * np.linalg.norm(own, axis=0))
    assert np.isfinite(own).all()
    # both covariances differ a little, so the direction is nearly but not quite the common one
    assert cosine[2] > 0.99 > max(cosine[:2])


def test_rewards_are_found_from_a_poor_guess():
    rng = np.random.default_rng(0)
    data = trials()
    option = rng.integers(3, size=TRIALS)
    right = option == data.action
    context, feedback = data.context.copy(), data.feedback.copy()
    context[:, :3] += 4 * (np.eye(3)[option] - 1 / 3)
    feedback[:, 0] += 4 * (right - 1 / 3)
    data = data._replace(context=context, feedback=feedback)
    guess = np.where(rng.random(TRIALS) < 0.8, right, ~right).astype(float)
    views = TwoViews(data, FOLD, UNKNOWN, True)
    belief, _ = views.fit(views.completed(guess), ridge=RIDGE, shared=True, steps=20)
    assert np.mean(belief.argmax(axis=1) == option) > 0.95


def test_many_steps_are_one_after_another_until_nothing_changes():
    data, reward = trials(), np.random.default_rng(2).random(TRIALS)
    views = TwoViews(data, FOLD, UNKNOWN, True)
    settings = {"ridge": RIDGE, "shared": True}
    beliefs = [views.completed(reward)]
    while len(beliefs) < 4:
        beliefs.append(views.fit(beliefs[-1], steps=1, **settings)[0])
    np.testing.assert_array_equal(views.fit(beliefs[0], steps=3, **settings)[0], beliefs[-1])
    # many more than are taken until the largest change is small
    last, _ = views.fit(beliefs[0], steps=10**6, **settings)
    assert np.abs(views.fit(last, steps=1, **settings)[0] - last).max() < 1e-3


def test_softmax_of_huge_scores_is_finite():
    np.testing.assert_allclose(softmax(np.array([[1e4, 1e4, -1e4]])), [[0.5, 0.5, 0]])
