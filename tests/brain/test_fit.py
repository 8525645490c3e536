"""Subjects fitted to recordings."""

import gzip
import json
import os
from pathlib import Path

import nibabel
import numpy as np
import pytest
from brain_measures import assert_agreement
from heads import head

from bciigl.base.seeds import Seed
from bciigl.brain import load_subject
from bciigl.brain.images import write_image
from bciigl.brain.noise import RunPlan, StockNoise
from bciigl.brain.region import Region
from bciigl.brain.subject import Subject
from bciigl.protocol.model import NoiseSources

FRAMES = 20


@pytest.fixture(scope="module")
def subject() -> Subject:
    """Return a small head without the noise that a short recording cannot tell."""
    off = {"physiological_sigma": 0.0, "task_sigma": 0.0, "drift_sigma": 0.0}
    return head(shape=(24, 26, 22), radius=0.5, **off)


@pytest.fixture(scope="module")
def volumes(subject) -> np.ndarray:
    """Return a tiny recording made by fmrisim, (x, y, z, frames)."""
    region = Region(np.argwhere(subject.mask)[:8], subject.affine)
    plan = RunPlan(2.0, np.zeros(FRAMES, bool))
    noise = StockNoise(subject, region, NoiseSources()).volumes(plan, Seed(0))
    return np.stack([subject.base + volume for volume in noise], axis=-1).astype("f4")


