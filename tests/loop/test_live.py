"""Live sessions: recorded as they happen, resumed where they are, and nothing tells who it was."""

import gzip
import io
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import live_kills
import numpy as np
import pydicom
import pytest
from rehearsals import rehearse, scanning, short

from bciigl.base.errors import BciiglError
from bciigl.brain.images import write_image
from bciigl.brain.subject import load_subject
from bciigl.loop import resume
from bciigl.loop.live import REFERENCE, Watching, record_live, resume_live
from bciigl.loop.replayed import replay_live
from bciigl.loop.scanner import SimulatedScanner
from bciigl.protocol.timetable import timetable
from bciigl.recording import DatasetError, open_dataset
from bciigl.recording.journal import JournalError
from bciigl.recording.layout import ESTIMATES, JOURNAL
from bciigl.recording.trial import NO_GUESS
from bciigl.study.session_results import learn_and_keep

QUICK = {"timing__tr": 0.2, "timing__event": 0.2, "timing__isi": 0.4, "timing__burn_in": 0.4}
QUICK |= {"live__deadline": 20.0}
"""Times so short that a run takes a few seconds in real time."""


class Stopped(Exception):
    """What stops a session in these tests, as a crash would."""


def stopping_after(trials: int) -> Watching:
    def progress(done: int, total: int) -> None:
        if done == trials:
            raise Stopped

    return Watching(progress=progress)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_session_that_was_stopped_joins_the_run_and_the_dataset_says_what_it_missed(tmp_path):
    protocol, volumes, out = short(task__trials_per_run=4), tmp_path / "volumes", tmp_path / "out"
    with scanning(protocol, volumes) as thread:
        with pytest.raises(Stopped):
            record_live(protocol, volumes, out, watching=stopping_after(1))
        with pytest.raises(DatasetError, match="bciigl run --resume"):
            open_dataset(out)
        before = lines(out / JOURNAL)
        # Nobody is there while the scanner goes on, to the end of the run.
        thread.join(2.0)
        resume_live(out)
    dataset = open_dataset(out)
    kept = lines(out / ESTIMATES / JOURNAL)
    assert kept[: len(before) - 1] == before[1:]
    shown = dataset.shown("train", 1)
    assert shown[0].action != NO_GUESS
    assert shown[-1].action == NO_GUESS
    assert np.isfinite(dataset.frames("train", 1)).all()
    seen = {event.trial for event in dataset.events("train", 1) if event.kind == "perception"}
    assert seen == {number + 1 for number, each in enumerate(shown) if each.action != NO_GUESS}
    missed = sum(each.action == NO_GUESS for each in shown)
    assert dataset.sessions["train"].interactions.trials == 4 - missed
    resume_live(out)  # all is recorded: nothing is done


def test_session_is_resumed_by_its_own_command_and_as_it_was_begun(tmp_path):
    protocol, volumes, out = short(), tmp_path / "volumes", tmp_path / "out"
    with scanning(protocol, volumes):
        with pytest.raises(Stopped):
            record_live(protocol, volumes, out, watching=stopping_after(2))
        with pytest.raises(JournalError, match="bciigl run --resume"):
            resume(out)
        with pytest.raises(BciiglError, match="was begun with another protocol: seed is 7 there"):
            resume_live(out, expected=short(seed=8))
        resume_live(out, expected=protocol)
    assert [each.action for each in open_dataset(out).shown("train", 2)].count(NO_GUESS) == 0


@pytest.mark.slow
def test_without_truth_label_free_learners_learn_and_the_group_says_what_it_was(tmp_path):
    dataset = open_dataset(rehearse(short(task__trials=30, task__trials_per_run=30), tmp_path))
    assert dataset.group == "simulated"
    sessions, results = learn_and_keep(dataset)
    assert sessions["train"].truth is None
    assert [each.learner_id for each in results] == ["ai_igl", "transfer", "igl_full_ci"]
    assert all(each.accuracy is None for each in results)


@pytest.mark.slow
def test_volumes_nobody_rehearses_are_those_of_a_participant(tmp_path):
    # In real time, by a clock: a scanner of which nothing is known, and nothing is simulated.
    protocol, volumes, out = short(task__trials=2, **QUICK), tmp_path / "volumes", tmp_path / "out"
    scanner, drawn = SimulatedScanner(protocol, volumes), []
    # Only when the session waits: what was there before is old.
    thread = threading.Thread(target=scanner.serve, args=[True])
    watching = Watching(draw=drawn.append, begin=lambda source: thread.start())
    record_live(protocol, volumes, out, watching=watching)
    thread.join()
    dataset = open_dataset(out)
    assert dataset.group == "participant"
    assert "simulated" not in (out / "participants.json").read_text()
    # Where the machine is too slow for it an event is not shown, and not recorded.
    kinds = [event.kind for event in drawn]
    assert sorted(kinds) == sorted(each.kind for each in dataset.events("train", 1))
    assert {"imagination", "perception", "judgment"} <= set(kinds)
    planned = timetable(protocol, 2)
    for kind, onsets in dataset.timetable("train", 1).onsets.items():
        # As they were shown: never early, and late where computing took its time.
        assert np.nanmin(onsets - planned.onsets[kind]) > -1e-3


