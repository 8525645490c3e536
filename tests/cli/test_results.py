"""Results in words and as plain data."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import small, write_made_up

from bciigl.cli.results import echo_results
from bciigl.learn.diagnose import Verdict
from bciigl.learn.interactions import Interactions
from bciigl.recording import open_dataset
from bciigl.recording.truth import Session
from bciigl.study.learning import Result, load_sessions

RESULTS = [
    Result("ai_igl_paper", None, 100.0, (99.234, 100.0)),
    Result("cb", None, 5.04, (0.0, 12.345)),
]
ARRAYS = {
    "train": Session(
        Interactions(np.zeros((4, 2)), np.array([0, 1, 2, 0]), np.zeros((4, 2)), n_actions=3)
    )
}


def test_columns_stand_below_each_other_and_what_is_not_known_is_a_dash(capsys):
    echo_results(ARRAYS, [*RESULTS, Result("ceiling", None, None, None)], None, "x.npz", False)
    told = capsys.readouterr().out
    verdict, about, table, more = told.split("\n\n")
    assert verdict == "No verdict: only learners that are told rewards or labels have learned."
    assert about.splitlines() == [
        "4 trials of 3 options to learn from, no labelled test trials",
        "accuracies need labelled test trials: the arrays test_context and test_label",
    ]
    assert more == "Details: bciigl learn x.npz -v\n"
    head, *rows, chance = table.splitlines()
    names = ["plain AI-IGL, no lab", "contextual bandit, t", "supervised, told the"]
    assert [row[:20].strip() for row in rows] == names
    assert chance.split() == ["guessing", "by", "chance", "33.3", "%"]
    for row, accuracy, interval in zip(
        rows, ("100.0 %", "5.0 %", "-"), ("99.2 to 100.0", "0.0 to 12.3", "-"), strict=True
    ):
        for word, column in ((accuracy, "accuracy"), (interval, "interval")):
            end = head.index(column) + len(column)
            assert row[:end].endswith(f" {word}")
        assert row[head.index("verdict")] == "-"


def test_arrays_are_named_as_the_user_named_them(capsys):
    echo_results(ARRAYS, RESULTS, None, "x.npz", True)
    document = json.loads(capsys.readouterr().out)
    assert (document["arrays"], document["trials"], document["test_trials"]) == ("x.npz", 4, 0)
    assert document["learners"]["cb"]["interval"] == [0.0, 12.345]


def verdict_on(capsys, found: Verdict, accuracy: tuple = (None, None)) -> list[str]:
    """Return the first lines about a learner with a verdict, without colour."""
    learner = SimpleNamespace(diagnosis_=found)
    echo_results(ARRAYS, [Result("ai_igl", learner, *accuracy)], None, "x.npz", False)
    return capsys.readouterr().out.split("\n\n")[0].splitlines()


def test_the_verdict_comes_first_then_why_without_statistics(capsys):
    reason = "action 1 is odd, the rest was understood (t = 5.1, and 2.0 for the option guessed)."
    tested = verdict_on(capsys, Verdict("trust", reason, ""), (91.234, (80.0, 95.0)))
    assert tested == [
        "Trust: without labels or rewards, AI-IGL decodes 91.2 % of 0 test trials (95 %",
        "  interval 80.0 to 95.0 %, chance 33 %).",
        "Why: action 1 is odd, the rest was understood.",
    ]
    doubtful = verdict_on(capsys, Verdict("doubtful", "few trials.", "Record more."))
    assert doubtful == [
        "Doubtful: AI-IGL learned without labels or rewards, and was not tested (chance",
        "  33 %).",
        "Why: few trials. Record more.",
    ]


@pytest.mark.parametrize("as_json", [True, False])
def test_sessions_say_what_they_would_cost_and_where_they_are(tmp_path, capsys, as_json):
    write_made_up(tmp_path / "out", small(task={"catch": {"share": 0.5}}))
    dataset = open_dataset(tmp_path / "out")
    late = {"lateness_seconds": {"median": 0.0015, "largest": 0.02}}
    echo_results(load_sessions(dataset), RESULTS, dataset, "", as_json, **late)
    shown = capsys.readouterr().out
    if as_json:
        document = json.loads(shown)
        assert document["out"] == str(tmp_path / "out")
        assert document["lateness_seconds"]["largest"] == 0.02
        assert len(document["matches_by_fifths"]) == 5
    else:
        assert "In a real scanner: 0.1 h to learn, 0.0 h more to test" in shown
        assert f"\nRecorded in {tmp_path / 'out'}\n" in shown
        assert "Guesses came" not in shown  # a detail
