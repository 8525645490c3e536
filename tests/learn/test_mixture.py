"""The mixture: no trial vouches for itself, and what is planted is found."""

import numpy as np
import pytest
from interactions import interactions, planted
from scipy.special import expit, logit
from scipy.stats import multivariate_normal, norm

from bciigl.learn.interactions import less_means, of_action
from bciigl.learn.mixture import SHRINKAGE, TOLERANCE, Mixture, Whitening, recalibrated, softmax

TRIALS = 40
UNKNOWN = np.full(TRIALS, np.nan)
NOISE = (1.3, 0.7)
KINDS = pytest.mark.parametrize(
    ("shared", "one_right"), [(True, True), (False, True), (True, False), (False, False)]
)


def noise_alone(seed=0):
    """Return interactions of noise, centred as a mixture expects them."""
    data = interactions(TRIALS, seed=seed)
    return centred(data)


def centred(data):
    return data._replace(
        context=data.context - data.context.mean(axis=0),
        feedback=less_means(data.feedback, data.action),
    )


def any_belief(data, one_right):
    """Return a random belief of the kind that a step finds."""
    rng = np.random.default_rng(1)
    if one_right:
        return rng.dirichlet(np.ones(3), size=data.trials)
    return np.eye(3)[data.action] * rng.random(data.trials)[:, None]


def without(data, belief, trial, *kind):
    """Return what all other trials make of a belief: parameters, counts of states, match rate."""
    rest = np.delete(np.arange(data.trials), trial)
    others = data.rows(rest)
    others = others._replace(feedback=less_means(others.feedback, others.action))
    mixture = Mixture(others, UNKNOWN[rest], NOISE, *kind)
    means, directions = mixture.parameters(belief[rest], others.context, others.feedback)
    acted = np.eye(3)[others.action]
    states = belief[rest] if kind[1] else np.hstack([belief[rest], acted - belief[rest]])
    share = others.means(of_action(belief[rest], others.action))
    return means, directions, states.sum(axis=0), share, others


@KINDS
def test_feedback_is_judged_by_a_fit_without_the_trial(shared, one_right):
    data = noise_alone()
    belief = any_belief(data, one_right)
    odds = Mixture(data, UNKNOWN, NOISE, shared, one_right).fit(belief, 1)[1].feedback
    for trial, action in enumerate(data.action):
        _, directions, _, share, others = without(data, belief, trial, shared, one_right)
        taken = others.taken
        mean = np.delete(data.feedback, trial, axis=0)[others.action == action].mean(axis=0)
        told = taken * share * (1 - share)
        told = told.sum() if shared else told[action]
        # both clusters lie on either side of the action's mean, as far as their shares say
        high = mean + (1 - share[action]) * directions[action]
        low = mean - share[action] * directions[action]
        variance = NOISE[1] * (1 + 1 / taken[action] + 1 / max(told + SHRINKAGE / 2, 1))
        distance = [((data.feedback[trial] - each) ** 2).sum() for each in (low, high)]
        expected = (distance[0] - distance[1]) / (2 * variance)
        assert odds[trial] == pytest.approx(expected, abs=1e-9)


@KINDS
def test_contexts_are_judged_by_a_fit_without_the_trial(shared, one_right):
    data = noise_alone()
    belief = any_belief(data, one_right)
    mixture = Mixture(data, UNKNOWN, NOISE, shared, one_right)
    evidence = mixture.fit(belief, 1)[1]
    fit = mixture.context_fit(belief)
    for trial, context in enumerate(data.context):
        means, _, counts, _, _ = without(data, belief, trial, shared, one_right)
        log = np.array(
            [
                multivariate_normal.logpdf(context, mean, NOISE[0] * (1 + 1 / (count + SHRINKAGE)))
                for mean, count in zip(means, counts, strict=True)
            ]
        ) + 2 * np.log(2 * np.pi)  # of four features
        if one_right:
            log += np.log((counts + 1) / (counts + 1).sum())
            expected, likelihood = softmax(log), np.logaddexp.reduce(log)
        else:
            # rates are those of all trials: one more changes a rate by little, and no direction
            rewarded = belief.sum(axis=0)
            rate = (rewarded + 1) / (data.taken + 2)
            expected = expit(logit(rate) + log[:3] - log[3:])
            mine = data.action[trial]
            likelihood = np.logaddexp(
                np.log(rate[mine]) + log[mine], np.log1p(-rate[mine]) + log[3 + mine]
            )
        np.testing.assert_allclose(evidence.context[trial], expected, atol=1e-9)
        assert fit[trial] == pytest.approx(likelihood, abs=1e-9)


