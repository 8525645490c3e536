"""Published figures are those of the file."""

import csv
from pathlib import Path

import pytest

from bciigl.study.published import published

FILE = Path(__file__).parents[2] / "data" / "table2.csv"
LINES = list(csv.DictReader(FILE.read_text().splitlines()))


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line['learner']} {line['noise']}")
def test_every_figure_is_found(line):
    found = published("table2", line["learner"], float(line["noise"]))
    assert found == (float(line["accuracy"]), float(line["standard_error"]))


def test_the_paper_s_figures_are_there():
    assert [(line["noise"], line["learner"], line["accuracy"]) for line in LINES] == [
        ("0.01", "igl_full_ci", "32.60"),
        ("0.05", "igl_full_ci", "33.75"),
        ("0.10", "igl_full_ci", "33.33"),
        ("0.01", "ai_igl", "89.10"),
        ("0.05", "ai_igl", "76.60"),
        ("0.10", "ai_igl", "64.25"),
    ]


def test_the_paper_s_procedure_has_the_paper_s_figure():
    assert published("table2", "ai_igl_paper", 0.1) == published("table2", "ai_igl", 0.1)


def test_levels_that_are_computed_are_found_and_others_are_not():
    assert published("table2", "ai_igl", 1 - 0.9).accuracy == 64.25
    assert published("table2", "ai_igl", 0.1001) is None
    assert published("table2", "ai_igl", 0.2) is None


@pytest.mark.parametrize("learner", ["cb", "ceiling"])
def test_what_the_paper_does_not_have_is_none(learner):
    assert published("table2", learner, 0.05) is None
