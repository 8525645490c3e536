"""The agent's own guesses, run by run."""

import pytest
from scipy.stats import binomtest

from bciigl.report.guesses import guesses_drawing, matches_by_run


def test_the_agents_guesses_are_counted_run_by_run(dataset):
    found = matches_by_run(dataset)
    truth = dataset.truth("train")
    right = int(truth.match[20:40].sum())
    interval = binomtest(right, 20).proportion_ci(method="wilson")
    second = found[1]
    assert (second.run, second.guesses, second.uniform) == (2, 20, True)
    numbers = (second.matched, second.low, second.high)
    assert numbers == pytest.approx((5 * right, 100 * interval.low, 100 * interval.high))
    drawing = guesses_drawing(found, 100 / 3)
    assert drawing.columns["matched"] == [each.matched for each in found]
    assert drawing.svg
