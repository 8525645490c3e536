"""Rows: what results add up to, with what is missing left out."""

import json
from functools import cache

import numpy as np
import pytest
from scipy import stats
from studies import all_made_up, made_up, right_of, study

from bciigl.protocol.summary import summary
from bciigl.study import Study, rows
from bciigl.study.controls import CONTROLS, PERMUTED, SILENCED
from bciigl.study.published import published
from bciigl.study.statistics import difference_of, mean_of, permutation_chance

LEARNERS = ["ai_igl", "ai_igl_paper", "igl_full_ci", "ceiling"]
MINE = Study(
    study(learners=LEARNERS, study={"noise": [0.05, 0.3], "repeats": 4}).protocol,
    controls=tuple(CONTROLS),
    table="table2",
)
RESULTS = all_made_up(MINE)


@cache
def whole() -> list:
    return rows(MINE, RESULTS)


def found(mine: Study = MINE, results=RESULTS) -> dict:
    """Return rows by noise and label."""
    return {(row.noise, row.label): row for row in rows(mine, results)}


def shares(learner: str, control: str | None, noise: float) -> list[float]:
    """Return the accuracies of repeats, straight from the results."""
    accuracies = []
    for cell in MINE.cells:
        for each in RESULTS[cell.key].results:
            if (each.learner, each.control, cell.setting.noise) == (learner, control, noise):
                table = np.array(each.confusion)
                accuracies.append(100 * (np.diag(table).sum() / table.sum()))
    return accuracies


def test_there_is_a_row_for_each_setting_and_entry_in_order():
    labels = [*LEARNERS, *(f"ai_igl, {each}" for each in CONTROLS)]
    assert [(row.noise, row.label) for row in whole()] == [
        (noise, label) for noise in (0.05, 0.3) for label in labels
    ]


def test_accuracies_are_those_of_the_repeats_in_order():
    for row in whole():
        expected = shares(row.learner, row.control, row.noise)
        np.testing.assert_allclose(row.accuracies, expected)
        assert (row.repeats, len(expected)) == (4, 4)
        assert row.accuracy == mean_of(row.accuracies)
        assert row.accuracy.standard_error == pytest.approx(stats.sem(expected))


def test_chance_is_of_the_row_s_own_confusions():
    for row in whole():
        tables = [
            np.array(each.confusion)
            for cell in MINE.cells
            for each in RESULTS[cell.key].results
            if (each.learner, each.control, cell.setting.noise)
            == (row.learner, row.control, row.noise)
        ]
        assert row.chance == permutation_chance(tables)


def test_published_figure_and_difference_stand_beside_learners_and_never_beside_controls():
    for (noise, _), row in found().items():
        expected = None if row.control else published("table2", row.learner, noise)
        assert row.published == expected
        difference = None if expected is None else row.accuracy.mean - expected.accuracy
        assert row.difference == difference
    assert found()[0.05, "ai_igl"].published.accuracy == 76.6
    assert found()[0.3, "ai_igl"].published is None
    plain = Study(MINE.protocol)
    assert all(row.published is None for row in rows(plain, all_made_up(plain)))


def test_objectives_are_means_beside_the_truth_s():
    row = found()[0.05, "igl_full_ci"]
    objectives = [
        each.objective
        for cell in MINE.cells
        for each in RESULTS[cell.key].results
        if each.objective is not None and cell.setting.noise == 0.05
    ]
    assert row.objective == pytest.approx(np.mean(objectives))
    assert row.truth_objective == pytest.approx(0.7)
    assert found()[0.05, "ai_igl"].objective is None


def test_trust_and_failed_options_are_counted():
    mine = study(learners=["ai_igl", "ceiling"], study={"repeats": 4})
    lost = np.array([[9, 0, 0], [0, 9, 0], [9, 0, 0]])
    tables = [right_of(30), lost, right_of(30), right_of(27)]
    results = {
        cell.key: made_up(cell, [table, right_of(30)])
        for cell, table in zip(mine.cells, tables, strict=True)
    }
    ours, ceiling = rows(mine, results)
    assert (ours.failed, ours.trusted) == (25, 100)
    assert (ceiling.failed, ceiling.trusted) == (0, None)


