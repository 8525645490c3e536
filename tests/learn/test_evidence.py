"""Evidence of two views, against likelihoods added up over both rewards."""

import numpy as np
import pytest
from interactions import interactions
from scipy.special import expit, softmax
from scipy.stats import norm

from bciigl.learn.evidence import (
    Evidence,
    contrast_t,
    information,
    orientation,
    rate_misfit,
    t_statistic,
)

HIGH, LOW = 1.5, -1.5


def log_likelihood(rate, value):
    """Return the log-density of a feedback that is 1.5 if rewarded, else -1.5, of unit noise."""
    return np.log(rate * norm.pdf(value, HIGH) + (1 - rate) * norm.pdf(value, LOW))


def judged(trials=40, seed=0, truth=1.0):
    """Return interactions, feedback values and evidence whose predictions are as good as told."""
    rng = np.random.default_rng(seed)
    data = interactions(trials, seed=seed)
    reward = rng.random(trials) < 1 / 3
    value = np.where(reward, HIGH, LOW) + rng.standard_normal(trials)
    right = rng.dirichlet(np.ones(3), size=trials)
    predicted = np.clip(0.1 + 0.8 * (truth * reward + (1 - truth) * rng.random(trials)), 0.01, 0.99)
    right[np.arange(trials), data.action] = predicted
    ratio = norm.logpdf(value, HIGH) - norm.logpdf(value, LOW)
    return data, value, Evidence(right, ratio)


def gain(data, value, predicted, trust):
    """Return the gain in log-likelihood over the action's mean prediction, trial by trial."""
    found = []
    for action, of_context, of_feedback in zip(data.action, predicted, value, strict=True):
        mean = predicted[data.action == action].mean()
        taken = mean + trust * (of_context - mean)
        found.append(log_likelihood(taken, of_feedback) - log_likelihood(mean, of_feedback))
    return np.array(found)


def test_prediction_and_reward_of_a_trial_by_hand():
    evidence = Evidence(np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([np.log(4), -np.log(3)]))
    action = np.array([0, 1])
    assert evidence.predicted(action).tolist() == [0.2, 0.5]
    # odds 1 : 4 times 4 are even; even odds times 1 / 3 are 1 : 3
    np.testing.assert_allclose(evidence.reward(action), [0.5, 0.25])


def test_rows_of_evidence_are_rows_of_both_views():
    _, _, evidence = judged()
    part = evidence.rows(np.array([5, 2]))
    np.testing.assert_array_equal(part.context, evidence.context[[5, 2]])
    np.testing.assert_array_equal(part.feedback, evidence.feedback[[5, 2]])


@pytest.mark.parametrize("truth", [1.0, 0.5])
def test_information_is_the_best_gain_in_likelihood(truth):
    data, value, evidence = judged(truth=truth)
    predicted = evidence.predicted(data.action)
    gains = [gain(data, value, predicted, trust) for trust in (1, 0.9, 0.7, 0.5, 0.3)]
    np.testing.assert_allclose(information(evidence, data), max(gains, key=np.sum))


def test_information_is_positive_for_true_predictions_and_not_for_shuffled_ones():
    data, _, evidence = judged(2000)
    assert information(evidence, data).mean() > 0.2
    shuffled = Evidence(np.roll(evidence.context, 7, axis=0), evidence.feedback)
    assert information(shuffled, data).mean() < 0


def seen_by_both(trials=3000, seed=0, truth=0.0):
    """Return interactions and evidence of views that agree about the reward as far as `truth`."""
    rng = np.random.default_rng([seed, 4])
    option, action = rng.integers(3, size=(2, trials))
    right = softmax(2 * np.eye(3)[option] + rng.standard_normal((trials, 3)), axis=1)
    ratio = truth * (option == action) + rng.standard_normal(trials)
    return Evidence(right, ratio), interactions(trials, action=action)


# Five folds of 3000 trials.
FOLD = np.arange(3000) % 5


