"""Contexts that cluster around what was seen, whatever was judged."""

import numpy as np
import pytest

from bciigl.learn.interactions import folds, less_means, prepare
from bciigl.learn.resemblance import clusters_t

TRIALS, FEATURES = 300, 20


def contexts_and_seen(*, alike=1.0, strength=1.0, n_actions=3, seed=0, answers=None):
    """Return arguments of `clusters_t`: `alike` is the similarity of patterns, 0 for others."""
    rng = np.random.default_rng(seed)
    patterns, others = strength * rng.normal(size=(2, n_actions, FEATURES))
    imagined = alike * patterns + np.sqrt(1 - alike**2) * others
    meant, action = rng.integers(n_actions, size=(2, TRIALS))
    context = imagined[meant] + rng.normal(size=(TRIALS, FEATURES))
    seen = patterns[action] + rng.normal(size=(TRIALS, FEATURES))
    if answers is not None:
        seen += np.outer(answers(meant == action), rng.normal(size=FEATURES))
    run = np.arange(TRIALS) // 30
    data = prepare(context - context.mean(axis=0), action, less_means(seen, action), run=run)
    probable = np.eye(n_actions)[meant]
    return data, probable, seen, folds(data.run)


@pytest.mark.parametrize("n_actions", [3, 5])
def test_clusters_around_what_was_seen_are_clear(n_actions):
    for seed in range(3):
        assert clusters_t(*contexts_and_seen(n_actions=n_actions, seed=seed)) > 5


@pytest.mark.parametrize("law", [{"alike": 0.0}, {"alike": -1.0}, {"strength": 0.0}])
def test_other_clusters_and_noise_are_none(law):
    for seed in range(5):
        data, probable, seen, fold = contexts_and_seen(seed=seed, **law)
        # as a policy that follows resemblance would
        probable = data.context @ data.means(seen).T
        # beyond 3 once in 700 times by chance
        assert clusters_t(data, probable, seen, fold) < 3


def test_two_options_have_no_contrary():
    data, probable, seen, fold = contexts_and_seen(n_actions=2)
    # either order of two clusters is as likely, up to rounding
    assert abs(clusters_t(data, probable, seen, fold)) < 4


def test_a_policy_that_chooses_otherwise_has_none():
    data, probable, seen, fold = contexts_and_seen()
    assert clusters_t(data, np.roll(probable, 1, axis=1), seen, fold) == 0


def test_answers_that_change_half_way_have_none():
    half = np.where(np.arange(TRIALS) < TRIALS / 2, 1.0, -1.0)
    assert clusters_t(*contexts_and_seen(answers=lambda match: 2 * half * match)) == 0
    assert clusters_t(*contexts_and_seen(answers=lambda match: 2.0 * match)) > 5