@KINDS
def test_what_is_believed_of_a_trial_never_judges_it(shared, one_right):
    data = noise_alone()
    mixture = Mixture(data, UNKNOWN, NOISE, shared, one_right)
    before = any_belief(data, one_right)
    other = before.copy()
    other[7] = np.roll(before[7], 1) if one_right else mixture.acted[7] - before[7]
    first, second = (mixture.fit(each, 1)[1] for each in (before, other))
    assert first.feedback[7] == pytest.approx(second.feedback[7], abs=1e-9)
    if one_right:
        np.testing.assert_allclose(first.context[7], second.context[7], atol=1e-9)
    assert np.abs(np.delete(first.feedback - second.feedback, 7)).max() > 1e-3


@pytest.mark.parametrize("one_right", [True, False])
def test_a_belief_is_bayes_rule_on_the_evidence(one_right):
    data = noise_alone()
    belief = any_belief(data, one_right)
    found, evidence = Mixture(data, UNKNOWN, NOISE, True, one_right).fit(belief, 1)
    acted = np.eye(3)[data.action]
    ratio = np.exp(acted * evidence.feedback[:, None])
    if one_right:
        expected = evidence.context * ratio
        expected /= expected.sum(axis=1, keepdims=True)
    else:
        expected = acted * expit(logit(evidence.context) + np.log(ratio))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("one_right", [True, False])
def test_a_known_match_rate_takes_the_place_of_the_learned_one(one_right):
    data = noise_alone()
    belief, catch = any_belief(data, one_right), np.arange(TRIALS) % 3 == 0

    def rewards(known):
        mixture = Mixture(data, known, NOISE, True, one_right)
        return of_action(mixture.fit(belief, 1)[0], data.action)

    free = rewards(UNKNOWN)
    low, high = (rewards(np.where(catch, rate, np.nan)) for rate in (0.1, 0.9))
    np.testing.assert_array_equal(low[~catch], free[~catch])
    # odds of 1 : 9 and of 9 : 1
    np.testing.assert_allclose(logit(high[catch]) - logit(low[catch]), 2 * np.log(9))
    assert (low[catch] < free[catch]).all()


@KINDS
def test_planted_means_and_directions_are_found(shared, one_right):
    told = planted(0, trials=600, features=10, imagined=4.0, judged=4.0, runs=1)
    data = centred(told.data)
    mixture = Mixture(data, np.full(600, np.nan), (1.0, 1.0), shared, one_right)
    # a poor guess: one reward in five is wrong
    wrong = np.random.default_rng(1).random(600) < 0.2
    belief, _ = mixture.fit(mixture.completed(1.0 * (told.reward ^ wrong)), 30)
    assert np.mean((of_action(belief, data.action) > 0.5) == told.reward) > 0.95
    means, directions = mixture.parameters(belief, data.context, data.feedback)
    rest = told.patterns.mean(axis=0)
    if one_right:
        # of 200 trials each: a standard error of 0.07, of which the largest of 30 is three
        np.testing.assert_allclose(means, told.patterns - rest, atol=0.35)
    # rewards differ in 44 trials for each action: standard errors of 0.15, and 0.09 if shared
    np.testing.assert_allclose(directions, np.tile(told.direction, (3, 1)), atol=0.7)


def test_how_much_directions_of_the_reward_differ():
    by_chance = []
    for seed in range(20):
        told = planted(seed, trials=600, judged=4.0, runs=1)
        belief = 1.0 * told.right
        data = centred(told.data)
        alike, share = Mixture(
            data, np.full(600, np.nan), (1.0, 1.0), True, True
        ).directions_differ(belief)
        assert abs(share) < 0.05
        by_chance.append(alike)
        # action 2 shows it in the opposite direction
        turned = 2 * np.outer(told.reward * (told.data.action == 2), told.direction)
        other = centred(told.data._replace(feedback=told.data.feedback - turned))
        differ, share = Mixture(
            other, np.full(600, np.nan), (1.0, 1.0), True, True
        ).directions_differ(belief)
        # the mean of 1, 1 and -1 is a third: eight ninths of all is different
        assert differ > 50 and share == pytest.approx(8 / 9, abs=0.05)
    # a chi square of 128 degrees of freedom, centred and scaled: three standard errors of 20
    assert abs(np.mean(by_chance)) < 0.7 and 0.5 < np.std(by_chance) < 1.6


