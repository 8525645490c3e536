"""Patterns of events."""

import numpy as np
import pytest

from bciigl.brain.patterns import draw_patterns
from bciigl.brain.region import Region
from bciigl.protocol.model import Brain, Task

GRID = Region(np.argwhere(np.ones((20, 20, 20))), np.diag([3.0, 3.0, 3.5, 1]))
"""8000 voxels, so that a correlation's standard error is about 0.01."""


def patterns(seed=0, options=("a", "b", "c"), **brain):
    settings = Brain(**brain)
    return draw_patterns(Task(options=options), settings, GRID, np.random.default_rng(seed))


def correlation(one, other):
    return np.corrcoef(one, other)[0, 1]


def test_every_event_has_a_pattern():
    kinds = set(patterns())
    assert kinds == {
        *(("imagination", option) for option in "abc"),
        *(("perception", option) for option in "abc"),
        ("judgment", True),
        ("judgment", False),
    }


@pytest.mark.parametrize("smoothness", [0.0, 6.0])
def test_perception_and_judgment_are_between_0_and_1_with_a_uniform_s_mean_and_sd(smoothness):
    # A smooth field has fewer independent voxels, about 8000 / 30, hence the larger tolerance; five
    # patterns are averaged.
    drawn = patterns(smoothness=smoothness)
    values = [value for (kind, _), value in drawn.items() if kind != "imagination"]
    tolerance = 0.06 if smoothness else 0.01
    assert np.mean(values) == pytest.approx(0.5, abs=tolerance)
    assert np.mean([value.std() for value in values]) == pytest.approx(12**-0.5, abs=tolerance)
    if not smoothness:
        assert 0 <= np.min(values) and np.max(values) < 1


@pytest.mark.parametrize("similarity", [-0.5, 0.0, 0.3, 0.89, 1.0])
def test_imagination_resembles_perception_as_stated(similarity):
    drawn = patterns(similarity=similarity)
    for option in "abc":
        found = correlation(drawn["imagination", option], drawn["perception", option])
        assert found == pytest.approx(similarity, abs=0.04)  # four standard errors
        assert drawn["imagination", option].std() == pytest.approx((1.25 / 12) ** 0.5, abs=0.01)


def test_patterns_of_different_events_are_unrelated():
    drawn = patterns()
    different = [drawn["perception", option] for option in "abc"]
    different += [drawn["judgment", True], drawn["judgment", False]]
    correlations = np.corrcoef(different)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 0.05  # 4.5 standard errors of 0.011


@pytest.mark.parametrize("fwhm", [6.0, 10.0])
def test_smooth_patterns_have_the_stated_smoothness(fwhm):
    # White noise smoothed by a Gaussian correlates over a distance d by exp(-d^2 / 4 sigma^2).
    sigma = fwhm / np.sqrt(8 * np.log(2))
    cubes = [value.reshape(20, 20, 20) for value in patterns(smoothness=fwhm).values()]
    for axis, edge in enumerate([3.0, 3.0, 3.5]):
        found = [
            correlation(np.delete(cube, -1, axis).ravel(), np.delete(cube, 0, axis).ravel())
            for cube in cubes
        ]
        # a truncated kernel on a coarse grid is not quite Gaussian, hence 0.05
        assert np.mean(found) == pytest.approx(np.exp(-((edge / sigma) ** 2) / 4), abs=0.05)


def test_patterns_follow_the_seed():
    one, same, other = patterns(1), patterns(1), patterns(2)
    for event in one:
        np.testing.assert_array_equal(one[event], same[event])
        assert not np.array_equal(one[event], other[event])
