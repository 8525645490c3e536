"""The closed loop as a Gymnasium environment."""

import json
import warnings
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from recordings import Losing, use_source

from bciigl.base.errors import BciiglError
from bciigl.loop import record
from bciigl.loop.gym import ENVIRONMENT
from bciigl.protocol import load
from bciigl.recording import open_dataset

SHORT = {"task.trials": 9, "task.trials_per_run": 4}


def episode(env, choose, seed=None):
    """Return all observations and infos of an episode."""
    steps = [env.reset(seed=seed)]
    while True:
        observation, reward, terminated, truncated, info = env.step(choose(steps[-1][0]))
        assert (reward, truncated) == (0.0, False)
        steps.append((observation, info))
        if terminated:
            return steps


def test_the_conformance_checker_finds_nothing():
    for protocol in ("number_guessing", "yes_no_with_catch_trials", "gaze_typing", "table2"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env = gymnasium.make(ENVIRONMENT, protocol=protocol)
            check_env(env.unwrapped)


def test_an_episode_is_the_session_that_would_be_recorded(tmp_path):
    changes = {**SHORT, "evaluation.test_trials": 1, "seed": 5}
    record(load("yes_no_with_catch_trials", changes=changes), tmp_path / "out")
    trials = open_dataset(tmp_path / "out").sessions["train"].interactions
    guesses = iter(trials.action)
    env = gymnasium.make(ENVIRONMENT, protocol="yes_no_with_catch_trials", changes=SHORT)
    steps = episode(env, lambda _: int(next(guesses)), seed=5)
    observed = {name: [each[name] for each, _ in steps] for name in steps[0][0]}
    np.testing.assert_array_equal(observed["guess"][1:], trials.action)
    np.testing.assert_array_equal(observed["catch"][1:], trials.catch)
    seen, so_far = [], []
    for path in sorted((tmp_path / "out").rglob("*ses-train*_interactions.npz")):
        with np.load(path) as arrays:
            seen.extend(arrays["context"])
            so_far.extend(arrays["feedback_so_far"])
    np.testing.assert_array_equal(observed["context"][:-1], seen)
    np.testing.assert_array_equal(observed["feedback"][1:], so_far)
    places = [(info["run"], info["trial"]) for _, info in steps[:-1]]
    assert places == [(1 + trial // 4, trial % 4) for trial in range(9)]
    assert trials.catch.any()


def test_where_too_many_frames_are_missing_there_is_nothing_to_observe(monkeypatch):
    lost = {("train", 1, index): "missing" for index in range(8, 14)}
    use_source(monkeypatch, partial(Losing, lost=lost))
    env = gymnasium.make(ENVIRONMENT, changes=SHORT)
    steps = episode(env, lambda _: 0, seed=1)
    assert not steps[0][0]["context"].any()
    assert all(observation["context"].all() for observation, _ in steps[1:-1])


def test_nothing_that_it_tells_holds_the_truth():
    env = gymnasium.make(ENVIRONMENT, changes=SHORT)
    for observation, info in episode(env, lambda _: 0, seed=1):
        assert set(observation) == {"context", "feedback", "guess", "catch"}
        assert set(info) == {"run", "trial"}
        json.dumps(info)  # plain numbers lead nowhere


def test_a_seed_fixes_an_episode_and_without_one_they_differ():
    env = gymnasium.make(ENVIRONMENT, changes=SHORT)

    def contexts(seed=None):
        return np.array([each["context"] for each, _ in episode(env, lambda _: 0, seed)])

    np.testing.assert_array_equal(contexts(3), contexts(3))
    first, second = contexts(), contexts()
    assert not np.array_equal(first, second)


def test_bad_protocols_are_refused_in_words():
    with pytest.raises(BciiglError, match=r"timing\.isi: should be greater than or equal to 0"):
        gymnasium.make(ENVIRONMENT, changes={"timing.isi": -1})
    with pytest.raises(BciiglError, match="use recording: shared"):
        gymnasium.make(ENVIRONMENT, changes={"recording": "separate"})


def test_what_cannot_be_done_in_an_episode_is_told():
    env = gymnasium.make(ENVIRONMENT, changes={**SHORT, "task.trials": 1}).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for action in (-1, 3, 1.5):
        with pytest.raises(gymnasium.error.InvalidAction):
            env.step(action)
    assert env.step(0)[2]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
