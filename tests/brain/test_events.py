"""Events and the truth about them."""

import numpy as np

from bciigl.brain import Trials
from bciigl.protocol import Protocol

PROTOCOL = Protocol(name="x", task={"options": [7, 8, 9]})


def test_truth_is_for_the_scorer():
    truth = Trials((7, 8, 9), (7, 9, 9))
    assert truth.rewards.tolist() == [True, False, True]
    events = truth.events(PROTOCOL)
    assert [event.onset for event in events] == [12 + 9 * i for i in range(9)]
    assert [event.content for event in events[:6]] == [7, 7, True, 8, 9, False]


def test_random_trials_are_uniform():
    truth = Trials.random(PROTOCOL, 9000, np.random.default_rng(0))
    assert truth == Trials.random(PROTOCOL, 9000, 0)
    pairs = np.unique(np.array([truth.imagined, truth.guessed]).T, axis=0, return_counts=True)[1]
    # nine pairs, 1000 each; the standard error is 30
    assert len(pairs) == 9
    assert np.abs(pairs - 1000).max() < 120
