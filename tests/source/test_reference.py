"""The reference volume is the mean of what a scanner exported."""

import os
from pathlib import Path

import nibabel
import numpy as np
import pytest

from bciigl.base.errors import BciiglError
from bciigl.brain.images import write_image
from bciigl.source.reference import read_reference
from bciigl.source.volumes import write_nifti_volume

AFFINE = np.diag([-3.0, 3.0, 3.5, 1.0])
VOLUMES = np.random.default_rng(0).random((4, 9, 10, 11)).astype(np.float32)


def test_mean_of_a_file_of_one_volume_or_many(tmp_path):
    write_image(tmp_path / "one.nii.gz", VOLUMES[0], AFFINE)
    write_image(tmp_path / "many.nii", np.moveaxis(VOLUMES, 0, 3), AFFINE, 2.0)
    one, many = (read_reference(tmp_path / name) for name in ("one.nii.gz", "many.nii"))
    np.testing.assert_allclose(one.data, VOLUMES[0])
    np.testing.assert_allclose(many.data, VOLUMES.mean(axis=0), rtol=1e-6)
    assert many.data.dtype == float
    assert (many.affine == AFFINE).all()


def test_mean_of_the_largest_series_in_a_folder(tmp_path, caplog):
    for number, volume in enumerate(VOLUMES):
        write_nifti_volume(tmp_path / f"bold_{number}.nii", volume, AFFINE, 2.0, 2.0 * number)
        # Another series; and of the first one something with another shape.
        if number < 3:
            write_nifti_volume(tmp_path / f"localizer_{number}.nii", volume + 5, AFFINE, 2.0, 0.0)
    write_nifti_volume(tmp_path / "bold_9.nii", VOLUMES[0][1:], AFFINE, 2.0, 9.0)
    (tmp_path / "bold_8.nii").write_bytes((tmp_path / "bold_3.nii").read_bytes()[:-9])
    (tmp_path / "notes.txt").write_text("not a volume")
    found = read_reference(tmp_path)
    np.testing.assert_allclose(found.data, VOLUMES.mean(axis=0), rtol=1e-6)
    assert (found.affine == AFFINE).all()
    assert "bold_8.nii: is truncated" in caplog.text
    assert "notes" not in caplog.text


def test_values_that_are_no_numbers_are_no_signal(tmp_path):
    volume = VOLUMES[0].copy()
    volume[0] = np.nan
    write_image(tmp_path / "stripped.nii", volume, AFFINE)
    assert (read_reference(tmp_path / "stripped.nii").data[0] == 0).all()


def test_header_that_does_not_tell_left_from_right_is_told_of(tmp_path, caplog):
    image = nibabel.Nifti1Image(VOLUMES[0], None)
    nibabel.save(image, tmp_path / "nowhere.nii")
    read_reference(tmp_path / "nowhere.nii")
    assert "nowhere.nii: its header has no sform and no qform: left and right" in caplog.text


@pytest.mark.parametrize(
    ("values", "edge", "message"),
    [
        (np.ones((9, 9, 9, 2, 2)), 3, "got float32, 9 x 9 x 9 x 2 x 2"),
        (np.ones((9, 9)), 3, "got float32, 9 x 9"),
        (np.ones((9, 9, 4)), 3, "at least 8 voxels along each axis, got 9 x 9 x 4"),
        (np.zeros((9, 9, 9)), 3, "shows nothing: all voxels are 0"),
        (np.ones((9, 9, 9)), 0.01, "should be 0.2 to 15 mm large, got 0.01 x 3 x 3"),
        (VOLUMES[0], 100, "should be 0.2 to 15 mm large, got 100 x 3 x 3"),
        (np.ones((90, 9, 9)), 10, "is wider than 800 mm: 90 x 9 x 9 voxels of 10 x 3 x 3 mm"),
    ],
)
def test_image_that_is_no_reference_is_refused(tmp_path, values, edge, message):
    affine = np.diag([edge, 3.0, 3.0, 1.0])
    write_image(tmp_path / "bad.nii", values.astype(np.float32), affine)
    with pytest.raises(BciiglError) as error:
        read_reference(tmp_path / "bad.nii")
    assert str(error.value).startswith(f"{tmp_path}/bad.nii: ")
    assert message in str(error.value)


def test_what_holds_no_volume_is_refused(tmp_path):
    colours = np.zeros((9, 9, 9), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    nibabel.save(nibabel.Nifti1Image(colours, AFFINE), tmp_path / "colours.nii")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "1.dcm").write_bytes(b"nothing")
    (tmp_path / "broken" / "2.nii").write_bytes(b"nothing")
    (tmp_path / "words.dcm").write_text("words")
    for name, message in {
        "absent.nii": "no such file",
        "absent": "no such file",
        "empty": "holds no whole volume; expected NIfTI or DICOM",
        "broken": "(and 1 more such files)",
        "words.dcm": "should be a NIfTI or DICOM file",
        "colours.nii": "should hold one volume",
    }.items():
        with pytest.raises(BciiglError) as error:
            read_reference(tmp_path / name)
        assert str(error.value).startswith(f"{tmp_path}/{name}: ")
        assert message in str(error.value)


@pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real recordings")
def test_real_mosaics(tmp_path):
    pytest.importorskip("pydicom")
    folder = Path(os.environ["BCIIGL_TEST_DATA"], "dicom", "rtcloud")
    found = read_reference(folder)
    assert found.data.shape == (64, 64, 27)
    one = read_reference(sorted(folder.iterdir())[1])
    assert np.corrcoef(one.data.ravel(), found.data.ravel())[0, 1] > 0.99
