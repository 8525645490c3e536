"""Policy and decoder together, by how much information context and feedback share about the reward.

Given the action, context and feedback depend on each other through the reward alone. With a softmax
policy p and a decoder that gives the feedback's likelihood ratio l,

    J = mean_i log[(p_i l_i + 1 - p_i) / (q_i l_i + 1 - q_i)],

where q is the mean of p over the trials of the same action, is how much better a trial's own
context explains its feedback than the other contexts do: the contrastive bound on the information
that they share. Neither view is taken for Gaussian, so it is right for pixels and categories, too;
but it needs a start that is right already.
"""

from typing import NamedTuple

import numpy as np

from bciigl.labelled.one_right import SURE
from bciigl.learn.evidence import Evidence
from bciigl.learn.interactions import Prepared, of_action
from bciigl.learn.logistic import minimum
from bciigl.learn.mixture import softmax

ITERATIONS = 60


class Linear(NamedTuple):
    """A policy with a decoder: weights and biases, (features + 1, actions) of each."""

    policy: np.ndarray  # of each action's score
    decoder: np.ndarray  # of the log-likelihood ratio of each action's reward

    def evidence(self, data: Prepared) -> Evidence:
        """Return what it says about trials."""
        odds = data.feedback @ self.decoder[:-1] + self.decoder[-1]
        scores = data.context @ self.policy[:-1] + self.policy[-1]
        return Evidence(softmax(scores), of_action(odds, data.action))


def fit_agreement(data: Prepared, start: Linear, *, ridge: float = 1.0) -> Linear:
    """Return the policy and the decoder that L-BFGS reaches; the ridge spares the biases."""
    # By action, so that the decoder of each needs to see its own trials alone.
    data = data.rows(np.argsort(data.action, kind="stable"))
    ends = np.cumsum(data.taken)
    mine = [slice(end - count, end) for end, count in zip(ends, data.taken, strict=True)]
    rows = np.arange(data.trials)

    def unpacked(parameters: np.ndarray) -> Linear:
        # Each has a row for each feature and one for the bias.
        policy, decoder = np.split(parameters, [start.policy.size])
        return Linear(policy.reshape(-1, data.n_actions), decoder.reshape(-1, data.n_actions))

    # A row an action, as in `one_right`.
    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        policy, decoder = unpacked(parameters)
        probable = policy[:-1].T @ data.context.T + policy[-1][:, None]
        probable = np.exp(probable - probable.max(axis=0), out=probable)
        probable /= probable.sum(axis=0)
        right = probable[data.action, rows]
        odds = np.concatenate(
            [data.feedback[own] @ decoder[:-1, each] for each, own in enumerate(mine)]
        )
        odds = np.clip(odds + decoder[-1, data.action], -SURE, SURE)
        ratio = np.exp(odds)
        mean = data.means(right)[data.action]
        own, others = 1 + right * (ratio - 1), 1 + mean * (ratio - 1)
        value = np.log(others / own).sum()
        value += 0.5 * ridge * (np.sum(policy[:-1] ** 2) + np.sum(decoder[:-1] ** 2))
        # By the probability of the action taken, directly and through the mean.
        by_right = data.means((ratio - 1) / others)[data.action] - (ratio - 1) / own
        by_score = np.multiply(probable, -by_right * right, out=probable)
        by_score[data.action, rows] += by_right * right
        by_odds = (mean / others - right / own) * ratio * (np.abs(odds) < SURE)
        slopes = [
            (by_score @ data.context).T + ridge * policy[:-1],
            by_score.sum(axis=1),
            np.array([by_odds[own] @ data.feedback[own] for own in mine]).T + ridge * decoder[:-1],
            np.bincount(data.action, by_odds, data.n_actions),
        ]
        return value / data.trials, np.concatenate([each.ravel() for each in slopes]) / data.trials

    first = np.concatenate([each.ravel() for each in start])
    return unpacked(minimum(loss, first, ITERATIONS))
