"""Tables: the numbers of the rows, in text and HTML alike."""

from functools import cache

import pytest
from studies import all_made_up, study
from tables import cells, html_tables

from bciigl.report.study_tables import accuracy_tables, difference_tables
from bciigl.report.table import Table
from bciigl.study import Study, rows
from bciigl.study.controls import CONTROLS, SILENCED

MINE = Study(
    study(learners=["ai_igl", "igl_full_ci"], study={"noise": [0.05, 0.3], "repeats": 3}).protocol,
    controls=tuple(CONTROLS),
    table="table2",
)


@cache
def table_rows():
    return rows(MINE, all_made_up(MINE))


NAMES = {"ai_igl": "AI-IGL", "igl_full_ci": "full-CI IGL"}


def name_of(row):
    """Return what a table calls a row: never an id."""
    return ", ".join(filter(None, [NAMES[row.learner], row.control]))


def of_text(table: Table) -> list[list[str]]:
    return [cells(line) for line in table.as_text(width=500).splitlines()]


def of_html(table: Table) -> list[list[str]]:
    (found,) = html_tables(table._repr_html_())
    return found


def expected(noise: float) -> dict[str, dict[str, str]]:
    """Return what should stand in a column, by label and detail."""
    column = {}
    for row in (each for each in table_rows() if each.noise == noise):
        low, high = row.accuracy.interval
        shown = {
            "": f"{row.accuracy.mean:.1f} ± {row.accuracy.standard_error:.1f}",
            "95 % interval": f"{low:.1f} to {high:.1f}",
            "failed sessions": f"{row.failed:.0f} %",
        }
        if row.trusted is not None:
            shown["trusted sessions"] = f"{row.trusted:.0f} %"
        if row.published:
            shown["published"] = "{:.2f} ± {:.2f}".format(*row.published)
            shown["difference"] = f"{row.accuracy.mean - row.published.accuracy:+.1f}"
        if row.objective is not None:
            shown["objective (truth's)"] = f"{row.objective:.2f} ({row.truth_objective:.2f})"
        column[name_of(row)] = shown
    return column


@pytest.mark.parametrize("read", [of_text, of_html])
@pytest.mark.parametrize(("place", "noise"), [(1, 0.05), (2, 0.3)])
def test_every_form_has_the_numbers_of_the_rows(read, place, noise):
    (table,) = accuracy_tables(table_rows()).values()
    head, *lines = read(table)
    assert head == ["noise", "0.05", "0.3"]
    labels = list(dict.fromkeys(map(name_of, table_rows())))
    column, label = {}, ""
    for line in lines:
        if line[0] in (*labels, "chance (labels permuted)"):
            label = line[0]
            column[label] = {"": line[place]}
        elif line[place] != "-":
            column[label][line[0]] = line[place]
    first = next(row for row in table_rows() if row.noise == noise)
    chance = {
        "": f"{first.chance.mean:.1f}",
        "95 % interval": "{:.1f} to {:.1f}".format(*first.chance.interval),
    }
    assert column.pop("chance (labels permuted)") == chance
    assert column == expected(noise)


@pytest.mark.parametrize("read", [of_text, of_html])
def test_differences_are_those_of_the_first_learner(read):
    (table,) = difference_tables(table_rows()).values()
    head, *lines = read(table)
    assert head == ["AI-IGL minus", "0.05", "0.3"]
    for place, noise in enumerate((0.05, 0.3), 1):
        (row,) = (each for each in table_rows() if (each.noise, each.label) == (noise, "ai_igl"))
        paired = row.paired["igl_full_ci"]
        assert [line[place] for line in lines] == [
            f"{paired.mean:+.1f}",
            "{:.1f} to {:.1f}".format(*paired.interval),
            f"{paired.p:.2g}",
        ]
    assert [line[0] for line in lines] == ["full-CI IGL", "95 % interval", "p"]


def test_one_repeat_has_dashes_for_what_is_not_known():
    mine = study(learners=["ai_igl", "ceiling"], study={"repeats": 1})
    table = rows(mine, all_made_up(mine))
    text = accuracy_tables(table)[""].as_text()
    assert f"{table[0].accuracy.mean:.1f}" in text
    assert "±" not in text and "nan" not in text.lower() and "None" not in text
    assert of_text(difference_tables(table)[""])[2:] == [["95 % interval", "-"], ["p", "-"]]


def test_varied_fields_have_tables_of_their_own():
    mine = study(vary={"timing.isi": [7.0, 8.0]}, study={"repeats": 1})
    table = rows(mine, all_made_up(mine))
    found = accuracy_tables(table)
    assert list(found) == ["timing.isi = 7 s", "timing.isi = 8 s"]
    for row, each in zip(table, found.values(), strict=True):
        assert f"{row.accuracy.mean:.1f}" in each.as_text().splitlines()[1]
    assert difference_tables(table) == {}


def test_learner_without_results_at_a_level_has_a_dash_there():
    missing = [row for row in table_rows() if (row.noise, row.control) != (0.3, SILENCED)]
    lines = of_text(accuracy_tables(missing)[""])
    (line,) = (each for each in lines if each[0] == f"AI-IGL, {SILENCED}")
    assert line[2] == "-" and line[1] != "-"
