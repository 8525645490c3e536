"""Which of two clusters is the reward, from how often it should be."""

import numpy as np
import pytest
from interactions import interactions

from bciigl.learn.symmetry import break_symmetry, expectation


def clusters(rate, trials=400, distance=6.0, seed=0):
    """Return scores of two clusters, the rewarded one `distance` above, and the rewards."""
    rng = np.random.default_rng(seed)
    reward = rng.random(trials) < rate
    return distance * reward + rng.standard_normal(trials), reward


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.7, 0.9])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_cluster_of_the_expected_size_is_the_reward(rate, sign):
    # Assumption 4 in both directions: the match rate may be known to be low, or high
    score, reward = clusters(rate)
    found = break_symmetry(sign * score, np.full(len(score), rate))
    assert np.mean((found.reward > 0.5) == reward) > 0.99
    # 6 apart with a width of 1; the sample's own width varies by about 4 %
    assert found.separation == pytest.approx(6, rel=0.1)


def test_a_blurred_mean_above_one_half_does_not_flip_what_shares_tell():
    # Decoded rewards of 0.4 and 0.8 have a mean of 0.52, yet 30 % of them are high
    reward = np.arange(1000) % 10 < 3
    score = np.where(reward, 0.8, 0.4) + 0.05 * np.random.default_rng(0).standard_normal(1000)
    assert score.mean() > 0.5
    found = break_symmetry(score, np.full(1000, 1 / 3))
    assert ((found.reward > 0.5) == reward).all()


def test_trials_may_have_rates_of_their_own():
    rng = np.random.default_rng(1)
    rate = np.where(np.arange(400) % 2, 0.9, 0.5)
    reward = rng.random(400) < rate
    score = -6.0 * reward + rng.standard_normal(400)
    assert np.mean((break_symmetry(score, rate).reward > 0.5) == reward) > 0.99


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("better", "distance"), [(500, 4), (2000, 4), (2000, 9)])
@pytest.mark.parametrize("seed", range(3))
def test_guesses_that_a_good_policy_has_improved_hide_no_cluster(sign, better, distance, seed):
    # 140 uniform guesses, then many that match in 9 cases of 10, of which that is not known
    rng = np.random.default_rng(seed)
    rate = np.repeat([1 / 3, 0.5], [140, better])
    reward = rng.random(140 + better) < np.where(rate < 0.5, rate, 0.9)
    score = sign * (distance * reward + rng.standard_normal(140 + better))
    # 2.3 % of trials lie beyond the middle of clusters 4 apart
    found = break_symmetry(score, rate, unknown=rate == 0.5)
    assert ((found.reward > 0.5) == reward).mean() > 0.95


def test_the_mirrored_answer_is_the_other_one():
    # close enough to 1/2 for clusters of the wrong size to be found at all
    score, reward = clusters(0.4)
    found = break_symmetry(score, np.full(400, 0.4), mirrored=True)
    assert np.mean((found.reward > 0.5) == reward) < 0.1


def test_a_weight_is_a_number_of_repetitions():
    score, _ = clusters(0.3, trials=50, distance=2.0)
    weight = np.random.default_rng(2).integers(1, 4, size=50)
    again = np.repeat(np.arange(50), weight)
    found = break_symmetry(score, np.full(50, 0.3), weight)
    repeated = break_symmetry(score[again], np.full(len(again), 0.3))
    np.testing.assert_allclose(found.reward[again], repeated.reward)
    assert found.separation == pytest.approx(repeated.separation)


def test_weights_undo_a_policy_that_is_mostly_right():
    # 0.8 / 8 rewarded against 0.2 others: a share of 1/3, as a uniform policy of three has it
    score, reward = clusters(0.8)
    weight = np.where(reward, 0.125, 1.0)
    found = break_symmetry(score, np.full(400, 1 / 3), weight)
    assert np.mean((found.reward > 0.5) == reward) > 0.99


def test_scores_that_do_not_vary_leave_what_was_expected():
    found = break_symmetry(np.ones(3), np.array([0.2, 0.3, 0.4]))
    assert found.reward.tolist() == [0.2, 0.3, 0.4]
    assert found.separation == 0


def test_scale_and_origin_of_scores_do_not_matter():
    score, _ = clusters(0.3)
    rate = np.full(400, 0.3)
    np.testing.assert_allclose(
        break_symmetry(score, rate).reward,
        break_symmetry(1e6 * score - 1e3, rate).reward,
        atol=1e-9,
    )


def test_only_trials_of_known_match_rate_tell_match_from_mismatch():
    uniform = np.arange(120) < 60
    data = interactions(120, 3, action=np.arange(120) % 3, uniform=uniform)
    rate, weight = expectation(data, np.array([0.3, 0.3, 0.4]), np.full(3, np.nan))
    assert rate[:3].tolist() == [0.3, 0.3, 0.4]
    assert set(rate[60:]) == {0.5}
    assert set(weight) == {1.0}


def test_all_trials_count_by_importance_where_few_are_known():
    importance = np.random.default_rng(0).uniform(0.5, 1.5, 120)
    few = np.arange(120) < 57  # 19 of each action: one too few
    data = interactions(120, 3, action=np.arange(120) % 3, uniform=few, weight=importance)
    rate, weight = expectation(data, np.full(3, 1 / 3), np.full(3, np.nan))
    assert set(rate) == {1 / 3}
    np.testing.assert_array_equal(weight, importance)


def test_baseline_trials_have_a_rate_of_their_own():
    catch = np.arange(60) % 2 == 0
    data = interactions(60, 2, action=np.arange(60) // 2 % 2, catch=catch)
    rate, _ = expectation(data, np.full(2, 0.5), np.array([0.8, 0.9]))
    assert rate[:4].tolist() == [0.8, 0.5, 0.9, 0.5]
