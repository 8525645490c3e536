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
from scipy.optimize import minimize

from bciigl.learn.evidence import Evidence
from bciigl.learn.interactions import Interactions, of_action
from bciigl.learn.mixture import softmax
from bciigl.learn.one_right import SURE

ITERATIONS = 60


class Linear(NamedTuple):
    """A policy with a decoder.

    Attributes
    ----------
    policy : array, (context features + 1, actions)
        Weights and bias of each action's score.
    decoder : array, (feedback features + 1, actions)
        Weights and bias of the log-likelihood ratio of each action's reward.
    """

    policy: np.ndarray
    decoder: np.ndarray

    def evidence(self, data: Interactions) -> Evidence:
        """Return what it says about trials."""
        odds = data.feedback @ self.decoder[:-1] + self.decoder[-1]
        scores = data.context @ self.policy[:-1] + self.policy[-1]
        return Evidence(softmax(scores), of_action(odds, data.action))


def fit_agreement(data: Interactions, start: Linear, *, ridge: float = 1.0) -> Linear:
    """Return the policy and the decoder that L-BFGS reaches from a start.

    Parameters
    ----------
    data : Interactions
        Centred and scaled.
    start : Linear
    ridge : float
        On the weights, not on the biases; in units of one trial's evidence.
    """
    policy, decoder = start
    size = policy.size
    rows = np.arange(data.trials)
    taken = np.maximum(data.taken, 1)

    def mean_of_action(values: np.ndarray) -> np.ndarray:
        return (np.bincount(data.action, values, data.n_actions) / taken)[data.action]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        of_policy = parameters[:size].reshape(policy.shape)
        of_decoder = parameters[size:].reshape(decoder.shape)
        probable = softmax(data.context @ of_policy[:-1] + of_policy[-1])
        right = of_action(probable, data.action)
        odds = of_action(data.feedback @ of_decoder[:-1] + of_decoder[-1], data.action)
        inside = np.abs(odds) < SURE
        ratio = np.exp(np.clip(odds, -SURE, SURE))
        mean = mean_of_action(right)
        own, others = right * ratio + 1 - right, mean * ratio + 1 - mean
        value = np.log(others / own).sum()
        value += 0.5 * ridge * (np.sum(of_policy[:-1] ** 2) + np.sum(of_decoder[:-1] ** 2))
        # By the probability of the action taken, directly and through the mean.
        by_right = mean_of_action((ratio - 1) / others) - (ratio - 1) / own
        by_score = -probable * (by_right * right)[:, None]
        by_score[rows, data.action] += by_right * right
        by_odds = np.zeros_like(probable)
        by_odds[rows, data.action] = inside * (mean * ratio / others - right * ratio / own)
        slope = [
            data.context.T @ by_score + ridge * of_policy[:-1],
            by_score.sum(axis=0),
            data.feedback.T @ by_odds + ridge * of_decoder[:-1],
            by_odds.sum(axis=0),
        ]
        return value / data.trials, np.concatenate([each.ravel() for each in slope]) / data.trials

    options = {"maxiter": ITERATIONS}
    first = np.concatenate([each.ravel() for each in start])
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    return Linear(found[:size].reshape(policy.shape), found[size:].reshape(decoder.shape))
