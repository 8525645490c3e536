"""NIfTI files, whole and broken."""

import gzip

import nibabel
import numpy as np
import pytest

from bciigl.brain.images import ImageError, dimensions, read_image, voxel_size, write_image

AFFINE = np.array([[0.0, -3, 0, 5], [2, 0, 0, 6], [0, 0, 4, 7], [0, 0, 0, 1]])
DATA = np.random.default_rng(0).normal(size=(4, 5, 6, 7)).astype("f4")


def test_image_survives_its_file(tmp_path):
    for name in ("a.nii", "a.nii.gz"):
        write_image(tmp_path / name, DATA, AFFINE, tr=1.4)
        image = read_image(tmp_path / name)
        np.testing.assert_array_equal(image.data, DATA)
        np.testing.assert_array_equal(image.affine, AFFINE)
        assert image.tr == 1.4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nii", "a.nii.gz"]


def test_size_of_a_voxel_is_that_of_the_columns():
    np.testing.assert_allclose(voxel_size(AFFINE), [2, 3, 4])
    assert dimensions((4, 5, 6)) == "4 x 5 x 6"


def test_repetition_time_is_read_in_its_unit(tmp_path):
    for tr, unit, seconds in [
        (2000.0, "msec", 2.0),
        (1.4, "sec", 1.4),
        (2.0, "unknown", 2.0),
        (0.0, "sec", None),
    ]:
        image = nibabel.Nifti1Image(DATA, AFFINE)
        image.header.set_zooms((3, 2, 4, tr))
        image.header.set_xyzt_units("mm", unit)
        nibabel.save(image, tmp_path / "a.nii")
        assert read_image(tmp_path / "a.nii").tr == seconds


def test_header_that_makes_no_sense_is_refused(tmp_path):
    write_image(tmp_path / "whole.nii", DATA, AFFINE)
    whole = (tmp_path / "whole.nii").read_bytes()
    cases = [
        (123, 7, "cannot be read as a NIfTI image"),
        (71, 1, "cannot be read as a NIfTI image"),
        (70, 99, "cannot be read as a NIfTI image"),
        (43, 128, "cannot be read as a NIfTI image"),
        (43, 1, "truncated or damaged"),
        (42, 0, r"has no voxels \(0 x 5"),
        (110, 0xB1, "truncated or damaged"),  # data begin two bytes later
        (344, 0, "cannot be read as a NIfTI image"),
    ]
    for place, value, message in cases:
        content = bytearray(whole)
        content[place] = value
        (tmp_path / "a.nii").write_bytes(content)
        with pytest.raises(ImageError, match=message):
            pytest.fail(f"byte {place}: {read_image(tmp_path / 'a.nii')}")


def test_files_too_large_are_refused_unread(tmp_path):
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(bytes(65_000_000), 1))
    with pytest.raises(ImageError, match="packed too tightly"):
        read_image(tmp_path / "a.nii.gz")
    with (tmp_path / "a.nii").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ImageError, match="larger than 4 GB"):
        read_image(tmp_path / "a.nii")


def test_header_that_promises_too_much_is_refused(tmp_path):
    header = nibabel.Nifti1Header()
    header.set_data_dtype("f8")
    header.set_data_shape((32_000, 32_000, 32_000))
    header["magic"], header["vox_offset"] = b"n+1", 352
    for name, pack in {"huge.nii": bytes, "huge.nii.gz": gzip.compress}.items():
        (tmp_path / name).write_bytes(pack(header.binaryblock + bytes(100)))
        with pytest.raises(ImageError, match="448 bytes cannot hold 32000 x"):
            read_image(tmp_path / name)


def test_affine_that_maps_nowhere_is_refused(tmp_path):
    write_image(tmp_path / "a.nii", DATA, AFFINE)
    content = bytearray((tmp_path / "a.nii").read_bytes())
    content[280:328] = bytes(48)  # the rows of the affine
    (tmp_path / "a.nii").write_bytes(content)
    with pytest.raises(ImageError, match="its affine does not map voxels to mm"):
        read_image(tmp_path / "a.nii")
