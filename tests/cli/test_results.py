"""Results in words and as plain data."""

import json

import numpy as np
import pytest
from recordings import small, write_made_up

from bciigl.cli.results import echo_results
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
    first, head, *rows = capsys.readouterr().out.splitlines()
    assert first == "4 trials, 3 actions (chance 33.3 %); no test labels"
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
        assert "guesses came 1.5 ms after the decision was due (median), 20.0 ms at most" in shown
        assert "in a real scanner: 0.1 h to learn, 0.0 h more to test" in shown
        assert shown.endswith(f"recorded in {tmp_path / 'out'}\n")
