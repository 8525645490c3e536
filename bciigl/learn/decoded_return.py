"""The objective of Xie et al. 2021: the decoded return of a policy less that of a bad one.

A linear policy and a linear decoder that does not know the action are sought together:

    J = mean_i (policy(a_i | x_i) - 1 / actions) / propensity_i * decoder(y_i).

The search climbs the smooth form of J (softmax policy, logistic decoder, ridge) from many starts.
What is returned and scored is its sharp limit: the policy's first choice, and a decoder of 0 or 1.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from bciigl.learn.interactions import FEWEST_TRIALS, Prepared, of_action
from bciigl.learn.logistic import minimum
from bciigl.learn.mixture import Whitening, softmax

# Chosen on action-exclusive feedback: a stronger ridge underfits, a weaker one lets policies that
# avoid the reward overfit to more than the truth has.
RIDGE, DECODER_RIDGE = 4.5, 0.03
ITERATIONS = 40
# Restarts are climbed and judged on at most this many trials; the best then climbs on all.
MOST_RESTARTED = 12_000
CANONICAL_STARTS, CONSTANT_STARTS, RANDOM_STARTS = 3, 6, 3
# Scores of a start: decided, yet far from the flat ends of the logistic function.
SPREAD = 2.0
# How often a policy chooses the same action that is called constant.
CONSTANT = 0.9


class Solution(NamedTuple):
    """A policy and a decoder, their biases last."""

    policy: np.ndarray  # (context features + 1, actions)
    decoder: np.ndarray  # (feedback features + 1,)

    def choose(self, context: np.ndarray) -> np.ndarray:
        """Return the policy's first choice for each context, (trials,)."""
        return np.argmax(_scores(context, self.policy), axis=1)


