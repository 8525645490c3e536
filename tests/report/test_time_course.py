"""What was recorded, what happened meanwhile, and what that should have evoked."""

import nibabel
import numpy as np
import pytest
from recordings import made_up_estimates, small, write_made_up

from bciigl.protocol.timetable import timetable
from bciigl.recording import open_dataset
from bciigl.recording.bids import write_estimates
from bciigl.recording.layout import TRUTH
from bciigl.report.time_course import alike, mean_trial, percent_change, time_course_drawing
from bciigl.report.views import learned

CATCH = {"catch": {"share": 0.5}}


def spans(axis):
    """Return from when to when events are drawn on their lanes, and how."""
    return [
        (round(each.get_x(), 6), round(each.get_x() + each.get_width(), 6), each.get_hatch())
        for each in axis.patches
    ]


def words(axis):
    return [text.get_text() for text in axis.texts]


def panels(drawing):
    """Return the axes of the signal, those of the events, and those of the mean trial if any."""
    found = [axis for axis in drawing.figure.axes if axis.axison]
    signal = [
        axis for axis in found if "%" in axis.get_ylabel() and "mean" not in axis.get_ylabel()
    ]
    mean = [axis for axis in found if axis.get_ylabel().startswith("mean of")]
    (events,) = (axis for axis in found if axis not in [*signal, *mean])
    return signal, events, mean


def title(drawing):
    """Return the title, which stands in the first panel's texts."""
    (found,) = (text for text in panels(drawing)[0][0].texts if text.get_fontweight() == "bold")
    return " ".join(found.get_text().split())


def test_percent_change_is_of_the_mean_over_the_run():
    series = np.array([[99.0, 101.0], [100, 104], [98, 98]])
    np.testing.assert_allclose(percent_change(series), [0, 2, -2])


def test_courses_that_do_not_change_are_not_alike():
    course = np.array([0.0, 1, 0, np.nan, 1])
    assert alike(course, 2 * course + 1) == pytest.approx(1)
    assert alike(course, np.ones(5)) == 0


def test_the_mean_trial_finds_what_single_trials_hide():
    rng, trials, length = np.random.default_rng(0), 40, 27.0
    starts = 12 + length * np.arange(trials)
    evoked = np.sin(2 * np.pi * ((np.arange(740) + 0.5) * 1.5 - 12) / length)
    found = mean_trial(evoked + 2 * rng.standard_normal(740), evoked, 1.5, starts)
    assert found.trials == trials and found.t > 5
    assert alike(found.recorded, found.expected) > 0.9
    assert mean_trial(2 * rng.standard_normal(740), evoked, 1.5, starts).t < 2.5
    assert mean_trial(evoked, evoked, 1.5, starts[:9]) is None


def test_signal_is_that_of_the_files(view):
    drawing, dataset = time_course_drawing(view), view.dataset
    stem = "sub-01/ses-train/func/sub-01_ses-train_task-numberguessing_run-01"
    image = nibabel.load(dataset.folder / f"{stem}_bold.nii.gz").get_fdata()
    mean = image.reshape(-1, image.shape[3]).mean(axis=0)  # the region is the whole box
    shown = drawing.columns["percent_change"]
    np.testing.assert_allclose(shown, (100 * mean / mean.mean() - 100)[: len(shown)])
    np.testing.assert_allclose(drawing.columns["seconds"][:3], [0.75, 2.25, 3.75])
    # Three trials of 27 s, after 12 s of rest.
    assert 93 - 1.5 < drawing.columns["seconds"][-1] < 93
    ((signal,), *_) = panels(drawing)
    recorded, expected, *_ = signal.lines
    np.testing.assert_array_equal(recorded.get_ydata(), shown)
    np.testing.assert_array_equal(expected.get_ydata(), drawing.columns["expected"])
    assert {"recorded", "expected"} <= set(words(signal))


def test_the_title_says_whether_the_signal_follows_the_expected_response(view, adaptive, hopeless):
    low_noise, high_noise = (time_course_drawing(each) for each in (adaptive, hopeless))
    assert title(low_noise).startswith(
        "The region's mean signal follows the response expected of the events (r = "
    )
    assert title(high_noise).startswith("Noise hides the response to the events in single trials")
    assert "r =" in low_noise.alt and not panels(high_noise)[2]
    _, _, (mean,) = panels(low_noise)
    assert mean.get_ylabel() == "mean of\n75 trials (%)"


def test_events_are_shaded_in_three_ways_and_told_in_words(view):
    _, axis, _ = panels(time_course_drawing(view))
    assert spans(axis)[:3] == [(12, 14, "///"), (21, 23, "..."), (30, 32, "xxx")]
    assert len(spans(axis)) == 9
    (trials, truth), options = view.sessions["train"], view.dataset.protocol.task.options
    assert words(axis)[3:6] == [
        str(options[truth.imagined[1]]),
        str(options[trials.action[1]]),
        "match" if truth.judged[1] else "mismatch",
    ]
    lanes = [label.get_text() for label in axis.get_yticklabels()]
    assert lanes == ["imagines", "sees", "judges"]


def test_separate_recordings_have_a_panel_each(tmp_path):
    folder = tmp_path / "dataset"
    mine = small(task=CATCH, recording="separate", estimate="frame", learners=["ai_igl"])
    frames, *_ = write_made_up(folder, mine)["train", 1]
    drawing = time_course_drawing(learned(open_dataset(folder)))
    signal, events, mean = panels(drawing)
    assert (len(signal), mean) == (3, [])
    kinds = np.array(drawing.columns["recording"])
    for kind, axis in zip(mine.task.events, signal, strict=True):
        shown = np.array(drawing.columns["percent_change"])[kinds == kind]
        expected = percent_change(frames[kind].astype(np.float32).astype(float))
        np.testing.assert_allclose(shown, expected[: len(shown)])
        assert kind in axis.get_ylabel()
        assert len(axis.patches) == 3
    assert len(spans(events)) == 9


def test_times_are_those_of_all_trials_though_some_are_of_no_use(tmp_path):
    mine = small(task=CATCH, timing={"null_trials": 0.5}, learners=["ai_igl"])
    written = write_made_up(tmp_path, mine)
    context, feedback = made_up_estimates(written["train", 1])
    context[3] = np.nan
    write_estimates(tmp_path, mine, ("train", 1), context, feedback)
    (axis,), *_ = panels(time_course_drawing(learned(open_dataset(tmp_path))))
    when = timetable(mine, 4, "train", 1)
    assert axis.get_xlim() == (0, when.starts[3])


def test_without_truth_nothing_is_told_of_the_persons_mind(without_truth):
    assert not (without_truth.dataset.folder / TRUTH).exists()
    drawing = time_course_drawing(without_truth)
    _, axis, _ = panels(drawing)
    options = [str(each) for each in without_truth.dataset.protocol.task.options]
    told = words(axis)
    assert [bool(each) for each in told] == [False, True, False] * 3
    assert set(filter(None, told)) <= set(options)
    assert "imagined" not in drawing.caption
