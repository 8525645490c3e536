"""The picture of the region in a participant's own space."""

import numpy as np
import pytest

from bciigl.brain.images import Image
from bciigl.brain.own_region import OwnRegion
from bciigl.brain.registration import Fit
from bciigl.report.region import own_region_figure

SHAPE = (10, 12, 14)


def outlines(axis) -> list[np.ndarray]:
    """Return the corners, (left, lower) and (right, upper), of the outlines in a picture."""
    found = []
    for drawn in axis.collections:
        points = np.concatenate([path.vertices for path in drawn.get_paths()])
        found.append(np.array([points.min(axis=0), points.max(axis=0)]))
    return found


@pytest.mark.parametrize("to_the_left", [True, False])
def test_left_is_left_however_the_volume_is_stored(to_the_left):
    inside = np.zeros(SHAPE, bool)
    inside[7:9, 2:5, 10:12] = True
    affine = np.diag([-2.0 if to_the_left else 2.0, 2.0, 2.0, 1.0])
    volume = Image(np.random.default_rng(0).random(SHAPE), affine, None)
    figure = own_region_figure(volume, OwnRegion(inside, {}))
    sagittal, coronal, axial = figure.axes
    left, right = (1, 3) if to_the_left else (7, 9)
    for axis, corners in [
        (sagittal, [[2, 10], [5, 12]]),
        (coronal, [[left, 10], [right, 12]]),
        (axial, [[left, 2], [right, 5]]),
    ]:
        (found,) = outlines(axis)
        assert found == pytest.approx(np.array(corners) - 0.5, abs=0.1)
    assert [text.get_text() for text in coronal.texts] == list("LRIS")
    shown = np.asarray(coronal.images[0].get_array())
    stored = volume.data[:, 3, :].T
    assert shown == pytest.approx(stored[:, ::-1] if to_the_left else stored, abs=1e-6)


def test_fitted_template_is_below_with_its_brain_outlined_on_both():
    inside, brain = np.zeros((2, *SHAPE), bool)
    inside[4:6, 4:6, 4:6] = True
    brain[2:8, 2:9, 2:11] = True
    fit = Fit(np.eye(4), np.full(SHAPE, 0.5), brain, 0.9, 0.9)
    volume = Image(np.ones(SHAPE), np.diag([2.0, 2.0, 3.0, 1.0]), None)
    axes = own_region_figure(volume, OwnRegion(inside, {}, fit)).axes
    assert len(axes) == 6
    for axis in axes:
        blue, orange = outlines(axis)
        assert (blue[0] < orange[0]).all()
        assert (blue[1] > orange[1]).all()
    titles = [axis.get_title().split("\n")[0] for axis in axes]
    assert titles == ["participant"] * 3 + ["template, fitted"] * 3
    assert (np.asarray(axes[3].images[0].get_array()) == 0.5).all()
