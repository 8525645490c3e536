"""What each event evokes."""

import numpy as np
import pytest

from bciigl.brain import Brain
from bciigl.protocol import Protocol, load
from bciigl.report.patterns import MOST_OPTIONS, correlations, finding, patterns_drawing
from bciigl.report.region import region_drawing


@pytest.fixture(scope="module")
def brain():
    """Return the paper's brain."""
    return Brain(load("number_guessing"))


def test_rows_are_the_patterns_and_their_correlations(brain):
    drawing = patterns_drawing(brain)
    columns = drawing.columns
    rows = list(zip(columns["event"], columns["content"], strict=True))
    # Events of an option are together, so that squares of what is alike are.
    assert rows[:3] == [("imagination", "7"), ("perception", "7"), ("imagination", "8")]
    assert rows[-1] == ("judgment", "mismatch")
    assert len(rows) == 3 + 3 + 2
    seen = [columns[f"voxel_{voxel}"][rows.index(("perception", "9"))] for voxel in range(1, 65)]
    assert seen == brain.patterns["perception", 9].tolist()
    expected = np.corrcoef(brain.patterns["imagination", 7], brain.patterns["perception", 7])[0, 1]
    assert columns["r_perception 7"][0] == pytest.approx(expected)
    heat, squares = (axis.images[0].get_array() for axis in drawing.figure.axes[1:3])
    assert heat.shape == (8, 64)
    assert squares[0, 1] == columns["r_perception 7"][0]
    labels = [label.get_text() for label in drawing.figure.axes[1].get_yticklabels()]
    assert labels[:2] + labels[-1:] == ["imagine 7", "see 7", "judge mismatch"]


def test_the_title_says_whether_imagining_resembles_seeing(brain):
    rows = [brain.patterns[kind, 7] for kind in ("imagination", "perception")]
    alike = np.corrcoef(rows)[0, 1]
    assert finding(brain) == (
        f"Imagining an option resembles seeing it (mean correlation {alike:.1f}; seeing another "
        "one: 0.0)"
    )
    unlike = Brain(load("number_guessing", changes={"brain.similarity": 0.0}))
    assert finding(unlike).startswith("Imagining an option hardly resembles seeing it")


def test_only_events_of_the_task_and_not_too_many_options():
    task = {"options": list(range(30)), "events": ["imagination", "judgment"]}
    drawing = patterns_drawing(Brain(Protocol(name="x", task=task)))
    assert set(drawing.columns["event"]) == {"imagination", "judgment"}
    assert len(drawing.columns["event"]) == MOST_OPTIONS + 2
    assert f"first {MOST_OPTIONS} of 30" in drawing.caption
    assert "has a pattern of its own" in drawing.alt


def test_one_voxel_has_no_correlations():
    assert np.isnan(correlations(np.ones((3, 1)))).all()
    assert correlations(np.ones((3, 1))).shape == (3, 3)


def test_the_region_has_the_places_of_its_voxels(brain):
    columns = region_drawing(brain).columns
    assert (columns["i"][0], columns["j"][0], columns["k"][0]) == (13, 40, 29)
    place = brain.subject.affine @ [13, 40, 29, 1]
    assert [columns[axis][0] for axis in ("x_mm", "y_mm", "z_mm")] == place[:3].tolist()
    assert len(columns["i"]) == 64
    assert "64 voxels around MNI (-38, -47, 45), on" in region_drawing(brain).caption
