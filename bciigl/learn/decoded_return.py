"""The objective of Xie et al. 2021: the decoded return of a policy less that of a bad one.

A linear policy and a linear decoder that does not know the action are sought together:

    J = mean_i (policy(a_i | x_i) - 1 / actions) / propensity_i * decoder(y_i).

The search climbs its smooth form (softmax policy, logistic decoder, ridge). What is scored is the
sharp one: the policy's first choice, and a decoder of 0 or 1. The last feature of both views is 1.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bciigl.learn.interactions import FEWEST_TRIALS, Prepared, of_action
from bciigl.learn.logistic import minimum
from bciigl.learn.mixture import Whitening, softmax

# Chosen on action-exclusive feedback: a stronger ridge underfits, a weaker one lets policies that
# avoid the reward overfit to more than the truth has.
RIDGE, ITERATIONS = 4.5, 30
# Starts climb on at most this many trials; the best then climbs on all.
MOST_CLIMBED, CONSTANT_STARTS, CANONICAL_PAIRS = 6_000, 6, 2
# Scores of starts: where the logistic function is steep; and where a constant policy stays so.
SPREAD, CERTAIN = 2.0, 20.0


class Solution(NamedTuple):
    """A policy and a decoder."""

    policy: np.ndarray  # (context features, actions)
    decoder: np.ndarray  # (feedback features,)

    def objective(self, data: Prepared) -> float:
        """Return the objective of the policy's first choices, with decoded rewards of 0 or 1."""
        taken = np.argmax(data.context @ self.policy, axis=1) == data.action
        decoded = data.feedback @ self.decoder > 0
        return float(objective_terms(taken, decoded, data.weight, data.n_actions).mean())


def objective_terms(
    taken: np.ndarray, decoded: np.ndarray | float, weight: np.ndarray, n_actions: int
) -> np.ndarray:
    """Return each trial's term of the objective, (trials,); the bad policy is uniform."""
    return (n_actions * taken - 1) * weight * decoded


def maximise(data: Prepared, rng: np.random.Generator) -> tuple[Solution, np.ndarray]:
    """Return the best solution, and the objective of each start on unseen trials.

    The objective on the same trials is a bad judge: where trials are few, a policy that avoids the
    reward can overfit to more than the truth has. So each start climbs on one half of the trials
    and is judged on the other; the best climbs further on all. Of too few nothing is learned.
    """
    if data.trials < FEWEST_TRIALS:
        size = data.context.shape[1] * data.n_actions + data.feedback.shape[1]
        return _unpacked(np.zeros(size), data), np.zeros(0)
    order, half = rng.permutation(data.trials), min(data.trials // 2, MOST_CLIMBED)
    seen, unseen = data.rows(order[:half]), data.rows(order[half:])
    climbed = [climb(seen, each) for each in starts(seen)]
    held_out = np.array([each.objective(unseen) for each in climbed])
    return climb(data, climbed[held_out.argmax()]), held_out


def starts(data: Prepared) -> list[Solution]:
    """Return constant policies, then canonical pairs of context by action and feedback."""
    found = []
    for action in np.argsort(-data.taken)[:CONSTANT_STARTS]:  # those taken most often
        policy = np.zeros((data.context.shape[1], data.n_actions))
        policy[-1, action] = CERTAIN
        found.append(Solution(policy, np.zeros(data.feedback.shape[1])))
    feedback = data.feedback[:, :-1]
    of_context, of_feedback = Whitening.of(data.context).matrix, Whitening.of(feedback).matrix
    x, y = data.context @ of_context, feedback @ of_feedback
    cross = np.array([x[data.action == k].T @ y[data.action == k] for k in range(data.n_actions)])
    for pair in np.linalg.svd(np.concatenate(cross), full_matrices=False)[2][:CANONICAL_PAIRS]:
        policy = of_context @ (cross @ pair).T
        policy *= SPREAD / max(np.std(data.context @ policy), 1e-12)
        decoder = np.append(SPREAD * of_feedback @ pair, 0.0)
        found += [Solution(policy, decoder), Solution(-policy, -decoder)]
    return found


def climb(data: Prepared, start: Solution) -> Solution:
    """Return where L-BFGS gets on the smooth objective."""
    return _unpacked(minimum(lambda x: smooth_loss(x, data), np.append(*start), ITERATIONS), data)


def _unpacked(parameters: np.ndarray, data: Prepared) -> Solution:
    policy, decoder = np.split(parameters, [-data.feedback.shape[1]])
    return Solution(policy.reshape(-1, data.n_actions), decoder)


def smooth_loss(parameters: np.ndarray, data: Prepared) -> tuple[float, np.ndarray]:
    """Return minus the smooth objective, with a ridge but on biases, and its gradient."""
    weights, decoder = _unpacked(parameters, data)
    policy, decoded = softmax(data.context @ weights), expit(data.feedback @ decoder)
    taken = of_action(policy, data.action)
    terms = objective_terms(taken, decoded, data.weight, data.n_actions)
    penalised = parameters.copy()
    for each in _unpacked(penalised, data):
        each[-1] = 0.0  # constant policies must cost nothing
    value = terms.sum() - RIDGE / 2 * penalised @ penalised
    gain = data.n_actions * data.weight * decoded * taken
    by_score = gain[:, None] * (np.eye(data.n_actions)[data.action] - policy)
    slopes = data.context.T @ by_score, data.feedback.T @ (terms * (1 - decoded))
    return -value / data.trials, (RIDGE * penalised - np.append(*slopes)) / data.trials