def test_directions_of_one_action_do_not_differ():
    data = noise_alone()._replace(action=np.zeros(TRIALS, int))
    mixture = Mixture(data, UNKNOWN, NOISE, True, True)
    assert mixture.directions_differ(any_belief(data, True)) == (0, 0)


@KINDS
def test_linear_evidence_is_that_of_the_e_step_but_for_each_trials_own_part(shared, one_right):
    told = planted(0, trials=3000, features=6, imagined=2.0, judged=2.0)
    data = centred(told.data)
    mixture = Mixture(data, np.full(3000, np.nan), (1.0, 1.0), shared, one_right)
    belief, _ = mixture.fit(mixture.completed(1.0 * told.reward), 20)
    evidence, model = mixture.fit(belief, 1)[1], mixture.model(belief)
    probable = model.probable(model.context_scores(data.context))
    # one of 1000 trials moves a mean by a thousandth of its own distance
    np.testing.assert_allclose(probable, evidence.context, atol=0.03)
    odds = model.feedback_evidence(data.feedback, data.action)
    np.testing.assert_allclose(odds, evidence.feedback, atol=0.15)


@pytest.mark.parametrize("one_right", [True, False])
def test_a_first_guess_as_a_belief(one_right):
    data, reward = noise_alone(), np.random.default_rng(2).random(TRIALS)
    belief = Mixture(data, UNKNOWN, NOISE, True, one_right).completed(reward)
    np.testing.assert_allclose(of_action(belief, data.action), reward)
    np.testing.assert_allclose(belief.sum(axis=1), 1 if one_right else reward)
    # the others are equally likely, or nothing is said of them
    others = np.sort(belief[np.eye(3)[data.action] == 0].reshape(-1, 2))
    expected = (1 - reward) / 2 if one_right else 0 * reward
    np.testing.assert_allclose(others, np.column_stack([expected] * 2))


def test_steps_are_one_after_another_until_nothing_changes():
    data = noise_alone()
    mixture = Mixture(data, UNKNOWN, NOISE, True, True)
    beliefs = [any_belief(data, True)]
    while len(beliefs) < 4:
        beliefs.append(mixture.fit(beliefs[-1], 1)[0])
    np.testing.assert_array_equal(mixture.fit(beliefs[0], 3)[0], beliefs[-1])
    # many more than are taken until the largest change is small
    while np.abs(beliefs[-1] - beliefs[-2]).max() >= TOLERANCE:
        beliefs.append(mixture.fit(beliefs[-1], 1)[0])
    assert len(beliefs) > 4
    np.testing.assert_array_equal(mixture.fit(beliefs[0], 10**6)[0], beliefs[-1])


@pytest.mark.parametrize("one_right", [True, False])
def test_what_is_left_without_the_truth_is_the_noise(one_right):
    told = planted(0, trials=2000, features=5, imagined=5.0, judged=5.0)
    data = centred(told.data)
    mixture = Mixture(data, np.full(2000, np.nan), (1.0, 1.0), True, one_right)
    belief = 1.0 * told.right if one_right else told.right * mixture.acted
    for left, given in zip(
        mixture.unexplained(belief, data.context, data.feedback),
        (data.context, data.feedback),
        strict=True,
    ):
        variance = left.var(axis=0)
        # standard errors of a variance of 2000 trials are 0.03; where contexts are told apart by
        # the reward alone, those of both other options stay together
        assert one_right is False or np.abs(variance - 1).max() < 0.15
        assert variance.sum() < given.var(axis=0).sum()


def test_an_action_never_taken_is_borne():
    data = noise_alone()
    data = centred(data._replace(action=data.action % 2))
    for one_right in (True, False):
        mixture = Mixture(data, UNKNOWN, NOISE, False, one_right)
        belief, evidence = mixture.fit(any_belief(data, one_right), 5)
        model = mixture.model(belief)
        assert all(np.isfinite(each).all() for each in (belief, *evidence, *model))