def test_contrast_by_hand():
    # option 0 is probable in trials 0 and 2; guess 0 gets more then, guess 1 less
    action = np.array([0, 0, 1, 1])
    probable = np.array([0.8, 0.2, 0.8, 0.2])
    data, one = interactions(4, 2, action=action), np.zeros(4, int)
    ratio = np.array([np.log(4), -np.log(4), -np.log(1.5), np.log(1.5)])
    evidence = Evidence(np.column_stack([probable, 1 - probable]), ratio)
    # products of deviations: 0.3 times 0.3 for the guess 0, 0.3 times 0.1 for the guess 1, each
    # for one option and against the other
    terms = np.array([0.09, 0.09, 0.03, 0.03])
    assert contrast_t(evidence, data, one) == pytest.approx(
        terms.mean() / (terms.std(ddof=1) / np.sqrt(4))
    )
    # exchanged, each option's probability speaks against it
    turned = evidence._replace(feedback=-ratio)
    assert contrast_t(turned, data, one) == pytest.approx(-contrast_t(evidence, data, one))


def test_contrast_is_a_t_statistic_by_an_independent_sum():
    evidence, data = seen_by_both(300, truth=0.5)
    fold = np.arange(300) % 4
    decoded = 1 / (1 + np.exp(-evidence.feedback))
    terms = np.zeros(300)
    for option in range(3):
        guessed = data.action == option
        for trial, action in enumerate(data.action):
            mine = (data.action == action) & (fold == fold[trial])
            product = (decoded[trial] - decoded[mine].mean()) * (
                evidence.context[trial, option] - evidence.context[mine, option].mean()
            )
            terms[trial] += product / (guessed.sum() if guessed[trial] else -(~guessed).sum())
    expected = terms.mean() / (terms.std(ddof=1) / np.sqrt(300))
    assert contrast_t(evidence, data, fold) == pytest.approx(expected)


def test_contrast_of_noise_varies_as_a_t_statistic_does():
    found = [contrast_t(*seen_by_both(seed=seed), FOLD) for seed in range(100)]
    # the mean of 100 has an error of 0.1, their SD one of 0.07
    assert abs(np.mean(found)) < 0.3
    assert 0.8 < np.std(found) < 1.2


def test_rewards_have_contrast_and_noise_has_none():
    assert contrast_t(*seen_by_both(truth=2.0), FOLD) > 10
    # of four, none is beyond 3 by chance
    assert max(abs(contrast_t(*seen_by_both(seed=seed), FOLD)) for seed in range(4)) < 3


def test_constants_of_folds_are_no_contrast():
    evidence, data = seen_by_both(truth=0.5)
    before = contrast_t(evidence, data, FOLD)
    # models without different folds may favour options and matches more or less
    constant = np.random.default_rng(0).uniform(-0.2, 0.2, (5, 3))[FOLD]
    moved = evidence._replace(context=evidence.context + constant)
    assert contrast_t(moved, data, FOLD) == pytest.approx(before)
    noise, data = seen_by_both()
    # in which both favour the same: between folds, not within
    favoured = 0.3 * np.eye(3)[FOLD % 3]
    ratio = noise.feedback + 5 * (data.action == FOLD % 3)
    moved = Evidence(noise.context + favoured, ratio)
    assert contrast_t(moved, data, 0 * FOLD) > 10
    assert abs(contrast_t(moved, data, FOLD)) < 3


def test_noise_that_both_views_share_has_information_but_no_contrast():
    for seed in range(4):
        arousal, *own = np.random.default_rng(seed).standard_normal((3, 3000))
        _, data = seen_by_both(seed=seed)
        # every option looks the more probable, and every guess the more like a match
        right = np.tile(expit(2 * arousal + own[0])[:, None], 3)
        evidence = Evidence(right, 2 * arousal + own[1])
        told = information(evidence, data)
        assert told.mean() > 10 * told.std() / np.sqrt(3000)
        assert abs(contrast_t(evidence, data, FOLD)) < 3


def test_contrast_of_actions_never_or_once_taken_is_finite():
    evidence, data = seen_by_both(30, truth=2.0)
    for action in (np.zeros(30, int), np.arange(30) == 7, np.arange(30) % 2):
        assert np.isfinite(
            contrast_t(evidence, data._replace(action=action.astype(int)), FOLD[:30])
        )


