"""The simulated scanner: what it writes, and how the person reacts to what is shown."""

import queue
import time

import nibabel
import numpy as np
import pytest
from rehearsals import rehearse, scanning, short

from bciigl.base.errors import BciiglError
from bciigl.base.seeds import Seed
from bciigl.brain import Brain
from bciigl.brain.subject import load_subject
from bciigl.loop import record
from bciigl.loop.scanner import SimulatedScanner
from bciigl.protocol.timetable import timetable
from bciigl.recording import open_dataset
from bciigl.source.channel import connect, find_scanner
from bciigl.source.exported import Background, HeadMovement
from bciigl.source.realign import Realigner
from bciigl.source.volumes import VolumeReader

LONG = 20.0  # seconds, in which an answer surely comes


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Volumes of a scanner that nobody shows anything."""
    folder, protocol = tmp_path_factory.mktemp("alone"), short(live__dummies=2)
    SimulatedScanner(protocol, folder, speed=1000.0).serve(alone=True)
    return protocol, folder


def test_volumes_are_of_the_whole_head_and_the_region_has_the_noise_of_its_session(alone):
    protocol, folder = alone
    brain, when = Brain(protocol), timetable(protocol, 2)
    paths = sorted(folder.glob("*run-01_*.nii"))
    assert len(paths) == when.frames(protocol.timing.tr) + 2
    volumes = np.array([nibabel.load(path).get_fdata() for path in paths])
    expected = brain.scan("train", 1, trials=2).play([])
    assert np.array_equal(
        volumes[(slice(2, None), *brain.region.index)], expected.astype(np.float32)
    )
    assert volumes[0].shape == brain.subject.shape
    assert np.corrcoef(volumes[5].ravel(), brain.subject.base.ravel())[0, 1] > 0.99
    (first,) = VolumeReader().read(paths[3])
    assert (first.number, first.tr, first.offset) == (4, 1.5, 4.5)
    assert np.allclose(first.affine, brain.subject.affine)


def test_noise_outside_the_region_has_the_sd_that_is_stated():
    subject, rng = load_subject("brainiak"), np.random.default_rng(0)
    background = Background(subject, 1.0, Seed(0))
    drawn = np.array([background.draw(rng)[subject.mask] for _ in range(60)])
    expected = np.hypot(subject.brain_sd, subject.system_sd)
    # 60 draws of 16 volumes: the SD of 50 000 voxels together is known to a few percent.
    assert drawn.std(axis=0).mean() == pytest.approx(expected, rel=0.15)


def test_head_moves_as_it_says():
    subject = load_subject("brainiak")
    head = HeadMovement(1.0, subject, np.random.default_rng(1))
    voxels = np.argwhere(subject.mask)[::5000]
    realigner = Realigner(subject.base, subject.affine, voxels)
    for _ in range(20):
        parameters = head.next()
    assert 0.2 < np.abs(parameters[:3]).max() < 4.0
    found, values = realigner(head.moved(subject.base.astype(np.float32), parameters))
    # Rotations are around another centre, so translations are compared at the brain's middle.
    assert np.allclose(found.parameters[3:], parameters[3:], atol=0.002)
    # Interpolated twice: the brain's edges are blurred, its inside is not.
    base = subject.base[tuple(voxels.T)]
    assert np.corrcoef(values, base)[0, 1] > 0.98


def test_person_reacts_to_what_is_shown_and_the_truth_is_beside_the_volumes(tmp_path):
    out = rehearse(short(), tmp_path)
    dataset = open_dataset(out)
    assert dataset.sessions["train"].truth is None
    truth = tmp_path / "volumes" / "derivatives" / "truth"
    (out / "derivatives" / "truth").symlink_to(truth)
    scored = open_dataset(out).sessions["train"]
    assert np.array_equal(scored.truth.match, scored.truth.meant == scored.interactions.action)


def test_what_comes_too_late_is_not_seen_and_nothing_is_seen_twice(tmp_path):
    times = {"timing__tr": 0.1, "timing__event": 0.1, "timing__isi": 0.1, "timing__burn_in": 0.3}
    protocol, answers = short(task__trials=2, **times), []
    cue = {"run": 1, "kind": "imagination", "content": None}
    first, second = timetable(protocol, 2).onsets["imagination"].tolist()
    with scanning(protocol, tmp_path, speed=1.0) as thread:
        scanner = connect(find_scanner(tmp_path), lambda *each: answers.append(each))
        scanner.send("run", session="train", run=1)
        scanner.send("show", **cue, onset=first, latest=0.2)  # never in time
        scanner.send("show", **cue, onset=0.5, latest=99.0)  # not planned
        for _ in range(2):
            scanner.send("show", **cue, onset=second, latest=99.0)
        while len(answers) < 4 and thread.is_alive():
            thread.join(0.01)
        scanner.close()
    found = [(each["planned"], each["onset"]) for what, each in answers if what == "shown"]
    assert found == [(first, None), (0.5, None), (second, second), (second, second)]


def count_until_still(folder):
    """Return how many volumes there are when no more come."""
    before = -1
    while before != (before := len(list(folder.glob("*.nii")))):
        time.sleep(0.3)
    return before


def test_a_session_that_asks_again_is_answered_while_the_scanner_waits(tmp_path):
    # As one does that was resumed: it waits for this answer, and the scanner for what comes next.
    protocol, answers = short(task__trials=2), queue.Queue()
    onsets = timetable(protocol, 2).onsets
    cue = {"run": 1, "kind": "imagination", "content": None, "latest": 99.0}
    with scanning(protocol, tmp_path, speed=200.0):
        scanner = connect(find_scanner(tmp_path), lambda *each: answers.put(each))
        scanner.send("run", session="train", run=1)
        for _ in range(2):
            scanner.send("show", **cue, onset=onsets["imagination"][0])
            what, content = answers.get(timeout=LONG)
            assert (what, content["onset"]) == ("shown", onsets["imagination"][0])
            # It waits for the guess to be shown.
            frames = np.ceil(onsets["perception"][0] / protocol.timing.tr - 0.5)
            assert count_until_still(tmp_path) == frames
        scanner.close()


def test_a_session_that_is_in_the_next_run_is_not_waited_for(tmp_path):
    protocol, answers = short(), queue.Queue()
    onset = timetable(protocol, 3).onsets["imagination"][0]
    with scanning(protocol, tmp_path, speed=200.0):
        scanner = connect(find_scanner(tmp_path), lambda *each: answers.put(each))
        scanner.send("run", session="train", run=1)
        waiting = count_until_still(tmp_path)
        cue = {"run": 2, "kind": "imagination", "content": None, "latest": 99.0, "onset": onset}
        scanner.send("run", session="train", run=2)
        scanner.send("show", **cue)
        what, content = answers.get(timeout=LONG)
        assert (what, content["run"], content["onset"]) == ("shown", 2, onset)
        assert len(list(tmp_path.glob("*run-01*.nii"))) > waiting
        scanner.close()


def test_separate_recordings_have_no_scanner(tmp_path):
    with pytest.raises(BciiglError, match="recording: shared"):
        SimulatedScanner(short(recording="separate"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nifti", "dicom"])
def test_rehearsal_is_the_session_in_one_process_up_to_the_format(tmp_path, kind):
    protocol = short(brain__noise=0.5, human__key_press=True)
    dataset = open_dataset(rehearse(protocol, tmp_path, kind))
    record(protocol, tmp_path / "one")
    one = open_dataset(tmp_path / "one")
    # Mosaics hold multiples of their slope: for this subject, 1/16.
    rounding = {"nifti": 0.0, "dicom": 1 / 32}[kind]
    for run in (1, 2):
        assert np.abs(dataset.frames("train", run) - one.frames("train", run)).max() <= rounding
        assert dataset.events("train", run) == one.events("train", run)
        assert dataset.keys("train", run) == one.keys("train", run)
    ours, theirs = (each.sessions["train"].interactions for each in (dataset, one))
    if kind == "nifti":
        for name in ("context", "feedback", "action", "propensity", "run"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))
