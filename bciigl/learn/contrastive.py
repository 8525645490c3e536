"""The contrastive objective: what context and feedback of an action have in common.

The spectral contrastive loss of Xie, Saran et al. 2022 (Section 3.1), for linear-logistic
predictors f(x) = s(u.x + b) and decoders psi(y) = s(v.y + d), s the logistic function. Its
empirical form there (Section 4) averages over all trials with the indicator of the action inside;
read so it is largest for constants. Averages over the action's trials alone, as in the definition,
make it the covariance of f and psi, and that is what is used here.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bciigl.learn.logistic import minimum

ITERATIONS = 30


class Pair(NamedTuple):
    """A predictor of the reward from the context and a decoder of it from the feedback."""

    context: np.ndarray  # u, then b
    feedback: np.ndarray  # v, then d


def predicted(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the probability of reward, (trials,), by weights whose last is the bias."""
    return expit(features @ weights[:-1] + weights[-1])


def gradient(
    pair: Pair, context: np.ndarray, feedback: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, Pair]:
    """Return the covariance of prediction and decoding over trials, and its gradient."""
    share = np.full(len(context), 1.0) if weight is None else weight
    share = share / share.sum()
    f, psi = predicted(pair.context, context), predicted(pair.feedback, feedback)
    f_centred, psi_centred = f - share @ f, psi - share @ psi
    by_context = share * psi_centred * f * (1 - f)
    by_feedback = share * f_centred * psi * (1 - psi)
    return float(share @ (f * psi_centred)), Pair(
        np.append(by_context @ context, by_context.sum()),
        np.append(by_feedback @ feedback, by_feedback.sum()),
    )


def refine(start: Pair, context: np.ndarray, feedback: np.ndarray, *, ridge: float = 1e-3) -> Pair:
    """Return the pair that L-BFGS reaches from `start`.

    A ridge on u and v keeps the logistic functions from hardening to what single trials say.
    """
    split = len(start.context)
    penalty = np.full(split + len(start.feedback), ridge)
    penalty[[split - 1, -1]] = 0.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        pair = Pair(weights[:split], weights[split:])
        value, slope = gradient(pair, context, feedback)
        slope = -np.concatenate(slope) + penalty * weights
        return -value + 0.5 * penalty @ weights**2, slope

    found = minimum(loss, np.concatenate(start), ITERATIONS)
    return Pair(found[:split], found[split:])
