"""The report of the theory, checked by numbers."""

import json
from dataclasses import asdict, replace

import pytest
from markupsafe import escape

from bciigl.report import theory as report
from bciigl.report.write import write_report_of
from bciigl.study.theory import (
    RESULTS,
    Errors,
    Example,
    Reached,
    Region,
    Theory,
    exact_example,
    fitted,
)

PAPER, OWN = "ai_igl_paper", "ai_igl"


def errors(learner, alike, slope):
    """Return errors that go with trials; where judgments differ, one of two is trusted wrongly."""
    rows = []
    for k in (3, 4):
        for n in (100, 1000):
            common = 0.05 * k * (n / 100) ** slope
            rows.append(
                Errors(learner, alike, k, n, 0.2, [common, 1.1 * common], [not alike, True])
            )
    return rows


def regions(paper, own):
    """Return regions in which so many of 10 sessions are upside down above and below a half."""
    return [
        Region(learner, rate, 50, 10, wrong[rate > 0.5], 1)
        for learner, wrong in ((PAPER, paper), (OWN, own))
        for rate in (0.2, 0.8)
    ]


@pytest.fixture
def found():
    rows = [*errors(PAPER, False, -0.75), *errors(OWN, False, 0.1), *errors(OWN, True, -1.0)]
    fits = [fitted(rows[:4]), fitted(rows[4:8]), fitted(rows[8:])]
    reached = [Reached("igl_full_ci", [0.1, 0.2], [0.8, 0.9], [False] * 2)]
    reached += [Reached(OWN, [1.0, 0.9], [], [True, False])]
    common = ("0.0", {"numpy": "2.0"}, 5, 2, rows, fits)
    return Theory(*common, exact_example(), reached, regions((1, 9), (0, 2)))


def test_what_is_found_is_told_from_the_numbers(found):
    error, trust, example, region = report.findings(found)
    falls = "n^-0.75 (plain AI-IGL) and n^-1.00 (AI-IGL, judgments alike)"
    assert f"falls as {falls}" in error
    assert "for AI-IGL, judgments differ it does not surely fall" in error
    # more than 0.1 is wrong: where judgments are alike, one of two sessions with 100 trials
    assert "8 of 8 trusted sessions where judgments differ and 2 of 4 trusted" in trust
    assert example.startswith("Full-CI's objective is 0 for the optimal policy")
    assert "full-CI IGL 15.0 %, AI-IGL 95.0 %" in example
    assert "the paper's rule learns 90 % of sessions upside down" in region
    assert "told the match rate, 20 %" in region and "it is 10 % and 0 %" in region
    assert "2 upside-down sessions at all rates, 2 were trusted" in region


def test_other_numbers_are_told_otherwise(found):
    flat = [replace(each, slope_error=None) for each in found.fits]
    assert report.error_finding(flat) == "The error does not surely fall with trials"
    right = Example(4, 0.5, 0.5, 0.9, 0.8, 0.5, 1.0)
    assert report.example_finding(right) == "Full-CI's objective is largest for the optimal policy"
    assert "The paper has" not in report._printed_words(right)


def test_figures_have_the_numbers_that_they_show(found):
    drawing = report.error_drawing(found.errors, found.fits)
    assert drawing.columns["mean"] == [row.mean for row in found.errors]
    assert drawing.alt == f"{report.error_finding(found.fits)}."
    drawing = report.example_drawing(found.example, found.reached)
    assert drawing.columns["objective"] == pytest.approx([0, 0, 0.8, 0.8, 0.85])
    (axis,) = drawing.figure.axes
    assert axis.lines[0].get_xdata().tolist() == [0.9]  # as printed
    drawing = report.region_drawing(found.regions)
    shown = [[text.get_text() for text in axis.texts] for axis in drawing.figure.axes]
    assert shown == [["10", "90"], ["0", "20"]]


def test_the_page_leads_with_what_was_found(found, tmp_path):
    (tmp_path / RESULTS).write_text(json.dumps(asdict(found)))
    path = write_report_of(tmp_path)
    assert path == tmp_path / "report.html"
    text = path.read_text()
    assert f'<p class="lead">{escape(report.lead(found))}</p>' in text
    assert "the paper's rule learns 90 % of sessions upside down" in report.lead(found)
    assert text.index("does not surely fall") < text.index("<nav")
    assert "it is 0, as y is 1, not 2, unless x = 1. With psi_1 it is 0.8" in text
    assert "bciigl reproduce theory --repeats 2 --seed 5" in text
    assert "Xie, T., Saran, A., et al. (2022)" in text
    names = {"error_by_trials", "example_3", "region_of_failure"}
    assert {each.stem for each in (tmp_path / "report_figures").glob("*.svg")} == names


def test_tables_have_a_line_for_each_learner(found):
    assert [row[0] for row in report.fit_table(found).rows] == [
        "plain AI-IGL", "AI-IGL, judgments differ", "AI-IGL, judgments alike"
    ]  # fmt: skip
    assert report.fit_table(found).rows[1][2] == "-"  # which does not fall
    assert report.reached_table(found.reached).rows[1] == ["AI-IGL", "95.0 %", "-", "1 of 2"]
