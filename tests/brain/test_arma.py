"""The SD of ARMA noise within a run."""

import numpy as np
import pytest
from heads import head
from scipy.signal import lfilter

from bciigl.brain.noise import arma_filter, arma_run_sd


@pytest.mark.parametrize(("ar", "ma"), [(0.5, 0.0), (0.72, -0.56), (-0.3, 0.2)])
def test_long_run_has_the_stationary_sd_of_arma_1_1(ar, ma):
    expected = np.sqrt((1 + 2 * ar * ma + ma**2) / (1 - ar**2))
    noise = head(auto_reg_rho=(ar,), ma_rho=(ma,)).noise
    assert arma_run_sd(noise, 100_000) == pytest.approx(expected, rel=1e-4)


def test_white_noise_of_three_frames_by_hand():
    # the variance about the mean of n independent values is (n - 1) / n
    noise = head(auto_reg_rho=(0.0,), ma_rho=(0.0,)).noise
    assert arma_run_sd(noise, 3) == pytest.approx((2 / 3) ** 0.5)
    assert arma_run_sd(noise, 1) == 1


def test_ar_1_of_two_frames_by_hand():
    # x0 = e0, x1 = a e0 + e1: half their difference has the variance ((1 - a)^2 + 1) / 4
    noise = head(auto_reg_rho=(0.6,), ma_rho=(0.0,)).noise
    assert arma_run_sd(noise, 2) == pytest.approx(((0.4**2 + 1) / 4) ** 0.5)


@pytest.mark.parametrize(("ar", "ma"), [((0.9,), (0.0,)), ((0.97,), (-0.6,)), ((0.4, 0.3), (0.5,))])
def test_sd_of_a_short_run_by_monte_carlo(ar, ma):
    noise = head(auto_reg_rho=ar, ma_rho=ma).noise
    innovations = np.random.default_rng(0).standard_normal((40, 20_000))
    runs = lfilter(*arma_filter(noise), innovations, axis=0)
    # the standard error of the mean variance of 20 000 runs is below 1 %
    assert arma_run_sd(noise, 40) == pytest.approx(np.sqrt(runs.var(axis=0).mean()), rel=0.02)


def test_filter_of_unequal_orders():
    numerator, denominator = arma_filter(head(auto_reg_rho=(0.4, 0.3), ma_rho=(0.5,)).noise)
    np.testing.assert_allclose(numerator, [1, 0.5, 0])
    np.testing.assert_allclose(denominator, [1, -0.4, -0.3])