def test_names_and_birth_dates_never_reach_the_dataset(tmp_path):
    protocol = short(task__trials=2, live__realign=True, **QUICK)
    scanned, volumes, out = tmp_path / "scanned", tmp_path / "Doe^Jane", tmp_path / "out"
    SimulatedScanner(protocol, scanned, "dicom", speed=1000.0).serve(alone=True)
    secrets = {
        "PatientName": "Doe^Jane",
        "PatientID": "secret-4711",
        "PatientBirthDate": "19770715",
        "PatientAddress": "Elm Street 5",
        "ReferringPhysicianName": "House^Gregory",
        "InstitutionName": "Princeton Plainsboro",
        "StudyDate": "20260203",
    }

    def begin(source) -> None:
        volumes.mkdir()
        for path in sorted(scanned.glob("*.dcm")):
            dataset = pydicom.dcmread(path)
            for name, value in secrets.items():
                setattr(dataset, name, value)
            dataset.save_as(volumes / f"Doe^Jane.19770715.{path.name}")
        (volumes / "Doe^Jane.19770715.broken.dcm").write_bytes(b"\0" * 128 + b"DICMDoe^Jane")

    record_live(protocol, volumes, out, watching=Watching(begin=begin))
    found = [text for path in out.rglob("*") if path.is_file() for text in contents(path)]
    everything = b"\n".join(found) + b"\n".join(str(path).encode() for path in out.rglob("*"))
    assert len(everything) > 10_000
    for value in [*secrets.values(), "Doe", "Jane", "1.2.826"]:
        assert value.encode() not in everything, value


def contents(path: Path) -> list[bytes]:
    """Return what a file holds, unpacked."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        return [raw, gzip.decompress(raw)]
    if path.suffix == ".npz":
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            return [raw, *(packed.read(name) for name in packed.namelist())]
    return [raw]


@pytest.mark.slow
def test_region_and_reference_may_be_the_participants_own(tmp_path):
    subject, own = load_subject("brainiak"), tmp_path / "own"
    own.mkdir()
    mask = np.zeros(subject.shape, np.uint8)
    mask[20:23, 30:32, 25] = 1
    write_image(own / "region.nii.gz", mask, subject.affine)
    write_image(own / "reference.nii.gz", subject.base.astype(np.float32), subject.affine)
    protocol, volumes, out = short(live__realign=True), tmp_path / "volumes", tmp_path / "out"
    with scanning(protocol, volumes):
        record_live(protocol, volumes, out, region=own)
    dataset = open_dataset(out)
    assert dataset.frames("train", 1).shape[1] == 6
    # Of the reference that was given, from which the head has not moved.
    assert (out / REFERENCE).exists()
    assert np.abs(dataset.movement("train", 1)).max() < 0.05


@pytest.mark.slow
def test_reference_is_the_first_volume_of_the_session_for_all_runs(tmp_path):
    out = rehearse(short(live__realign=True, live__dummies=2), tmp_path, motion=1.0)
    dataset = open_dataset(out)
    first, second = dataset.movement("train", 1), dataset.movement("train", 2)
    # Not exactly 0: the reference is found in itself to a fraction of a micrometre.
    assert np.abs(first[0]).max() < 1e-3
    assert np.abs(second[0]).max() > 0.05


@pytest.mark.slow
def test_replay_of_volumes_gives_the_contexts_that_they_gave(tmp_path):
    protocol = short(live__realign=True, estimate__motion=True, brain__noise=0.5)
    how = {"motion": 0.5, "speed": 50.0}  # so that no volume is late on a busy computer
    with scanning(protocol, tmp_path / "volumes", "dicom", **how):
        record_live(protocol, tmp_path / "volumes", tmp_path / "out")
    out = tmp_path / "out"
    replay_live(out, tmp_path / "volumes", tmp_path / "again")
    recorded, again = (open_dataset(each) for each in (out, tmp_path / "again"))
    assert again.group == "replayed"
    for run in (1, 2):
        assert again.events("train", run) == recorded.events("train", run)
        assert np.array_equal(again.movement("train", run), recorded.movement("train", run))
        name = f"*_run-{run:02}_interactions.npz"
        ours, theirs = (np.load(next(each.folder.rglob(name))) for each in (again, recorded))
        assert set(ours) == set(theirs)
        assert all(np.array_equal(ours[each], theirs[each]) for each in ours)


def test_what_cannot_be_live_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BciiglError, match="recording: shared"):
        record_live(short(recording="separate"), tmp_path, tmp_path / "out")
    with pytest.raises(BciiglError, match="no such file"):
        record_live(short(), tmp_path, tmp_path / "out", region=tmp_path / "nowhere")
    with pytest.raises(BciiglError, match="it was not live"):
        from bciigl.loop import record

        record(short(), tmp_path / "simulated")
        replay_live(tmp_path / "simulated", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_killed_sessions_lose_nothing_that_reached_the_disk():
    done = subprocess.run(
        [sys.executable, live_kills.__file__, "6"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 kills" in done.stdout
    assert "\n0 problems\n" in done.stdout


def test_a_session_goes_on_where_what_watches_it_fails(tmp_path, caplog):
    def broken(line):
        raise KeyError("a fault of the monitor")

    protocol = short()
    with scanning(protocol, tmp_path / "volumes"):
        watching = Watching(line=broken)
        record_live(protocol, tmp_path / "volumes", tmp_path / "out", watching=watching)
    assert open_dataset(tmp_path / "out").sessions["train"].interactions.trials == 4
    said = [each for each in caplog.records if "what watches the session" in each.getMessage()]
    assert len(said) == 1
