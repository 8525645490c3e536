"""The paper's procedure as it stands: gradient training, and a flip where the mean is above 1/2.

The objective is the spectral contrastive loss of Xie, Saran et al. 2022 (Section 3.1), for
linear-logistic predictors f(x) = s(u.x + b) and decoders psi(y) = s(v.y + d), s the logistic
function. Its empirical form there (Section 4) averages over all trials with the indicator of the
action inside; read so it is largest for constants. Averages over the action's trials alone, as in
the definition, make it the covariance of f and psi, and that is what is used here.
"""

import numpy as np
from scipy.special import expit

from bciigl.learn.interactions import Prepared

# Adam with its usual constants: the paper gives none for its linear model.
RATE, DECAY, SQUARE_DECAY, STEPS = 0.01, 0.9, 0.999, 1000


def train(data: Prepared, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return each action's weights (see `gradient`), and decoded rewards (Algorithm 1, 3 to 8)."""
    sizes = data.context.shape[1] + 1, data.feedback.shape[1] + 1
    weights, reward = [], np.full(data.trials, 0.5)
    for action in range(data.n_actions):
        rows = np.flatnonzero(data.action == action)
        found = np.concatenate([rng.normal(0, 1 / np.sqrt(size), size) for size in sizes])
        if len(rows):
            found = ascend(found, data.context[rows], data.feedback[rows], data.weight[rows])
            decoded = predicted(found[sizes[0] :], data.feedback[rows])
            if np.average(decoded, weights=data.weight[rows]) > 0.5:
                found, decoded = -found, 1 - decoded
            reward[rows] = decoded
        weights.append(found)
    return np.array(weights), reward


def ascend(
    weights: np.ndarray, context: np.ndarray, feedback: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return where Adam gets on the contrastive objective in a fixed number of steps."""
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = gradient(weights, context, feedback, weight)[1]
        first = DECAY * first + (1 - DECAY) * slope
        second = SQUARE_DECAY * second + (1 - SQUARE_DECAY) * slope**2
        mean, square = first / (1 - DECAY**step), second / (1 - SQUARE_DECAY**step)
        weights = weights + RATE * mean / (np.sqrt(square) + 1e-8)
    return weights


def predicted(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return the probability of reward, (trials,), by weights whose last is the bias."""
    return expit(features @ weights[:-1] + weights[-1])


def gradient(
    weights: np.ndarray, context: np.ndarray, feedback: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the covariance of f and psi over trials, and its gradient by u, b, v and d."""
    of_context, of_feedback = np.split(weights, [context.shape[1] + 1])
    share = weight / weight.sum()
    f, psi = predicted(of_context, context), predicted(of_feedback, feedback)
    f_centred, psi_centred = f - share @ f, psi - share @ psi
    by_context = share * psi_centred * f * (1 - f)
    by_feedback = share * f_centred * psi * (1 - psi)
    slopes = by_context @ context, by_context.sum(), by_feedback @ feedback, by_feedback.sum()
    return float(share @ (f * psi_centred)), np.hstack(slopes)
