"""A brain made of recordings: real responses in a simulated task."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kills import digests
from recorded import TR, make_subject, semi_real
from recordings import Stopped, stop_after

from bciigl.base.errors import BciiglError
from bciigl.brain.check import brain_findings
from bciigl.brain.recorded import load_recorded
from bciigl.loop import record, resume, simulate
from bciigl.protocol import ProtocolError
from bciigl.recording import open_dataset
from bciigl.source import RecordedSource, make_source
from bciigl.testing import check_source


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """Return a folder with a recorded subject and a protocol."""
    folder = tmp_path_factory.mktemp("recorded")
    make_subject(folder)
    semi_real(folder)
    return folder


def marked(folder: Path, home: Path) -> Path:
    """Copy the subject; in the copy each window has a value of its own: its number from 1."""
    shutil.copytree(home, folder)
    subject = load_recorded(folder / "anna")
    numbers = np.arange(1, len(subject.run) + 1)[:, None, None]
    shutil.rmtree(folder / "anna")
    windows = np.broadcast_to(numbers, subject.windows.shape).astype(np.float32)
    replace(subject, windows=windows).save(folder / "anna")
    return folder


def used(out: Path, session: str) -> tuple[np.ndarray, np.ndarray]:
    """Return which windows, from 0, were recorded as imagination and as perception."""
    dataset = open_dataset(out)
    counts = {"train": [4, 4, 2], "test": [4, 1]}[session]
    frames = [dataset.frames(session, run) for run in range(1, len(counts) + 1)]
    assert [len(each) for each in frames] == [2 * count for count in counts]
    first = np.concatenate(frames)[:, 0].round().astype(int) - 1
    return first[::2], first[1::2]


def test_times_are_those_of_the_recording(home):
    protocol = semi_real(home)
    timing = protocol.timing
    assert (timing.tr, timing.event, timing.isi, timing.burn_in) == (TR, TR, 0.0, 0.0)
    assert timing.together
    assert protocol.brain.responses == "recorded"
    assert protocol.estimate.method == "window"
    assert not brain_findings(protocol, home)
    wide = home / "wide"
    wide.mkdir()
    make_subject(wide, window=2)
    assert semi_real(wide).timing.event == 2 * TR
    check_source(make_source(semi_real(wide), wide), semi_real(wide))


def test_no_frame_of_a_test_run_is_in_a_training_array_and_none_is_used_twice(home, tmp_path):
    folder = marked(tmp_path / "home", home)
    subject = load_recorded(folder / "anna")
    # Without an added judgment, so that each frame of the dataset is a real one.
    changes = {"task.events": ["imagination", "perception"], "estimate.normalise": False}
    changes["feedback.perception"] = 1.0
    record(semi_real(folder, changes), tmp_path / "out", folder=folder)
    dataset, everything = open_dataset(tmp_path / "out"), []
    for session in ("train", "test"):
        imagined, seen = used(tmp_path / "out", session)
        both = np.concatenate([imagined, seen])
        tests = np.isin(subject.run[both], subject.about.test_runs)
        assert (tests == (session == "test")).all()
        assert (subject.run[imagined] != subject.run[seen]).all()
        everything += both.tolist()
        interactions, truth = dataset.sessions[session]
        np.testing.assert_array_equal(interactions.context[:, 0] - 1, imagined)
        np.testing.assert_array_equal(interactions.feedback[:, 0] - 1, seen)
        # What answers is a presentation of the option itself.
        np.testing.assert_array_equal(subject.category[imagined], truth.imagined)
        np.testing.assert_array_equal(subject.category[seen], interactions.action)
    assert len(set(everything)) == len(everything)


def test_judged_matches_have_a_pattern_of_the_stated_strength(home, tmp_path):
    folder = marked(tmp_path / "home", home)
    protocol = semi_real(folder, {"brain.cnr": 0.25, "estimate.normalise": False})
    train, truth = simulate(protocol, folder=folder)["train"]
    added = train.feedback - train.feedback.round()
    rms = np.sqrt((added**2).mean(axis=1))
    assert truth.match.any() and not truth.match.all()
    np.testing.assert_allclose(rms, np.where(truth.match, 0.25, 0.0), atol=1e-4)
    assert np.ptp(added[truth.match], axis=0).max() < 1e-4


def test_real_judgments_have_windows_of_their_own(tmp_path):
    subject = make_subject(tmp_path, kinds=("a", "b", "c", "match", "mismatch"))
    assert subject.about.labelled
    folder = marked(tmp_path / "home", tmp_path)
    protocol = semi_real(folder, {"task.trials": 4, "evaluation.test_trials": 3})
    assert not protocol.timing.together
    record(protocol, tmp_path / "out", folder=folder)
    dataset = open_dataset(tmp_path / "out")
    windows = dataset.frames("train", 1)[:, 0].round().astype(int).reshape(4, 3) - 1
    judged = [subject.about.categories[each] for each in subject.category[windows[:, 2]]]
    truth = dataset.sessions["train"].truth
    assert judged == ["match" if each else "mismatch" for each in truth.judged]
    assert (subject.run[windows[:, 0]] != subject.run[windows[:, 2]]).all()
    assert "judgments are real responses" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize("calls", [2, 6, 10])
def test_stopped_session_is_resumed_to_the_same_bytes(home, tmp_path, calls):
    protocol = semi_real(home, {"task.catch.share": 0.3})
    record(protocol, tmp_path / "whole", folder=home)
    with pytest.raises(Stopped):
        record(protocol, tmp_path / "again", folder=home, progress=stop_after(calls))
    resume(tmp_path / "again", speed=1e6 if calls == 10 else None)
    assert digests(tmp_path / "again") == digests(tmp_path / "whole")


def test_session_ends_when_responses_are_used_up_unless_they_may_be_used_again(home, caplog):
    # The subject has 4 runs to learn from with 5 windows of each option: 30 trials at the most.
    changes = {"task.trials": 30, "task.trials_per_run": 10, "evaluation.test_trials": 4}
    protocol = semi_real(home, changes)
    found = simulate(protocol, folder=home)["train"].interactions
    assert 15 < found.trials < 30
    assert len(found.context) == found.trials
    assert "the train session ends in run" in caplog.text
    caplog.clear()
    again = semi_real(home, {**changes, "task.trials": 60, "brain.reuse": True})
    assert simulate(again, folder=home)["train"].interactions.trials == 60
    assert not caplog.text


def test_what_the_recording_cannot_answer_is_refused(home):
    for changes, message in [
        ({"task.trials": 31}, "task.trials: should be at most 30, got 31: no real response is us"),
        ({"evaluation.test_trials": 99}, "test_trials: should be at most 15, got 99: .* runs 5, 6"),
        ({"task.options": ["a", "b", "sea"]}, "'sea' is not among what anna was shown: a, b, c"),
        ({"timing.isi": 3.0}, "timing.isi: is 0.0 for the recorded subject anna, .* got 3.0"),
        ({"brain.noise": 0.1}, "brain.noise: is 1.0 for the recorded subject"),
        ({"brain.region": {"size": 3}}, "brain.region: does not go with the recorded subject"),
        (
            {"population.brain.hrf_delay": [0, 1]},
            "population.brain.hrf_delay: does not go with the recorded subject",
        ),
        ({"population.brain.noise": [0.5, 1]}, "population.brain.noise: does not go with"),
        ({"recording": "separate", "timing.together": True}, "recording: should be shared"),
        ({"task.events": ["imagination", "judgment"]}, "task.events: should have perception"),
    ]:
        with pytest.raises(ProtocolError, match=message):
            semi_real(home, changes, further=brain_findings)
        with pytest.raises(BciiglError, match=message):
            RecordedSource(semi_real(home, changes), home)


def test_damaged_subject_is_refused(home, tmp_path):
    folder = tmp_path / "home"
    shutil.copytree(home, folder)
    subject = load_recorded(folder / "anna")
    shutil.rmtree(folder / "anna")
    replace(subject, run=subject.run[:-1]).save(folder / "anna")
    with pytest.raises(ProtocolError, match="windows.npz: does not fit subject.json"):
        semi_real(folder, further=brain_findings)
    (folder / "anna" / "windows.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ProtocolError, match="windows.npz: is not readable"):
        semi_real(folder, further=brain_findings)
    (folder / "anna" / "subject.json").write_text('{"kind": "recorded", "tr": -1}')
    with pytest.raises(ProtocolError, match="subject.json: tr: "):
        semi_real(folder, further=brain_findings)
    with pytest.raises(ProtocolError, match="brain.responses: is for recorded subjects"):
        semi_real(
            folder,
            {"brain.subject": "brainiak", "brain.responses": "recorded"},
            further=brain_findings,
        )


def test_changed_subject_is_not_resumed_with(home, tmp_path):
    folder = tmp_path / "home"
    shutil.copytree(home, folder)
    with pytest.raises(Stopped):
        record(semi_real(folder), tmp_path / "out", folder=folder, progress=stop_after(3))
    subject = load_recorded(folder / "anna")
    shutil.rmtree(folder / "anna")
    replace(subject, windows=subject.windows + 1).save(folder / "anna")
    with pytest.raises(BciiglError, match="the subject or the region is not what it was"):
        resume(tmp_path / "out")
