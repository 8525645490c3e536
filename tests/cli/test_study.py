"""What commands print of a study."""

import json

import click
import pytest
from studies import all_made_up, study

from bciigl.cli.output import VERBOSE
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
    ("repeats", "words"), [(1, "percent, of one session;"), (3, "over 3 sessions;")]
)
def test_words_say_how_many_sessions_a_mean_is_of(capsys, repeats, words):
    echo_table(table(study={"repeats": repeats}), ["a note"], False, caveats=["a caveat"])
    printed = capsys.readouterr().out
    assert words in printed
    assert printed.endswith(
        "\n\na caveat\n\n-v shows intervals, failed and trusted sessions, differences, notes.\n"
    )


def test_details_are_shown_if_they_are_asked_for(capsys):
    mine = table(study={"repeats": 3}, learners=["cb", "ceiling"])
    for details in (False, True):
        with click.Context(click.Command("x")) as context:
            context.meta[VERBOSE] = details
            echo_table(mine, ["a note"], False)
        printed = capsys.readouterr().out
        assert printed.endswith("\n- a note\n") is details
        for each in ("  95 % interval ", "  failed sessions ", "contextual bandit minus"):
            assert (each in printed) is details
        told = " ".join(printed.split())
        assert "contextual bandit: told the rewards; supervised: told the labels" in told


def test_different_numbers_of_sessions_are_told(capsys):
    mine = study(study={"noise": [0.05, 0.1], "repeats": 3})
    results = all_made_up(mine)
    del results[mine.cells[-1].key]
    echo_table(rows(mine, results), [], as_json=False)
    assert "over 2 to 3 sessions" in capsys.readouterr().out
