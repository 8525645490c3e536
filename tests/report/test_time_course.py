"""What was recorded, and what happened meanwhile."""

import shutil

import nibabel
import numpy as np
import pytest
from recordings import made_up_estimates, small, write_made_up

from bciigl.protocol.timetable import timetable
from bciigl.recording import open_dataset
from bciigl.recording.bids import write_estimates
from bciigl.report.time_course import percent_change, time_course_drawing

CATCH = {"catch": {"share": 0.5}}


def spans(axis):
    """Return from when to when an axis is shaded, and how."""
    return [
        (round(each.get_x(), 6), round(each.get_x() + each.get_width(), 6), each.get_hatch())
        for each in axis.patches
    ]


def test_percent_change_is_of_the_mean_over_the_run():
    series = np.array([[99.0, 101.0], [100, 104], [98, 98]])
    np.testing.assert_allclose(percent_change(series), [0, 2, -2])


def test_signal_is_that_of_the_files(dataset):
    drawing = time_course_drawing(dataset)
    stem = "sub-01/ses-train/func/sub-01_ses-train_task-numberguessing_run-01"
    image = nibabel.load(dataset.folder / f"{stem}_bold.nii.gz").get_fdata()
    mean = image.reshape(-1, image.shape[3]).mean(axis=0)  # the region is the whole box
    shown = drawing.columns["percent_change"]
    np.testing.assert_allclose(shown, (100 * mean / mean.mean() - 100)[: len(shown)])
    np.testing.assert_allclose(drawing.columns["seconds"][:3], [0.75, 2.25, 3.75])
    # Three trials of 27 s, after 12 s of rest.
    assert 93 - 1.5 < drawing.columns["seconds"][-1] < 93
    (line, *_) = drawing.figure.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), shown)


def test_events_are_shaded_in_three_ways_and_told_in_words(dataset):
    (axis,) = time_course_drawing(dataset).figure.axes
    assert spans(axis)[:3] == [(12, 14, "///"), (21, 23, "..."), (30, 32, "xxx")]
    assert len(spans(axis)) == 9
    (trials, truth), options = dataset.sessions["train"], dataset.protocol.task.options
    guess = options[trials.action[1]]
    words = [text.get_text() for text in axis.texts]
    assert words[3:6] == [
        f"imagines {options[truth.imagined[1]]}",
        f"sees {guess}",
        "match" if truth.judged[1] else "mismatch",
    ]
    decisions = [line.get_xdata()[0] for line in axis.lines[1:]]
    assert decisions == [21, 48, 75]


@pytest.fixture(scope="module")
def separate(tmp_path_factory):
    """Return a dataset of separate recordings that no brain made, and what is in it."""
    folder = tmp_path_factory.mktemp("separate") / "dataset"
    written = write_made_up(folder, small(task=CATCH, recording="separate", estimate="frame"))
    return open_dataset(folder), written["train", 1]


def test_separate_recordings_have_a_panel_each(separate):
    dataset, (frames, trials, *_) = separate
    drawing = time_course_drawing(dataset)
    assert len(drawing.figure.axes) == 3
    kinds = np.array(drawing.columns["recording"])
    for kind, axis in zip(dataset.protocol.task.events, drawing.figure.axes, strict=True):
        shown = np.array(drawing.columns["percent_change"])[kinds == kind]
        expected = percent_change(frames[kind].astype(np.float32).astype(float))
        np.testing.assert_allclose(shown, expected[: len(shown)])
        assert kind in axis.get_ylabel()
        assert len(axis.patches) == 3
    asked = sum(not each.catch for each in trials[:3])
    assert len(drawing.figure.axes[0].lines) == 1 + asked  # no decision in catch trials


def test_times_are_those_of_all_trials_though_some_are_of_no_use(tmp_path):
    mine = small(task=CATCH, timing={"null_trials": 0.5})
    written = write_made_up(tmp_path, mine)
    context, feedback = made_up_estimates(written["train", 1])
    context[3] = np.nan
    write_estimates(tmp_path, mine, ("train", 1), context, feedback)
    (axis,) = time_course_drawing(open_dataset(tmp_path)).figure.axes
    when = timetable(mine, 4, "train", 1)
    assert axis.get_xlim() == (0, when.starts[3])


def test_without_truth_nothing_is_told_of_the_persons_mind(tmp_path):
    write_made_up(tmp_path / "dataset", small(task=CATCH))
    shutil.rmtree(tmp_path / "dataset" / "derivatives" / "truth")
    (axis,) = time_course_drawing(open_dataset(tmp_path / "dataset")).figure.axes
    words = {text.get_text() for text in axis.texts}
    assert {"imagines", "judges"} <= words
    assert not words & {"match", "mismatch"}
