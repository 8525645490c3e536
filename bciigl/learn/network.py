"""Two networks, and the steps by which the released code of the paper trains them, in numpy.

Facts about that code (Asaran et al., github.com/asaran/AI-IGL) are in its terms: f predicts rewards
from contexts, psi decodes them from feedback. Each has hidden layers of rectified linear units, two
in that code, and an output for each action, or a single one, between 0 and 1.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import expit

STRENGTH = 100  # by which losses are multiplied
DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # of Adam

Layers: TypeAlias = list[tuple[np.ndarray, np.ndarray]]
"""Weights, (inputs, outputs), and biases, (outputs,), of each layer."""


class Networks:
    """f and psi, the slopes of their loss, and Adam's memory, each in one vector.

    Parameters
    ----------
    context_features, feedback_features, n_actions, n_decoded : int
        Inputs of f and psi, and outputs of f and psi.
    hidden : sequence of int
        Units of the hidden layers of each; without any, both are linear-logistic.
    rng : Generator
        Of the first weights: uniform, as far as 1 / sqrt(inputs) from 0.
    rate : float
        Adam's learning rate.
    dtype : dtype
        Of all numbers: float32, as in the released code, or more exact.
    """

    def __init__(
        self,
        context_features: int,
        feedback_features: int,
        n_actions: int,
        n_decoded: int,
        hidden: Sequence[int],
        rng: np.random.Generator,
        rate: float,
        dtype: type = np.float32,
    ) -> None:
        self.sizes = (
            (context_features, *hidden, n_actions),
            (feedback_features, *hidden, n_decoded),
        )
        first = [_first_weights(each, rng) for each in self.sizes]
        self.of_f = slice(0, len(first[0]))  # where f's numbers are
        self.weights: np.ndarray = np.concatenate(first).astype(dtype)
        self.slopes = np.zeros_like(self.weights)
        self.f, self.psi = self._layers(self.weights)
        self.f_slopes, self.psi_slopes = self._layers(self.slopes)
        self.rate = rate
        self.forget()

    def _layers(self, vector: np.ndarray) -> list[Layers]:
        parts = vector[self.of_f], vector[self.of_f.stop :]
        return [views(part, sizes) for part, sizes in zip(parts, self.sizes, strict=True)]

    def forget(self) -> None:
        """Begin again with Adam: forget the slopes of steps before."""
        self.steps = 0
        self.mean, self.square = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self._room = np.empty_like(self.weights)

    def contrast(
        self, context: np.ndarray, feedback: np.ndarray, action: np.ndarray, decoded: np.ndarray
    ) -> float:
        """Let both networks step down the spectral contrastive loss of some trials; return it.

        The loss is the covariance of f and psi, with the sign changed. Each network takes the
        other's output as it is. `action` and `decoded` are the outputs of f and psi that are meant.
        """
        rows = np.arange(len(context))
        seen, heard = forward(self.f, context), forward(self.psi, feedback)
        f, psi = expit(seen[-1][rows, action]), expit(heard[-1][rows, decoded])
        share = STRENGTH / len(rows)
        by_f, by_psi = share * (psi.mean() - psi), share * (f.mean() - f)
        backward(self.f, self.f_slopes, seen, rows, action, by_f * f * (1 - f))
        backward(self.psi, self.psi_slopes, heard, rows, decoded, by_psi * psi * (1 - psi))
        self._step(slice(None))
        return float(STRENGTH * (f.mean() * psi.mean() - (f * psi).mean()))

    def imitate(self, context: np.ndarray, target: np.ndarray, action: np.ndarray) -> float:
        """Let f step towards what psi decoded of some trials, by squared error; return that."""
        rows = np.arange(len(context))
        seen = forward(self.f, context)
        f = expit(seen[-1][rows, action])
        by_f = 2 * STRENGTH / len(rows) * (f - target)
        backward(self.f, self.f_slopes, seen, rows, action, by_f * f * (1 - f))
        self._step(self.of_f)
        return float(STRENGTH * ((f - target) ** 2).mean())

    def _step(self, part: slice) -> None:
        """Take one of Adam's steps with some of the weights."""
        self.steps += 1
        slopes, room = self.slopes[part], self._room[part]
        mean, square = self.mean[part], self.square[part]
        mean *= DECAY
        mean += np.multiply(slopes, 1 - DECAY, out=room)
        square *= SQUARE_DECAY
        np.multiply(slopes, slopes, out=room)
        room *= 1 - SQUARE_DECAY
        square += room
        np.sqrt(square, out=room)
        room *= (1 - SQUARE_DECAY**self.steps) ** -0.5
        room += TINY
        np.divide(mean, room, out=room)
        room *= self.rate / (1 - DECAY**self.steps)
        self.weights[part] -= room


def forward(layers: Layers, values: np.ndarray) -> list[np.ndarray]:
    """Return the values, those of the hidden layers, and the log-odds of the outputs."""
    found = [values]
    for place, (weights, biases) in enumerate(layers, start=1):
        values = values @ weights
        values += biases
        if place < len(layers):
            np.maximum(values, 0, out=values)
        found.append(values)
    return found


def backward(
    layers: Layers,
    slopes: Layers,
    found: Sequence[np.ndarray],
    rows: np.ndarray,
    outputs: np.ndarray,
    by_odds: np.ndarray,
) -> None:
    """Write the slopes of a loss by all weights, from those by the log-odds of some outputs."""
    slope = np.zeros_like(found[-1])
    slope[rows, outputs] = by_odds
    for place in reversed(range(len(layers))):
        of_weights, of_biases = slopes[place]
        np.matmul(found[place].T, slope, out=of_weights)
        slope.sum(axis=0, out=of_biases)
        if place:
            slope = slope @ layers[place][0].T
            slope *= found[place] > 0


def flip(layers: Layers, output: int) -> None:
    """Let an output be 1 less what it was."""
    for each in layers[-1]:
        each[..., output] *= -1


def _first_weights(sizes: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    parts = []
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        parts.append(rng.uniform(-1, 1, (inputs + 1) * outputs) / np.sqrt(inputs))
    return np.concatenate(parts)


def views(vector: np.ndarray, sizes: Sequence[int]) -> Layers:
    """Return weights and biases of each layer as views of a vector."""
    found, begin = [], 0
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        middle = begin + inputs * outputs
        end = middle + outputs
        found.append((vector[begin:middle].reshape(inputs, outputs), vector[middle:end]))
        begin = end
    return found
