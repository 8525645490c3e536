"""Single volumes in NIfTI files, whole and broken."""

import gzip
import os

import nibabel
import numpy as np
import pytest

from bciigl.source.volumes import VolumeError, VolumeReader, is_volume_name, write_nifti_volume

AFFINE = np.array([[0.0, -3, 0, 5], [2, 0, 0, 6], [0, 0, 4, 7], [0, 0, 0, 1]])
DATA = np.random.default_rng(0).normal(1000, 100, (5, 6, 7))


def save(path, data=DATA, kind=nibabel.Nifti1Image, **header):
    """Write an image by nibabel, as other programs do."""
    image = kind(np.asarray(data), AFFINE)
    image.header.set_xyzt_units("mm", header.pop("unit", "sec"))
    for name, value in header.items():
        image.header[name] = value
    nibabel.save(image, path)
    return path


def read(path):
    (volume,) = VolumeReader().read(path)
    return volume


def test_written_volume_is_read(tmp_path):
    path = tmp_path / "bold_run-2_0012.nii"
    write_nifti_volume(path, DATA, AFFINE, 1.4, 15.4)
    volume = read(path)
    np.testing.assert_array_equal(volume.data, DATA.astype(np.float32))
    np.testing.assert_array_equal(volume.affine, AFFINE)
    assert volume.data.dtype == np.float32
    series = f"{tmp_path.name}/bold_run-2_"
    assert volume[2:] == (12, series, "bold_run-2_", 1.4, None, 15.4)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_written_volume_is_read_by_nibabel(tmp_path):
    write_nifti_volume(tmp_path / "1.nii", DATA, AFFINE, 1.4, 15.4)
    image = nibabel.load(tmp_path / "1.nii")
    np.testing.assert_array_equal(image.get_fdata(), DATA.astype(np.float32))
    np.testing.assert_array_equal(image.affine, AFFINE)
    np.testing.assert_array_equal(image.header.get_zooms(), (2, 3, 4))
    assert image.header["pixdim"][4] == np.float32(1.4)
    assert image.header["toffset"] == np.float32(15.4)
    assert image.header.get_xyzt_units() == ("mm", "sec")


def test_failed_writing_leaves_nothing(tmp_path):
    (tmp_path / "1.nii").mkdir()
    with pytest.raises(OSError, match=r"1\.nii"):
        write_nifti_volume(tmp_path / "1.nii", DATA, AFFINE, 1.0, 0.0)
    assert [each.name for each in tmp_path.iterdir()] == ["1.nii"]
    with pytest.raises(OSError, match="nowhere"):
        write_nifti_volume(tmp_path / "nowhere" / "1.nii", DATA, AFFINE, 1.0, 0.0)


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("ending", [".nii", ".nii.gz", ".NII"])
@pytest.mark.parametrize("shape", [(5, 6, 7), (5, 6, 7, 1), (5, 6, 7, 1, 1)])
def test_one_volume_of_any_kind_is_read(tmp_path, kind, ending, shape):
    path = save(tmp_path / f"a{ending.lower()}", DATA.reshape(shape), kind)
    path = path.rename(tmp_path / f"v007{ending}")
    volume = read(path)
    np.testing.assert_array_equal(volume.data, DATA.astype(np.float32))
    assert (volume.number, volume.description) == (7, "v")


def test_scaled_and_big_endian_integers_are_read(tmp_path):
    header = nibabel.Nifti1Header(endianness=">")
    header.set_data_dtype(np.int16)
    image = nibabel.Nifti1Image(np.round(DATA), AFFINE, header)
    image.header.set_slope_inter(2.0, 5.0)
    nibabel.save(image, tmp_path / "1.nii")
    assert (tmp_path / "1.nii").read_bytes()[:4] == b"\0\0\1\x5c"
    np.testing.assert_array_equal(read(tmp_path / "1.nii").data, np.round(DATA) * 2 + 5)


def test_number_and_series_are_those_of_the_name(tmp_path):
    write_nifti_volume(tmp_path / "a.nii", DATA, AFFINE, 1.0, 0.0)
    for name, number, series in [
        ("vol_0003.nii", 3, "vol_"),
        ("sub-01_run-2_vol-0005_bold.nii", 5, "sub-01_run-2_vol-_bold"),
        ("12.nii", 12, ""),
        ("bold.nii", None, "bold"),
        ("r1.nii", 1, "r"),
    ]:
        path = (tmp_path / "a.nii").rename(tmp_path / name)
        assert read(path)[2:4] == (number, f"{tmp_path.name}/{series}")
        path.rename(tmp_path / "a.nii")


