"""Tables 1 and 3 as studies, the paper's figures beside them, and what must be known."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from labelled_data import all_made_up, echo, known, labelled, study

from bciigl.labelled.learnable import published_points
from bciigl.labelled.paper import (
    MNIST_ID,
    labelled_notes,
    left_out,
    openml_ids,
    published_labelled,
    table1,
    table3,
    unfit,
)
from bciigl.labelled.rows import SUBSETS, averages, labelled_rows
from bciigl.labelled.rules import RULES
from bciigl.labelled.sources import find_sources
from bciigl.labelled.study import LEARNERS, describe
from bciigl.study import StudyError, run_study
from bciigl.study.published import lines

PLAIN = known(150, 3)
APART = known(160, 3, own_test=True)
DIGITS = known(70_000, 10, own_test=True)


def said(mine, *words: str) -> bool:
    """Tell whether a note has all these words."""
    return any(all(word in note for word in words) for note in labelled_notes(mine))


def test_by_default_it_is_the_paper_s_rule_and_one_that_hides_the_reward():
    mine = table1([known(150, 3), known(160, 4)])
    assert (mine.feedback, mine.learners) == (("action_reward", "coded"), LEARNERS)
    assert (mine.repeats, mine.seed, mine.samples, mine.table) == (20, 0, None, "table1")
    assert len(mine.cells) == 2 * 20 * 2


def test_everything_can_be_chosen():
    mine = table1([known(150, 3)], feedback=["coded"], repeats=3, seed=7)
    assert (mine.feedback, mine.repeats, mine.seed) == (("coded",), 3, 7)


def test_datasets_of_the_paper_are_known():
    ids = openml_ids()
    assert len(ids) == len(set(ids)) == 271
    assert ids[:3] == [6, 7, 9] and {61, 187, 39, 54} <= set(ids)


def test_dataset_is_fit_if_its_symmetry_can_be_broken():
    for k, majority, reason in (
        (3, 0.34, None),
        (3, 0.5, None),
        (26, 0.04, None),
        (2, 0.5, "it has 2 classes; 3 are needed"),
        (3, 0.501, "50.1 % of its labels are the same; half is the most"),
        (5, 0.9, "90.0 % of its labels are the same; half is the most"),
    ):
        assert unfit(known(100, k, majority)) == reason


def test_datasets_that_are_unfit_are_left_out():
    fit, other = known(150, 3), known(160, 4)
    mine = table1([known(100, 2), fit, known(120, 3, 0.6), other])
    assert mine.datasets == (fit, other)


def test_study_of_nothing_fit_is_refused_with_the_first_reason():
    with pytest.raises(StudyError, match="no dataset is fit: of 100 of 2, it has 2 classes"):
        table1([known(100, 2), known(120, 3, 0.6)])
    with pytest.raises(StudyError, match="there are no datasets"):
        table1([])


@pytest.mark.slow
@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs datasets of OpenML")
def test_openml_is_learned_almost_as_well_as_by_the_bandit(tmp_path):
    wanted = {61, 187, 39, 54, 36, 16, 458}
    folder = Path(os.environ["BCIIGL_TEST_DATA"], "openml")
    datasets = [describe(source) for source in find_sources(folder)]
    mine = table1([each for each in datasets if each.openml_id in wanted], repeats=2)
    assert {each.openml_id for each in mine.datasets} == wanted
    outcome = run_study(mine, tmp_path / "out")
    assert (outcome.failed, outcome.missing) == ([], 0)
    rows = labelled_rows(mine, outcome.results)

    def mean(learner: str, feedback: str, least: float) -> float:
        return np.mean(
            [
                row.accuracy.mean
                for row in rows
                if (row.learner, row.feedback) == (learner, feedback)
                and row.dataset.n / row.dataset.k >= least
            ]
        )

    # The reward is in the clear, so both learn the same but for noise: a mean over 14 splits, of
    # 15 test examples in the smallest, of which one is 0.5 % of the mean.
    assert mean("ai_igl", "action_reward", 0) >= 0.97 * mean("cb", "action_reward", 0)
    # A code must be learned from N / K right guesses of each action first. With 200 or more, most
    # datasets come close to the bandit; in two repeats one may fail in one.
    assert mean("ai_igl", "coded", 200) >= 0.8 * mean("cb", "coded", 200)


def test_by_default_it_is_both_of_the_paper_s_rules_in_20_000_trials():
    mine = table3([known(70_000, 10)])
    assert (mine.feedback, mine.learners) == (("action_inclusive", "action_exclusive"), LEARNERS)
    assert (mine.repeats, mine.seed, mine.samples, mine.table) == (20, 0, 20_000, "table3")
    assert MNIST_ID == 554


def test_everything_of_table_3_can_be_chosen():
    mine = table3([known(900, 10)], feedback=["coded"], repeats=3, seed=7, samples=50)
    assert (mine.feedback, mine.repeats, mine.seed, mine.samples) == (("coded",), 3, 7, 50)


def test_data_that_have_not_ten_classes_are_refused():
    for k in (3, 9, 11, 100):
        with pytest.raises(StudyError, match=f"^500 of {k}: should have 10 classes.*got {k};"):
            table3([known(700, 10), known(500, k)])
    with pytest.raises(StudyError, match="there are no datasets"):
        table3([])


def test_images_of_ten_classes_are_learned_from(tmp_path):
    digits = describe(labelled(300, 10, 70, training=250))
    mine = table3([digits], feedback=["action_exclusive"], repeats=1, samples=200)
    outcome = run_study(mine, tmp_path / "out", jobs=1)
    assert (outcome.failed, outcome.missing) == ([], 0)
    rows = labelled_rows(mine, outcome.results)
    assert len(rows) == 3 and all(row.published is not None for row in rows)
    assert {each.tested for found in outcome.results.values() for each in found.results} == {50}


@pytest.mark.slow
@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs MNIST")
def test_mnist_is_learned_as_well_as_the_paper_says(tmp_path):
    (source,) = find_sources(Path(os.environ["BCIIGL_TEST_DATA"], "mnist"))
    mine = table3([describe(source)], repeats=1)
    outcome = run_study(mine, tmp_path / "out")
    assert (outcome.failed, outcome.missing) == ([], 0)
    rows = labelled_rows(mine, outcome.results)
    found = {(row.learner, row.feedback): row.accuracy.mean for row in rows}
    # Repeats of 20,000 guesses differ by about 0.3 %, tests of 10,000 images by as much: what is
    # asked for is a few of these below what is reached on average.
    assert found["ai_igl", "action_inclusive"] >= 86.5
    assert found["ai_igl", "action_exclusive"] >= 87.5
    for feedback in mine.feedback:
        assert found["cb", feedback] >= 88.5
    assert found["cb", "action_inclusive"] == found["cb", "action_exclusive"]
    # Its assumption holds for feedback that does not depend on the action.
    assert found["igl_full_ci", "action_exclusive"] >= found["ai_igl", "action_exclusive"] - 3
    assert found["igl_full_ci", "action_inclusive"] < 50


def test_every_rule_is_described_and_one_of_one_s_own_is_said_to_be(monkeypatch):
    notes = labelled_notes(study(PLAIN, feedback=("coded", "mine")))
    assert notes[0] == (
        "coded: Answer with a code of the action in noise, moved in a direction of its own by a "
        "reward."
    )
    assert notes[1] == "mine: a rule of your own."
    monkeypatch.setitem(RULES, "mine", echo)
    assert labelled_notes(study(PLAIN, feedback=("mine",)))[0] == (
        "mine: Answer in the clear, with some noise: a rule of one's own."
    )
    monkeypatch.setitem(RULES, "mine", lambda guesses, rng: None)
    assert labelled_notes(study(PLAIN, feedback=("mine",)))[0] == "mine: a rule of your own."


def test_description_of_a_rule_is_a_whole_sentence():
    for rule in RULES:
        first = labelled_notes(study(PLAIN, feedback=(rule,)))[0]
        assert first.startswith(f"{rule}: Answer with ") and first.endswith(".")


def test_part_that_is_tested_on_is_told():
    apart = "the part of the data that comes for testing"
    assert said(study(PLAIN), "a random 10 % of the examples, another part in each repeat.")
    assert not said(study(PLAIN), apart)
    assert said(study(APART), apart) and not said(study(APART), "a random 10 %")
    both = study(PLAIN, APART, known(170, 3))
    assert said(both, "in each repeat (2 of 3 datasets).") and said(both, apart)


def test_samples_and_reduction_are_told_where_there_are():
    assert not said(study(PLAIN), "trials in each repeat")
    assert said(study(PLAIN, samples=20_000), "20,000 trials in each repeat")
    reduced = "reduced to 64 principal components of the training data"
    wide, narrow = (replace(PLAIN, features=each) for each in (65, 64))
    assert said(study(wide), "more than 64 features", reduced)
    assert not said(study(narrow), reduced)


def test_what_the_skyline_is_told_is_said():
    assert said(study(PLAIN), "the contextual bandit is told the rewards")


def test_departures_are_those_of_the_table():
    of_table1, of_table3 = table1([PLAIN]), table3([DIGITS])
    assert said(of_table1, "Table 4", "means over 271 sets", "fitted to the end")
    assert said(of_table3, "published figures are of MNIST")
    assert said(of_table3, "principal components")
    assert not said(of_table1, "MNIST") and not said(of_table3, "Table 4")
    assert not said(study(PLAIN), "published figures")


def test_what_was_done_to_data_is_told_by_their_name():
    noted = known(150, 3, openml_id=61, name="iris", notes=("left out: 2 columns", "scaled"))
    expected = ["61 (iris): left out: 2 columns", "61 (iris): scaled"]
    assert labelled_notes(study(PLAIN, noted))[-2:] == expected


def test_datasets_that_are_left_out_are_told_with_the_reason():
    assert left_out([PLAIN, known(100, 2, name="two"), known(90, 3, 0.8, openml_id=7)]) == [
        "left out: two (two): it has 2 classes; 3 are needed",
        "left out: 7 (90 of 3): 80.0 % of its labels are the same; half is the most",
    ]


def test_every_published_figure_is_found_whatever_the_dataset_is_called():
    assert len(lines("table4")) == len({line["openml_id"] for line in lines("table4")}) == 271
    for line in lines("table3"):
        expected = (float(line["accuracy"]), float(line["standard_error"]))
        for openml_id in (554, None):
            found = published_labelled("table3", line["learner"], line["feedback"], openml_id)
            assert found == expected
    for line in lines("table4"):
        for learner in LEARNERS:
            found = published_labelled("table1", learner, "action_reward", int(line["openml_id"]))
            assert found == (float(line[learner]), float(line[f"{learner}_se"]))
    assert published_labelled("table3", "cb", "action_inclusive", 554) == (87.64, 0.25)
    assert [(line["feedback"], line["learner"]) for line in lines("table3")] == [
        (rule, learner) for rule in ("action_inclusive", "action_exclusive") for learner in LEARNERS
    ]


def test_table_4_is_plausible_and_table_1_its_mean_but_for_ai_igl():
    table = lines("table4")
    assert all(int(line["k"]) >= 3 and int(line["n"]) >= int(line["k"]) for line in table)
    rates = [float(line[name]) for line in table for name in ("best_constant", *LEARNERS)]
    assert 0 <= min(rates) and max(rates) <= 100
    assert [each["dataset"] for each in published_points()] == openml_ids()
    for line, least in zip(lines("table1"), (0, 70_000), strict=True):
        mine = [each for each in table if int(each["n"]) >= least]
        assert int(line["datasets"]) == len(mine)
        # The paper's own figures of AI-IGL in Table 4 are a little lower than its means in Table 1.
        for name in ("best_constant", *LEARNERS):
            mean = sum(float(each[name]) for each in mine) / len(mine)
            differ = 0.5 if name == "ai_igl" else 0.01
            assert mean == pytest.approx(float(line[name]), abs=differ)


def test_every_figure_of_table_1_stands_beside_an_average():
    mine = study(known(80_000, 3), learners=LEARNERS, table="table1")
    found = {
        (each.subset, each.learner.replace(" ", "_")): each.table1
        for each in averages(labelled_rows(mine, all_made_up(mine)))
    }
    for line in lines("table1"):
        assert line["subset"] in SUBSETS
        for learner in ("best_constant", *LEARNERS):
            expected = (float(line[learner]), float(line[f"{learner}_se"]))
            assert found[line["subset"], learner] == expected


def test_the_paper_s_procedure_has_the_paper_s_figure():
    for where in (("table1", "action_reward", 61), ("table3", "action_inclusive", 554)):
        table, rule, openml_id = where
        ours, theirs = (
            published_labelled(table, each, rule, openml_id) for each in ("ai_igl", "ai_igl_paper")
        )
        assert ours == theirs is not None


def test_what_the_paper_does_not_have_is_none():
    for case in (
        ("table1", "ai_igl", "coded", 61),
        ("table1", "ai_igl", "action_inclusive", 61),
        ("table1", "ceiling", "action_reward", 61),
        ("table1", "ai_igl", "action_reward", 1),
        ("table1", "ai_igl", "action_reward", None),
        ("table3", "ai_igl", "action_reward", 554),
        ("table3", "ceiling", "action_inclusive", 554),
        ("table2", "ai_igl", "action_reward", 61),
        (None, "ai_igl", "action_reward", 61),
    ):
        assert published_labelled(*case) is None, case
