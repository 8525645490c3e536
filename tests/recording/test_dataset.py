"""Datasets that are read back, and those that cannot be."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from interactions import flat
from recordings import REGION, made_up_estimates, made_up_run, small, write_made_up

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain
from bciigl.brain.images import write_image
from bciigl.estimate import UNCALIBRATED
from bciigl.loop import record
from bciigl.protocol import ProtocolError
from bciigl.protocol.timetable import timetable
from bciigl.recording import DatasetError, is_dataset, open_dataset
from bciigl.recording.bids import write_description, write_estimates, write_run
from bciigl.recording.layout import DESCRIPTION, ESTIMATES, JOURNAL, PROTOCOL, TRUTH
from bciigl.recording.trial import RunId
from bciigl.study.learning import load_sessions, matches_by_fifths

RUN = "sub-01/ses-{}/func/sub-01_ses-{}_task-small_run-{:02}_{}"


@pytest.fixture
def folder(tmp_path):
    """Return a whole dataset that no brain made."""
    write_made_up(tmp_path, small(task={"catch": {"share": 0.5}}))
    return tmp_path


def interactions_file(folder, session="train", run=1):
    return folder / ESTIMATES / RUN.format(session, session, run, "interactions.npz")


def estimates_file(folder, session="train", run=1):
    return folder / ESTIMATES / RUN.format(session, session, run, "estimates.npz")


def truth_file(folder, session="train", run=1):
    return folder / TRUTH / RUN.format(session, session, run, "truth.tsv")


def change_arrays(path: Path, **arrays) -> None:
    """Write arrays of a run anew; None leaves one out."""
    with np.load(path) as file:
        content = {**file, **arrays}
    np.savez(path, **{name: each for name, each in content.items() if each is not None})


def read_all(folder) -> None:
    """Read a dataset in all ways there are."""
    dataset = open_dataset(folder)
    flat(load_sessions(dataset))
    matches_by_fifths(dataset.sessions["train"])


def test_what_was_recorded_is_read_back(folder):
    shutil.rmtree(folder)
    protocol = small(task={"catch": {"share": 0.5}})
    written = write_made_up(folder, protocol)
    dataset = open_dataset(str(folder))
    assert dataset.protocol == protocol
    assert is_dataset(folder)
    assert list(dataset.sessions) == ["train", "test"]
    for session, numbers in {"train": [1, 1, 1, 1, 2, 2, 2], "test": [1, 1, 1]}.items():
        runs = [each for place, each in written.items() if place.session == session]
        trials = [trial for run in runs for trial in run.trials]
        found, truth = dataset.sessions[session]
        np.testing.assert_array_equal(found.run, numbers)
        for name in ("action", "propensity", "catch"):
            np.testing.assert_array_equal(
                getattr(found, name), [getattr(each, name) for each in trials]
            )
        estimates = zip(*map(made_up_estimates, runs), strict=True)
        for name, expected in zip(("context", "feedback"), estimates, strict=True):
            np.testing.assert_array_equal(getattr(found, name), np.concatenate(expected))
        assert (found.match_rate, found.n_actions) == (0.8, 3)
        for name in ("meant", "imagined", "match", "judged"):
            expected = np.concatenate([getattr(run.truth, name) for run in runs])
            np.testing.assert_array_equal(getattr(truth, name), expected)
        assert truth.match.dtype == truth.judged.dtype == bool
    # What the agent saw is kept, too.
    with np.load(interactions_file(folder)) as arrays:
        for name, kept in {"context": "context", "feedback": "feedback_so_far"}.items():
            expected = [getattr(trial, name) for trial in written["train", 1].trials]
            np.testing.assert_array_equal(arrays[kept], expected)


def test_dataset_without_estimates_in_files_of_their_own_is_read(folder):
    """As in earlier versions: all of a run is in one file."""
    for path in (folder / ESTIMATES).rglob("*_estimates.npz"):
        path.unlink()
    for path in (folder / ESTIMATES).rglob("*_interactions.npz"):
        with np.load(path) as file:
            so_far = file["feedback_so_far"]
        change_arrays(path, feedback=so_far + 1)
    found = open_dataset(folder)
    with np.load(interactions_file(folder)) as arrays:
        mine = found.sessions["train"].rows(np.arange(4)).interactions
        np.testing.assert_array_equal(mine.context, arrays["context"])
        np.testing.assert_array_equal(mine.feedback, arrays["feedback"])
    assert found.calibration == UNCALIBRATED


def test_truth_of_a_session_fits_its_guesses(tmp_path):
    protocol = small(task={"options": [7, "b c", "é"], "trials": 20, "trials_per_run": 11})
    record(protocol, tmp_path / "dataset")
    dataset = open_dataset(tmp_path / "dataset")
    for seen, truth in dataset.sessions.values():
        np.testing.assert_array_equal(truth.match, truth.meant == seen.action)
        np.testing.assert_array_equal(truth.match, truth.judged)  # this person never lapses
        np.testing.assert_array_equal(truth.meant, truth.imagined)
        assert set(truth.meant) <= {0, 1, 2}
        assert seen.catch is seen.match_rate is None


def test_more_than_99_runs_are_read_in_their_order(tmp_path):
    protocol, rng = small(task={"trials": 101, "trials_per_run": 1}), np.random.default_rng(0)
    write_description(tmp_path, protocol, REGION)
    runs = {number: made_up_run(protocol, 1, rng) for number in (101, 9, 10, 100, 1, 99)}
    for number, run in runs.items():
        trials = [run.trials[0]._replace(catch=False)]
        place = RunId("train", number)
        run = run._replace(trials=trials)
        write_run(tmp_path, protocol, REGION, place, run)
        write_estimates(tmp_path, protocol, place, *made_up_estimates(run))
    dataset = open_dataset(tmp_path)
    assert dataset.missing_runs("train") == 95
    found = dataset.sessions["train"].interactions
    np.testing.assert_array_equal(found.run, sorted(runs))
    contexts = [2 * runs[number].trials[0].context for number in sorted(runs)]
    np.testing.assert_array_equal(found.context, contexts)


def test_trials_without_an_estimate_are_left_out_with_their_truth(folder):
    before = open_dataset(folder).sessions["train"]
    with np.load(estimates_file(folder)) as file:
        context, feedback = file["context"], file["feedback"]
    context[1], feedback[3] = np.nan, np.nan
    change_arrays(estimates_file(folder), context=context, feedback=feedback)
    after = open_dataset(folder).sessions["train"]
    left = [0, 2, 4, 5, 6]
    for name in ("context", "action", "feedback", "propensity", "run", "catch"):
        found, known = (getattr(each.interactions, name) for each in (after, before))
        np.testing.assert_array_equal(found, known[left])
    for name in ("meant", "imagined", "match", "judged"):
        found, known = (getattr(each.truth, name) for each in (after, before))
        np.testing.assert_array_equal(found, known[left])


def test_random_times_of_another_seed_are_refused_however_close(tmp_path):
    mine = small(timing={"jitter": 0.01})
    write_made_up(tmp_path, mine)
    dataset = open_dataset(tmp_path)
    assert len(dataset.shown("train", 1)) == 4
    with pytest.raises(DatasetError, match="the seed and the timing of the recording"):
        replace(dataset, protocol=mine.model_copy(update={"seed": 1})).timetable("train", 1)


def test_dataset_of_version_0_1_is_read(folder):
    """It called the array of catch trials baseline."""
    before = open_dataset(folder).sessions
    for path in (folder / ESTIMATES).rglob("*_interactions.npz"):
        with np.load(path) as file:
            catch = file["catch"]
        change_arrays(path, catch=None, baseline=catch)
    after = open_dataset(folder).sessions
    for name, (interactions, truth) in before.items():
        np.testing.assert_equal(vars(after[name].interactions), vars(interactions))
        np.testing.assert_equal(vars(after[name].truth), vars(truth))


def test_without_the_truth_all_else_is_the_same(folder):
    before = flat(load_sessions(open_dataset(folder)))
    shutil.rmtree(folder / TRUTH)
    dataset = open_dataset(folder)
    assert dataset.sessions["train"].truth is dataset.sessions["test"].truth is None
    assert dataset.run_truth("train", 1) is None
    assert matches_by_fifths(dataset.sessions["train"]) is None
    after = flat(load_sessions(dataset))
    assert after.reward is after.label is after.test_label is None
    for name in ("context", "action", "feedback", "run", "propensity", "test_context"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_folder_that_is_no_dataset_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert not is_dataset(folder)
        with pytest.raises(DatasetError, match="is not a dataset of bciigl") as error:
            open_dataset(folder)
        assert str(error.value).startswith(f"{folder}: ")


def test_dataset_without_its_protocol_is_refused(folder):
    (folder / PROTOCOL).unlink()
    assert is_dataset(folder)
    with pytest.raises(DatasetError, match=f"{PROTOCOL} is missing"):
        open_dataset(folder)


def test_dataset_with_a_broken_protocol_is_refused(folder):
    for content in (b"", b"\xff", b"name: small\n", b"[", b"name: [1"):
        (folder / PROTOCOL).write_bytes(content)
        with pytest.raises(ProtocolError, match="protocol.yaml"):
            open_dataset(folder)


def test_dataset_that_is_not_finished_is_refused(folder):
    (folder / JOURNAL).touch()
    with pytest.raises(
        DatasetError, match="is not finished; resume it with bciigl simulate --resume"
    ):
        open_dataset(folder)
    (folder / DESCRIPTION).unlink()
    assert is_dataset(folder)


def test_several_subjects_are_refused(folder):
    root = folder / ESTIMATES
    shutil.copytree(root / "sub-01", root / "sub-02")
    with pytest.raises(DatasetError, match="should have one subject, got sub-01, sub-02"):
        open_dataset(folder).sessions["train"]


def test_session_that_is_not_there_is_named(folder):
    shutil.rmtree(folder / ESTIMATES / "sub-01" / "ses-test")
    dataset = open_dataset(folder)
    assert list(dataset.sessions) == ["train"]
    assert (dataset.has("train"), dataset.has("test")) == (True, False)
    recorded = flat(load_sessions(dataset))
    assert recorded.test_context is recorded.test_label is None
    assert recorded.label is not None
    shutil.rmtree(folder / ESTIMATES / "sub-01" / "ses-train")
    with pytest.raises(DatasetError, match="has no interactions of ses-train"):
        flat(load_sessions(open_dataset(folder)))


def test_run_that_is_missing_is_told(folder, bciigl):
    assert open_dataset(folder).missing_runs("train") == 0
    next((folder / ESTIMATES).rglob("*ses-train*run-01_interactions.npz")).unlink()
    dataset = open_dataset(folder)
    assert (dataset.missing_runs("train"), dataset.missing_runs("test")) == (1, 0)
    assert set(dataset.sessions["train"].interactions.run) == {2}
    result = bciigl("learn", folder, "--learner", "ai_igl")
    assert result.exit_code == 0
    assert "1 of the runs that the protocol plans for ses-train are missing" in result.stderr


def test_interactions_that_do_not_fit_are_refused_by_name(folder):
    path, anew = interactions_file(folder), estimates_file(folder)
    whole = {each: each.read_bytes() for each in (path, anew)}
    for arrays, message in [
        ({"action": None}, f"{path}: has no array action"),
        ({"action": None, "actions": np.zeros(4)}, "has no array action; did you mean 'actions'"),
        ({"feedback": np.zeros((3, 5))}, f"{anew}: feedback should have one row for each trial"),
        ({"propensity": np.array(0.5)}, f"{path}: propensity should have one row for each trial"),
        ({"context": np.array(0.5)}, f"{anew}: context should have one row for each trial"),
        ({"catch": np.array([None] * 4)}, f"{path}: is not readable as arrays of numbers"),
        ({"context": np.zeros((4, 4))}, "context"),
        ({"context": np.zeros(4)}, f"{anew}: context"),
        ({"context": np.full((4, 5), "x")}, f"{anew}: context"),
        ({"feedback": np.zeros((4, 5, 1))}, f"{anew}: feedback"),
        ({"action": np.full(4, 3)}, "action"),
        ({"action": np.full(4, "a")}, f"{path}: action"),
        ({"action": np.zeros((4, 1))}, f"{path}: action"),
        ({"propensity": np.zeros(4)}, "propensity"),
        ({"catch": np.full(4, 0.5)}, "catch"),
        ({"catch": np.zeros((4, 1))}, f"{path}: catch"),
        ({"catch": np.full(4, "a")}, f"{path}: catch"),
    ]:
        for each, content in whole.items():
            each.write_bytes(content)
        change_arrays(anew if {"context", "feedback"} & set(arrays) else path, **arrays)
        with pytest.raises(BciiglError) as error:
            flat(load_sessions(open_dataset(folder)))
        assert message in str(error.value), arrays
        assert str(folder) in str(error.value), arrays


def test_truth_that_is_damaged_is_refused_by_file(folder):
    path = truth_file(folder)
    content = path.read_bytes()
    head, _, row = content.rpartition(b"\t")
    for damaged, message in [
        (content.replace(b"\t", b","), "has no column meant"),
        (content.replace(b"meant", b"mean"), "has no column meant"),
        (content.replace(b"true", b"yes"), "'yes' should be one of false, true"),
        (content.replace(b"false", b""), "'' should be one of false, true"),
        (content.replace(b"\ta\t", b"\tA\t"), "'A' should be one of a, b, c"),
        (head + b"\t\t" + row, "columns, not"),
        (content.replace(b"true", b"\xff"), "is not UTF-8 text"),
        (content + b"5\ta\ta\ttrue\ttrue\n", "has 5 trials, not 4"),
        (content[: content.rindex(b"\n", 0, -1) + 1], "has 3 trials, not 4"),
        (None, "no such file"),
    ]:
        path.unlink() if damaged is None else path.write_bytes(damaged)
        with pytest.raises(DatasetError) as error:
            flat(load_sessions(open_dataset(folder)))
        assert str(error.value).startswith(f"{path}:"), message
        assert message in str(error.value)


def test_catch_trials_that_the_protocol_does_not_plan_are_refused(tmp_path):
    write_made_up(tmp_path, small())
    with pytest.raises(DatasetError) as error:
        flat(load_sessions(open_dataset(tmp_path)))
    assert str(error.value).startswith(f"{tmp_path}: ")


def test_damaged_files_are_harmless_or_an_error_that_names_them(folder):
    rng = np.random.default_rng(0)
    for path in (interactions_file(folder), truth_file(folder)):
        content, noticed = path.read_bytes(), 0
        # Without its last line feed a table is whole.
        for cut in np.unique(np.linspace(0, len(content) - 2, 6).astype(int)):
            path.write_bytes(content[:cut])
            with pytest.raises(BciiglError, match=path.name):
                read_all(folder)
        for _ in range(15):
            damaged = bytearray(content)
            damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
            path.write_bytes(damaged)
            try:
                read_all(folder)
            except BciiglError:
                noticed += 1
        assert noticed > 5
        path.write_bytes(content)


def test_dataset_of_a_region_in_a_file_can_be_opened_without_that_file(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    brain = Brain(small())
    mask = np.zeros(brain.subject.shape, np.uint8)
    mask[brain.region.index] = 1
    write_image(source / "roi.nii.gz", mask, brain.subject.affine)
    protocol = small(brain={"region": {"shape": "mask", "file": "roi.nii.gz"}})
    record(protocol, tmp_path / "dataset", folder=source)
    shutil.rmtree(source)
    assert open_dataset(tmp_path / "dataset").protocol == protocol
    assert flat(load_sessions(open_dataset(tmp_path / "dataset"))).context.shape == (7, 64)


@pytest.mark.parametrize("recording", ["shared", "separate"])
def test_frames_and_events_of_a_run_are_as_recorded(tmp_path, recording):
    protocol = small(recording=recording)
    written = write_made_up(tmp_path / "dataset", protocol)
    frames, trials, *_ = written["train", 2]
    dataset = open_dataset(tmp_path / "dataset")
    found = dataset.frames("train", 2)
    if recording == "shared":
        frames, found = {None: frames}, {None: found}
    assert list(found) == list(frames)
    for kind, series in frames.items():
        np.testing.assert_array_equal(found[kind], series.astype(np.float32))
    events = dataset.events("train", 2)
    assert [each.onset for each in events] == sorted(each.onset for each in events)
    for number, trial in enumerate(trials, start=1):
        mine = [each for each in events if each.trial == number]
        assert {each.kind for each in mine} == set(protocol.task.events)
        assert {each.guess for each in mine} == {protocol.task.options[trial.action]}
        assert {each.catch for each in mine} == {trial.catch}
        onset = next(each.onset for each in mine if each.kind == "imagination")
        assert onset == timetable(protocol, number).starts[number - 1]


def test_frames_and_events_that_came_to_harm_are_refused(tmp_path):
    write_made_up(tmp_path / "dataset", small())
    dataset = open_dataset(tmp_path / "dataset")
    stem = tmp_path / "dataset/sub-01/ses-train/func/sub-01_ses-train_task-small_run-01"
    events = Path(f"{stem}_events.tsv")
    events.write_text(events.read_text().replace("12\t2\timagination", "soon\t2\timagination"))
    with pytest.raises(DatasetError, match="run-01_events.tsv: could not convert"):
        dataset.events("train", 1)
    write_image(f"{stem}_bold.nii.gz", np.ones((2, 2, 2, 3)), np.eye(4))
    with pytest.raises(DatasetError, match="should be a series on the grid of"):
        dataset.frames("train", 1)
    Path(f"{stem}_bold.nii.gz").unlink()
    with pytest.raises(BciiglError, match="run-01_bold.nii.gz: no such file"):
        dataset.frames("train", 1)
