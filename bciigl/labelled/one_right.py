"""The policy of contexts for which exactly one action is right, fitted to evidence about rewards.

A softmax gives each action its probability of being right. Feedback tells, by its likelihood ratio,
whether the action taken was; if it was not, one of the others is. The likelihood of that,

    mean_i log(p(a_i | x_i) ratio_i + 1 - p(a_i | x_i)),

is climbed directly. It assumes nothing of the contexts' law, and where rewards are known (ratios of
0 or infinity) it is logistic regression on partial labels.
"""

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.bandit import ContextualBandit, without_never_taken
from bciigl.learn.interactions import Prepared
from bciigl.learn.logistic import minimum

# Log-odds beyond this are sure enough, and numbers stay finite.
SURE = 30.0
ITERATIONS = 100


def fit_one_right(
    context: np.ndarray, action: np.ndarray, odds: np.ndarray, n_actions: int, ridge: float = 1.0
) -> np.ndarray:
    """Return weights and bias of each action's score, (features + 1, actions).

    The odds are the log-likelihood ratio of reward against none, by the feedback alone. The ridge
    is on the weights, in units of one trial's evidence.
    """
    trials, features = context.shape
    odds = np.clip(odds, -SURE, SURE)
    rows = np.arange(trials)

    # A row an action: numpy adds up rows faster than within them.
    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        policy = parameters.reshape(features + 1, n_actions)
        scores = policy[:-1].T @ context.T + policy[-1][:, None]
        scores -= scores.max(axis=0)
        right = scores[action, rows] + odds
        powers = np.exp(scores, out=scores)
        total, mine = powers.sum(axis=0), powers[action, rows]
        # The probability that another action is right must not vanish where one is all but sure.
        others = np.maximum(total - mine, 1e-12 * total)
        wrong = np.log(others)
        value = (np.log(total) - np.logaddexp(right, wrong)).sum()
        value += 0.5 * ridge * np.sum(policy[:-1] ** 2)
        reward = expit(right - wrong)
        powers *= 1 / total - (1 - reward) / others
        powers[action, rows] = mine / total - reward
        of_weights = (powers @ context).T + ridge * policy[:-1]
        return value / trials, np.vstack([of_weights, powers.sum(axis=1)]).ravel() / trials

    found = minimum(loss, np.zeros((features + 1) * n_actions), ITERATIONS)
    return found.reshape(features + 1, n_actions)


class OneRightBandit(ContextualBandit):
    """A contextual bandit that knows that exactly one action is right for each context."""

    @staticmethod
    def _fit_policy(data: Prepared, reward: np.ndarray, ridge: float = 1.0) -> np.ndarray:
        policy = fit_one_right(data.context, data.action, logit(reward), data.n_actions, ridge)
        return without_never_taken(policy, data.action)
