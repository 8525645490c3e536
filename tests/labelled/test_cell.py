"""The work of a cell of labelled data: the same as by hand, in any process, of the right data."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from labelled_data import echo, labelled, study, written

from bciigl.labelled.refit import labelled_learner
from bciigl.labelled.rules import RULES, LabelledError, action_inclusive, interactions
from bciigl.labelled.study import LEARNERS, describe
from bciigl.study import StudyError
from bciigl.study.learning import learn_from
from bciigl.study.store import checked

DATA = labelled(120, 4, 5)
MINE = study(
    describe(DATA), feedback=("action_inclusive", "coded"), learners=LEARNERS, repeats=1, samples=90
)


@pytest.fixture(scope="module")
def found() -> dict:
    """Return what the first cell comes to."""
    return MINE.cells[0].run()


def test_results_are_what_each_learner_makes_of_the_guesses_by_hand(found):
    cell = MINE.cells[0]
    recorded = interactions(DATA, action_inclusive, cell.random, samples=90)
    assert recorded["train"].interactions.trials == 90
    test, truth = recorded["test"]
    seed = int(cell.random.rng("learner").integers(2**32))
    assert [each["learner"] for each in found["results"]] == list(LEARNERS)
    for result in found["results"]:
        name = result["learner"]
        expected = learn_from(recorded, labelled_learner(name), seed=seed)
        chosen = expected.learner.predict(test.context)
        assert result["right"] == np.sum(chosen == truth.meant)
        assert result["tested"] == 12
        diagnosis = expected.diagnosis
        assert result["verdict"] == (diagnosis and diagnosis.verdict)
        assert result["objective"] == getattr(expected.learner, "objective_", None)
    bandit, full, ours = found["results"]
    assert (bandit["verdict"], bandit["objective"], ours["objective"]) == (None, None, None)
    assert ours["verdict"] is not None and full["objective"] is not None


def test_skyline_is_the_same_whatever_the_feedback(found):
    other = MINE.cells[1].run()
    assert other["results"][0] == found["results"][0]
    assert other["results"][1:] != found["results"][1:]


def test_learners_do_not_disturb_each_other(found):
    alone = replace(MINE.cells[0], entries=("ai_igl",))
    assert alone.run()["results"] == [found["results"][2]]


def test_result_is_plain_data_of_its_cell(found):
    through = json.loads(json.dumps(found, allow_nan=False))
    assert through == found
    result = checked(MINE.cells[0], through)
    assert result.versions["numpy"] == np.__version__
    with pytest.raises(StudyError, match="is of another cell: feedback differs"):
        checked(MINE.cells[1], through)


def test_rule_of_the_cell_is_used_and_a_known_name_will_do(found, monkeypatch):
    assert replace(MINE.cells[0], rule=None).run() == found
    monkeypatch.setitem(RULES, "mine", echo)
    cell = study(MINE.datasets[0], feedback=("mine",), learners=("cb",)).cells[0]
    monkeypatch.undo()
    assert cell.run()["feedback"] == "mine"
    with pytest.raises(LabelledError, match="unknown feedback rule 'mine'"):
        replace(cell, rule=None).run()


def test_learners_are_given_as_many_trials_as_are_asked_for():
    seen = []

    def count(guesses, rng):
        seen.append(len(guesses.action))
        return echo(guesses, rng)

    for samples in (10, None, 500):
        replace(study(describe(DATA), samples=samples).cells[0], rule=count).run()
    assert seen == [10, 108, 108]


def test_data_that_have_changed_are_refused_until_they_are_put_back(tmp_path):
    source = written(tmp_path / "mine.npz", DATA)
    cell = study(describe(source)).cells[0]
    written(tmp_path / "mine.npz", labelled(120, 4, 5, seed=1))
    for _ in range(2):
        with pytest.raises(StudyError, match="mine: the data have changed since the study began"):
            cell.run()
    written(tmp_path / "mine.npz", DATA)
    assert cell.run()["dataset"] == describe(DATA).digest


def test_data_that_are_described_again_are_another_dataset(tmp_path):
    path, other = tmp_path / "mine.npz", labelled(120, 4, 5, seed=1)
    source = written(path, DATA)
    cell = study(describe(source)).cells[0]
    expected = cell.run()
    written(path, other)
    again = study(describe(source)).cells[0]
    assert (again.dataset.load().features == other.features).all()
    written(path, DATA)
    assert cell.run() == expected


def test_cell_of_a_study_that_was_opened_to_be_read_has_no_data():
    cell = study(replace(describe(DATA), source=None)).cells[0]
    with pytest.raises(StudyError, match="made with 0: where the data are is not known"):
        cell.run()


@pytest.mark.slow
def test_small_data_are_learned_from_without_a_warning():
    constant = replace(labelled(40, 4), features=np.ones((40, 3)))
    for about, data, learners, rules in (
        ("32 examples", labelled(32, 4), LEARNERS, ("action_inclusive",)),
        ("27 examples", labelled(27, 3), LEARNERS, ("action_exclusive",)),
        ("27 wide examples", labelled(27, 4, 100), LEARNERS, ("coded",)),
        ("features that do not vary", constant, LEARNERS, ("action_reward",)),
        ("100 classes of 16", labelled(1600, 100), ("cb",), tuple(RULES)),
    ):
        mine = study(describe(data), feedback=rules, learners=learners, repeats=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for cell in mine.cells:
                for each in checked(cell, cell.run()).results:
                    right = 0 <= each.right <= each.tested == round(len(data.label) / 10)
                    assert right, about


@pytest.mark.slow
def test_hundred_classes_are_learned_from_by_all_without_a_warning():
    mine = study(describe(labelled(800, 100)), feedback=tuple(RULES), learners=LEARNERS, repeats=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cell in mine.cells:
            checked(cell, cell.run())
