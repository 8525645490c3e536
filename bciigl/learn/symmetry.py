"""Symmetry breaking: which of two clusters is the reward (Algorithm 1, lines 4 to 8).

The contrastive objective finds two clusters of feedback and cannot tell which is which. Under a
policy whose match rate is known, and is not 1/2, their sizes tell (Assumption 4). Each cluster's
share, as the better of two mixtures has it, is a more robust judge of that than whether the mean
decoded reward is above 1/2: a blurred decoder has a mean near 1/2 whatever the clusters' sizes.
"""

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from bciigl.learn.interactions import FEWEST_TRIALS_OF_ACTION, Prepared

_STEPS = 20
# Where the rewarded and the other cluster are looked for first, in SDs of the score.
_STARTS = ((1.0, -0.5), (0.5, -1.0))


class Clusters(NamedTuple):
    """Scores taken apart."""

    reward: np.ndarray  # (trials,): probability of being rewarded
    separation: float  # distance of the clusters in units of their width


def expectation(
    data: Prepared, uniform: np.ndarray, catch: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the match rate of each trial, 1/2 where nothing is known of it, and how it counts.

    It is known of catch trials and of uniform guesses: `uniform` and `catch` have it by action.
    What a better policy guessed matches more often than nobody knows; such trials tell where the
    clusters are, but not which is which. Only if there are few others, they are weighted so as if
    they had been guessed uniformly, as far as that is possible: nothing is known of guesses that
    could not have been others.
    """
    known = data.uniform | data.catch
    rate = np.where(data.catch, catch[data.action], uniform[data.action])
    counts = np.bincount(data.action[known], minlength=data.n_actions)
    if counts[data.taken > 0].min() >= FEWEST_TRIALS_OF_ACTION:
        return np.where(known, rate, 0.5), np.ones(data.trials)
    return np.where(data.certain & ~data.catch, 0.5, rate), data.weight


def break_symmetry(
    score: np.ndarray,
    rate: np.ndarray,
    weight: np.ndarray | None = None,
    unknown: np.ndarray | None = None,
    *,
    mirrored: bool = False,
) -> Clusters:
    """Return which trials are rewarded, given a score of either sign and the expected match rate.

    Of two Gaussians, the likelier of both orders is taken, or the other if `mirrored`. The match
    rate of `unknown` trials is the same, and is found out.
    """
    share = np.full(len(score), 1 / len(score)) if weight is None else weight / weight.sum()
    mean = share @ score
    spread = np.sqrt(share @ (score - mean) ** 2)
    if spread == 0:
        return Clusters(rate.copy(), 0.0)
    score = (score - mean) / spread
    unknown = np.zeros(len(score), bool) if unknown is None else unknown
    first = itemgetter(0)  # the likelihood
    fits = [
        # Where a good policy guessed, most trials are rewarded, otherwise few.
        max((_fit_two(sign * score, rate, share, unknown, each) for each in _STARTS), key=first)
        for sign in (1, -1)
    ]
    return sorted(fits, key=first, reverse=True)[mirrored][1]


def _fit_two(
    score: np.ndarray, rate: np.ndarray, share: np.ndarray, unknown: np.ndarray, start: tuple
) -> tuple[float, Clusters]:
    """Return the mean log-likelihood and the clusters, the rewarded one being above."""
    rate, variance, (high, low) = rate.copy(), 0.5, start
    for _ in range(_STEPS):
        prior = logit(np.clip(rate, 1e-3, 1 - 1e-3))
        odds = prior + ((score - low) ** 2 - (score - high) ** 2) / (2 * variance)
        reward = expit(odds)
        rewarded, other = share * reward, share * (1 - reward)
        high = rewarded @ score / max(rewarded.sum(), 1e-12)
        low = other @ score / max(other.sum(), 1e-12)
        variance = max(rewarded @ (score - high) ** 2 + other @ (score - low) ** 2, 1e-6)
        rate[unknown] = rewarded[unknown].sum() / max(share[unknown].sum(), 1e-12)
    log_high = -np.logaddexp(0, -prior) - (score - high) ** 2 / (2 * variance)
    log_low = -np.logaddexp(0, prior) - (score - low) ** 2 / (2 * variance)
    likelihood = share @ np.logaddexp(log_high, log_low) - 0.5 * np.log(variance)
    # Clusters that have changed places are those of the mirror image.
    clusters = Clusters(reward, float((high - low) / np.sqrt(variance)))
    return (float(likelihood) if high > low else -np.inf), clusters
