"""Figures of learning: accuracy after more and more runs, and the agent's own guesses."""

import numpy as np
import pytest

from bciigl.report.guesses import guesses_drawing
from bciigl.report.learning_curve import learning_curve_drawing


def test_what_is_drawn_is_what_was_found(kept):
    points = kept.learning_curve
    drawing = learning_curve_drawing(points, 100 / 3)
    assert drawing.columns["accuracy"] == [each.accuracy for each in points]
    (axis,) = drawing.figure.axes
    lines = [np.asarray(each[0].get_ydata()).tolist() for each in axis.containers]
    expected = [
        [each.accuracy for each in points if each.learner_id == learner]
        for learner in ("ai_igl", "cb", "ceiling")
    ]
    assert lines == expected
    assert axis.lines[0].get_ydata()[0] == pytest.approx(100 / 3)
    assert len({each[0].get_marker() for each in axis.containers}) == 3


def test_guesses_are_drawn_run_by_run(kept):
    drawing = guesses_drawing(kept.matches_by_run, 100 / 3)
    assert drawing.columns["matched"] == [each.matched for each in kept.matches_by_run]
    assert drawing.svg
