"""How much two views that did not see a trial agree about its reward."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.interactions import Prepared, of_action

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


def orientation(evidence: Evidence, rate: np.ndarray) -> np.ndarray:
    """Return how much better than its mirror image each trial's decoding fits, nats, (trials,)."""
    return _log_likelihood(rate, evidence.feedback) - _log_likelihood(1 - rate, evidence.feedback)


def rate_misfit(evidence: Evidence, rate: np.ndarray, weight: np.ndarray) -> float:
    """Return how much better other match rates would fit than those that are known, in nats."""
    known = np.flatnonzero(rate != 0.5)
    odds, ratio = logit(rate[known]), evidence.feedback[known]
    others = (weight[known] @ _log_likelihood(expit(odds + each), ratio) for each in _SHIFTS)
    return float(max(others, default=0.0) - weight[known] @ _log_likelihood(rate[known], ratio))


def net_information(evidence: Evidence, data: Prepared) -> float:
    """Return the mean information beyond what the next trial's contexts have, nats per trial.

    What is imagined next has nothing to do with this trial's reward; noise that lasts has.
    """
    now = np.flatnonzero(data.run[1:] == data.run[:-1])
    placebo = Evidence(evidence.context[now + 1], evidence.feedback[now])
    lasting = information(placebo, data.rows(now)).sum() / data.trials
    return float(information(evidence, data).mean() - max(lasting, 0.0))


def _log_likelihood(reward: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of feedback, up to a constant, given a probability of reward."""
    reward = np.clip(reward, _SUREST, 1 - _SUREST)
    return np.logaddexp(np.log(reward) + ratio, np.log1p(-reward))