def covariance(features=6, seed=0):
    """Return a covariance matrix whose SDs go from 1 to 5."""
    axes = np.linalg.qr(np.random.default_rng(seed).standard_normal((features, features)))[0]
    return axes * np.linspace(1, 5, features) ** 2 @ axes.T


def whitened_covariance(matrix, of):
    return matrix.T @ of @ matrix


def test_white_noise_stays_as_it_is():
    noise = np.random.default_rng(0).standard_normal((200, 64))
    for found in (Whitening.of(noise), Whitening.spherical(noise, np.ones(64))):
        white = whitened_covariance(found.matrix, np.eye(64)) / found.noise
        # shrinkage leaves nearly the identity, though 200 trials of 64 features are few
        assert np.linalg.eigvalsh(white).max() < 1.5
        assert np.linalg.eigvalsh(white).min() > 0.6


def test_a_planted_covariance_is_removed():
    planted_covariance = covariance()
    rng = np.random.default_rng(0)
    noise = rng.multivariate_normal(np.zeros(6), planted_covariance, 5000)
    found = Whitening.of(noise)
    white = whitened_covariance(found.matrix, planted_covariance)
    # a covariance of 5000 trials is exact to three times 2 %
    np.testing.assert_allclose(white, np.eye(6), atol=0.1)
    assert found.noise == pytest.approx(1, abs=0.05)


def test_units_make_noise_spherical_and_signal_in_few_directions_stays():
    rng, scale = np.random.default_rng(0), np.linspace(0.1, 3, 20)
    values = rng.standard_normal((500, 20))
    values[:, 0] += 10 * rng.standard_normal(500)
    found = Whitening.spherical(values / scale, scale)
    white = values / scale @ found.matrix
    # three standard errors of a variance of 500 trials are 0.2
    np.testing.assert_allclose(white[:, 1:].var(axis=0), 1, atol=0.25)
    assert white[:, 0].var() > 50


def test_features_that_do_not_vary_are_not_blown_up():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.standard_normal((100, 4)), np.zeros((100, 2))])
    assert np.abs(Whitening.of(values).matrix).max() < 40
    spherical = Whitening.spherical(values, np.append(np.ones(4), [0.0, 0.0])).matrix
    assert spherical[4:, 4:].tolist() == np.zeros((2, 2)).tolist()
    nothing = np.zeros((10, 3))
    for found in (Whitening.of(nothing, 0.1), Whitening.spherical(nothing, np.zeros(3))):
        assert np.isfinite(found.matrix).all()
        assert found.noise > 0


def test_no_direction_has_less_noise_than_the_least():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1000, 3)) * [1.0, 1.0, 1e-3]
    matrix = Whitening.of(values, 0.04).matrix
    assert np.linalg.norm(matrix, axis=0).max() == pytest.approx(1 / 0.2, rel=1e-6)


def test_softmax_of_huge_scores_is_finite():
    np.testing.assert_allclose(softmax(np.array([[1e4, 1e4, -1e4]])), [[0.5, 0.5, 0]])


def test_clusters_of_different_widths_are_told_apart_by_their_widths():
    rng = np.random.default_rng(0)
    reward = np.arange(3000) % 3 == 0
    odds = np.where(reward, rng.normal(1, 1, 3000), rng.normal(-1, 2, 3000))
    expected = norm.logpdf(odds, 1, 1) - norm.logpdf(odds, -1, 2)
    found = recalibrated(odds, 1.0 * reward)
    # widths of 1000 trials are known within 5 %, and far tails are cut
    near = np.abs(expected) < 6
    np.testing.assert_allclose(found[near], expected[near], atol=0.6)
    assert np.abs(found).max() <= 8
    # the far tail on the match's side belongs to the wide cluster
    assert recalibrated(np.append(odds, 9.0), np.append(1.0 * reward, 0.0))[-1] < 0


def test_widths_of_few_trials_and_of_no_clusters_are_left_alone():
    odds = np.random.default_rng(0).normal(size=60)
    for reward in (np.full(60, 0.01), 1.0 * (odds < 0)):
        np.testing.assert_array_equal(recalibrated(odds, reward), odds)