@pytest.fixture
def bold(tmp_path, subject, volumes):
    """Write a recording, changed by a function and with other header fields."""

    def write(change=lambda data: data, name="bold.nii.gz", tr=2.0, unit="sec") -> Path:
        image = nibabel.Nifti1Image(change(volumes.copy()), subject.affine)
        if image.ndim == 4:
            image.header.set_zooms((*image.header.get_zooms()[:3], tr))
        image.header.set_xyzt_units("mm", unit)
        nibabel.save(image, tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.slow
def test_tiny_recording_becomes_a_subject_that_a_protocol_can_name(
    bciigl, bold, write, tmp_path, subject, volumes
):
    result = bciigl("subject", "fit", bold(), "--out", tmp_path / "me")
    assert result.exit_code == 0, result.output
    assert "estimating the noise of" in result.stderr
    assert "warning: 20 volumes tell little about autocorrelation" in result.stderr
    assert result.stdout.startswith(f"wrote {tmp_path / 'me'}")
    found = load_subject("me", tmp_path)
    assert sorted(path.name for path in (tmp_path / "me").iterdir()) == [
        "mask.nii.gz",
        "subject.json",
        "template.nii.gz",
    ]
    # what went in comes out, as far as fmrisim reproduces it: its mask is that of the head but for
    # a few voxels at the edge, and a total variance of 1.5 times the SFNR's lowers the SFNR
    assert (found.mask != subject.mask).mean() < 0.01
    np.testing.assert_allclose(found.affine, subject.affine)
    assert found.noise.sfnr == pytest.approx(subject.noise.sfnr / 1.5**0.5, rel=0.15)
    assert found.noise.max_activity == pytest.approx(volumes.mean(axis=3).max())
    about = json.loads((tmp_path / "me/subject.json").read_text())["about"]
    assert about == {
        "source": "bold.nii.gz",
        "frames": FRAMES,
        "tr": 2.0,
        "seed": 0,
        "mask": "fmrisim.mask_brain",
    }
    content = "name: x\ntask: {options: [1, 2, 3]}\nbrain:\n  subject: me\n  region:\n    size: 3\n"
    good = write(content + "    center: [12, 13, 11]\n")
    assert bciigl("protocol", "check", good).exit_code == 0
    bad = write(content + "    center: [2, 13, 11]\n", "bad.yaml")
    result = bciigl("protocol", "check", bad)
    assert result.exit_code == 2
    assert f"{bad}:7:5: brain.region.center: 27 of 27 voxels lie outside" in result.stderr


@pytest.mark.slow
def test_same_seed_gives_the_same_subject(bciigl, bold, tmp_path):
    path = bold()
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        np.random.rand(3)  # noqa: NPY002
        bciigl("subject", "fit", path, "--out", tmp_path / name, "--seed", seed)
    one, same, other = (load_subject(name, tmp_path).noise for name in "abc")
    assert one == same
    assert one != other


@pytest.mark.slow
def test_mask_and_repetition_time_can_be_given_and_json_is_one_document(
    bciigl, bold, tmp_path, subject
):
    path, mask = bold(tr=0.0), subject.mask & (np.arange(22) > 11)
    write_image(tmp_path / "mask.nii.gz", mask.astype("u1"), subject.affine)
    command = ("subject", "fit", path, "--out", tmp_path / "me", "--json")
    command += ("--mask", tmp_path / "mask.nii.gz")
    document = json.loads(bciigl(*command, "--tr", 2).stdout)
    assert document["folder"] == str(tmp_path / "me")
    assert document["noise"] == json.loads((tmp_path / "me/subject.json").read_text())["noise"]
    np.testing.assert_array_equal(load_subject("me", tmp_path).mask, mask)


def with_nan(data):
    data[3, 4, 5, 6] = np.nan
    return data


def still_brain(data):
    data[12, 10:14] = 500
    return data


BAD = {
    "should be a 4-D recording (x, y, z, time), got 24 x 26 x 22": lambda data: data[..., 0],
    "should have at least 20 volumes, got 5": lambda data: data[..., :5],
    "at least 4 voxels along each axis, got 24 x 26 x 1 x 20": lambda data: data[:, :, :1],
    "1 values are NaN or infinite, the first at [3, 4, 5, 6]": with_nan,
    "no signal that changes in time": lambda data: np.repeat(data[..., :1], 20, axis=3),
    "holds no signal": lambda data: 0 * data,
    "100 % of its values are negative": lambda data: data - 2000,
    "never change, such as [": still_brain,
    "complex": lambda data: data.astype("c8"),
    "shows no air around the head": lambda data: 0 * data + 100 + np.arange(20, dtype="f4"),
    "is empty in the air around the head": lambda data: data * (data.mean(axis=3) > 150)[..., None],
}


def test_recordings_that_cannot_be_used_are_refused(bciigl, bold, tmp_path):
    for message, change in BAD.items():
        path = bold(change)
        result = bciigl("subject", "fit", path, "--out", tmp_path / "me")
        assert result.exit_code == 2, message
        assert message in result.stderr
        assert str(path) in result.stderr
        assert not (tmp_path / "me").exists()
    path = bold(tr=0.0)
    result = bciigl("subject", "fit", path, "--out", tmp_path / "me")
    assert result.exit_code == 2
    assert f"{path}: the header has no repetition time; give it with --tr" in result.stderr


def test_file_that_is_no_image_is_refused(bciigl, bold, tmp_path):
    whole = bold().read_bytes()
    cases = {
        "truncated or damaged": whole[: len(whole) // 2],
        "is truncated": whole[:-4],
        "damaged": whole[:5000] + b"\0" * 5000 + whole[10_000:],
        "is no gzip file": b"hello",
        "as a NIfTI image": gzip.compress(b"hello" * 1000),
        "NIfTI": b"",
    }
    for message, content in cases.items():
        path = tmp_path / "broken.nii.gz"
        path.write_bytes(content)
        result = bciigl("subject", "fit", path, "--out", tmp_path / "me")
        assert result.exit_code == 2, message
        assert message in result.stderr
        assert "Traceback" not in result.output
    result = bciigl("subject", "fit", tmp_path / "none.nii", "--out", tmp_path / "me")
    assert (result.exit_code, "no such file" in result.stderr) == (2, True)
    result = bciigl("subject", "fit", tmp_path, "--out", tmp_path / "me")
    assert (result.exit_code, "is a folder" in result.stderr) == (2, True)


def test_other_kind_of_image_is_refused(bciigl, tmp_path, subject, volumes):
    path = tmp_path / "image.mgz"
    nibabel.save(nibabel.MGHImage(volumes, subject.affine), path)
    result = bciigl("subject", "fit", path, "--out", tmp_path / "me")
    assert (result.exit_code, "should be a NIfTI image" in result.stderr) == (2, True)


def test_masks_that_do_not_fit_are_refused(bciigl, bold, tmp_path, subject):
    path, grid = bold(), "24 x 26 x 22 voxels, got 23 x 26 x 22"
    for message, mask, affine in [
        ("the brain mask has 0 voxels, too few", 0 * subject.mask, subject.affine),
        (f"on the grid of the recording, {grid}", subject.mask[1:], subject.affine),
        ("has another affine than the recording", subject.mask, np.eye(4)),
    ]:
        write_image(tmp_path / "mask.nii.gz", mask.astype("u1"), affine)
        args = ("--out", tmp_path / "me", "--mask", tmp_path / "mask.nii.gz")
        result = bciigl("subject", "fit", path, *args)
        assert result.exit_code == 2, message
        assert message in result.stderr


def test_existing_folder_is_refused_before_any_work(bciigl, tmp_path):
    (tmp_path / "me").mkdir()
    (tmp_path / "me/diary.txt").write_text("dear")
    result = bciigl("subject", "fit", "none.nii", "--out", tmp_path / "me")
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert os.listdir(tmp_path / "me") == ["diary.txt"]


def test_place_that_cannot_be_written_is_told_before_any_work(bciigl, tmp_path):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "me"
    result = bciigl("subject", "fit", "none.nii", "--out", out)
    assert result.exit_code == 2
    assert result.stderr == f"{out}: cannot be made (File exists)\n"


@pytest.mark.slow
@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real recordings")
def test_real_recording_becomes_a_subject_that_measures_as_fmrisim_s(bciigl, tmp_path):
    (path,) = Path(os.environ["BCIIGL_TEST_DATA"], "bold").glob("*bold.nii.gz")
    result = bciigl("subject", "fit", path, "--out", tmp_path / "me")
    assert result.exit_code == 0, result.output
    subject = load_subject("me", tmp_path)
    # a head of usual size: 1.2 to 2.2 litres in voxels of 29.7 mm^3
    assert 1.2e6 < subject.mask.sum() * np.prod(subject.voxel_size) < 2.2e6
    # fmrisim's own figures for the whole run are 44.3, 84.6, 5.62; these are its first 40 volumes
    assert subject.noise.snr == pytest.approx(44.3, rel=0.1)
    assert subject.noise.sfnr == pytest.approx(84.6, rel=0.1)
    assert subject.noise.fwhm == pytest.approx(5.62, rel=0.05)
    assert_agreement(subject, 16)
