"""Making a recorded subject of files."""

import nibabel
import numpy as np
import pytest
from recorded import BLOCK, RUNS, SHAPE, TR, make_subject, save, write_recording

from bciigl.base.errors import BciiglError
from bciigl.brain.from_recording import subject_from_recording
from bciigl.brain.recorded import load_recorded


def made(bold, events, **how):
    return subject_from_recording(bold, events, name="x", **{"lag": 4.0, "voxels": 8, **how})


def data_of(path) -> np.ndarray:
    return np.asarray(nibabel.load(path).dataobj, float)


def test_windows_are_the_frames_after_the_lag_in_sds_of_their_run(tmp_path):
    bold, events = write_recording(tmp_path)
    subject = made(bold, events, voxels=10**6)
    assert len(subject.region) == np.prod(SHAPE) - 1  # all but that which never changes
    assert [0, 0, 0] not in subject.region.voxels.tolist()
    assert subject.windows.shape == (RUNS * 3 * BLOCK, 1, 17)
    row = events[2].read_text().splitlines()[1].split("\t")
    first = round((float(row[0]) + 4.0) / TR)
    series = data_of(bold[2])[subject.region.index].T
    trend = np.vander(np.arange(len(series)), 3)
    left = series - trend @ np.linalg.lstsq(trend, series, rcond=None)[0]
    mine = (subject.run == 3) & (subject.category == subject.about.categories.index(row[2]))
    expected = (left / left.std(axis=0))[first : first + BLOCK]
    np.testing.assert_allclose(subject.windows[mine][:, 0], expected, atol=1e-4)


def test_subject_is_read_back_as_it_was(tmp_path):
    subject = make_subject(tmp_path)
    back = load_recorded(tmp_path / "anna")
    assert back.about == subject.about
    assert back.fingerprint == subject.fingerprint
    assert back.about.test_runs == [5, 6]
    assert [each.name for each in back.about.files[:2]] == [
        "run-1_bold.nii.gz",
        "run-2_bold.nii.gz",
    ]


def test_voxels_are_those_that_respond_in_training_runs(tmp_path):
    bold, events = write_recording(tmp_path)
    for number, path in enumerate(bold, start=1):
        data = data_of(path)
        on = data_of(bold[0]).shape[3]
        # In test runs alone the voxels at the end of the first axis respond most of all.
        quiet = np.random.default_rng(number).standard_normal((2, 3, 2, on))
        data[1:] = quiet + (50 * np.sign(data[1:].mean(axis=(0, 1, 2)) - 502) if number > 4 else 0)
        save(path, data)
    chosen = made(bold, events, voxels=3).region.voxels
    assert (chosen[:, 0] == 0).all()


def test_one_recording_with_a_column_of_runs_is_the_same_as_one_for_each(tmp_path):
    bold, events = write_recording(tmp_path)
    frames = data_of(bold[0]).shape[3]
    save(tmp_path / "all.nii.gz", np.concatenate([data_of(each) for each in bold], axis=3))
    rows = ["onset\tduration\ttrial_type\trun"]
    for run, each in enumerate(events):
        for line in each.read_text().splitlines()[1:]:
            onset, duration, kind = line.split("\t")
            rows.append(f"{float(onset) + run * frames * TR}\t{duration}\t{kind}\t{run + 1}")
    (tmp_path / "all.tsv").write_text("\n".join(rows) + "\n")
    together = made([tmp_path / "all.nii.gz"], [tmp_path / "all.tsv"])
    apart = made(bold, events)
    np.testing.assert_array_equal(together.windows, apart.windows)
    np.testing.assert_array_equal(together.run, apart.run)
    rows = [row for row in rows if not row.endswith("\t3")]
    (tmp_path / "all.tsv").write_text("\n".join(rows) + "\n")
    with pytest.raises(BciiglError, match="has events of runs 1, 2, 4, 5, 6, but none of run 3"):
        made([tmp_path / "all.nii.gz"], [tmp_path / "all.tsv"])
    (tmp_path / "all.tsv").write_text("\n".join(rows).replace("\t6", "\t3") + "\n")
    with pytest.raises(BciiglError, match="204 volumes are not 5 runs of equal length"):
        made([tmp_path / "all.nii.gz"], [tmp_path / "all.tsv"])


