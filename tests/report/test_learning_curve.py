"""Accuracy after more and more runs."""

from dataclasses import replace

import numpy as np
import pytest

from bciigl.recording.truth import Session
from bciigl.report.learning_curve import learning_curve, learning_curve_drawing
from bciigl.study.learning import learn_from, select

LEARNERS = ("ai_igl", "cb", "ceiling")


@pytest.fixture(scope="module")
def points(recorded, results):
    """Return the learning curve of the session."""
    return learning_curve(recorded, LEARNERS, known=results)


def test_every_learner_learns_from_more_and_more_runs(points):
    for learner in LEARNERS:
        mine = [(each.runs, each.trials) for each in points if each.learner_id == learner]
        assert mine == [(1, 20), (2, 40), (3, 60)]


def test_the_last_points_are_the_results(points, results):
    found = {each.learner_id: each for each in results}
    for each in points:
        if each.runs == 3:
            result = found[each.learner_id]
            assert (each.accuracy, (each.low, each.high)) == (result.accuracy, result.interval)


def test_points_before_are_of_the_first_runs_alone(points, recorded):
    first = learn_from(select(recorded, {1, 2}, None), "cb")
    point = next(each for each in points if (each.learner_id, each.runs) == ("cb", 2))
    assert (point.accuracy, (point.low, point.high)) == (first.accuracy, first.interval)


def test_what_is_known_is_not_learned_again(recorded, results):
    wrong = [replace(each, accuracy=12.5) for each in results]
    again = learning_curve(recorded, LEARNERS, known=wrong)
    assert {each.accuracy for each in again if each.runs == 3} == {12.5}


def test_known_match_rates_need_catch_trials(recorded):
    blind = select(recorded, {1, 3}, None)
    train = blind["train"].interactions
    caught = replace(train, catch=train.run == 3, match_rate=np.array(0.8))
    late = {**blind, "train": Session(caught)}
    assert learning_curve(late, ["ai_igl"])[0] == learning_curve(blind, ["ai_igl"])[0]


def test_what_is_drawn_is_what_was_found(points):
    drawing = learning_curve_drawing(points, 100 / 3)
    assert drawing.columns["accuracy"] == [each.accuracy for each in points]
    (axis,) = drawing.figure.axes
    lines = [np.asarray(each[0].get_ydata()).tolist() for each in axis.containers]
    expected = [
        [each.accuracy for each in points if each.learner_id == learner] for learner in LEARNERS
    ]
    assert lines == expected
    assert axis.lines[0].get_ydata()[0] == pytest.approx(100 / 3)
    assert len({each[0].get_marker() for each in axis.containers}) == 3
