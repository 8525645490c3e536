"""Rows of labelled data and their averages, against what they are by hand."""

import json

import numpy as np
import pytest
from labelled_data import all_made_up, known, made_up, study
from scipy.stats import sem

from bciigl.labelled.paper import published_labelled
from bciigl.labelled.rows import SUBSETS, Average, LabelledRow, averages, labelled_rows
from bciigl.labelled.study import LEARNERS, LabelledStudy
from bciigl.study.published import lines
from bciigl.study.statistics import mean_of

# Two of the paper's datasets, one of OpenML's that it has not, and one of one's own.
IRIS, LETTER = known(150, 3, 1 / 3, openml_id=61), known(20_000, 26, 0.04, openml_id=6)
FOREIGN, OWN = known(90_000, 5, 0.3, openml_id=99_999), known(500, 2, 0.5)
RULES = ("action_reward", "coded")


def table(mine: LabelledStudy, right) -> list[LabelledRow]:
    """Return the rows of made-up results; `right` tells how many of 100 are right in a cell."""
    results = {
        cell.key: made_up(cell, dict(zip(cell.entries, right(cell), strict=True)))
        for cell in mine.cells
    }
    return labelled_rows(mine, results)


def test_row_has_mean_standard_error_and_share_of_the_bandit_s_by_hand():
    mine = study(IRIS, learners=LEARNERS, repeats=3)
    right = [(90, 20, 80), (80, 40, 70), (70, 30, 90)]
    bandit, full, ours = table(mine, lambda cell: right[cell.repeat])
    assert [row.learner for row in (bandit, full, ours)] == list(LEARNERS)
    assert bandit.accuracies == [90.0, 80.0, 70.0] and ours.accuracies == [80.0, 70.0, 90.0]
    assert (bandit.accuracy.mean, full.accuracy.mean, ours.accuracy.mean) == (80, 30, 80)
    assert full.accuracy.standard_error == pytest.approx(sem([20, 40, 30]))
    assert full.accuracy.standard_error == pytest.approx(10 / np.sqrt(3))
    assert [row.relative for row in (bandit, full, ours)] == [1, 0.375, 1]
    assert (ours.repeats, ours.feedback, ours.dataset) == (3, "action_reward", IRIS)


def test_interval_ends_where_percentages_do():
    (row,) = table(study(IRIS, repeats=2), lambda cell: [(100, 60)[cell.repeat]])
    assert row.accuracy.interval == (0.0, 100.0)
    assert mean_of([100.0, 60.0]).interval[1] > 100


def test_rates_are_of_those_tested():
    mine = study(IRIS, repeats=1)
    (row,) = labelled_rows(mine, {mine.cells[0].key: made_up(mine.cells[0], {"cb": 3}, tested=15)})
    assert row.accuracy.mean == pytest.approx(20)


def test_single_repeat_has_no_standard_error():
    (row,) = table(study(IRIS, repeats=1), lambda cell: [70])
    assert (row.accuracy.standard_error, row.accuracy.interval) == (None, None)
    assert row.as_dict()["standard_error"] is None


def test_trusted_is_the_share_of_verdicts_and_none_where_there_are_none():
    mine = study(IRIS, learners=("cb", "ai_igl"), repeats=4)
    results = {
        cell.key: made_up(
            cell, {"cb": 70, "ai_igl": 60}, verdict="trust" if cell.repeat == 0 else "doubtful"
        )
        for cell in mine.cells
    }
    bandit, ours = labelled_rows(mine, results)
    assert (bandit.trusted, ours.trusted) == (None, 25)


def test_without_a_bandit_that_gets_anything_right_nothing_is_relative():
    (alone,) = table(study(IRIS, learners=("ai_igl",)), lambda cell: [70])
    assert alone.relative is None
    for row in table(study(IRIS, learners=("cb", "ai_igl")), lambda cell: [0, 70]):
        assert row.relative is None


def test_rows_are_in_the_study_s_order_and_only_of_what_is_finished():
    mine = study(LETTER, IRIS, feedback=RULES, learners=("cb", "ai_igl"), repeats=2)
    results = all_made_up(mine)
    places = [(row.dataset, row.feedback, row.learner) for row in labelled_rows(mine, results)]
    assert places == [
        (dataset, rule, learner)
        for dataset in (LETTER, IRIS)
        for rule in RULES
        for learner in ("cb", "ai_igl")
    ]
    for cell in mine.cells:
        if cell.dataset == LETTER and (cell.repeat == 1 or cell.feedback == "coded"):
            del results[cell.key]
    rows = labelled_rows(mine, results)
    found = [(row.dataset.openml_id, row.feedback, row.repeats) for row in rows[::2]]
    assert found == [(6, "action_reward", 1), (61, "action_reward", 2), (61, "coded", 2)]
    assert labelled_rows(mine, {}) == []