def test_windows_of_several_frames_follow_each_other(tmp_path):
    bold, events = write_recording(tmp_path)
    single, double = made(bold, events), made(bold, events, window=2)
    assert double.windows.shape == (RUNS * 3 * (BLOCK // 2), 2, 8)
    np.testing.assert_array_equal(double.windows[0], single.windows[:2, 0])


def test_events_that_do_not_fit_are_refused(tmp_path):
    bold, events = write_recording(tmp_path)
    whole = events[0].read_text()
    for text, message in [
        (whole + "60\t20\ta\n", r"run-1_events.tsv: a from 60 to 80 s does not fit .* 0 to 68 s"),
        (whole + "-3\t1\ta\n", "a from -3 to -2 s does not fit"),
        (
            whole + "soon\t1\ta\n",
            "run-1_events.tsv:5: onset and duration should be seconds, got 's",
        ),
        (whole + "nan\t1\ta\n", "run-1_events.tsv:5: onset and duration should be seconds"),
        (whole + "3\t2\tz\n", "begins before the window of the event before it is over"),
        (whole.replace("trial_type", "kind"), "run-1_events.tsv: has no column trial_type"),
        (whole + "3\t2\n", "run-1_events.tsv:5: has 2 columns, not 3"),
        ("onset\tduration\ttrial_type\n", "run-1_events.tsv: has no events"),
    ]:
        events[0].write_text(text)
        with pytest.raises(BciiglError, match=message):
            made(bold, events)
    events[0].write_text(whole + "60\t2\tlone\n")
    with pytest.raises(BciiglError, match="lone has 1 window, in 1 of the runs .* --skip 'lone'"):
        made(bold, events)
    assert made(bold, events, skip=["Lone"]).about.categories == ["a", "b", "c"]


def test_missing_runs_are_refused(tmp_path):
    bold, events = write_recording(tmp_path)
    with pytest.raises(BciiglError, match="got 6 recordings and 5 tables of events"):
        made(bold, events[:-1])
    with pytest.raises(BciiglError, match="needs 2 runs to learn from and 2 others .* got 1 and 2"):
        made(bold[:3], events[:3])
    with pytest.raises(BciiglError, match="there is no run 9 to test on: runs are 1 to 6"):
        made(bold, events, test_runs=[5, 9])
    with pytest.raises(BciiglError, match="run-1_events.tsv: no such file"):
        made(bold, [tmp_path / "nothing" / "run-1_events.tsv", *events[1:]])
    with pytest.raises(BciiglError, match="no such file"):
        made([tmp_path / "nothing.nii.gz", *bold[1:]], events)


def test_recordings_that_do_not_fit_each_other_or_are_broken_are_refused(tmp_path):
    bold, events = write_recording(tmp_path)
    whole = data_of(bold[1])
    broken = whole.copy()
    broken[1, 2, 0, 7] = np.nan
    for data, tr, message in [
        (broken, TR, r"run-2.*: 1 values are NaN or infinite, the first at \[1, 2, 0, 7\]"),
        (whole[:2], TR, "should be on the grid of .*run-1.*, got 2 x 3 x 2 voxels, not 3 x 3 x 2"),
        (whole[..., 0], TR, "run-2.*: should be a series of volumes"),
        (whole, 1.0, "has a TR of 1 s, but .*run-1.* of 2 s"),
        (whole[..., :8], TR, "does not fit the recording|should be of 10 volumes or more"),
        (np.full_like(whole, 7), TR, "no voxel changes in time in every run"),
    ]:
        if data.ndim == 4:
            save(bold[1], data, tr)
        else:
            nibabel.save(nibabel.Nifti1Image(data, np.diag([3.0, 3.0, 3.0, 1.0])), bold[1])
        with pytest.raises(BciiglError, match=message):
            made(bold, events)


def test_masks_are_of_voxels_that_change(tmp_path):
    bold, events = write_recording(tmp_path)
    mask = np.zeros(SHAPE, np.uint8)
    mask[0] = 1
    path = tmp_path / "mask.nii.gz"
    nibabel.save(nibabel.Nifti1Image(mask, np.diag([3.0, 3.0, 3.0, 1.0])), path)
    with pytest.raises(BciiglError, match=r"1 of its 6 voxels never change .* \[0, 0, 0\]"):
        made(bold, events, mask=path)
    mask[0, 0, 0] = 0
    nibabel.save(nibabel.Nifti1Image(mask, np.diag([3.0, 3.0, 3.0, 1.0])), path)
    assert (made(bold, events, mask=path).region.voxels[:, 0] == 0).all()
