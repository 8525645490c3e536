"""The work of one cell: the same as done by hand, and the same wherever it is done."""

import json
from dataclasses import replace

import numpy as np
import pytest
from interactions import flat
from studies import study

from bciigl.base.seeds import Seed
from bciigl.learn import SupervisedCeiling
from bciigl.learn.interactions import Interactions
from bciigl.loop import simulate
from bciigl.recording.truth import Session, Truth
from bciigl.study import Study
from bciigl.study.cell import run_cell, truth_objective
from bciigl.study.controls import MEAN_REMOVED, PERMUTED, SILENCED, permute_rewards
from bciigl.study.learning import check_sessions, learn_from

MINE = study(
    learners=["ai_igl", "igl_full_ci", "cb", "ceiling"],
    controls=(PERMUTED, SILENCED),
    task={"trials": 60, "trials_per_run": 20},
    study={"repeats": 1},
)


@pytest.fixture(scope="module")
def found() -> list[dict]:
    """Return what the cells come to."""
    return [run_cell(cell) for cell in MINE.cells]


def test_results_are_what_each_learner_makes_of_the_session_by_hand(found):
    cell = MINE.cells[0]
    sessions = check_sessions(simulate(cell.protocol))
    recorded = flat(sessions)
    ceiling = SupervisedCeiling().fit(recorded.context, recorded.label, run=recorded.run)
    chosen = ceiling.predict(recorded.test_context, run=recorded.test_run)
    confusion = np.zeros((3, 3), int)
    for right, choice in zip(recorded.test_label, chosen, strict=True):
        confusion[right, choice] += 1
    assert found[0]["results"][3]["confusion"] == confusion.tolist()
    for place, learner in enumerate(cell.protocol.learners):
        result = found[0]["results"][place]
        expected = learn_from(sessions, learner, seed=cell.protocol.seed)
        assert (result["learner"], result["control"]) == (learner, None)
        assert result["confusion"] == expected.confusion.tolist()
        diagnosis = expected.diagnosis
        assert result["verdict"] == (diagnosis and diagnosis.verdict)
        assert result["objective"] == getattr(expected.learner, "objective_", None)
    assert found[0]["results"][0]["verdict"] is not None
    assert found[0]["results"][1]["objective"] is not None


def test_controls_have_random_numbers_of_their_own(found):
    cell = MINE.cells[0]
    sessions = check_sessions(simulate(cell.protocol))
    rng = Seed(cell.protocol.seed).rng("control", PERMUTED)
    expected = learn_from(permute_rewards(sessions, rng), "ai_igl", seed=cell.protocol.seed)
    assert found[0]["results"][4]["control"] == PERMUTED
    assert found[0]["results"][4]["confusion"] == expected.confusion.tolist()


def test_silenced_cell_is_of_the_silenced_experiment(found):
    (result,) = found[1]["results"]
    assert (result["learner"], result["control"]) == ("ai_igl", SILENCED)
    assert found[1]["protocol"]["task"]["events"] == ["imagination", "perception"]


def test_all_that_it_depends_on_is_kept_beside_it(found):
    for cell, each in zip(MINE.cells, found, strict=True):
        assert {name: each[name] for name in cell.identity} == cell.identity
        assert each["repeat"] == cell.repeat
        assert {"numpy", "scipy", "scikit-learn", "brainiak"} == set(each["versions"])


def test_the_same_cell_gives_the_same_again_whatever_was_run_before(found):
    np.random.seed(5)  # noqa: NPY002
    run_cell(study(seed=9).cells[0])
    assert json.dumps(run_cell(MINE.cells[1])) == json.dumps(found[1])


def test_another_control_does_not_change_the_others(found):
    more = Study(MINE.protocol, controls=(MEAN_REMOVED, PERMUTED, SILENCED))
    results = {
        (each["learner"], each["control"]): each for each in run_cell(more.cells[0])["results"]
    }
    for each in found[0]["results"]:
        assert results[each["learner"], each["control"]] == each


def test_truth_s_objective_is_that_of_its_formula():
    rng = np.random.default_rng(0)
    trials, actions = 40, 4
    propensity = rng.choice([0.1, 0.3, 0.9], trials)
    label, action = rng.integers(actions, size=(2, trials))
    label[:15] = action[:15]
    mine = Interactions(
        *(rng.normal(size=(trials, 2)), action, rng.normal(size=(trials, 2))),
        propensity=propensity,
        n_actions=actions,
    )
    truth = Truth(label, label == action)
    # The value of the right policy less that of guessing uniformly, each by inverse propensity.
    total = 0.0
    for trial in range(trials):
        reward = float(label[trial] == action[trial])
        total += reward * (label[trial] == action[trial]) / propensity[trial]
        total -= reward / actions / propensity[trial]
    assert truth_objective({"train": Session(mine, truth)}) == pytest.approx(total / trials)
    uniform = Session(replace(mine, propensity=None), truth)
    expected = truth.match.mean() * (actions - 1)
    assert truth_objective({"train": uniform}) == pytest.approx(expected)
    assert truth_objective({"train": Session(mine)}) is None


def test_truth_s_objective_is_near_that_of_always_being_right(found):
    # Uniform guesses are right in a third of the trials: 1 - 1/3 in expectation.
    assert found[0]["truth_objective"] == pytest.approx(2 / 3, abs=0.35)
