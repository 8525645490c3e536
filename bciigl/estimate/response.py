"""The person's own haemodynamic response, fitted to finished runs without labels and guesses.

A response is fmrisim's plus weighted curves of `bciigl.protocol.hrf.basis`. The mean response to
each kind of event tells the weights: their most probable values are found, given that they vary
between people with an SD of 1. All that is needed of a run are sums, which add up over runs.
"""

from functools import lru_cache, partial

import numpy as np
from scipy.optimize import minimize

from bciigl.estimate import glm
from bciigl.estimate.noise import Scatter, Whitening, normalised
from bciigl.protocol.hrf import BASIS, Weights, basis, event_response

# SDs of people: no response is further from fmrisim's.
FURTHEST = 5.0
CURVES = 1 + BASIS


class ResponseStatistics:
    """What runs tell about the response to some kinds of event, in a number of voxels.

    Attributes
    ----------
    innovations : Scatter
        Of frames without drift and without autocorrelation.
    """

    def __init__(self, kinds: int, voxels: int) -> None:
        self._gram = np.zeros((kinds, CURVES, kinds, CURVES))
        self._cross = np.zeros((kinds, CURVES, voxels))
        self.innovations = Scatter(voxels)

    def add(
        self, frames: np.ndarray, when: glm.Window, kinds: tuple[int, ...], coefficient: float
    ) -> None:
        """Add the frames of a window, whose events are of these kinds, by number."""
        regressors, drift = _regressors(when, kinds, len(self._gram), coefficient)
        steps = np.diff(when.rows)
        innovations = glm.whitened(frames - frames.mean(axis=0), coefficient, steps)
        innovations -= drift @ (drift.T @ innovations)
        self._gram += (regressors.T @ regressors).reshape(self._gram.shape)
        self._cross += (regressors.T @ innovations).reshape(self._cross.shape)
        self.innovations.add(innovations, len(frames))

    def fit(self, whitening: Whitening) -> Weights:
        """Return the weights of the basis's curves; () where nothing tells them.

        `whitening` is that of the noise, as far as it is known.
        """
        used = np.einsum("cici->c", self._gram) > 0
        gram = self._gram[used][:, :, used]
        cross = normalised(self._cross[used], whitening)
        products = np.einsum("civ,djv->cidj", cross, cross)
        total = self.innovations.power(whitening)
        if not used.any() or not total > 0:
            return ()
        usual = _explained(np.zeros(BASIS), gram, products)
        # Of a frame and a voxel: noise, and what differs between events of a kind.
        rest = max(total - usual, 1e-6 * total) / (self.innovations.freedom * cross.shape[2])

        def loss(weights: np.ndarray) -> float:
            gained = _explained(weights, gram, products) - usual
            return 0.5 * (weights @ weights - gained / rest)

        found = minimize(loss, np.zeros(BASIS), bounds=[(-FURTHEST, FURTHEST)] * BASIS)
        # Two decimals are more than can be told.
        return tuple((np.round(found.x, 2) + 0.0).tolist())


def _explained(weights: np.ndarray, gram: np.ndarray, products: np.ndarray) -> float:
    """Return the sum of squares that the mean responses to each kind of event explain."""
    mixed = np.concatenate([[1.0], weights])
    gram, products = (np.einsum("i,cidj,j->cd", mixed, each, mixed) for each in (gram, products))
    solvable = glm.SOLVABLE * np.trace(gram) / len(gram) * np.eye(len(gram))
    return float(np.trace(np.linalg.solve(gram + solvable, products)))


@lru_cache(maxsize=64)
def _regressors(
    when: glm.Window, kinds: tuple[int, ...], count: int, coefficient: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return regressors, for each kind one of each curve, without drift, and drift's basis.

    Both are of innovations, (frames there, regressors).
    """
    member = np.eye(count)[np.array(kinds, int)]  # (events, kinds)
    regressors = np.zeros((len(when.rows), count, CURVES))

    def curve(number: int, lags: np.ndarray, duration: float) -> np.ndarray:
        if not number:
            return event_response(lags, duration, unit=when.unit)
        times, curves = basis(duration, when.unit)
        return np.interp(lags, times, curves[number - 1])

    for number in range(CURVES):
        regressors[:, :, number] = when.responses(partial(curve, number)) @ member
    steps = np.diff(when.rows)
    drift, _ = np.linalg.qr(glm.whitened(glm.drift(when), coefficient, steps))
    regressors = glm.whitened(regressors.reshape(len(regressors), -1), coefficient, steps)
    regressors -= drift @ (drift.T @ regressors)
    for each in (regressors, drift):
        each.flags.writeable = False
    return regressors, drift
