"""The contrastive objective: what context and feedback of an action have in common.

The spectral contrastive loss of Xie, Saran et al. 2022 (Section 3.1), for linear-logistic
predictors f(x) = s(u.x + b) and decoders psi(y) = s(v.y + d), s the logistic function. Its
empirical form there (Section 4) averages over all trials with the indicator of the action inside;
read so it is largest for constants. Averages over the action's trials alone, as in the definition,
make it the covariance of f and psi, and that is what is used here.
"""

import numpy as np
from scipy.special import expit

from bciigl.learn.logistic import minimum

ITERATIONS = 30


def predicted(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the probability of reward, (trials,), by weights whose last is the bias."""
    return expit(features @ weights[:-1] + weights[-1])


def gradient(
    weights: np.ndarray, context: np.ndarray, feedback: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """Return the covariance of f and psi over trials, and its gradient by u, b, v and d."""
    of_context, of_feedback = np.split(weights, [context.shape[1] + 1])
    share = np.full(len(context), 1.0) if weight is None else weight
    share = share / share.sum()
    f, psi = predicted(of_context, context), predicted(of_feedback, feedback)
    f_centred, psi_centred = f - share @ f, psi - share @ psi
    by_context = share * psi_centred * f * (1 - f)
    by_feedback = share * f_centred * psi * (1 - psi)
    slopes = by_context @ context, by_context.sum(), by_feedback @ feedback, by_feedback.sum()
    return float(share @ (f * psi_centred)), np.hstack(slopes)


def refine(
    start: np.ndarray, context: np.ndarray, feedback: np.ndarray, *, ridge: float = 1e-3
) -> np.ndarray:
    """Return the weights that L-BFGS reaches from `start`."""
    # A ridge on u and v keeps the logistic functions from hardening to what single trials say.
    penalty = np.full(len(start), ridge)
    penalty[[context.shape[1], -1]] = 0.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = gradient(weights, context, feedback)
        return -value + 0.5 * penalty @ weights**2, -slope + penalty * weights

    return minimum(loss, start, ITERATIONS)