def test_published_figures_stand_beside_by_id_and_rule_only():
    mine = study(IRIS, FOREIGN, OWN, feedback=RULES, learners=LEARNERS, table="table1")
    rows = labelled_rows(mine, all_made_up(mine))
    with_figures = [row for row in rows if row.published is not None]
    assert [(row.dataset, row.feedback) for row in with_figures] == [(IRIS, "action_reward")] * 3
    for row in with_figures:
        assert row.published == published_labelled("table1", row.learner, row.feedback, 61)
        assert row.difference == row.accuracy.mean - row.published.accuracy
    assert {row.difference for row in rows if row.published is None} == {None}


def test_study_of_no_table_has_no_published_figures():
    mine = study(IRIS, feedback=RULES, learners=LEARNERS)
    assert {row.published for row in labelled_rows(mine, all_made_up(mine))} == {None}


def test_table3_has_the_paper_s_figures_for_both_rules():
    digits = known(70_000, 10, openml_id=554)
    mine = study(
        digits,
        feedback=("action_inclusive", "action_exclusive", "coded"),
        learners=LEARNERS,
        table="table3",
    )
    rows = labelled_rows(mine, all_made_up(mine))
    assert [row.published.accuracy for row in rows[:6]] == [
        float(line["accuracy"]) for line in lines("table3")
    ]
    assert {row.published for row in rows[6:]} == {None}


def test_row_as_plain_data_begins_with_what_a_table_shows():
    mine = study(IRIS, OWN, learners=("cb", "ai_igl"), repeats=2, table="table1")
    rows = table(mine, lambda cell: (80, 60))
    first = rows[1].as_dict()
    names = "dataset n k feedback learner accuracy standard_error repeats published"
    assert list(first)[:9] == names.split()
    paper = next(line for line in lines("table4") if line["openml_id"] == "61")
    assert [first[name] for name in names.split()] == [
        *(61, 150, 3, "action_reward", "ai_igl", 60.0, 0.0, 2),
        float(paper["ai_igl"]),
    ]
    assert first["published_standard_error"] == float(paper["ai_igl_se"])
    assert first["difference"] == pytest.approx(60 - float(paper["ai_igl"]))
    assert (first["relative_to_cb"], first["trusted_repeats"]) == (0.75, 100)
    assert (first["name"], first["accuracies"]) == (IRIS.name, [60.0, 60.0])
    assert first["best_constant"] == pytest.approx(100 / 3)
    own = rows[2].as_dict()
    assert (own["dataset"], own["published"], own["published_standard_error"]) == (
        OWN.name,
        None,
        None,
    )
    # And comes back from it.
    for row in rows:
        assert mine.read_row(json.loads(json.dumps(row.as_dict()))) == row


SETS = [
    known(150, 3, 0.34, openml_id=61),
    known(20_000, 26, 0.04, openml_id=6),
    known(90_000, 5, 0.3, openml_id=99_999),
    known(599, 3, 0.4),
    known(600, 3, 0.45),
    known(1_000_000, 2, 0.5),
    known(2_000, 10, 0.1, openml_id=16),
    known(22_000, 11, 0.2),
]
BANDIT = [96, 40, 60, 70, 80, 90, 50, 20]
OURS = [90, 10, 54, 35, 80, 45, 40, 2]
MEMBERS = {
    "K>=3": [0, 1, 2, 3, 4, 6, 7],
    "K>=3 and N>=70000": [2],
    "3<=K<=10 and N/K>=200": [2, 4, 6],
}


@pytest.fixture(scope="module")
def rows() -> list[LabelledRow]:
    """Return the rows of datasets of several sizes; both repeats of each are the same."""
    mine = study(*SETS, feedback=RULES, learners=("cb", "ai_igl"), table="table1")
    place = {each.id: number for number, each in enumerate(SETS)}
    return table(
        mine,
        lambda cell: (BANDIT[place[cell.dataset.id]], OURS[place[cell.dataset.id]]),
    )


