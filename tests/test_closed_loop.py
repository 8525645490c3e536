"""From a command to a policy: what the closed loop must reach."""

import json

import numpy as np
import pytest
from closed_loop import session


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2))]
)
def test_the_papers_task_is_learned_without_labels(bciigl, tmp_path, seed):
    arguments = ("--noise", 0.05, "--seed", seed, "--out", tmp_path / "out", "--json")
    arguments += ("--set", "learners=[ai_igl]")
    document = json.loads(bciigl("simulate", *arguments).stdout)
    learner = document["learners"]["ai_igl"]
    assert learner["accuracy"] >= 97
    assert learner["diagnosis"]["verdict"] == "trust"


# The benchmark has means of 86 % and more at both levels for ten seeds, no seed below 77 %. A fifth
# has 67 trials, so the mean of three seeds has a standard error of 2.4 %.
@pytest.mark.slow
@pytest.mark.parametrize(("noise", "least"), [(0.1, 80), (0.5, 75)])
def test_guesses_get_better_while_the_session_goes_on(noise, least):
    fifths = np.array([session(noise, 1, seed)["fifths"] for seed in range(50, 53)])
    assert fifths[:, 0].mean() < 60  # 46 of its 67 guesses are uniform
    assert fifths[:, -1].mean() >= least
    assert fifths[:, -1].min() >= 65
