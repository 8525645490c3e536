"""How well match and mismatch are told apart."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from recordings import small

from bciigl.base.errors import BciiglError
from bciigl.loop.session import record
from bciigl.recording import open_dataset
from bciigl.report.rewards import draw_rewards, finding, percent_right, rewards_drawing
from bciigl.report.views import learned


def test_percent_right_is_of_matches_and_of_mismatches():
    odds, match = np.array([1.0, -1, -2, 3, -1]), np.array([True, True, False, False, False])
    assert percent_right(odds, match) == {"match": 50, "mismatch": pytest.approx(100 * 2 / 3)}
    among = np.array([True, True, False, False, False])
    assert percent_right(odds, match, among) == {"match": 50, "mismatch": None}


def test_numbers_are_those_of_every_trial(view):
    columns = rewards_drawing(view).columns
    trials, truth = view.sessions["train"]
    options = view.dataset.protocol.task.options
    assert columns["option"] == [str(options[each]) for each in trials.action]
    assert columns["probability"] == view.decoded["ai_igl"].tolist()
    assert columns["match"] == np.asarray(truth.match, float).tolist()
    odds = np.array(columns["log_odds"])
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), columns["probability"], atol=1e-6)


def test_every_guess_is_in_the_row_of_its_option(view):
    (axis,) = rewards_drawing(view).figure.axes
    trials, truth = view.sessions["train"]
    right = percent_right(view.log_odds("ai_igl"), np.asarray(truth.match, bool))
    rows = [label.get_text() for label in axis.get_yticklabels()]
    assert rows == ["guess 7", "guess 8", "guess 9"]
    words = [text.get_text() for text in axis.texts]
    assert sum(each.startswith("match: ") for each in words) == 3
    assert {"taken for mismatches", "taken for matches"} <= set(words)
    assert finding(view) == (
        f"AI-IGL recognises {right['match']:.0f} % of matches and {right['mismatch']:.0f} % of "
        "mismatches"
    )
    assert {each.get_hatch() for each in axis.patches} == {None, "/////"}


def test_what_is_hardly_better_than_guessing_is_said_so(hopeless):
    assert finding(hopeless).startswith("AI-IGL hardly tells match from mismatch: right in ")


def test_without_truth_nothing_is_said_of_matches(without_truth):
    drawing = rewards_drawing(without_truth)
    assert set(drawing.columns["match"]) == {None}
    assert "Which of them were matches is not known" in drawing.caption
    (axis,) = drawing.figure.axes
    assert not [text for text in axis.texts if "right" in text.get_text()]
    assert finding(without_truth).endswith("% of the guesses for matches")


def test_without_trust_nor_truth_it_is_no_finding(without_truth):
    main = without_truth.main
    doubted = replace(main.diagnosis, verdict="doubtful")
    learners = [main.model_copy(update={"diagnosis": doubted})]
    kept = without_truth.kept.model_copy(update={"learners": learners})
    assert finding(replace(without_truth, kept=kept)) == (
        "AI-IGL cannot be trusted here: what it takes for a match may be none"
    )


def test_options_are_words_not_formulas_and_not_too_many(tmp_path):
    options = ["$x$", "an option with a very long name", *"cdefghijklmn"]
    protocol = small(task={"options": options, "trials": 30}, learners=["ai_igl"])
    record(protocol, tmp_path / "out")
    drawing = rewards_drawing(learned(open_dataset(tmp_path / "out")))
    (axis,) = drawing.figure.axes
    rows = [label.get_text() for label in axis.get_yticklabels()]
    assert rows[:3] == [r"guess \$x\$", "guess an option wit…", "guess c"]
    assert len(rows) == 12 and "Only the first 12 of 14 options." in drawing.caption
    assert drawing.svg


def test_a_session_that_nobody_learned_from_without_labels_has_none(view):
    told = [each for each in view.kept.learners if each.learner_id == "ceiling"]
    kept = view.kept.model_copy(update={"learners": told})
    with pytest.raises(BciiglError, match="no learner without labels"):
        draw_rewards(Figure().subplots(), replace(view, kept=kept))
