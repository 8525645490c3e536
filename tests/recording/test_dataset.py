"""Datasets that are read back, and those that cannot be."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from interactions import flat
from recordings import small, write_made_up

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain
from bciigl.brain.images import write_image
from bciigl.loop.session import record
from bciigl.protocol import ProtocolError
from bciigl.protocol.schedule import trial_start
from bciigl.recording import DatasetError, is_dataset, open_dataset
from bciigl.recording.layout import DESCRIPTION, ESTIMATES, JOURNAL, PROTOCOL, TRUTH
from bciigl.study.learning import load_sessions, matches_by_fifths

RUN = "sub-01/ses-{}/func/sub-01_ses-{}_task-small_run-{:02}_{}"


@pytest.fixture
def folder(tmp_path):
    """Return a whole dataset that no brain made."""
    write_made_up(tmp_path, small(task={"catch": {"share": 0.5}}))
    return tmp_path


def interactions_file(folder, session="train", run=1):
    return folder / ESTIMATES / RUN.format(session, session, run, "interactions.npz")


def truth_file(folder, session="train", run=1):
    return folder / TRUTH / RUN.format(session, session, run, "truth.tsv")


def read_all(dataset) -> None:
    """Read a dataset in all ways there are."""
    for session in ("train", "test"):
        dataset.interactions(session)
        dataset.truth(session)
    matches_by_fifths(load_sessions(dataset)["train"])


def test_what_was_recorded_is_read_back(tmp_path):
    protocol = small()
    written = write_made_up(tmp_path, protocol)
    dataset = open_dataset(str(tmp_path))
    assert dataset.protocol == protocol
    assert is_dataset(tmp_path)
    for session, runs in {"train": [1, 1, 1, 1, 2, 2, 2], "test": [1, 1, 1]}.items():
        parts = [each for (name, _), each in written.items() if name == session]
        trials = [trial for part in parts for trial in part[1]]
        found = dataset.interactions(session)
        assert set(found) == {"context", "action", "propensity", "catch", "feedback", "run"}
        np.testing.assert_array_equal(found["run"], runs)
        np.testing.assert_array_equal(found["context"], [each.context for each in trials])
        np.testing.assert_array_equal(found["action"], [each.action for each in trials])
        np.testing.assert_array_equal(found["propensity"], [each.propensity for each in trials])
        np.testing.assert_array_equal(found["catch"], [each.catch for each in trials])
        np.testing.assert_array_equal(found["feedback"], np.concatenate([p[2] for p in parts]))
        truth = dataset.truth(session)
        for name in ("meant", "imagined", "match", "judged"):
            expected = np.concatenate([getattr(part[3], name) for part in parts])
            np.testing.assert_array_equal(getattr(truth, name), expected)
        assert truth.match.dtype == truth.judged.dtype == bool


def test_feedback_as_the_agent_got_it_is_kept_too(tmp_path):
    written = write_made_up(tmp_path, small())
    with np.load(interactions_file(tmp_path)) as arrays:
        expected = [trial.feedback for trial in written["train", 0][1]]
        np.testing.assert_array_equal(arrays["feedback_so_far"], expected)


def test_truth_of_a_session_fits_its_guesses(tmp_path):
    protocol = small(task={"options": [7, "b c", "é"], "trials": 40, "trials_per_run": 11})
    record(protocol, tmp_path / "dataset")
    dataset = open_dataset(tmp_path / "dataset")
    for session in ("train", "test"):
        seen, truth = dataset.interactions(session), dataset.truth(session)
        np.testing.assert_array_equal(truth.match, truth.meant == seen["action"])
        np.testing.assert_array_equal(truth.match, truth.judged)  # this person never lapses
        np.testing.assert_array_equal(truth.meant, truth.imagined)
        assert set(truth.meant) <= {0, 1, 2}
    recorded = flat(load_sessions(dataset))
    np.testing.assert_array_equal(recorded.label, dataset.truth("train").meant)
    np.testing.assert_array_equal(recorded.test_label, dataset.truth("test").meant)
    assert len(recorded.test_context) == 3
    assert recorded.catch is None


def test_more_than_99_runs_are_read_in_their_order(tmp_path):
    protocol = small(task={"trials": 101, "trials_per_run": 1})
    written = write_made_up(tmp_path, protocol)
    found = open_dataset(tmp_path).interactions("train")
    np.testing.assert_array_equal(found["run"], np.arange(101) + 1)
    contexts = [each[1][0].context for (name, _), each in written.items() if name == "train"]
    np.testing.assert_array_equal(found["context"], contexts)


def test_without_the_truth_all_else_is_the_same(folder):
    before = flat(load_sessions(open_dataset(folder)))
    shutil.rmtree(folder / TRUTH)
    dataset = open_dataset(folder)
    assert dataset.truth("train") is dataset.truth("test") is None
    assert matches_by_fifths(load_sessions(dataset)["train"]) is None
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


@pytest.mark.parametrize("content", [b"", b"\xff", b"name: small\n", b"[", b"name: [1"])
def test_dataset_with_a_broken_protocol_is_refused(folder, content):
    (folder / PROTOCOL).write_bytes(content)
    with pytest.raises(ProtocolError, match="protocol.yaml"):
        open_dataset(folder)


def test_dataset_that_is_not_finished_is_refused(folder):
    (folder / JOURNAL).touch()
    with pytest.raises(DatasetError, match="is not finished; bciigl simulate --resume"):
        open_dataset(folder)
    (folder / DESCRIPTION).unlink()
    assert is_dataset(folder)


def test_several_subjects_are_refused(folder):
    root = folder / ESTIMATES
    shutil.copytree(root / "sub-01", root / "sub-02")
    with pytest.raises(DatasetError, match="should have one subject, got sub-01, sub-02"):
        open_dataset(folder).interactions("train")


def test_session_that_is_not_there_is_named(folder):
    shutil.rmtree(folder / ESTIMATES / "sub-01" / "ses-test")
    dataset = open_dataset(folder)
    assert len(dataset.interactions("train")["action"]) == 7
    with pytest.raises(DatasetError, match="has no interactions of ses-test"):
        dataset.interactions("test")
    recorded = flat(load_sessions(dataset))
    assert recorded.test_context is recorded.test_label is None
    assert recorded.label is not None


def test_run_that_is_missing_is_told(folder, bciigl):
    assert open_dataset(folder).missing_runs("train") == 0
    next((folder / ESTIMATES).rglob("*ses-train*run-01_interactions.npz")).unlink()
    dataset = open_dataset(folder)
    assert (dataset.missing_runs("train"), dataset.missing_runs("test")) == (1, 0)
    assert set(dataset.interactions("train")["run"]) == {2}
    result = bciigl("learn", folder, "--learner", "ai_igl")
    assert result.exit_code == 0
    assert "1 of the runs that the protocol plans for ses-train are missing" in result.stderr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"action": None}, "has no array action"),
        ({"action": None, "actions": np.zeros(4)}, "has no array action; did you mean 'actions'"),
        ({"feedback": np.zeros((3, 5))}, "feedback should have one row for each trial"),
        ({"propensity": np.array(0.5)}, "propensity should have one row for each trial"),
        ({"context": np.array(0.5)}, "context should have one row for each trial"),
        ({"catch": np.array([None] * 4)}, "is not readable as arrays of numbers"),
    ],
)
def test_interactions_that_do_not_fit_are_refused_by_file(folder, arrays, message):
    path = interactions_file(folder)
    with np.load(path) as file:
        content = {**file, **arrays}
    np.savez(path, **{name: each for name, each in content.items() if each is not None})
    with pytest.raises(BciiglError, match=message) as error:
        open_dataset(folder).interactions("train")
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("context", np.zeros((4, 4))),
        ("context", np.zeros(4)),
        ("context", np.full((4, 5), "x")),
        ("context", np.full((4, 5), np.nan)),
        ("feedback", np.zeros((4, 5, 1))),
        ("action", np.full(4, 3)),
        ("action", np.full(4, "a")),
        ("action", np.zeros((4, 1))),
        ("propensity", np.zeros(4)),
        ("catch", np.full(4, 0.5)),
        ("catch", np.zeros((4, 1))),
        ("catch", np.full(4, "a")),
    ],
)
def test_numbers_that_cannot_be_learned_from_are_refused(folder, name, array):
    path = interactions_file(folder)
    with np.load(path) as file:
        content = {**file, name: array}
    np.savez(path, **content)
    with pytest.raises(BciiglError, match=name):
        flat(load_sessions(open_dataset(folder)))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (b"\t", b",", "has no column meant"),
        (b"meant", b"mean", "has no column meant"),
        (b"true", b"yes", "'yes' should be one of false, true"),
        (b"false", b"", "'' should be one of false, true"),
        (b"\ta\t", b"\tA\t", "'A' should be one of a, b, c"),
        (b"\t", b"\t\t", "columns, not"),
        (b"true", b"\xff", "is not UTF-8 text"),
    ],
)
def test_truth_that_is_damaged_is_refused_by_file(folder, before, after, message):
    path = truth_file(folder)
    content = path.read_bytes()
    if message == "columns, not":  # in the last row alone
        head, _, row = content.rpartition(before)
        path.write_bytes(head + after + row)
    else:
        path.write_bytes(content.replace(before, after))
    assert path.read_bytes() != content
    with pytest.raises(DatasetError, match=message) as error:
        open_dataset(folder).truth("train")
    assert str(error.value).startswith(f"{path}:")


def test_truth_of_more_or_fewer_trials_is_refused(folder):
    path = truth_file(folder)
    content = path.read_text()
    path.write_text(content + "5\ta\ta\ttrue\ttrue\n")
    with pytest.raises(DatasetError, match="truth.tsv: has 5 trials, not 4"):
        open_dataset(folder).truth("train")
    path.write_text(content[: content.rindex("\n", 0, -1) + 1])
    with pytest.raises(DatasetError, match="truth.tsv: has 3 trials, not 4"):
        open_dataset(folder).truth("train")
    path.unlink()
    with pytest.raises(DatasetError, match="truth.tsv: no such file"):
        open_dataset(folder).truth("train")


def test_catch_trials_that_the_protocol_does_not_plan_are_refused(tmp_path):
    write_made_up(tmp_path, small())
    with pytest.raises(DatasetError) as error:
        flat(load_sessions(open_dataset(tmp_path)))
    assert str(error.value).startswith(f"{tmp_path}: ")


@pytest.mark.parametrize("which", [interactions_file, truth_file])
def test_file_cut_anywhere_is_an_error_that_names_it(folder, which):
    dataset, path = open_dataset(folder), which(folder)
    content = path.read_bytes()
    # Without its last line feed a table is whole.
    for cut in np.unique(np.linspace(0, len(content) - 2, 60).astype(int)):
        path.write_bytes(content[:cut])
        with pytest.raises(BciiglError, match=path.name):
            read_all(dataset)


@pytest.mark.parametrize("which", [interactions_file, truth_file])
def test_flipped_bits_are_harmless_or_an_error_of_ours(folder, which):
    dataset, path = open_dataset(folder), which(folder)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for _ in range(150):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            read_all(dataset)
        except BciiglError:
            noticed += 1
    assert noticed > 50


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
    frames, trials, *_ = written["train", 1]
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
        assert onset == trial_start(protocol, number - 1)


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
