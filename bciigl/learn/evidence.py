"""How much two views that did not see a trial agree about its reward."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.interactions import Prepared, less_means, of_action

# Beyond this, a view that was wrong would be fined more than being right all day can earn.
_SUREST = 1e-3
_TRUST = (1.0, 0.9, 0.7, 0.5, 0.3)
# Of a match rate's log-odds.
_SHIFTS = np.linspace(-3, 3, 13)


class Evidence(NamedTuple):
    """What each view alone says of each trial, by parameters that have not seen it."""

    context: np.ndarray  # (trials, actions): probability that each action is right
    feedback: np.ndarray  # (trials,): log-likelihood ratio of reward of the action taken

    def rows(self, index: np.ndarray) -> "Evidence":
        """Return that of some of the trials."""
        return Evidence(self.context[index], self.feedback[index])

    def predicted(self, action: np.ndarray) -> np.ndarray:
        """Return the probability of reward from the context alone, (trials,)."""
        return of_action(self.context, action)

    def reward(self, action: np.ndarray) -> np.ndarray:
        """Return the probability of reward from both views, (trials,)."""
        right = np.clip(self.predicted(action), _SUREST, 1 - _SUREST)
        return expit(logit(right) + self.feedback)


def information(evidence: Evidence, data: Prepared) -> np.ndarray:
    """Return what each trial's context tells of its feedback, in nats, (trials,).

    The log-likelihood of the feedback given the context's prediction of the reward, less that given
    the action's mean prediction. Its mean is positive only if prediction and decoding, both made
    without the trial, are about the same thing. It is the contrastive objective as a likelihood:
    what true pairs have that shuffled pairs have not.
    """
    if not data.trials:
        return np.zeros(0)
    predicted, ratio = evidence.predicted(data.action), evidence.feedback
    mean = data.means(predicted)[data.action]
    base = _log_likelihood(mean, ratio)
    # People lapse: a prediction that is nearly sure may be wrong now and then, and each is taken as
    # seriously as is best.
    gains = [_log_likelihood(mean + trust * (predicted - mean), ratio) - base for trust in _TRUST]
    return max(gains, key=np.sum)


def contrast_t(evidence: Evidence, data: Prepared, fold: np.ndarray) -> float:
    """Return whether what contexts tell depends on the action taken, as a t statistic.

    Decoded rewards go with the probability of an option if that was the guess, and against it if it
    was not. What leaks from context to feedback, or noise that both share, goes with it either way.
    Only differences within a fold count: models without different folds differ in both.
    """
    group = fold * data.n_actions + data.action
    decoded = less_means(expit(evidence.feedback)[:, None], group)
    probable = less_means(evidence.context, group)
    # Of each option: the mean where it was guessed less that where it was not.
    guessed = np.eye(data.n_actions)[data.action]
    sign = guessed / np.maximum(data.taken, 1)
    sign -= (1 - guessed) / np.maximum(data.trials - data.taken, 1)
    return t_statistic((decoded * probable * sign).sum(axis=1))


def orientation(evidence: Evidence, rate: np.ndarray) -> np.ndarray:
    """Return how much better than its mirror image each trial's decoding fits, nats, (trials,)."""
    return _log_likelihood(rate, evidence.feedback) - _log_likelihood(1 - rate, evidence.feedback)


def rate_misfit(evidence: Evidence, rate: np.ndarray, weight: np.ndarray) -> float:
    """Return how much better other match rates would fit than those that are known, in nats."""
    known = np.flatnonzero(rate != 0.5)
    odds, ratio = logit(rate[known]), evidence.feedback[known]
    # All rates moved together, or match and mismatch exchanged.
    others = (
        weight[known] @ _log_likelihood(expit(each), ratio)
        for each in (*odds + _SHIFTS[:, None], -odds)
    )
    return float(max(others, default=0.0) - weight[known] @ _log_likelihood(rate[known], ratio))


def t_statistic(values: np.ndarray) -> float:
    """Return the t statistic of a mean over trials."""
    if len(values) < 2:
        return 0.0
    return float(values.mean() / max(values.std(ddof=1) / np.sqrt(len(values)), 1e-9))


def _log_likelihood(reward: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of feedback, up to a constant, given a probability of reward."""
    reward = np.clip(reward, _SUREST, 1 - _SUREST)
    return np.logaddexp(np.log(reward) + ratio, np.log1p(-reward))
