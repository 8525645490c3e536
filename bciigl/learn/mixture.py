"""Two views of one hidden reward: expectation maximisation in which no trial vouches for itself.

Context and feedback are independent given action and reward, so either view's guess of the reward
teaches the other. With as many features as here, trials that teach themselves would confirm
whatever they were first taken for; each trial is therefore judged by parameters learned from the
other folds of runs only.

Where exactly one option is right (`one_right`) the hidden thing is that option, and the actions
share what they know of the contexts. Otherwise it is the reward of the action taken, of each action
apart. Features are Gaussian with a common covariance given the hidden thing, so that all evidence
is linear and all probabilities are logistic.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.evidence import Evidence
from bciigl.learn.interactions import FEWEST_TRIALS_OF_ACTION, Prepared, of_action

TOLERANCE = 1e-3
TINY = 1e-9


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities along the last axis."""
    # scipy's spends three times as long on checks as on numbers of this size; and numpy is several
    # times faster along rows than along a short last axis.
    powers = np.array(np.moveaxis(scores, -1, 0), order="C")
    powers -= powers.max(axis=0)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=0)
    return np.ascontiguousarray(np.moveaxis(powers, 0, -1))


class Model(NamedTuple):
    """Linear evidence for the reward in both views.

    That of the context is log-probabilities of the options, up to a constant, if one is right, and
    log-odds of each action's reward otherwise; that of the feedback is the log-likelihood ratio of
    reward. All arrays may have a leading axis for several models, as of folds.
    """

    context_weights: np.ndarray  # (context features, actions)
    context_bias: np.ndarray  # (actions,)
    feedback_weights: np.ndarray  # (feedback features, actions)
    feedback_bias: np.ndarray  # (actions,)
    rate: np.ndarray  # (actions,): share of contexts for which each is right, as far as is known
    one_right: bool

    def context_scores(self, context: np.ndarray) -> np.ndarray:
        """Return the evidence for each action from the context, (trials, actions)."""
        return context @ self.context_weights + self.context_bias

    def probable(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability that each action is right, (trials, actions)."""
        return softmax(scores) if self.one_right else expit(scores)

    def feedback_evidence(self, feedback: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the log-likelihood ratio of reward of the action taken, (trials,)."""
        return of_action(feedback @ self.feedback_weights + self.feedback_bias, action)


class _Sums(NamedTuple):
    """Sums over the trials of each fold; the last four are weighted by what is believed of them."""

    context_square: np.ndarray  # (folds, features, features)
    feedback_square: np.ndarray
    feedback: np.ndarray  # (folds, actions, features)
    taken: np.ndarray  # (folds, actions)
    context: np.ndarray  # (folds, states, features)
    states: np.ndarray  # (folds, states)
    rewarded_feedback: np.ndarray  # (folds, actions, features)
    rewarded: np.ndarray  # (folds, actions)


class TwoViews:
    """The mixture model of one set of interactions, centred and scaled, in ascending folds.

    Trials of the same fold never judge each other. `known_rate` is the match rate of trials for
    which it is known, else nan, (trials,).
    """

    def __init__(
        self, data: Prepared, fold: np.ndarray, known_rate: np.ndarray, one_right: bool
    ) -> None:
        self.data = data
        self.one_right = one_right
        self._known = np.flatnonzero(np.isfinite(known_rate))
        self._known_odds = logit(known_rate[self._known])
        self._acted = np.eye(data.n_actions)[data.action]
        self._fold = np.unique(fold, return_inverse=True)[1]
        ends = np.searchsorted(self._fold, np.arange(self._fold[-1] + 2))
        self._folds = [slice(*each) for each in zip(ends[:-1], ends[1:], strict=True)]
        self._total = (
            self._folded(data.context, data.context),
            self._folded(data.feedback, data.feedback),
            self._folded(self._acted, data.feedback),
            self._added(self._acted),
        )

    def completed(self, reward: np.ndarray) -> np.ndarray:
        """Return the belief, (trials, actions), that a first guess of rewards, (trials,), is.

        Where one action is right, one that is not leaves the others equally likely. Otherwise it is
        the probability of the action taken, and 0 elsewhere.
        """
        taken = self._acted * reward[:, None]
        if not self.one_right:
            return taken
        return taken + (1 - self._acted) * ((1 - reward) / (self.data.n_actions - 1))[:, None]

    def fit(
        self, belief: np.ndarray, *, ridge: float, shared: bool, steps: int
    ) -> tuple[np.ndarray, Evidence]:
        """Return the belief that expectation maximisation reaches, and the evidence for it."""
        for _ in range(steps):
            before = belief
            belief, evidence = self._judged_by_others(before, ridge, shared)
            if np.abs(belief - before).max() < TOLERANCE:
                break
        return belief, evidence

    def model(self, belief: np.ndarray, *, ridge: float, shared: bool) -> Model:
        """Return the parameters that a belief about all trials leads to (M step)."""
        whole = (each.sum(axis=0, keepdims=True) for each in self._sums(belief))
        several = self._maximised(_Sums(*whole), ridge, shared)
        return Model(*(each[0] for each in several[:-1]), self.one_right)

    def _judged_by_others(
        self, belief: np.ndarray, ridge: float, shared: bool
    ) -> tuple[np.ndarray, Evidence]:
        """Return the belief about each trial, by parameters from all folds but its own (E step)."""
        others = (each.sum(axis=0, keepdims=True) - each for each in self._sums(belief))
        models = self._maximised(_Sums(*others), ridge, shared)
        scores, feedback = np.empty_like(belief), np.empty_like(belief)
        for fold, rows in enumerate(self._folds):
            np.matmul(self.data.context[rows], models.context_weights[fold], out=scores[rows])
            np.matmul(self.data.feedback[rows], models.feedback_weights[fold], out=feedback[rows])
        scores += models.context_bias[self._fold]
        feedback += models.feedback_bias[self._fold]
        evidence = Evidence(models.probable(scores), (feedback * self._acted).sum(axis=1))
        odds = evidence.feedback
        if len(self._known):
            # A known match rate takes the place of the rate that was learned.
            rate = models.rate[self._fold[self._known], self.data.action[self._known]]
            odds = odds.copy()
            odds[self._known] += self._known_odds - logit(rate)
        believed = models.probable(scores + self._acted * odds[:, None])
        return (believed if self.one_right else self._acted * believed), evidence

    def _sums(self, belief: np.ndarray) -> _Sums:
        rewarded = self._acted * belief
        states = belief if self.one_right else np.hstack([rewarded, self._acted - rewarded])
        return _Sums(
            *self._total,
            self._folded(states, self.data.context),
            self._added(states),
            self._folded(rewarded, self.data.feedback),
            self._added(rewarded),
        )

    def _folded(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.array([left[rows].T @ right[rows] for rows in self._folds])

    def _added(self, values: np.ndarray) -> np.ndarray:
        return np.array([values[rows].sum(axis=0) for rows in self._folds])

    def _maximised(self, sums: _Sums, ridge: float, shared: bool) -> Model:
        """Return the parameters that fit sums best (M step)."""
        means = sums.context / np.maximum(sums.states, TINY)[..., None]
        trials = sums.taken.sum(axis=1)[:, None, None]
        spread = (sums.context_square - _transposed(sums.context) @ means) / trials
        weights = _solved(spread, _transposed(means), ridge)
        share = (sums.states + 1) / (sums.states + 1).sum(axis=1, keepdims=True)
        bias = np.log(share) - 0.5 * (_transposed(means) * weights).sum(axis=1)
        if not self.one_right:
            actions = self.data.n_actions
            weights, bias = (each[..., :actions] - each[..., actions:] for each in (weights, bias))
            share = (sums.rewarded + 1) / (sums.taken + 2)
        feedback = _feedback_part(sums, ridge, shared)
        return Model(weights, bias, *feedback, share, self.one_right)


def _feedback_part(sums: _Sums, ridge: float, shared: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and bias of each action's log-likelihood ratio."""
    taken = np.maximum(sums.taken, TINY)
    rewarded = np.maximum(sums.rewarded, TINY)
    other = np.maximum(sums.taken - sums.rewarded, TINY)
    mean = sums.feedback / taken[..., None]
    difference = (
        sums.rewarded_feedback / rewarded[..., None]
        - (sums.feedback - sums.rewarded_feedback) / other[..., None]
    )
    told = (rewarded * other / taken)[..., None]  # how much the trials of an action tell
    common = (told * difference).sum(axis=1, keepdims=True) / told.sum(axis=1, keepdims=True)
    own = (sums.taken >= FEWEST_TRIALS_OF_ACTION)[..., None] & (not shared)
    used = np.where(own, difference, common)
    explained = _transposed(told * used) @ difference
    spread = (
        sums.feedback_square
        - _transposed(sums.feedback) @ mean
        - explained
        - _transposed(explained)
        + _transposed(told * used) @ used
    ) / sums.taken.sum(axis=1)[:, None, None]
    weights = _solved(spread, _transposed(used), ridge)
    middle = mean + (0.5 - rewarded / taken)[..., None] * used  # between the means of both rewards
    return weights, -(_transposed(middle) * weights).sum(axis=1)


def _transposed(matrices: np.ndarray) -> np.ndarray:
    return matrices.swapaxes(-1, -2)


def _solved(covariance: np.ndarray, columns: np.ndarray, ridge: float) -> np.ndarray:
    return np.linalg.solve(covariance + ridge * np.eye(covariance.shape[-1]), columns)
