"""Autoregressive moving-average noise: its filter, and its SD over a run."""

import numpy as np
from scipy.signal import lfilter

from bciigl.brain.subject import NoiseParameters


def arma_filter(parameters: NoiseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of the filter that turns innovations into noise."""
    ar, ma = parameters.auto_reg_rho, parameters.ma_rho
    return np.array([1.0, *ma, *np.zeros(len(ar) - len(ma))]), np.array([1.0, *np.negative(ar)])


def arma_run_sd(parameters: NoiseParameters, frames: int) -> float:
    """Return the root of the expected variance within a run, about its own mean.

    The process begins at rest and its innovations have SD 1. A slow process has less variance
    within a short run than it has in the long term.
    """
    impulse = lfilter(*arma_filter(parameters), np.eye(1, frames)[0])
    mean_square = np.cumsum(impulse**2).mean()
    square_of_mean = (np.cumsum(impulse) ** 2).sum() / frames**2
    return float(np.sqrt(mean_square - square_of_mean)) if frames > 1 else 1.0
