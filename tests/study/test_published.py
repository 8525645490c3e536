"""Published figures are those of the file."""

import csv
from pathlib import Path

from bciigl.study.published import lines, published

DATA = Path(__file__).parents[2] / "data"


def of_file(table: str) -> list[dict[str, str]]:
    """Return the lines of a file."""
    return list(csv.DictReader((DATA / f"{table}.csv").read_text().splitlines()))


LINES = of_file("table2")


def test_every_figure_is_found():
    for line in LINES:
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


def test_what_the_paper_does_not_have_is_none():
    for learner in ("cb", "ceiling"):
        assert published("table2", learner, 0.05) is None


def test_lines_are_those_of_the_file():
    for table in ("table1", "table2", "table3", "table4"):
        assert lines(table) == of_file(table) != []
