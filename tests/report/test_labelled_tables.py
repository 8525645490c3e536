"""Tables of labelled data: the numbers of the rows, in text and HTML alike."""

import pytest
from labelled_files import all_made_up, dataset, digits, made_up, rows_of, several
from tables import by_detail, cells, html_tables

from bciigl.labelled import labelled_rows
from bciigl.labelled.paper import openml_ids, table1
from bciigl.labelled.rows import averages
from bciigl.report.labelled import (
    average_table,
    dataset_tables,
    learner_table,
)
from bciigl.report.study_tables import over_repeats
from bciigl.report.table import Table

NAMES = {"cb": "contextual bandit", "igl_full_ci": "full-CI IGL", "ai_igl": "AI-IGL"}
LEARNERS = list(NAMES.values())
SEVERAL, DIGITS = several(), digits()


def of_text(table: Table) -> list[list[str]]:
    return [cells(line) for line in table.as_text(width=500).splitlines()]


def of_html(table: Table) -> list[list[str]]:
    (found,) = html_tables(table._repr_html_())
    return found


def shown(mean) -> str:
    return f"{mean.mean:.1f} ± {mean.standard_error:.1f}"


def test_there_is_a_table_for_each_rule_with_a_line_for_each_dataset():
    for read in (of_text, of_html):
        tables = dataset_tables(rows_of(SEVERAL))
        assert list(tables) == ["action_reward", "coded"]
        for rule, table in tables.items():
            (*first, last), *lines = read(table)
            known = rule == "action_reward"
            names = [
                part for each in LEARNERS for part in ([each, "published"] if known else [each])
            ]
            assert first == ["dataset", "N", "K", "constant", *names]
            assert last == "AI-IGL / contextual bandit"
            for each, line in zip(SEVERAL.datasets, lines, strict=True):
                number = "" if each.openml_id is None else f"{each.openml_id} "
                assert line[:4] == [f"{number}{each.name}", str(each.n), str(each.k), "40.0"]
                mine = {
                    row.learner: row
                    for row in rows_of(SEVERAL)
                    if (row.dataset, row.feedback) == (each, rule)
                }
                found = dict(zip(LEARNERS, line[4:-1:2] if known else line[4:-1], strict=True))
                assert found == {NAMES[each]: shown(row.accuracy) for each, row in mine.items()}
                ratio = mine["ai_igl"].accuracy.mean / mine["cb"].accuracy.mean
                assert line[-1] == f"{100 * ratio:.1f} %"
                if known:
                    paper = [mine[name].published for name in NAMES]
                    assert (each.openml_id is None) is (paper == [None] * 3)
                    assert line[5:-1:2] == [
                        "{:.2f} ± {:.2f}".format(*p) if p else "-" for p in paper
                    ]


def test_learners_have_details_below_them():
    for read in (of_text, of_html):
        found = by_detail(read(learner_table(rows_of(DIGITS))), LEARNERS)
        for row in rows_of(DIGITS):
            learner = NAMES[row.learner]
            line = {name: found[learner, name][row.feedback] for name in ("", "95 % interval")}
            low, high = row.accuracy.interval
            assert line == {"": shown(row.accuracy), "95 % interval": f"{low:.1f} to {high:.1f}"}
            paper = "{:.2f} ± {:.2f}".format(*row.published)
            assert found[learner, "published"][row.feedback] == paper
            difference = row.accuracy.mean - row.published.accuracy
            assert found[learner, "difference"][row.feedback] == f"{difference:+.1f}"
            if row.learner == "cb":
                assert (learner, "relative to contextual bandit") not in found
            else:
                ratio = f"{100 * row.relative:.1f} %"
                assert found[learner, "relative to contextual bandit"][row.feedback] == ratio
        assert found["AI-IGL", "trusted repeats"] == dict.fromkeys(DIGITS.feedback, "100 %")
        # What nobody tells has no line.
        assert not {(each, "trusted repeats") for each in LEARNERS[:2]} & set(found)


def test_few_datasets_have_columns_of_their_own():
    mine = several(2, repeats=1)
    rows = rows_of(mine)
    table = learner_table(rows)
    first = openml_ids()[0]
    assert table.head == [
        "feedback",
        f"{first}, action_reward",
        f"{first}, coded",
        "set 1, action_reward",
        "set 1, coded",
    ]
    found = by_detail([table.head, *table.rows], LEARNERS)
    for row in rows:
        column = f"{row.dataset.id}, {row.feedback}"
        assert found[NAMES[row.learner], ""][column] == f"{row.accuracy.mean:.1f}"
    assert found["AI-IGL", "published"]["set 1, coded"] == "-"


