"""`bciigl region`."""

import gzip
import json
import os
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest

from bciigl.brain import load_subject
from bciigl.brain.images import read_image, read_mask, write_image
from bciigl.brain.region import find_region
from bciigl.protocol import load
from bciigl.source.volumes import write_nifti_volume

NAMES = ["reference.nii.gz", "region.json", "region.nii.gz", "region.png"]


def reference(path: Path) -> Path:
    """Write a noisy volume of the built-in subject's head, 6 mm to the right."""
    subject, affine = load_subject("brainiak"), load_subject("brainiak").affine.copy()
    affine[0, 3] += 6
    noise = 0.02 * subject.mean_signal * np.random.default_rng(0).standard_normal(subject.shape)
    image = nibabel.Nifti1Image((subject.base + noise).astype(np.float32), affine)
    image.header["descrip"] = b"Jane Doe 1970-01-01"
    nibabel.save(image, path)
    return path


@pytest.mark.slow
def test_region_is_drawn_in_the_own_space(bciigl, tmp_path):
    pytest.importorskip("SimpleITK")
    out = tmp_path / "anna"
    volume = reference(tmp_path / "Jane_Doe.nii.gz")
    result = bciigl("region", "number_guessing", volume, "--out", out, "--method", "rigid")
    assert result.exit_code == 0, result.output
    *_, check, use = result.stdout.splitlines()
    told = " ".join(result.stdout.split())
    assert told.startswith("region: 64 voxels (1728 mm3) around (-32, -47, 45) mm in the scanner's")
    assert " MNI (-38, -47, 45) fit: rigid, overlap of the brains 0.9" in told
    assert check.startswith(f"wrote {out}; check {out}/region.png by eye before the first run")
    assert use == f"  bciigl run number_guessing --volumes FOLDER --region {out} --out DIR"
    assert sorted(each.name for each in out.iterdir()) == NAMES
    shown, before = read_image(out / "reference.nii.gz"), read_image(volume)
    np.testing.assert_allclose(shown.data, before.data)
    mask = read_mask(out / "region.nii.gz", shown.data.shape, before.affine, "the reference")
    subject = load_subject("brainiak")
    wanted = find_region(load("number_guessing").brain.region, subject)
    assert (np.argwhere(mask) == wanted.voxels).all()
    facts = json.loads((out / "region.json").read_text())
    assert np.array(facts["matrix"])[:3, 3] == pytest.approx([6, 0, 0], abs=0.3)
    assert (facts["protocol"], facts["method"], facts["warnings"]) == (
        "number_guessing",
        "rigid",
        [],
    )
    for name in NAMES:
        content = (out / name).read_bytes()
        content = gzip.decompress(content) if name.endswith(".gz") else content
        assert b"Jane" not in content
    assert read_image(out / "region.nii.gz", as_stored=True).data.dtype == np.uint8


@pytest.mark.slow
def test_mask_that_the_user_brings_needs_no_fit(bciigl, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    volume = read_image(reference(tmp_path / "run.nii.gz"))
    (tmp_path / "run").mkdir()
    for number in range(2):
        path = tmp_path / "run" / f"vol_{number}.nii"
        write_nifti_volume(path, volume.data, volume.affine, 2.0, 2.0 * number)
    mask = np.zeros(volume.data.shape, np.uint8)
    mask[30:33, 30:33, 20:24] = 1
    write_image(tmp_path / "mask.nii.gz", mask, volume.affine)
    given = ("region", "number_guessing", tmp_path / "run", "--mask", tmp_path / "mask.nii.gz")
    result = bciigl(*given, "--out", tmp_path / "anna", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["folder"], document["method"]) == (str(tmp_path / "anna"), "mask")
    assert (document["voxels"], document["mm3"], document["dice"]) == (36, 972.0, None)
    assert (read_image(tmp_path / "anna" / "region.nii.gz").data == mask).all()
    words = bciigl(*given, "--out", tmp_path / "again").stdout
    assert words.startswith("region: 36 voxels (972 mm3) around (")
    assert "fit:" not in words
    pictures = [(tmp_path / each / "region.png").read_bytes() for each in ("anna", "again")]
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] == pictures[1]


def test_bad_input_is_told_without_a_traceback_and_leaves_nothing(bciigl, tmp_path, write):
    volume, out = reference(tmp_path / "run.nii.gz"), tmp_path / "anna"
    write_image(tmp_path / "zero.nii", np.zeros((9, 9, 9), "f4"), np.diag([3.0, 3, 3, 1]))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").touch()
    outside = "name: x\ntask: {options: [1, 2, 3]}\nbrain:\n  region: {center: [0, 0, 0]}\n"
    for protocol, given, to, message in [
        ("number_guesing", volume, out, "did you mean"),
        (write(outside), volume, out, "mine.yaml:4:12: brain.region.center: 64 of 64 voxels"),
        ("number_guessing", tmp_path / "none.nii", out, "none.nii: no such file"),
        ("number_guessing", tmp_path / "zero.nii", out, "zero.nii: shows nothing"),
        ("number_guessing", volume, tmp_path / "full", "full: exists already and is not an empty"),
    ]:
        result = bciigl("region", protocol, given, "--out", to)
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
        assert not out.exists()
    mask = bciigl("region", "number_guessing", volume, "--out", out, "--mask", tmp_path / "no.nii")
    assert (mask.exit_code, "no.nii: no such file" in mask.stderr) == (2, True)
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["kept"]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "full",
        "mine.yaml",
        "run.nii.gz",
        "zero.nii",
    ]


@pytest.mark.slow
@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real recordings")
@pytest.mark.parametrize(
    ("name", "center"),
    [
        ("bold/studyforrest_localizer_40vol_bold.nii.gz", [-36, -43, 38]),
        ("dicom/rtcloud", [-37, -51, 36]),
    ],
)
def test_real_heads(bciigl, tmp_path, name, center):
    pytest.importorskip("SimpleITK")
    given = Path(os.environ["BCIIGL_TEST_DATA"], name)
    result = bciigl("region", "number_guessing", given, "--out", tmp_path / "anna", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["warnings"] == []
    assert facts["dice"] > 0.93
    assert facts["correlation"] > 0.8
    # The pictures of fits that have it there were looked at: it is in left parietal cortex.
    assert np.linalg.norm(np.array(facts["center_mm"]) - center) < 3
    assert np.linalg.norm(np.array(facts["center_mni"]) - [-38, -47, 45]) < 3


@pytest.mark.slow
@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real recordings")
def test_real_volumes_without_the_region_are_refused(bciigl, tmp_path):
    pytest.importorskip("SimpleITK")
    given = Path(os.environ["BCIIGL_TEST_DATA"], "dicom", "pyneal")  # it ends below parietal cortex
    result = bciigl("region", "number_guessing", given, "--out", tmp_path / "anna")
    assert result.exit_code == 2
    assert "are outside the field of view" in result.stderr
    assert not (tmp_path / "anna").exists()
