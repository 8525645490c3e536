"""What the response and the region look like."""

import numpy as np
import pytest

from bciigl.brain import Brain, load_subject
from bciigl.brain.images import write_image
from bciigl.protocol import Protocol, load
from bciigl.protocol.hrf import peak_time
from bciigl.report.figures import response_figure
from bciigl.report.region import finding, region_figure


@pytest.fixture(scope="module")
def brain():
    """Return the paper's brain."""
    return Brain(load("number_guessing"))


def slices(brain):
    """Return the axes of the three slices; that which they divide comes before them."""
    return region_figure(brain).axes[1:]


def test_region_lies_left_behind_and_above_in_three_slices(brain):
    axes = slices(brain)
    names = [axis.get_xlabel() for axis in axes]
    assert names == ["sagittal, x = -40 mm", "coronal, y = -48 mm", "axial, z = 44 mm"]
    for axis, across, up in zip(
        axes, ("back", "left", "left"), ("top", "top", "back"), strict=True
    ):
        template, region = (image.get_array() for image in axis.images)
        where = np.argwhere(~np.ma.getmaskarray(region))
        assert len(where) == 16
        row, column = where.mean(axis=0) / template.shape
        assert column < 0.4, across  # back and left are at the left of the picture
        assert row > 0.6 if up == "top" else row < 0.4


def test_slices_have_one_scale_and_crosshairs_meet_in_the_region(brain):
    figure = region_figure(brain)
    figure.draw_without_rendering()
    _, *axes = figure.axes
    scales = [axis.bbox.width / np.ptp(axis.get_xlim()) for axis in axes]
    assert scales == pytest.approx([scales[0]] * 3, rel=1e-3)
    assert len({round(axis.bbox.y0) for axis in axes}) == 1
    for axis in axes:
        places = np.argwhere(~np.ma.getmaskarray(axis.images[1].get_array()))
        left, right, bottom, top = axis.images[1].get_extent()
        size = np.array([top, right]) / axis.images[1].get_array().shape
        across, up = axis.lines[0].get_ydata()[0], axis.lines[2].get_xdata()[0]
        low, high = places.min(axis=0) * size, (places.max(axis=0) + 1) * size
        assert (low < (across, up)).all() and ((across, up) < high).all()


def test_the_title_says_where_the_signal_comes_from(brain):
    assert finding(brain) == (
        "The signal comes from 64 voxels in the left hemisphere, around MNI (-38, -47, 45)"
    )
    figure = region_figure(brain)
    figure.draw_without_rendering()
    title = figure.axes[1].texts[-1]
    assert " ".join(title.get_text().split()) == finding(brain)
    box = title.get_window_extent()
    assert box.y0 > figure.axes[1].bbox.y1
    assert box.x1 < figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_slices_go_through_the_region_even_if_it_has_two_parts(tmp_path):
    subject = load_subject("brainiak")
    mask = np.zeros(subject.shape, np.uint8)
    mask[13:17, 40:44, 29:33] = mask[37:40, 40:43, 29:32] = 1
    write_image(tmp_path / "both.nii.gz", mask, subject.affine)
    region = {"shape": "mask", "file": str(tmp_path / "both.nii.gz")}
    both = Brain(Protocol(name="x", task={"options": [1, 2, 3]}, brain={"region": region}))
    sagittal, coronal, axial = slices(both)
    assert -43 < float(sagittal.get_xlabel().split("=")[1].split()[0]) < -33
    # voxels off the slice are projected onto it
    for axis in (coronal, axial):
        assert (~np.ma.getmaskarray(axis.images[1].get_array())).sum() == 16 + 9


def test_edges_are_labelled(brain):
    letters = ["".join(text.get_text() for text in axis.texts[:4]) for axis in slices(brain)]
    assert letters == ["PAIS", "LRIS", "LRPA"]


def test_response_peaks_as_stated(brain):
    (axis,) = response_figure(brain).axes
    curve, frames = (line.get_data() for line in axis.lines if len(line.get_xdata()) > 2)
    seconds, height = curve
    assert height.max() == pytest.approx(0.5, abs=1e-3)
    assert seconds[height.argmax()] == pytest.approx(peak_time(2.0), abs=0.1)
    np.testing.assert_allclose(frames[0][:3], [0.75, 2.25, 3.75])
    title = " ".join(axis.get_title("left").split())
    assert "peaks 6.4 s after its onset, at 0.5 SDs of the noise" in title
    assert {"event, 2 s", "next event", "a frame every 1.5 s"} <= {
        text.get_text() for text in axis.texts
    }
