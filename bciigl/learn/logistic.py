"""Logistic regression on probabilities: targets and trials may be as unsure as the decoder is."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def minimum(loss: Callable, start: np.ndarray, iterations: int) -> np.ndarray:
    """Return where L-BFGS gets with a loss that gives its value and its gradient."""
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x


def fit_logistic(
    features: np.ndarray, target: np.ndarray, weight: np.ndarray, ridge: float = 1.0
) -> np.ndarray:
    """Return weights and bias, (features + 1,); the ridge, in trials, is on the weights alone."""
    scale = max(weight.sum(), 1e-12)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = features @ weights[:-1] + weights[-1]
        error = weight * (expit(score) - target)
        value = weight @ (np.logaddexp(0, score) - target * score)
        value += 0.5 * ridge * weights[:-1] @ weights[:-1]
        slope = np.append(error @ features + ridge * weights[:-1], error.sum())
        return value / scale, slope / scale

    # Begins at the constant that fits best.
    rate = np.clip(weight @ target / scale, 1e-6, 1 - 1e-6)
    start = np.append(np.zeros(features.shape[1]), np.log(rate / (1 - rate)))
    return minimum(loss, start, 100)
