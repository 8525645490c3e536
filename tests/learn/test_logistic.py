"""Logistic regression on probabilities is that of scikit-learn on counted rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bciigl.learn.logistic import fit_logistic

# L-BFGS stops at a gradient of 1e-5 per trial, so weights agree to about 1e-3.
CLOSE = {"atol": 5e-3}


def trials(count=80, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((count, 3))
    target = rng.random(count) < 1 / (1 + np.exp(-features @ [1, -1, 0.5] - 0.5))
    return features, 1.0 * target


@pytest.mark.parametrize("ridge", [0.3, 1.0, 10.0])
def test_weights_are_those_of_scikit_learn_with_repeated_rows(ridge):
    features, target = trials()
    weight = np.random.default_rng(1).integers(1, 5, size=80)
    again = np.repeat(np.arange(80), weight)
    reference = LogisticRegression(C=1 / ridge, tol=1e-8).fit(features[again], target[again])
    found = fit_logistic(features, target, weight.astype(float), ridge)
    np.testing.assert_allclose(found, [*reference.coef_[0], *reference.intercept_], **CLOSE)


def test_a_probability_is_both_outcomes_in_proportion():
    features, _ = trials()
    target = np.random.default_rng(2).integers(5, size=80) / 4
    both, weight = np.repeat(features, 2, axis=0), np.column_stack([target, 1 - target]).ravel()
    reference = LogisticRegression(tol=1e-8).fit(both, np.tile([1, 0], 80), weight)
    found = fit_logistic(features, target, np.ones(80))
    np.testing.assert_allclose(found, [*reference.coef_[0], *reference.intercept_], **CLOSE)


def test_without_features_that_tell_it_is_the_log_odds():
    found = fit_logistic(np.zeros((4, 2)), np.array([1.0, 0, 0, 0]), np.ones(4))
    np.testing.assert_allclose(found, [0, 0, np.log(1 / 3)], atol=1e-4)


def test_no_trials_at_all_say_nothing_good():
    found = fit_logistic(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    assert found[:2].tolist() == [0, 0]
    assert found[2] < -10


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_one_outcome_only_gives_a_finite_and_steep_bias(outcome):
    features, _ = trials()
    found = fit_logistic(features, np.full(80, outcome), np.ones(80))
    assert np.isfinite(found).all()
    assert (2 * outcome - 1) * found[-1] > 5
