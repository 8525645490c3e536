"""Autoregressive moving-average noise: its filter, and its SD."""

import numpy as np
from scipy.signal import lfilter

from bciigl.brain.subject import NoiseParameters


def arma_filter(parameters: NoiseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of the filter that turns innovations into noise."""
    ar, ma = parameters.auto_reg_rho, parameters.ma_rho
    return np.array([1.0, *ma, *np.zeros(len(ar) - len(ma))]), np.array([1.0, *np.negative(ar)])


def arma_sd(parameters: NoiseParameters) -> float:
    """Return the SD of the stationary process whose innovations have SD 1."""
    numerator, denominator = arma_filter(parameters)
    slowest = np.abs(np.roots(denominator)).max(initial=0.1)
    # Long enough for the impulse response to fall below 1e-9 of its size.
    length = min(int(20.8 / -np.log(max(slowest, 0.1))) + 100, 1_000_000)
    return float(np.linalg.norm(lfilter(numerator, denominator, np.eye(1, length)[0])))