def test_times_are_read_in_their_unit_and_only_where_there_is_one(tmp_path):
    for unit, pixdim, toffset, expected in [
        ("sec", 1.4, 2.8, (1.4, 2.8)),
        ("msec", 2000, 1500, (2.0, 1.5)),
        ("usec", 2e6, 1e6, (2.0, 1.0)),
        ("unknown", 1.0, 3.0, (None, None)),
        ("sec", 0.0, 0.0, (None, None)),  # what programs write that do not know
        ("sec", np.nan, np.inf, (None, None)),
        ("sec", -1.0, -2.0, (None, -2.0)),
    ]:
        sizes = [1, 2, 3, 4, pixdim, 0, 0, 0]
        path = save(tmp_path / "a.nii", unit=unit, pixdim=sizes, toffset=toffset)
        volume = read(path)
        assert (volume.tr, volume.offset) == expected


def test_truncated_files_are_refused(tmp_path):
    for name in ("1.nii", "1.nii.gz"):
        content = save(tmp_path / name).read_bytes()
        lengths = {*np.linspace(0, len(content) - 1, 40).astype(int), len(content) - 1}
        for length in lengths:
            (tmp_path / name).write_bytes(content[:length])
            with pytest.raises(VolumeError, match=name):
                pytest.fail(f"{length}: {read(tmp_path / name)}")


def test_damaged_gzip_files_are_refused(tmp_path):
    content = bytearray(save(tmp_path / "1.nii.gz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "1.nii.gz").write_bytes(content)
    with pytest.raises(VolumeError, match=r"1\.nii\.gz"):
        read(tmp_path / "1.nii.gz")


def test_damaged_headers_give_an_error_or_a_volume(tmp_path):
    rng = np.random.default_rng(0)
    content = np.frombuffer(save(tmp_path / "1.nii").read_bytes(), np.uint8)
    refused = 0
    for _ in range(200):
        damaged = content.copy()
        places = rng.integers(0, 352, rng.integers(1, 4))
        damaged[places] = rng.integers(0, 256, len(places))
        (tmp_path / "1.nii").write_bytes(damaged.tobytes())
        try:
            volume = read(tmp_path / "1.nii")
        except VolumeError:
            refused += 1
        else:
            assert volume.data.size == DATA.size and np.isfinite(volume.affine).all()
    assert 10 < refused < 190


def test_what_is_no_single_volume_is_refused(tmp_path):
    path = tmp_path / "1.nii"
    for data, message in [
        (np.zeros((4, 5, 6, 2)), "should hold one volume, got 4 x 5 x 6 x 2"),
        (np.zeros((4, 5)), "should hold one volume, got 4 x 5"),
        (np.zeros((4, 5, 6), complex), "should hold real numbers, got complex128"),
        (np.zeros((4, 5, 0)), "should hold one volume, got 4 x 5 x 0"),
    ]:
        with pytest.raises(VolumeError, match=message):
            read(save(path, data))
    for content, message in [
        (b"", "neither"),
        (b"hello" * 200, "neither"),
        (bytes(1000), "neither"),
        (os.urandom(5000), "neither"),
        (gzip.compress(b"hello" * 200), "neither"),
        (gzip.compress(bytes(70_000_000), 1), "holds too much"),
    ]:
        path.write_bytes(content)
        with pytest.raises(VolumeError, match=message):
            read(path)


def test_huge_claims_are_refused_unread(tmp_path):
    header = nibabel.Nifti1Header()
    header.set_data_dtype("f8")
    header.set_data_shape((32_000, 32_000, 32_000))
    header["magic"], header["vox_offset"] = b"n+1", 352
    (tmp_path / "1.nii").write_bytes(header.binaryblock + bytes(100))
    with pytest.raises(VolumeError, match="448 bytes for 32000 x 32000 x 32000 voxels"):
        read(tmp_path / "1.nii")
    with (tmp_path / "2.nii").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(VolumeError, match="more than any volume"):
        read(tmp_path / "2.nii")


def test_affine_that_maps_nowhere_is_refused(tmp_path):
    content = bytearray(save(tmp_path / "1.nii").read_bytes())
    content[280:328] = bytes(48)  # the rows of the affine
    (tmp_path / "1.nii").write_bytes(content)
    with pytest.raises(VolumeError, match="its affine does not map voxels to mm"):
        read(tmp_path / "1.nii")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(VolumeError, match="nothing.nii: no such file"):
        read(tmp_path / "nothing.nii")
    with pytest.raises(VolumeError, match="is a folder"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe.nii")  # would wait for ever
    with pytest.raises(VolumeError, match="pipe.nii"):
        read(tmp_path / "pipe.nii")


def test_names_tell_volumes_from_other_files():
    for name in (
        "a.nii",
        "a.NII.GZ",
        "001_000013_000001.dcm",
        "X.IMA",
        "MR.1.3.12.2.1107",
        "i1234.MRDC.17",
        "IM_0001",
    ):
        assert is_volume_name(name)
    for name in (
        ".a.nii",
        ".0011aa.tmp.a.nii",
        "a.nii.tmp",
        "a.dcm.part",
        "a.dcm.filepart",
        "a.nii~",
        "~a.nii",
        "a.json",
        "notes.TXT",
        "bold.log",
        "a.tar.gz",
        "DICOMDIR",
        "Thumbs.db",
    ):
        assert not is_volume_name(name)
