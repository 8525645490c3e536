"""A recorded session, played back."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kills import digests
from recordings import Losing, Stopped, small, stop_after, use_source, whole

from bciigl.base.errors import BciiglError
from bciigl.loop import record, resume, simulate
from bciigl.protocol import Protocol
from bciigl.protocol.model import Estimate
from bciigl.recording import open_dataset
from bciigl.recording.layout import MASK, TRUTH
from bciigl.source import ReplaySource

SECTIONS = {
    "task": {"catch": {"share": 0.3}},
    "human": {"judgment_lapse": 0.3, "imagination_lapse": 0.3},
    "brain": {"region": {"shape": "sphere", "radius": 7.5}},
}
LOST = {("train", 1, index): "missing" for index in range(28, 32)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """Return a dataset in which frames are missing."""
    with pytest.MonkeyPatch.context() as patch:
        use_source(patch, partial(Losing, lost=LOST))
        return whole(small(**SECTIONS), tmp_path_factory.mktemp("replay") / "recorded")


def replay(path: Path) -> Protocol:
    return small(**SECTIONS, source={"name": "replay", "path": str(path)})


def assert_same_recording(found: Path, expected: Path) -> None:
    """Compare the sessions of two datasets bit by bit, and what was shown in each trial."""
    mine, other = open_dataset(found), open_dataset(expected)
    for name, (interactions, truth) in other.sessions.items():
        np.testing.assert_equal(vars(mine.sessions[name].interactions), vars(interactions))
        if truth is not None and mine.sessions[name].truth is not None:
            np.testing.assert_equal(vars(mine.sessions[name].truth), vars(truth))
    for place in (("train", 1), ("train", 2), ("test", 1)):
        np.testing.assert_array_equal(mine.frames(*place), other.frames(*place))
        assert mine.shown(*place) == other.shown(*place)


def test_replayed_session_is_the_recorded_one(recorded, tmp_path):
    with pytest.raises(Stopped):
        record(replay(recorded), tmp_path / "again", progress=stop_after(6))
    resume(tmp_path / "again")
    assert_same_recording(tmp_path / "again", recorded)
    assert digests(tmp_path / "again" / TRUTH) == digests(recorded / TRUTH)
    assert "\treplayed\n" in (tmp_path / "again" / "participants.tsv").read_text()
    sessions, known = simulate(replay(recorded)), open_dataset(recorded).sessions
    np.testing.assert_equal(vars(sessions["train"].interactions), vars(known["train"].interactions))
    assert len(known["train"].interactions.action) == 6  # a trial has too few frames
    # Paced, and from a path that is relative to a protocol's folder.
    mine = small(**SECTIONS, source={"name": "replay", "path": recorded.name})
    record(mine, tmp_path / "paced", folder=recorded.parent, speed=1e6)
    assert_same_recording(tmp_path / "paced", recorded)


def test_frames_that_the_recording_lacks_are_missing(recorded):
    source = ReplaySource(replay(recorded))
    source.begin_run("train", 1, 90)  # ten more than were recorded
    frames = source.read(30) + source.read(500)
    assert [each.index for each in frames] == list(range(90))
    lost = [*range(28, 32), *range(80, 90)]
    assert [each.index for each in frames if each.status == "missing"] == lost
    assert [each.index for each in frames if each.values is None] == lost
    assert source.elapsed() == 90 * 1.5
    assert source.read(500) == []


def test_plain_bids_dataset_of_another_subject_is_replayed(recorded, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(recorded, plain)
    shutil.rmtree(plain / "derivatives")
    for path in sorted(plain.rglob("sub-01*"), key=lambda each: -len(each.parts)):
        path.rename(path.with_name(path.name.replace("sub-01", "sub-anna")))
    assert ReplaySource(replay(plain)).n_voxels == ReplaySource(replay(recorded)).n_voxels
    record(replay(plain), tmp_path / "again")
    assert_same_recording(tmp_path / "again", recorded)
    assert not (tmp_path / "again" / TRUTH).exists()


def test_other_estimates_can_be_computed_from_the_same_frames(recorded, tmp_path):
    mine = replay(recorded).model_copy(update={"estimate": Estimate(method="frame")})
    found, known = simulate(mine)["train"], open_dataset(recorded).sessions["train"]
    assert not np.array_equal(found.interactions.context[0], known.interactions.context[0])
    np.testing.assert_array_equal(found.interactions.action[0], known.interactions.action[0])


def test_recording_that_does_not_fit_the_protocol_is_refused(recorded, tmp_path):
    broken = tmp_path / "broken"
    for changes, message in [
        ({"timing": {"isi": 9.0}}, "of trial 1 in run 1 of ses-train is at 21 s, but the protocol"),
        ({"task": {"trials_per_run": 3}}, "run 1 of ses-train has 4 trials, but the protocol"),
        ({"task": {"options": ["x", "y", "z"]}}, "should be one of x, y, z"),
        ({"task": {"trials": 40}}, "run 2 of ses-train has 3 trials, but the protocol plans 4"),
    ]:
        sections = {**SECTIONS, **changes, "source": {"name": "replay", "path": str(recorded)}}
        with pytest.raises(BciiglError, match=message):
            simulate(small(**sections))
    with pytest.raises(BciiglError, match="no such file"):
        simulate(replay(tmp_path / "nowhere"))
    shutil.copytree(recorded, broken)
    (broken / MASK).unlink()
    assert ReplaySource(replay(broken)).n_voxels == ReplaySource(replay(recorded)).n_voxels
    next(broken.rglob("*ses-test*_events.tsv")).unlink()
    with pytest.raises(BciiglError, match="_events.tsv: no such file"):
        simulate(replay(broken))
    bold = next(broken.rglob("*ses-train*run-01_bold.nii.gz"))
    bold.write_bytes(bold.read_bytes()[:-100])
    with pytest.raises(BciiglError, match=bold.name):
        simulate(replay(broken))
