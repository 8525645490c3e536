"""How well match and mismatch are told apart."""

import numpy as np
import pytest
from interactions import flat

from bciigl.recording.truth import Session
from bciigl.report.rewards import histogram, rewards_drawing
from bciigl.study.session_results import read_results


def test_histogram_counts_apart_what_is_known_apart():
    decoded, reward = np.array([0.0, 0.01, 0.99, 1.0, 0.5]), np.array([0, 0, 1, 1, 1])
    counts = histogram(decoded, reward)
    assert (counts["mismatch"][0], counts["mismatch"].sum()) == (2, 2)
    assert (counts["match"][-1], counts["match"][10]) == (2, 1)
    assert histogram(decoded, None)["trials"].sum() == 5


@pytest.fixture(scope="module")
def main(kept):
    """Return the result of ai_igl."""
    return next(each for each in kept.learners if each.learner_id == "ai_igl")


@pytest.fixture(scope="module")
def decoded(dataset):
    """Return the rewards that it decoded."""
    return read_results(dataset)[1]["ai_igl"]


def test_every_trial_is_in_the_panel_of_its_guess(recorded, main, decoded):
    drawing = rewards_drawing(recorded["train"], main, decoded, (7, 8, 9))
    recorded = flat(recorded)
    option = np.array(drawing.columns["option"])
    matches, mismatches = (np.array(drawing.columns[name]) for name in ("match", "mismatch"))
    for action, name in enumerate("789"):
        mine = recorded.action == action
        assert matches[option == name].sum() == recorded.reward[mine].sum()
        assert mismatches[option == name].sum() == (~recorded.reward.astype(bool))[mine].sum()
        title = drawing.figure.axes[action].get_title()
        assert title == f"guess {name}\nmatch rate {main.match_rates[action]:.2f}"
    high = np.array(drawing.columns["from"]) >= 0.5
    assert (matches + mismatches)[high].sum() == (decoded >= 0.5).sum()


def test_bars_are_told_apart_by_more_than_colour(recorded, main, decoded):
    first = rewards_drawing(recorded["train"], main, decoded, (7, 8, 9)).figure.axes[0]
    assert {bar.get_hatch() for bar in first.patches} == {None, "////"}


def test_without_truth_there_is_one_kind_of_bar(recorded, main, decoded):
    trials = recorded["train"].interactions
    drawing = rewards_drawing(Session(trials), main, decoded, (7, 8, 9))
    assert set(drawing.columns) == {"option", "from", "to", "trials"}
    assert sum(drawing.columns["trials"]) == trials.trials
    assert "not known" in drawing.caption


def test_options_are_words_not_formulas(recorded, main, decoded):
    drawing = rewards_drawing(
        recorded["train"], main, decoded, ("$x$", "an option with a very long name", "c")
    )
    titles = [axis.get_title().split("\n")[0] for axis in drawing.figure.axes]
    assert titles == [r"guess \$x\$", "guess an option wit…", "guess c"]
    assert drawing.columns["option"][0] == "$x$"
    assert drawing.svg
