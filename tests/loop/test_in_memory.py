"""An experiment in memory is the one that would be recorded, bit by bit."""

from dataclasses import fields

import numpy as np
import pytest
from interactions import flat
from recordings import small

from bciigl.base.errors import BciiglError
from bciigl.loop import record, simulate
from bciigl.protocol import Protocol
from bciigl.recording import open_dataset
from bciigl.study.learning import check_sessions, load_sessions

LEARNS = {
    "agent": {"policy": "epsilon-greedy", "uniform_runs": 1, "epsilon": 0.5},
    "task": {"trials": 160, "trials_per_run": 75},
    "evaluation": {"test_trials": 5},
    "brain": {"region": {"size": 2}, "noise": 0.01},
    "seed": 3,
}
KINDS = {
    "uniform": small(),
    "catch": small(
        task={"catch": {"share": 0.4}, "trials": 23},
        human={"judgment_lapse": 0.3, "imagination_lapse": 0.3},
    ),
    "separate": small(recording="separate", task={"catch": {"share": 0.3}}),
    "separate, frame": small(recording="separate", estimate="frame", seed=5),
    "two events": small(task={"events": ["imagination", "judgment"]}, estimate="frame"),
    "learning": small(**LEARNS),
    "learning, separate": small(**LEARNS, recording="separate"),
}


@pytest.mark.parametrize("mine", KINDS.values(), ids=KINDS)
def test_what_is_simulated_is_what_would_be_recorded(mine: Protocol, tmp_path):
    record(mine, tmp_path / "out")
    dataset, sessions = open_dataset(tmp_path / "out"), simulate(mine)
    assert list(sessions) == ["train", "test"]
    for name, session in sessions.items():
        written = dataset.interactions(name)
        assert set(session.interactions) == set(written)
        for array, values in written.items():
            np.testing.assert_array_equal(session.interactions[array], values, strict=True)
        truth = dataset.truth(name)
        for each in fields(truth):
            np.testing.assert_array_equal(
                getattr(session.truth, each.name), getattr(truth, each.name)
            )
    ours, theirs = flat(check_sessions(sessions)), flat(load_sessions(dataset))
    for name, values in vars(ours).items():
        np.testing.assert_array_equal(values, getattr(theirs, name))


@pytest.mark.parametrize("kind", ["learning", "learning, separate"])
def test_agents_here_do_learn(kind):
    """The test above is of agents whose guesses depend on what they have observed."""
    train = simulate(KINDS[kind])["train"].interactions
    np.testing.assert_allclose(train["propensity"][:75], 1 / 3)
    assert set(np.round(train["propensity"][75:], 6)) <= {0.166667, 0.666667}
    assert (train["propensity"][75:] > 0.6).any()


def test_runs_are_counted_from_one_and_the_last_may_be_shorter():
    sessions = simulate(small(task={"trials": 10}, evaluation={"test_trials": 6}))
    np.testing.assert_array_equal(
        sessions["train"].interactions["run"], [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    )
    np.testing.assert_array_equal(sessions["test"].interactions["run"], [1, 1, 1, 1, 2, 2])


def test_another_seed_is_another_session_and_the_same_the_same():
    contexts = [simulate(small(seed=seed))["train"].interactions["context"] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(contexts[0], contexts[1])
    assert (contexts[0] != contexts[2]).all()


def test_progress_is_told_after_each_run():
    told = []
    simulate(small(), progress=lambda *each: told.append(each))
    assert told == [(4, 10), (7, 10), (10, 10)]


def test_fixed_agent_has_no_policy_here():
    with pytest.raises(BciiglError, match="agent.policy is fixed: it needs a saved policy"):
        simulate(small(agent={"policy": "fixed"}))
