"""Accuracy against scanner hours: what is drawn, and the finding above it."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bciigl.report.learning_curve import draw_learning_curve, finding, learning_drawing


def bars(axis):
    """Return places and heights of each line that has error bars."""
    return [np.array(each[0].get_data()) for each in axis.containers]


def words(axis):
    return [text.get_text().replace("\n", " ") for text in axis.texts]


def test_what_is_drawn_is_what_was_found(view):
    drawing, points = learning_drawing(view), view.kept.learning_curve
    assert drawing.columns["accuracy"] == [each.accuracy for each in points]
    (axis,) = drawing.figure.axes
    mine = [[each for each in points if each.learner_id == name] for name in ("ai_igl", "ceiling")]
    for (x, y), curve in zip(bars(axis), mine, strict=True):
        assert y.tolist() == [each.accuracy for each in curve]
        # Hours grow with trials, and runs are as long as each other.
        hours = [view.hours[-1] * each.trials / view.kept.trials for each in curve]
        np.testing.assert_allclose(x, hours, rtol=1e-6)
    assert drawing.columns["hours"][-1] == pytest.approx(view.hours[-1])
    assert words(axis) == ["chance 33 %", "AI-IGL, no labels", "supervised, told the labels"]
    assert len({each[0].get_marker() for each in axis.containers}) == 2


def test_the_title_says_how_often_the_policy_is_right_and_after_how_long(view):
    assert finding(view) == (
        "Without labels, AI-IGL is right in 98 % of new trials after 28 min; supervised learning "
        "in 98 %"
    )
    (axis,) = learning_drawing(view).figure.axes
    title = axis.get_title("left").replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")
    assert title == finding(view)
    assert axis.get_xticklabels()[0].get_text() == "0 min\n0"


def test_a_policy_that_may_be_guessing_is_said_to_be_no_better(hopeless):
    assert finding(hopeless).startswith(
        "Without labels, AI-IGL is not clearly above chance: right in "
    )


def test_verdicts_are_shown_by_filled_and_hollow_points(hopeless):
    (axis,) = learning_drawing(hopeless).figure.axes
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    curve = [each for each in hopeless.kept.learning_curve if each.learner_id == "ai_igl"]
    assert sum(len(line.get_xdata()) for line in hollow) == len(curve)
    assert "Hollow: " in learning_drawing(hopeless).caption


def test_without_truth_it_is_what_the_learner_estimates(without_truth):
    drawing = learning_drawing(without_truth)
    assert finding(without_truth) == (
        "Without labels, AI-IGL estimates that it is right in 98 % of trials after 28 min"
    )
    (axis,) = drawing.figure.axes
    assert axis.get_ylabel() == "right choices, estimated (%)"
    assert words(axis) == ["chance 33 %", "AI-IGL, no labels"]
    assert "estimates of its own accuracy" in drawing.caption


def test_guesses_of_an_agent_that_learned_are_drawn_run_by_run(adaptive):
    (axis,) = learning_drawing(adaptive).figure.axes
    found = [each.matched for each in adaptive.kept.matches_by_run]
    assert bars(axis)[-1][1].tolist() == found
    assert "guesses that matched" in words(axis)
    assert finding(adaptive).endswith(
        f"the agent's guesses matched in {found[0]:.0f} % of the first run, "
        f"{found[-1]:.0f} % of the last"
    )


def test_it_is_drawn_into_axes_that_are_given(view):
    ax = Figure().subplots()
    assert draw_learning_curve(ax, view) is ax and len(ax.figure.axes) == 1
