"""What commands print of a study."""

import json

import pytest
from studies import all_made_up, study

from bciigl.cli.study import echo_table
from bciigl.study import rows


def table(**arguments):
    mine = study(**arguments)
    return rows(mine, all_made_up(mine))


def test_json_is_the_rows_and_nothing_else(capsys):
    mine = table(learners=["cb", "ceiling"])
    echo_table(mine, ["a note"], as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps([row.as_dict() for row in mine]))


def test_no_results_are_said_to_be_none(capsys):
    echo_table([], ["a note"], as_json=False)
    assert capsys.readouterr().out == "no results yet\n"
    echo_table([], [], as_json=True)
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("repeats", "words"), [(1, "percent, of one session\n"), (3, "over 3 sessions\n")]
)
def test_words_say_how_many_sessions_a_mean_is_of(capsys, repeats, words):
    echo_table(table(study={"repeats": repeats}), ["a note"], as_json=False)
    printed = capsys.readouterr().out
    assert words in printed
    assert printed.endswith("- a note\n")


def test_different_numbers_of_sessions_are_told(capsys):
    mine = study(study={"noise": [0.05, 0.1], "repeats": 3})
    results = all_made_up(mine)
    del results[mine.cells[-1].key]
    echo_table(rows(mine, results), [], as_json=False)
    assert "over 2 to 3 sessions" in capsys.readouterr().out
