"""The objective of Xie et al. 2021: the decoded return of a policy less that of a bad one.

A linear policy and a linear decoder that does not know the action are sought together:

    J = mean_i (policy(a_i | x_i) - 1 / actions) / propensity_i * decoder(y_i).

The search climbs the smooth form of J (softmax policy, logistic decoder, ridge) from many starts.
What is returned and scored is its sharp limit: the policy's first choice, and a decoder of 0 or 1.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit

from bciigl.learn.canonical import Axes
from bciigl.learn.interactions import Prepared
from bciigl.learn.mixture import softmax

# Chosen on action-exclusive feedback: a stronger ridge underfits, a weaker one lets policies that
# avoid the reward overfit to more than the truth has.
RIDGE, DECODER_RIDGE, WHITENING_RIDGE = 4.5, 0.03, 0.1
ITERATIONS = 40
# Restarts are climbed and judged on so many trials at most; the best then climbs on all.
MOST_RESTARTED = 12_000
CANONICAL_STARTS, CONSTANT_STARTS, RANDOM_STARTS = 3, 6, 3
# Scores of a start: decided, yet far from the flat ends of the logistic function.
SPREAD = 2.0
# How often a policy chooses the same action that is called constant.
CONSTANT = 0.9


class Solution(NamedTuple):
    """A policy and a decoder.

    Attributes
    ----------
    policy_weights : array, (context features, actions)
    policy_bias : array, (actions,)
    decoder_weights : array, (feedback features,)
    decoder_bias : float
    """

    policy_weights: np.ndarray
    policy_bias: np.ndarray
    decoder_weights: np.ndarray
    decoder_bias: float

    def choose(self, context: np.ndarray) -> np.ndarray:
        """Return the policy's first choice for each context, (trials,)."""
        return np.argmax(context @ self.policy_weights + self.policy_bias, axis=1)

    def decode(self, feedback: np.ndarray) -> np.ndarray:
        """Return the decoded reward, 0 or 1, of each feedback, (trials,)."""
        return (feedback @ self.decoder_weights + self.decoder_bias > 0).astype(float)


class Search(NamedTuple):
    """What was found.

    Attributes
    ----------
    solution : Solution
    objective : float
        Of the solution, on all trials.
    held_out : array, (restarts,)
        Objective of each restart on the half of the trials that it had not seen.
    constant : array of bool, (restarts,)
        Whether the policy of each restart chooses one action nearly always.
    """

    solution: Solution
    objective: float
    held_out: np.ndarray
    constant: np.ndarray


def objective_terms(
    taken: np.ndarray, decoded: np.ndarray, weight: np.ndarray, n_actions: int
) -> np.ndarray:
    """Return each trial's term of the objective, whose mean it is, (trials,).

    Parameters
    ----------
    taken : array, (trials,)
        The policy's probability of the action taken.
    decoded : array, (trials,)
        Decoded reward, 0 to 1.
    weight : array, (trials,)
        Importance: inverse propensity, 1 on average.
    n_actions : int
        The bad policy is uniform over so many.
    """
    return (n_actions * taken - 1) * weight * decoded


def sharp_terms(solution: Solution, data: Prepared) -> np.ndarray:
    """Return each trial's term of a solution's objective, (trials,)."""
    taken = solution.choose(data.context) == data.action
    return objective_terms(taken, solution.decode(data.feedback), data.weight, data.n_actions)


def maximise(data: Prepared, rng: np.random.Generator) -> Search:
    """Return the policy and the decoder of the best of many restarts.

    The objective on the same trials is a bad judge: where trials are few, a policy that avoids the
    reward can overfit to more than the truth has. So each restart climbs on one half of the trials
    and is judged on the other, both ways round. The best climbs further on all trials.

    Parameters
    ----------
    data : Prepared
        Centred and scaled.
    rng : Generator
        Splits the trials into halves and draws the random starts.
    """
    some = data.rows(rng.permutation(data.trials)[:MOST_RESTARTED])
    halves = np.arange(some.trials)[::2], np.arange(some.trials)[1::2]
    groups = [
        [climb(some.rows(half), start) for start in starts(some.rows(half), rng)] for half in halves
    ]
    held_out = judge(some, groups, halves)
    restarts = groups[0] + groups[1]
    best = sharpen(data, climb(data, restarts[int(np.argmax(held_out))]))
    constant = np.array([most_chosen(each, data) > CONSTANT for each in restarts])
    return Search(best, float(sharp_terms(best, data).mean()), held_out, constant)


def most_chosen(solution: Solution, data: Prepared) -> float:
    """Return how often a policy chooses the action that it chooses most, 0 to 1."""
    return float(np.bincount(solution.choose(data.context)).max() / data.trials)


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
    found = minimize(
        smooth_loss,
        _packed(start),
        args=(data,),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS},
    )
    return _unpacked(found.x, data)


