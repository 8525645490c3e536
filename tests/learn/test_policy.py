"""A linear policy, by hand."""

import numpy as np
import pytest

from bciigl.learn import ContextualBandit
from bciigl.learn.interactions import InputError, Scaling


def policy():
    """Return a policy of two actions on one feature."""
    learner = ContextualBandit()
    learner.policy_ = np.array([[1.0, -1.0], [0.0, 0.5]])
    learner.context_scaling_ = Scaling(np.array([2.0]), np.array([2.0]))
    return learner


def test_choice_is_the_highest_score():
    # scaled contexts are -1, 0 and 1; action 1 has a head start of 0.5
    assert policy().predict([[0.0], [2.0], [4.0]]).tolist() == [1, 1, 0]


def test_runs_are_centred_by_their_own_means():
    # 10 trials are enough for a run to have a mean of its own: 9 of 0 and one of 10 make 1
    context = np.array([[0.0]] * 9 + [[10.0]])
    assert policy().predict(context, run=np.zeros(10)).tolist() == [1] * 9 + [0]
    # scaled by the training mean of 2 alone, 2.9 would be action 1; its run's mean is 0.29
    context[-1] = 2.9
    assert policy().predict(context)[-1] == 0
    assert policy().predict(context - 1)[-1] == 1
    assert policy().predict(context - 1, run=np.zeros(10))[-1] == 0


def test_other_features_are_refused():
    with pytest.raises(InputError, match="context must have 1 features, got 2"):
        policy().predict([[0.0, 1.0]])