def found_average(rows: list[LabelledRow], subset: str, feedback: str, learner: str) -> Average:
    (found,) = (
        each
        for each in averages(rows)
        if (each.subset, each.feedback, each.learner) == (subset, feedback, learner)
    )
    return found


def test_subsets_have_the_datasets_that_they_say():
    assert list(SUBSETS) == list(MEMBERS)
    for name, has in SUBSETS.items():
        assert [place for place, each in enumerate(SETS) if has(each.n, each.k)] == MEMBERS[name]


def test_averages_over_subsets_are_those_by_hand(rows):
    for subset, places in MEMBERS.items():
        for feedback in RULES:
            assert_average(rows, subset, feedback, places)


def assert_average(rows, subset, feedback, places):
    bandit, ours = (np.array(each, float)[places] for each in (BANDIT, OURS))
    found = found_average(rows, subset, feedback, "ai_igl")
    assert found.datasets == len(places)
    assert found.accuracy.mean == pytest.approx(ours.mean())
    assert found.relative.mean == pytest.approx((ours / bandit).mean())
    assert found.of_means == pytest.approx(ours.mean() / bandit.mean())
    if len(places) > 1:
        assert found.accuracy.standard_error == pytest.approx(sem(ours))
        assert found.relative.standard_error == pytest.approx(sem(ours / bandit))
    skyline = found_average(rows, subset, feedback, "cb")
    assert (skyline.relative.mean, skyline.of_means) == (1, 1)
    assert skyline.accuracy.mean == pytest.approx(bandit.mean())
    constant = found_average(rows, subset, feedback, "best constant")
    assert constant.accuracy.mean == pytest.approx(
        np.mean([100 * SETS[place].majority for place in places])
    )
    assert (constant.datasets, constant.relative, constant.of_means) == (len(places), None, None)
    assert (constant.published, constant.published_datasets) == (None, 0)


def test_share_of_means_and_mean_of_shares_differ(rows):
    found = found_average(rows, "K>=3", "coded", "ai_igl")
    assert abs(found.relative.mean - found.of_means) > 0.05


def test_published_average_is_of_the_same_datasets_that_the_paper_has(rows):
    paper = {int(line["openml_id"]): float(line["ai_igl"]) for line in lines("table4")}
    found = found_average(rows, "K>=3", "action_reward", "ai_igl")
    assert found.published_datasets == 3
    assert found.published == pytest.approx(np.mean([paper[each] for each in (61, 6, 16)]))
    found = found_average(rows, "3<=K<=10 and N/K>=200", "action_reward", "ai_igl")
    assert (found.published_datasets, found.published) == (1, paper[16])
    found = found_average(rows, "K>=3", "coded", "ai_igl")
    assert (found.published_datasets, found.published) == (0, None)


def test_the_paper_s_table_1_stands_beside_its_own_subsets_and_rule(rows):
    ours = found_average(rows, "K>=3", "action_reward", "ai_igl")
    assert ours.table1 == (35.74, 1.45)
    assert found_average(rows, "K>=3", "action_reward", "cb").table1 == (57.98, 5.65)
    constant = found_average(rows, "K>=3", "action_reward", "best constant")
    assert constant.table1 == (25.28, 2.96)
    large = found_average(rows, "K>=3 and N>=70000", "action_reward", "ai_igl")
    assert large.table1 == (50.11, 2.98)
    for learner in ("ai_igl", "best constant"):
        assert found_average(rows, "K>=3", "coded", learner).table1 is None
        ours_alone = "3<=K<=10 and N/K>=200"
        assert found_average(rows, ours_alone, "action_reward", learner).table1 is None


def test_averages_are_only_of_subsets_with_datasets(rows):
    first = averages(rows)[2]
    assert (first.learner, first.table1[0], first.datasets) == ("ai_igl", 35.74, 7)
    assert first.of_means == pytest.approx(311 / 416)
    small = [row for row in rows if row.dataset.n < 600]
    assert {each.subset for each in averages(small)} == {"K>=3"}
    two = [row for row in rows if row.dataset.k == 2]
    assert averages(two) == averages([]) == []


def test_average_of_unequal_datasets_has_no_share_of_means(rows):
    fewer = [row for row in rows if (row.learner, row.dataset.openml_id) != ("cb", 61)]
    found = found_average(fewer, "K>=3", "coded", "ai_igl")
    assert (found.datasets, found.of_means) == (7, None)