def test_rows_that_are_not_there_are_dashes():
    mine = several(3)
    results = all_made_up(mine)
    left = {cell.key: results[cell.key] for cell in mine.cells[1:] if cell.dataset.k != 4}
    rows = [
        row
        for row in labelled_rows(mine, left)
        if (row.dataset.k, row.feedback, row.learner) != (5, "coded", "ai_igl")
    ]
    table = learner_table(rows)
    assert len(table.head) == 5 and {len(line) for line in table.rows} == {5}
    found = by_detail([table.head, *table.rows], LEARNERS)
    assert found["AI-IGL", ""][table.head[4]] == "-" != found[LEARNERS[0], ""][table.head[4]]
    by_rule = dataset_tables(rows)["coded"]
    assert len(by_rule.rows) == 2
    assert by_rule.rows[-1][-2:] == ["-", "-"] and "-" not in by_rule.rows[0]


def test_averages_are_over_the_datasets_of_a_subset():
    for read in (of_text, of_html):
        found = averages(rows_of(SEVERAL))
        head, *lines = read(average_table(found))
        assert head[:3] == ["subset, feedback, learner", "datasets", "accuracy"]
        assert len(lines) == len(found) == 8
        for each, line in zip(found, lines, strict=True):
            name = NAMES.get(each.learner, each.learner)
            assert line[0] == f"{each.subset}, {each.feedback}, {name}"
            assert line[1] == "5"
            mine = [
                row
                for row in rows_of(SEVERAL)
                if (row.feedback, row.learner) == (each.feedback, each.learner)
            ]
            if each.learner == "best constant":
                assert line[2] == "40.0 ± 0.0"
                continue
            mean = sum(row.accuracy.mean for row in mine) / 5
            assert line[2].startswith(f"{mean:.1f} ± ")
            ratio = sum(row.relative for row in mine) / 5
            assert line[3].startswith(f"{ratio:.2f} ± ")
            bandit = [row.accuracy.mean for row in rows_of(SEVERAL) if row.learner == "cb"][:5]
            same = each.learner == "cb"
            cb = [
                r.accuracy.mean
                for r in rows_of(SEVERAL)
                if (r.feedback, r.learner) == (each.feedback, "cb")
            ]
            assert line[4] == ("-" if same else f"{100 * mean / (sum(cb) / 5):.1f} %")
            assert len(bandit) == 5
            paper = [row.published.accuracy for row in mine if row.published]
            assert line[5] == (f"{sum(paper) / 3:.2f} (3 sets)" if paper else "-")
            assert (line[6] == "-") is (each.feedback == "coded")


def test_one_published_set_is_one_set():
    mine = several(2)
    table = average_table(averages(rows_of(mine)))
    assert table.rows[1][5].endswith(" (1 set)")
    whole = table1(mine.datasets[:1], repeats=2)
    table = average_table(averages(labelled_rows(whole, all_made_up(whole))))
    assert "set" not in table.rows[1][5] and table.rows[1][5] != "-"


@pytest.mark.parametrize(
    ("repeats", "words"),
    [
        (1, "accuracy in percent, of one repeat"),
        (3, "accuracy in percent, mean ± standard error over 3 repeats"),
    ],
)
def test_words_say_what_is_a_mean_over(repeats, words):
    mine = several(1, repeats=repeats)
    results = all_made_up(mine)
    assert over_repeats(labelled_rows(mine, results), "repeat") == words
    text = dataset_tables(labelled_rows(mine, results))["coded"].as_text()
    assert ("±" in text) is (repeats > 1)
    assert "nan" not in text and "None" not in text


def test_different_numbers_of_repeats_are_told():
    mine = several(1, repeats=3)
    results = all_made_up(mine)
    del results[mine.cells[-1].key]
    assert over_repeats(labelled_rows(mine, results), "repeat").endswith("over 2 to 3 repeats")


def test_learners_that_are_never_right_are_shares_of_nothing():
    mine = table1([dataset("hard")], repeats=1)
    results = {cell.key: made_up(cell, [0, 0, 3]) for cell in mine.cells}
    rows = labelled_rows(mine, results)
    assert dataset_tables(rows)["coded"].rows[0][-1] == "-"
    assert [line[3:5] for line in average_table(averages(rows)).rows] == [["-", "-"]] * 8