def _scores(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return features @ weights[:-1] + weights[-1]


class Search(NamedTuple):
    """What was found."""

    solution: Solution
    objective: float  # on all trials
    held_out: np.ndarray  # (restarts,): objective on the half of the trials that was not seen
    constant: np.ndarray  # (restarts,): whether one action is chosen nearly always


def objective_terms(
    taken: np.ndarray, decoded: np.ndarray | float, weight: np.ndarray, n_actions: int
) -> np.ndarray:
    """Return each trial's term of the objective, (trials,); the bad policy is uniform."""
    return (n_actions * taken - 1) * weight * decoded


def sharp_terms(solution: Solution, data: Prepared) -> np.ndarray:
    """Return each trial's term of a solution's objective, (trials,)."""
    taken = solution.choose(data.context) == data.action
    decoded = (_scores(data.feedback, solution.decoder) > 0).astype(float)
    return objective_terms(taken, decoded, data.weight, data.n_actions)


def maximise(data: Prepared, rng: np.random.Generator) -> Search:
    """Return the policy and the decoder of the best of many restarts, for data that is scaled.

    The objective on the same trials is a bad judge: where trials are few, a policy that avoids the
    reward can overfit to more than the truth has. So each restart climbs on one half of the trials
    and is judged on the other, both ways round. The best climbs further on all trials. Where they
    are too few, nothing is sought.
    """
    if data.trials < FEWEST_TRIALS:
        policy = np.zeros((data.context.shape[1] + 1, data.n_actions))
        nothing = Solution(policy, np.zeros(data.feedback.shape[1] + 1))
        return Search(nothing, 0.0, np.zeros(0), np.zeros(0, bool))
    some = data.rows(rng.permutation(data.trials)[:MOST_RESTARTED])
    halves = np.arange(some.trials)[::2], np.arange(some.trials)[1::2]
    groups = [
        [climb(some.rows(half), start) for start in starts(some.rows(half), rng)] for half in halves
    ]
    held_out = judge(some, groups, halves)
    restarts = groups[0] + groups[1]
    best = sharpen(data, climb(data, restarts[int(np.argmax(held_out))]))
    most_chosen = [np.bincount(each.choose(data.context)).max() for each in restarts]
    constant = np.array(most_chosen) / data.trials > CONSTANT
    return Search(best, float(sharp_terms(best, data).mean()), held_out, constant)


def judge(
    data: Prepared, groups: list[list[Solution]], halves: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return what each restart reaches on unseen trials, (restarts,).

    Chance favours different restarts in either half by more than good ones differ. So each is
    judged together with its like of the other half: by the mean of what both reach on the trials
    they have not seen.
    """
    terms = [np.array([sharp_terms(each, data) for each in group]) for group in groups]
    unseen = [part[:, half].mean(axis=1) for part, half in zip(terms, halves[::-1], strict=True)]
    distance = cdist(*terms)
    like = distance.argmin(axis=1), distance.argmin(axis=0)
    return np.concatenate([unseen[0] + unseen[1][like[0]], unseen[1] + unseen[0][like[1]]]) / 2


def climb(data: Prepared, start: Solution) -> Solution:
    """Return where L-BFGS gets on the smooth objective."""
    return _unpacked(minimum(partial(smooth_loss, data=data), np.append(*start), ITERATIONS), data)


def _unpacked(parameters: np.ndarray, data: Prepared) -> Solution:
    policy, decoder = np.split(parameters, [-1 - data.feedback.shape[1]])
    return Solution(policy.reshape(-1, data.n_actions), decoder)


def smooth_loss(parameters: np.ndarray, data: Prepared) -> tuple[float, np.ndarray]:
    """Return minus the smooth objective, with a ridge but on biases, and its gradient."""
    policy_weights, decoder = _unpacked(parameters, data)
    trials, rows = data.trials, np.arange(data.trials)
    ridge = RIDGE / trials
    policy = softmax(_scores(data.context, policy_weights))
    taken = policy[rows, data.action]
    decoded = expit(_scores(data.feedback, decoder))
    terms = objective_terms(taken, decoded, data.weight, data.n_actions)
    penalised = policy_weights[:-1], decoder[:-1]  # constant policies must cost nothing
    value = terms.mean() - ridge / 2 * sum(np.sum(each**2) for each in penalised)

    gain = data.n_actions * data.weight * decoded * taken / trials
    by_score = -policy * gain[:, None]
    by_score[rows, data.action] += gain
    by_odds = terms * (1 - decoded) / trials
    slopes = (
        data.context.T @ by_score - ridge * policy_weights[:-1],
        by_score.sum(axis=0),
        data.feedback.T @ by_odds - ridge * decoder[:-1],
        by_odds.sum(),
    )
    return -value, -np.concatenate([np.ravel(each) for each in slopes])


def sharpen(data: Prepared, solution: Solution) -> Solution:
    """Return the best decoder for the policy's first choices: of a weighted 0/1 loss."""
    taken = solution.choose(data.context) == data.action
    gain = objective_terms(taken, 1.0, data.weight, data.n_actions) / data.trials
    ridge = DECODER_RIDGE / data.trials

    def loss(decoder: np.ndarray) -> tuple[float, np.ndarray]:
        weights = decoder[:-1]
        decoded = expit(_scores(data.feedback, decoder))
        slope = gain * decoded * (1 - decoded)
        value = ridge / 2 * weights @ weights - gain @ decoded
        return value, np.append(ridge * weights - data.feedback.T @ slope, -slope.sum())

    weights = minimum(loss, solution.decoder, ITERATIONS)[:-1]
    threshold = best_threshold(data.feedback @ weights, gain)
    return solution._replace(decoder=np.append(weights, -threshold))


def best_threshold(scores: np.ndarray, gain: np.ndarray) -> float:
    """Return the threshold above which the gains of scores add up to the most."""
    order = np.argsort(-scores)
    ordered = scores[order]
    total = np.cumsum(gain[order])
    # Equal scores cannot be told apart: a cut is possible only where the next one is lower.
    total[:-1][ordered[1:] == ordered[:-1]] = -np.inf
    last = int(np.argmax(total))
    if total[last] <= 0:
        return float(ordered[0])
    following = ordered[last + 1] if last + 1 < len(scores) else ordered[last] - 1
    return float((ordered[last] + following) / 2)


def starts(data: Prepared, rng: np.random.Generator) -> list[Solution]:
    """Return at least 10 starts: canonical pairs, constant policies and random ones."""
    features, actions = data.context.shape[1], data.n_actions
    policies = np.zeros((min(CONSTANT_STARTS, actions) + RANDOM_STARTS, features + 1, actions))
    # Of many actions, those taken most often stand for all.
    for policy, action in zip(policies, np.argsort(-data.taken)[:CONSTANT_STARTS], strict=False):
        policy[-1, action] = 2
    for policy in policies[-RANDOM_STARTS:]:
        policy[:-1] = rng.standard_normal((features, actions)) / np.sqrt(features)
    of_feedback = Whitening.of(data.feedback).matrix
    found = list(_canonical_starts(data, of_feedback))
    for policy in policies:
        # The decoder is the least-squares one of the policy's gain over the bad policy.
        taken = of_action(softmax(_scores(data.context, policy)), data.action)
        gain = objective_terms(taken, 1.0, data.weight, data.n_actions)
        found.append((policy, of_feedback @ (of_feedback.T @ (data.feedback.T @ gain))))
    return [_scaled(data, *each) for each in found]


def _canonical_starts(data: Prepared, of_feedback: np.ndarray) -> Iterator[tuple]:
    """Give the first canonical pairs of context with action and feedback, with either sign."""
    extended = np.column_stack([data.context, np.ones(data.trials)])
    of_context = Whitening.of(extended).matrix
    x, y = extended @ of_context, data.feedback @ of_feedback
    taken = [data.action == each for each in range(data.n_actions)]
    cross = np.array([x[mine].T @ y[mine] for mine in taken])
    pairs = np.linalg.eigh(np.einsum("kij,kil->jl", cross, cross))[1][:, ::-1]
    for pair in pairs.T[:CANONICAL_STARTS]:
        policy = of_context @ (cross @ pair).T
        for sign in (1, -1):
            yield sign * policy, sign * of_feedback @ pair


def _scaled(data: Prepared, policy: np.ndarray, decoder: np.ndarray) -> Solution:
    """Return a start with scores of a useful spread."""
    scores = _scores(data.context, policy)
    of_policy = SPREAD / max(np.std(scores - scores.mean(axis=1, keepdims=True)), 1e-12)
    of_decoder = SPREAD / max(np.std(data.feedback @ decoder), 1e-12)
    return Solution(policy * of_policy, np.append(decoder * of_decoder, 0.0))
