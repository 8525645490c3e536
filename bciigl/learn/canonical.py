"""Regularised canonical correlation: the closed-form start of reward discovery.

Given the action, context and feedback depend on each other through the reward alone (Assumption 2),
so their cross-covariance has rank one: the contexts' difference times the feedback's. Its largest
singular pair, after both sides are whitened, is the direction of the reward in each. That holds
whatever the behaviour policy was, so trials are not weighted by their importance.

In practice they also share noise that lasts, and what leaks from one estimate into the other. That
has nothing to do with the action. Where exactly one option is right, the reward has: for each
context, being right about one option is being wrong about the others, so that over all actions the
reward's part of the cross-covariance cancels, and the mean over actions is what is foreign to it.
Otherwise the cross-covariance with the trial before, which no reward connects, is the best guess.
"""

import numpy as np

from bciigl.learn.interactions import Prepared, less_means


class CrossCovariance:
    """How context and feedback, centred and scaled, vary together given each action."""

    def __init__(self, data: Prepared, one_right: bool) -> None:
        feedback = less_means(data.feedback, data.action)
        self._axes = principal_axes(data.context), principal_axes(feedback)
        x, y = data.context @ self._axes[0][0], feedback @ self._axes[1][0]
        self._cross = np.zeros((data.n_actions, x.shape[1], y.shape[1]))
        for action in np.unique(data.action):
            mine = data.action == action
            given = x[mine]
            self._cross[action] = (given - given.mean(axis=0)).T @ y[mine] / len(given)
        self._foreign = self._cross.mean(axis=0) if one_right else serial_covariance(x, y, data.run)

    def directions(
        self, ridge: float, shared: bool, cleaned: bool = True, place: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a canonical pair of context and feedback for each action, (actions, features).

        For the settings see `Start`; the mean eigenvalue of both covariances is about 1.
        """
        (of_context, left), (of_feedback, right) = (
            (vectors, 1 / np.sqrt(variance + ridge)) for vectors, variance in self._axes
        )
        cross = self._cross - self._foreign if cleaned else self._cross
        cross = left[:, None] * cross * right
        if shared:
            # Of all actions' cross-covariances on top of each other.
            feedback = _top(np.einsum("kij,kil->jl", cross, cross), place)
            feedback = np.repeat(feedback[None], len(cross), axis=0)
        else:
            feedback = np.array([_top(each.T @ each, place) for each in cross])
        context = np.einsum("kij,kj->ki", cross, feedback)
        return (context * left) @ of_context.T, (feedback * right) @ of_feedback.T


def principal_axes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes of centred values, (features, axes), and the variance along each."""
    variance, vectors = np.linalg.eigh(values.T @ values / len(values))
    return vectors, np.maximum(variance, 0.0)


def whitening(values: np.ndarray, ridge: float) -> np.ndarray:
    """Return what makes centred values uncorrelated and of unit variance, but for the ridge."""
    vectors, variance = principal_axes(values)
    return vectors * (1 / np.sqrt(variance + ridge))


def serial_covariance(context: np.ndarray, feedback: np.ndarray, run: np.ndarray) -> np.ndarray:
    """Return how contexts vary with the feedback of the trial before: only noise that lasts."""
    before = np.flatnonzero(run[1:] == run[:-1])
    return context[before + 1].T @ feedback[before] / max(len(before), 1)


def _top(square: np.ndarray, place: int) -> np.ndarray:
    """Return the eigenvector of the largest eigenvalue, or of one further down."""
    vectors = np.linalg.eigh(square)[1]
    return vectors[:, -1 - min(place, len(square) - 1)]
