"""What the figures show."""

import numpy as np
import pytest

from bciigl.brain import Brain, load_subject
from bciigl.brain.images import write_image
from bciigl.protocol import Protocol, load
from bciigl.protocol.hrf import peak_time
from bciigl.report.figures import region_figure, response_figure


@pytest.fixture(scope="module")
def brain():
    """Return the paper's brain."""
    return Brain(load("number_guessing"))


def test_region_lies_left_behind_and_above_in_three_slices(brain):
    axes = region_figure(brain).axes
    titles = [axis.get_title() for axis in axes]
    assert titles == ["sagittal, x = -40 mm", "coronal, y = -48 mm", "axial, z = 44 mm"]
    for axis, across, up in zip(
        axes, ("back", "left", "left"), ("top", "top", "back"), strict=True
    ):
        template, region = (image.get_array() for image in axis.images)
        where = np.argwhere(~np.ma.getmaskarray(region))
        assert len(where) == 16
        row, column = where.mean(axis=0) / template.shape
        assert column < 0.4, across  # back and left are at the left of the picture
        assert row > 0.6 if up == "top" else row < 0.4


def test_slices_go_through_the_region_even_if_it_has_two_parts(tmp_path):
    subject = load_subject("brainiak")
    mask = np.zeros(subject.shape, np.uint8)
    mask[13:17, 40:44, 29:33] = mask[37:40, 40:43, 29:32] = 1
    write_image(tmp_path / "both.nii.gz", mask, subject.affine)
    region = {"shape": "mask", "file": str(tmp_path / "both.nii.gz")}
    both = Brain(Protocol(name="x", task={"options": [1, 2, 3]}, brain={"region": region}))
    sagittal, coronal, axial = region_figure(both).axes
    assert -43 < float(sagittal.get_title().split("=")[1].split()[0]) < -33
    # voxels off the slice are projected onto it
    for axis in (coronal, axial):
        assert (~np.ma.getmaskarray(axis.images[1].get_array())).sum() == 16 + 9


def test_edges_are_labelled(brain):
    letters = [
        "".join(text.get_text() for text in axis.texts) for axis in region_figure(brain).axes
    ]
    assert letters == ["PAIS", "LRIS", "LRPA"]


def test_response_peaks_as_stated(brain):
    (axis,) = response_figure(brain).axes
    curve = next(line for line in axis.lines if line.get_label() == "response to a lone event")
    seconds, height = curve.get_data()
    assert height.max() == pytest.approx(0.5, abs=1e-3)
    assert seconds[height.argmax()] == pytest.approx(peak_time(2.0), abs=0.1)
    frames = next(line for line in axis.lines if line.get_label() == "frames")
    np.testing.assert_allclose(frames.get_xdata()[:3], [0.75, 2.25, 3.75])
    assert "peak at 6.4 s" in [text.get_text() for text in axis.texts]
