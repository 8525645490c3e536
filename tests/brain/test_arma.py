"""The SD of ARMA noise against closed forms."""

import numpy as np
import pytest
from heads import head

from bciigl.brain.arma import arma_filter, arma_sd


@pytest.mark.parametrize(("ar", "ma"), [(0.5, 0.0), (0.72, -0.56), (-0.3, 0.2), (0.999, 0.0)])
def test_sd_of_arma_1_1(ar, ma):
    expected = np.sqrt((1 + 2 * ar * ma + ma**2) / (1 - ar**2))
    assert arma_sd(head(auto_reg_rho=(ar,), ma_rho=(ma,)).noise) == pytest.approx(expected)


def test_sd_of_ar_2():
    one, two = 0.5, 0.3
    expected = np.sqrt((1 - two) / ((1 + two) * ((1 - two) ** 2 - one**2)))
    noise = head(auto_reg_rho=(one, two), ma_rho=(0.0,)).noise
    assert arma_sd(noise) == pytest.approx(expected)
    assert len(arma_filter(noise)[0]) == len(arma_filter(noise)[1])
