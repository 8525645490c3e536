"""The objective of Xie et al. 2021: the decoded return of a policy less that of a bad one.

A linear policy and a linear decoder that does not know the action are sought together:

    J = mean_i (policy(a_i | x_i) - 1 / actions) / propensity_i * decoder(y_i).

The search climbs the smooth form of J (softmax policy, logistic decoder, ridge) from many starts.
What is returned and scored is its sharp limit: the policy's first choice, and a decoder of 0 or 1.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit

from bciigl.learn.canonical import Axes
from bciigl.learn.interactions import Prepared, of_action
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
    """A policy and a decoder."""

    policy_weights: np.ndarray  # (context features, actions)
    policy_bias: np.ndarray  # (actions,)
    decoder_weights: np.ndarray  # (feedback features,)
    decoder_bias: float

    def choose(self, context: np.ndarray) -> np.ndarray:
        """Return the policy's first choice for each context, (trials,)."""
        return np.argmax(context @ self.policy_weights + self.policy_bias, axis=1)

    def decode(self, feedback: np.ndarray) -> np.ndarray:
        """Return the decoded reward, 0 or 1, of each feedback, (trials,)."""
        return (feedback @ self.decoder_weights + self.decoder_bias > 0).astype(float)


class Search(NamedTuple):
    """What was found."""

    solution: Solution
    objective: float  # on all trials
    held_out: np.ndarray  # (restarts,): objective on the half of the trials that was not seen
    constant: np.ndarray  # (restarts,): whether one action is chosen nearly always


def nothing(data: Prepared) -> Search:
    """Return what is found where there is too little to search."""
    size = (data.context.shape[1] + 1) * data.n_actions + data.feedback.shape[1] + 1
    return Search(_unpacked(np.zeros(size), data), 0.0, np.zeros(0), np.zeros(0, bool))


def objective_terms(
    taken: np.ndarray, decoded: np.ndarray | float, weight: np.ndarray, n_actions: int
) -> np.ndarray:
    """Return each trial's term of the objective, whose mean it is, (trials,).

    `taken` is the policy's probability of the action taken, `decoded` the reward, 0 to 1, `weight`
    the inverse propensity, 1 on average. The bad policy is uniform over all actions.
    """
    return (n_actions * taken - 1) * weight * decoded


def sharp_terms(solution: Solution, data: Prepared) -> np.ndarray:
    """Return each trial's term of a solution's objective, (trials,)."""
    taken = solution.choose(data.context) == data.action
    return objective_terms(taken, solution.decode(data.feedback), data.weight, data.n_actions)


def maximise(data: Prepared, rng: np.random.Generator) -> Search:
    """Return the policy and the decoder of the best of many restarts, for data that is scaled.

    The objective on the same trials is a bad judge: where trials are few, a policy that avoids the
    reward can overfit to more than the truth has. So each restart climbs on one half of the trials
    and is judged on the other, both ways round. The best climbs further on all trials.
    """
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
    return _unpacked(_minimum(partial(smooth_loss, data=data), _packed(start)), data)


def _minimum(loss: Callable, start: np.ndarray) -> np.ndarray:
    options = {"maxiter": ITERATIONS}
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


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
    terms = objective_terms(taken, decoded, data.weight, data.n_actions)
    value = terms.mean()
    value -= ridge / 2 * (np.sum(guess.policy_weights**2) + np.sum(guess.decoder_weights**2))

    gain = data.n_actions * data.weight * decoded * taken / trials
    by_score = -policy * gain[:, None]
    by_score[rows, data.action] += gain
    by_odds = terms * (1 - decoded) / trials
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
    gain = objective_terms(taken, 1.0, data.weight, data.n_actions) / data.trials
    ridge = DECODER_RIDGE / data.trials

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = parameters[:-1], parameters[-1]
        decoded = expit(data.feedback @ weights + bias)
        slope = gain * decoded * (1 - decoded)
        value = ridge / 2 * weights @ weights - gain @ decoded
        return value, np.append(ridge * weights - data.feedback.T @ slope, -slope.sum())

    weights = _minimum(loss, np.append(solution.decoder_weights, solution.decoder_bias))[:-1]
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
    whitening = _whitening(data.feedback)
    fitted = [_with_decoder(data, whitening, *each) for each in policies]
    return [_scaled(data, *each) for each in (*_canonical_starts(data, whitening), *fitted)]


# Of a start: weights and bias of the policy, weights of the decoder.
_Start = tuple[np.ndarray, np.ndarray, np.ndarray]


def _with_decoder(
    data: Prepared, whitening: np.ndarray, weights: np.ndarray, bias: np.ndarray
) -> _Start:
    """Return a policy with the least-squares decoder of its gain over the bad policy."""
    taken = of_action(softmax(data.context @ weights + bias), data.action)
    gain = objective_terms(taken, 1.0, data.weight, data.n_actions)
    return weights, bias, whitening @ (whitening.T @ (data.feedback.T @ gain))


def _canonical_starts(data: Prepared, of_feedback: np.ndarray) -> Iterator[_Start]:
    """Give the first canonical pairs of context with action and feedback, with either sign."""
    extended = np.column_stack([data.context, np.ones(data.trials)])
    of_context = _whitening(extended)
    x, y = extended @ of_context, data.feedback @ of_feedback
    taken = [data.action == each for each in range(data.n_actions)]
    cross = np.array([x[mine].T @ y[mine] for mine in taken])
    pairs = np.linalg.eigh(np.einsum("kij,kil->jl", cross, cross))[1][:, ::-1]
    for pair in pairs.T[:CANONICAL_STARTS]:
        policy = of_context @ (cross @ pair).T
        for sign in (1, -1):
            yield sign * policy[:-1], sign * policy[-1], sign * of_feedback @ pair


def _whitening(features: np.ndarray) -> np.ndarray:
    axes = Axes.of(features)
    return axes.vectors * axes.scale(WHITENING_RIDGE)


def _scaled(data: Prepared, weights: np.ndarray, bias: np.ndarray, decoder: np.ndarray) -> Solution:
    """Return a start with scores of a useful spread."""
    scores = data.context @ weights + bias
    of_policy = SPREAD / max(np.std(scores - scores.mean(axis=1, keepdims=True)), 1e-12)
    of_decoder = SPREAD / max(np.std(data.feedback @ decoder), 1e-12)
    return Solution(weights * of_policy, bias * of_policy, decoder * of_decoder, 0.0)


def _packed(solution: Solution) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in solution])


def _unpacked(parameters: np.ndarray, data: Prepared) -> Solution:
    of_policy = data.context.shape[1] * data.n_actions
    weights, bias, decoder = np.split(parameters, [of_policy, of_policy + data.n_actions])
    return Solution(weights.reshape(-1, data.n_actions), bias, decoder[:-1], decoder[-1])