def test_a_t_statistic_by_hand():
    # mean 2, SD 1, standard error 1 / sqrt(3)
    assert t_statistic(np.array([1.0, 2.0, 3.0])) == pytest.approx(2 * np.sqrt(3))
    assert t_statistic(np.ones(1)) == t_statistic(np.zeros(9)) == 0


def test_orientation_is_the_log_likelihood_ratio_of_the_mirror_image():
    _, value, evidence = judged()
    rate = np.random.default_rng(1).uniform(0.05, 0.95, 40)
    expected = log_likelihood(rate, value) - log_likelihood(1 - rate, value)
    np.testing.assert_allclose(orientation(evidence, rate), expected)


def test_orientation_is_nothing_at_one_half_and_changes_sign_with_the_rate():
    _, _, evidence = judged()
    assert orientation(evidence, np.full(40, 0.5)).tolist() == [0] * 40
    low, high = (orientation(evidence, np.full(40, rate)) for rate in (0.2, 0.8))
    np.testing.assert_allclose(low, -high)
    # a third of the trials is rewarded
    assert low.sum() > 0


def test_a_match_rate_that_fits_has_no_misfit_and_a_mirrored_one_has():
    _, _, evidence = judged(2000)
    ones = np.ones(2000)
    # a third of the trials is rewarded; the rate of 2000 trials is exact to 0.01
    assert rate_misfit(evidence, np.full(2000, 1 / 3), ones) < 2
    far = rate_misfit(evidence, np.full(2000, 2 / 3), ones)
    assert far > 100
    # it is what the best other rate would gain; rates are tried in steps of 0.5 log-odds
    best = log_likelihood_at(evidence, 1 / 3) - log_likelihood_at(evidence, 2 / 3)
    assert far == pytest.approx(best, rel=0.02)


def log_likelihood_at(evidence, rate):
    """Return the log-likelihood of all feedback at a match rate, up to a constant."""
    return np.logaddexp(np.log(rate) + evidence.feedback, np.log1p(-rate)).sum()


def test_a_misfit_is_never_negative_and_trials_count_by_their_weight():
    _, _, evidence = judged()
    rng = np.random.default_rng(1)
    rate, weight = rng.uniform(0.05, 0.95, 40), rng.integers(0, 4, size=40).astype(float)
    found = rate_misfit(evidence, rate, weight)
    assert found >= 0
    again = np.repeat(np.arange(40), weight.astype(int))
    repeated = rate_misfit(evidence.rows(again), rate[again], np.ones(len(again)))
    assert found == pytest.approx(repeated)


def test_match_and_mismatch_that_are_exchanged_do_not_fit_rates_of_each_action():
    # no rate that is moved for all trials alike would fit better
    rng = np.random.default_rng(0)
    rate = np.where(np.arange(400) % 2, 0.8, 0.2)
    reward = rng.random(400) < rate
    ratio = 3 * (np.where(reward, HIGH, LOW) + rng.standard_normal(400))
    upright, turned = (Evidence(np.full((400, 2), 0.5), each) for each in (ratio, -ratio))
    assert rate_misfit(upright, rate, np.ones(400)) < 5
    assert rate_misfit(turned, rate, np.ones(400)) > 100


def test_trials_of_unknown_rate_do_not_fit_badly():
    _, _, evidence = judged()
    assert rate_misfit(evidence, np.full(40, 0.5), np.ones(40)) == 0
    half = np.where(np.arange(40) < 20, 0.9, 0.5)
    some = evidence.rows(np.arange(20))
    expected = rate_misfit(some, half[:20], np.ones(20))
    assert rate_misfit(evidence, half, np.ones(40)) == pytest.approx(expected)


def test_a_view_that_is_sure_and_wrong_is_not_infinitely_wrong():
    data = interactions(2, 2, action=np.array([0, 0]))
    evidence = Evidence(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([-800.0, 800.0]))
    assert np.isfinite(information(evidence, data)).all()
    assert np.isfinite(evidence.reward(data.action)).all()
    # a context is never surer than 999 : 1
    even = Evidence(np.array([[1.0, 0.0], [0.0, 1.0]]), np.log([1 / 999, 999]))
    np.testing.assert_allclose(even.reward(data.action), 0.5)
