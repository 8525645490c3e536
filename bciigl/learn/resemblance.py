"""Does imagining an option resemble seeing it? What contexts alone say, whatever was judged."""

import numpy as np

from bciigl.learn.evidence import t_statistic
from bciigl.learn.interactions import Prepared, less_means

# Of the largest distance that clusters can have: those that are tried.
DISTANCES = np.linspace(0.1, 0.98, 12)
# A policy that chooses as resemblance does, at least so often; and by how much answers may change,
# in SDs of chance.
SAME_CHOICES, CHANGE = 0.75, 2.5


def clusters_t(data: Prepared, probable: np.ndarray, seen: np.ndarray, fold: np.ndarray) -> float:
    """Return whether contexts cluster around what was seen, as a t statistic.

    Contexts of unseen folds are compared: clusters around the patterns of seen options, however far
    apart, with one cluster or those around the patterns' contrary. All have the same covariance, so
    only the shape counts, and two options have no contrary. Judgments have no part in it.

    It is 0 for a policy (`probable`, of unseen folds) that chooses otherwise than by resemblance,
    and where the answers to its choices change half-way.

    Parameters
    ----------
    data : Prepared
        With features in units of the noise, contexts centred, and feedback centred by action.
    probable : array, (trials, actions)
        How probable a policy takes each action to be right.
    seen : array, (trials, features)
        Feedback in units of the contexts' noise, not centred.
    fold : array, (trials,)
        Of each trial.
    """
    more, choice = np.zeros(data.trials), np.zeros(data.trials, int)
    for each in np.unique(fold):
        out = fold == each
        rest = data.rows(~out)
        patterns = rest.means(seen[~out])
        patterns -= patterns.mean(axis=0)
        # All that tells the patterns apart is in one dimension less than there are options.
        axes = np.linalg.svd(patterns, full_matrices=False)[2][: data.n_actions - 1].T
        patterns, known = patterns @ axes, rest.context @ axes
        whole = np.atleast_2d(np.cov(known.T))
        between = patterns.T @ patterns / len(patterns)
        if np.linalg.matrix_rank(whole) < len(whole):
            return 0.0  # contexts that do not vary have no clusters
        farthest = 1 / np.sqrt(np.linalg.eigvals(np.linalg.solve(whole, between)).real.max())
        fits = []
        for scales in (farthest * DISTANCES, -farthest * np.append(0, DISTANCES)):
            # Clusters of each scale, and the scale by which the other folds fit best.
            clusters = [(scale * patterns, whole - scale**2 * between) for scale in scales]
            total = [np.logaddexp.reduce(_fit(known, *each), axis=1).sum() for each in clusters]
            fits.append(_fit(data.context[out] @ axes, *clusters[int(np.argmax(total))]))
        alike, contrary = (np.logaddexp.reduce(each, axis=1) for each in fits)
        more[out], choice[out] = alike - contrary, fits[0].argmax(axis=1)
    same = np.mean(choice == probable.argmax(axis=1))
    if same < SAME_CHOICES or _changed(data, probable) > CHANGE:
        return 0.0
    return t_statistic(more)


def _fit(values: np.ndarray, means: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return log-likelihoods of values, (values, means), up to a constant."""
    root = np.linalg.cholesky(covariance)
    left, means = (np.linalg.solve(root, each.T).T for each in (values, means))
    return -0.5 * ((left[:, None] - means) ** 2).sum(axis=2) - np.log(np.diag(root)).sum()


def _changed(data: Prepared, probable: np.ndarray) -> float:
    """Return how much answers to probable guesses change half-way, in SDs of chance.

    That is how much more alike they are in both quarters of one half than in those of different
    halves.
    """
    towards = []
    for quarter in np.array_split(np.arange(data.trials), 4):
        action = data.action[quarter]
        right = less_means(probable[quarter, action][:, None], action)[:, 0]
        answers = less_means(data.feedback[quarter], action)
        towards.append(right @ answers / max(np.linalg.norm(right), 1e-9))
    alike = np.array(towards) @ np.array(towards).T / np.sqrt(data.feedback.shape[1])
    return (alike[[0, 2], [1, 3]].mean() - alike[:2, 2:].mean()) / np.sqrt(3 / 4)