def test_hours_are_those_of_what_is_simulated():
    about = summary(MINE.protocol)
    for row in whole():
        # Without a judgment a trial takes two thirds as long; the rest before a run stays.
        if row.control == SILENCED:
            assert 0.6 < row.scanner_hours / about["scanner_hours"] < 0.8
            assert 0.6 < row.test_scanner_hours / about["test_scanner_hours"] < 0.8
        else:
            assert row.scanner_hours == about["scanner_hours"]
            assert row.test_scanner_hours == about["test_scanner_hours"]


def test_paired_differences_are_of_the_same_repeats():
    for row in whole():
        # Silenced sessions are others than those of the learners.
        others = [each for each in LEARNERS if each != row.label and row.control != SILENCED]
        assert list(row.paired) == others
        for other in others:
            expected = difference_of(row.accuracies, shares(other, None, row.noise))
            assert row.paired[other] == expected


def test_settings_without_results_have_no_row():
    kept = {cell.key: RESULTS[cell.key] for cell in MINE.cells if cell.setting.noise == 0.3}
    assert {row.noise for row in rows(MINE, kept)} == {0.3}
    assert rows(MINE, {}) == []
    silenced = {
        cell.key: RESULTS[cell.key]
        for cell in MINE.cells
        if cell.entries[0].control == SILENCED and cell.setting.noise == 0.05
    }
    (row,) = rows(MINE, silenced)
    assert (row.label, row.paired) == (f"ai_igl, {SILENCED}", {})


def test_partial_results_are_compared_on_the_repeats_that_are_there():
    """Of the silenced sessions only repeats 0 and 2 are there, of the others 1, 2 and 3."""
    wanted = {True: {0, 2}, False: {1, 2, 3}}
    partial = {
        cell.key: RESULTS[cell.key]
        for cell in MINE.cells
        if cell.repeat in wanted[cell.entries[0].control == SILENCED]
    }
    table = found(results=partial)
    silenced, plain = table[0.05, f"ai_igl, {SILENCED}"], table[0.05, "ai_igl"]
    assert (silenced.repeats, plain.repeats) == (2, 3)
    of_plain = shares("ai_igl", None, 0.05)
    permuted = table[0.05, f"ai_igl, {PERMUTED}"].paired["ai_igl"]
    assert permuted == difference_of(shares("ai_igl", PERMUTED, 0.05)[1:], of_plain[1:])


def test_varied_values_have_rows_of_their_own():
    mine = study(vary={"timing.isi": [7.0, 8.0], "brain.cnr": [0.5, 1.0]}, study={"repeats": 1})
    table = rows(mine, all_made_up(mine))
    assert [tuple(row.varied.values()) for row in table] == [
        (7.0, 0.5),
        (7.0, 1.0),
        (8.0, 0.5),
        (8.0, 1.0),
    ]
    assert table[0].scanner_hours < table[2].scanner_hours
    assert len({row.accuracy.mean for row in table}) == 4


def test_plain_data_has_the_numbers_of_the_row_and_labels_that_differ():
    documents = [row.as_dict() for row in whole()]
    assert json.loads(json.dumps(documents, allow_nan=False)) == json.loads(json.dumps(documents))
    assert len({(each["noise"], each["learner"]) for each in documents}) == len(documents)
    for row, each in zip(whole(), documents, strict=True):
        assert each["learner"] == row.label and each["control"] == row.control
        assert (each["accuracy"], each["standard_error"], each["interval"]) == row.accuracy
        assert (each["chance"], each["chance_interval"]) == row.chance
        assert each["accuracies"] == row.accuracies and each["repeats"] == 4
        paper = row.published or (None, None)
        assert (each["published"], each["published_standard_error"]) == paper
        assert each["difference"] == row.difference
        for name, difference in row.paired.items():
            assert tuple(each["paired"][name].values()) == difference


def test_rows_tell_who_the_people_were():
    mine = study(population={"brain.cnr": [0.3, 0.8]}, study={"repeats": 3})
    (row,) = rows(mine, all_made_up(mine))
    assert row.people == [{"brain.cnr": each.protocol.brain.cnr} for each in mine.cells]
    assert Study.read_row(json.loads(json.dumps(row.as_dict()))) == row
    assert whole()[0].people == []
