"""Table 3 as a study."""

import os
from pathlib import Path

import pytest
from labelled_data import known, labelled

from bciigl.labelled.rows import labelled_rows
from bciigl.labelled.sources import find_sources
from bciigl.labelled.study import LEARNERS, describe
from bciigl.labelled.table3 import OPENML_ID, table3
from bciigl.study import StudyError, run_study


def test_by_default_it_is_both_of_the_paper_s_rules_in_20_000_trials():
    mine = table3([known(70_000, 10)])
    assert (mine.feedback, mine.learners) == (("action_inclusive", "action_exclusive"), LEARNERS)
    assert (mine.repeats, mine.seed, mine.samples, mine.table) == (20, 0, 20_000, "table3")
    assert OPENML_ID == 554


def test_everything_can_be_chosen():
    mine = table3([known(900, 10)], feedback=["coded"], repeats=3, seed=7, samples=50)
    assert (mine.feedback, mine.repeats, mine.seed, mine.samples) == (("coded",), 3, 7, 50)


@pytest.mark.parametrize("k", [3, 9, 11, 100])
def test_data_that_have_not_ten_classes_are_refused(k):
    with pytest.raises(StudyError, match=f"^500 of {k}: should have 10 classes.*got {k};"):
        table3([known(700, 10), known(500, k)])


def test_study_of_nothing_is_refused():
    with pytest.raises(StudyError, match="there are no datasets"):
        table3([])


def test_images_of_ten_classes_are_learned_from(tmp_path):
    mine = table3([describe(labelled(300, 10, 70, training=250))], repeats=1, samples=200)
    outcome = run_study(mine, tmp_path / "out", jobs=1)
    assert (outcome.failed, outcome.missing) == ([], 0)
    rows = labelled_rows(mine, outcome.results)
    assert len(rows) == 6 and all(row.published is not None for row in rows)
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
