"""The paper's procedure as it stands: gradient training, and a flip where the mean is above 1/2."""

import numpy as np

from bciigl.learn.contrastive import gradient, predicted
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