def smooth_loss(parameters: np.ndarray, data: Prepared) -> tuple[float, np.ndarray]:
    """Return minus the smooth objective, with a ridge, and its gradient.

    Biases are not penalised: constant policies must cost nothing.
    """
    guess = _unpacked(parameters, data)
    trials, rows = data.trials, np.arange(data.trials)
    ridge = RIDGE / trials
    policy = softmax(data.context @ guess.policy_weights + guess.policy_bias)
    taken = policy[rows, data.action]
    decoded = expit(data.feedback @ guess.decoder_weights + guess.decoder_bias)
    value = objective_terms(taken, decoded, data.weight, data.n_actions).mean()
    value -= ridge / 2 * (np.sum(guess.policy_weights**2) + np.sum(guess.decoder_weights**2))

    gain = data.n_actions * data.weight * decoded * taken / trials
    by_score = -policy * gain[:, None]
    by_score[rows, data.action] += gain
    by_odds = (data.n_actions * taken - 1) * data.weight * decoded * (1 - decoded) / trials
    slope = Solution(
        data.context.T @ by_score - ridge * guess.policy_weights,
        by_score.sum(axis=0),
        data.feedback.T @ by_odds - ridge * guess.decoder_weights,
        by_odds.sum(),
    )
    return -value, -_packed(slope)


def sharpen(data: Prepared, solution: Solution) -> Solution:
    """Return the decoder that is best for the policy's first choices, its threshold exactly placed.

    With the policy fixed, the objective is a weighted 0/1 loss of the decoder alone.
    """
    taken = solution.choose(data.context) == data.action
    gain = (data.n_actions * taken - 1) * data.weight / data.trials
    ridge = DECODER_RIDGE / data.trials

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = parameters[:-1], parameters[-1]
        decoded = expit(data.feedback @ weights + bias)
        slope = gain * decoded * (1 - decoded)
        value = ridge / 2 * weights @ weights - gain @ decoded
        return value, np.append(ridge * weights - data.feedback.T @ slope, -slope.sum())

    start = np.append(solution.decoder_weights, solution.decoder_bias)
    options = {"maxiter": ITERATIONS}
    weights = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x[:-1]
    bias = -best_threshold(data.feedback @ weights, gain)
    return solution._replace(decoder_weights=weights, decoder_bias=bias)


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
    # Of many actions, those taken most often stand for all.
    constant = np.argsort(-data.taken)[:CONSTANT_STARTS]
    policies = [(np.zeros((features, actions)), 2 * np.eye(actions)[each]) for each in constant]
    policies += [
        (rng.standard_normal((features, actions)) / np.sqrt(features), np.zeros(actions))
        for _ in range(RANDOM_STARTS)
    ]
    return [_scaled(data, each) for each in _canonical_starts(data) + _fitted(data, policies)]


def _fitted(data: Prepared, policies: list[tuple[np.ndarray, np.ndarray]]) -> list[Solution]:
    """Return each policy with the least-squares decoder of its gain over the bad policy."""
    whitening = _whitening(data.feedback)
    rows = np.arange(data.trials)
    found = []
    for weights, bias in policies:
        taken = softmax(data.context @ weights + bias)[rows, data.action]
        gain = objective_terms(taken, np.ones(data.trials), data.weight, data.n_actions)
        decoder = whitening @ (whitening.T @ (data.feedback.T @ gain))
        found.append(Solution(weights, bias, decoder, 0.0))
    return found


def _canonical_starts(data: Prepared) -> list[Solution]:
    """Return the first canonical pairs of context with action and feedback, with either sign."""
    extended = np.column_stack([data.context, np.ones(data.trials)])
    of_context, of_feedback = _whitening(extended), _whitening(data.feedback)
    x, y = extended @ of_context, data.feedback @ of_feedback
    cross = np.array(
        [x[data.action == each].T @ y[data.action == each] for each in range(data.n_actions)]
    )
    pairs = np.linalg.eigh(np.einsum("kij,kil->jl", cross, cross))[1][:, ::-1]
    found = []
    for pair in pairs.T[:CANONICAL_STARTS]:
        policy = of_context @ (cross @ pair).T
        for sign in (1, -1):
            found.append(
                Solution(sign * policy[:-1], sign * policy[-1], sign * of_feedback @ pair, 0.0)
            )
    return found


def _whitening(features: np.ndarray) -> np.ndarray:
    axes = Axes.of(features)
    return axes.vectors * axes.scale(WHITENING_RIDGE)


def _scaled(data: Prepared, start: Solution) -> Solution:
    """Return a start with scores of a useful spread."""
    scores = data.context @ start.policy_weights + start.policy_bias
    of_policy = np.std(scores - scores.mean(axis=1, keepdims=True))
    of_decoder = np.std(data.feedback @ start.decoder_weights)
    policy, decoder = (SPREAD / max(each, 1e-12) for each in (of_policy, of_decoder))
    return Solution(
        start.policy_weights * policy,
        start.policy_bias * policy,
        start.decoder_weights * decoder,
        0.0,
    )


def _packed(solution: Solution) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in solution])


def _unpacked(parameters: np.ndarray, data: Prepared) -> Solution:
    of_policy = data.context.shape[1] * data.n_actions
    weights, bias, decoder = np.split(parameters, [of_policy, of_policy + data.n_actions])
    return Solution(weights.reshape(-1, data.n_actions), bias, decoder[:-1], decoder[-1])
