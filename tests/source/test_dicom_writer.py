"""Mosaics of the simulated scanner, as our reader, nibabel, pydicom and dcm2niix read them."""

import subprocess
import sys

import nibabel
import numpy as np
import pydicom
import pytest
from dicom_files import assert_same_in_space, oblique

from bciigl.base.errors import BciiglError
from bciigl.brain.subject import load_subject
from bciigl.source.dicom_writer import MosaicWriter, mosaic_slope
from bciigl.source.volumes import VolumeReader

SHAPE = (7, 6, 5)
DATA = np.random.default_rng(0).uniform(0, 3000, SHAPE)
SLOPE = mosaic_slope(3000)
# Scanners have right-handed axes in DICOM's directions; templates often have others.
AFFINES = {
    "scanner": oblique(),
    "left-handed": oblique() @ np.diag([1, 1, -1, 1]),
    "template": load_subject("brainiak").affine,
    "identity": np.diag([2.0, 3.0, 4.0, 1.0]),
    "sagittal": np.array([[0, 0, 3.0, 1], [2, 0, 0, 2], [0, -2.5, 0, 3], [0, 0, 0, 1]]),
}


def writer(affine=AFFINES["scanner"], **options) -> MosaicWriter:
    options = {"description": "localiser", "slope": SLOPE, "identity": "a", **options}
    return MosaicWriter(SHAPE, affine, 1.4, **options)


@pytest.fixture(params=AFFINES)
def written(request, tmp_path):
    """Return a file and the affine it was written with."""
    writer(AFFINES[request.param]).write(tmp_path / "1.dcm", DATA, 1, 3600.25)
    return tmp_path / "1.dcm", AFFINES[request.param]


def test_volume_comes_back_in_the_same_order(written):
    path, affine = written
    (volume,) = VolumeReader().read(path)
    np.testing.assert_array_equal(volume.data, np.rint(DATA / SLOPE) * SLOPE)
    assert np.abs(volume.data - DATA).max() <= SLOPE / 2
    np.testing.assert_allclose(volume.affine, affine, atol=1e-9)
    assert (volume.number, volume.tr, volume.acquired) == (1, 1.4, 3600.25)
    assert volume.description == "localiser"


def test_nibabel_reads_the_same(written):
    from nibabel.nicom.dicomwrappers import wrapper_from_file

    path, affine = written
    wrapper = wrapper_from_file(path)  # (row, column, slice), to the left and back
    assert wrapper.is_mosaic
    np.testing.assert_array_equal(
        wrapper.get_data().transpose(1, 0, 2), np.rint(DATA / SLOPE) * SLOPE
    )
    found = np.diag([-1, -1, 1, 1]) @ wrapper.affine[:, [1, 0, 2, 3]]
    np.testing.assert_allclose(found, affine, atol=1e-9)


def test_dcm2niix_reads_the_same(written, tmp_path):
    dcm2niix = pytest.importorskip("dcm2niix")
    path, affine = written
    command = [dcm2niix.bin, "-z", "n", "-f", "x", "-o", tmp_path, "-s", "y", path]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Warning" not in result.stdout + result.stderr
    image = nibabel.load(tmp_path / "x.nii")
    (volume,) = VolumeReader().read(path)
    assert_same_in_space(volume, image.get_fdata(), image.affine)
    np.testing.assert_allclose(volume.affine, affine, atol=1e-9)


def test_dcm2niix_makes_a_series_of_the_volumes(tmp_path):
    dcm2niix = pytest.importorskip("dcm2niix")
    (tmp_path / "in").mkdir()
    mosaics = writer()
    for number in (3, 1, 2):
        mosaics.write(tmp_path / "in" / f"{number}.dcm", DATA / number, number, 1.4 * number)
    command = [dcm2niix.bin, "-z", "n", "-f", "x", "-o", tmp_path, tmp_path / "in"]
    subprocess.run(command, check=True, capture_output=True)
    image = nibabel.load(tmp_path / "x.nii")
    assert image.shape == (*SHAPE, 3)
    assert image.header.get_zooms()[3] == np.float32(1.4)
    (volume,) = VolumeReader().read(tmp_path / "in" / "2.dcm")
    assert_same_in_space(volume, image.get_fdata()[..., 1], image.affine)


def test_header_says_what_it_is(tmp_path):
    mosaics = writer(description="caf\u00e9\\run")
    for number in (1, 2):
        mosaics.write(tmp_path / f"{number}.dcm", DATA, number, 86399.9999999)
    first, second = (pydicom.dcmread(tmp_path / f"{number}.dcm") for number in (1, 2))
    assert list(first.ImageType) == ["ORIGINAL", "PRIMARY", "M", "MB", "ND", "MOSAIC"]
    assert (first.PatientName, first.PatientBirthDate, first.StudyDate) == ("simulated", "", "")
    assert first.Manufacturer == "SIEMENS"
    assert "simulated by bciigl" in first.ImageComments
    assert first.ManufacturerModelName == "simulated by bciigl"
    assert first.SeriesDescription == "caf\u00e9/run"
    assert (first.RepetitionTime, first.AcquisitionTime) == (1400, "000000.000000")
    assert (second.AcquisitionNumber, second.InstanceNumber) == (2, 2)
    assert first.SeriesInstanceUID == second.SeriesInstanceUID == mosaics.series
    assert first.SOPInstanceUID != second.SOPInstanceUID
    assert first.SOPInstanceUID == first.file_meta.MediaStorageSOPInstanceUID
    writer(description="x" * 100).write(tmp_path / "3.dcm", DATA, 1, 0.0)
    assert VolumeReader().read(tmp_path / "3.dcm")[0].description == "x" * 64


def test_same_identity_gives_the_same_bytes(tmp_path):
    for name, identity in [("a", "x"), ("b", "x"), ("c", "y"), ("d", None), ("e", None)]:
        writer(identity=identity).write(tmp_path / name, DATA, 1, 5.0)
    a, b, c, d, e = ((tmp_path / name).read_bytes() for name in "abcde")
    assert a == b
    assert len({a, c, d, e}) == 4


def test_values_out_of_range_are_clipped(tmp_path):
    data = DATA.copy()
    data[0, 0, :2] = -5, 1e9
    writer().write(tmp_path / "1.dcm", data, 1, 0.0)
    (volume,) = VolumeReader().read(tmp_path / "1.dcm")
    np.testing.assert_array_equal(volume.data[0, 0, :2], [0, 65535 * SLOPE])
    np.testing.assert_array_equal(volume.data[1:], np.rint(DATA[1:] / SLOPE) * SLOPE)


def test_slope_is_the_smallest_power_of_two_that_leaves_room():
    for largest, slope in [(32767, 1), (32768, 2), (3000, 1 / 8), (16383.5, 1 / 2), (1e-9, 2**-14)]:
        assert mosaic_slope(largest) == slope
    for largest in (0, -1, np.nan, np.inf):
        with pytest.raises(BciiglError, match="should be positive"):
            mosaic_slope(largest)


def test_what_a_mosaic_cannot_hold_is_refused(tmp_path):
    sheared = np.eye(4)
    sheared[0, 1] = 0.5
    with pytest.raises(BciiglError, match="axes are at right angles"):
        writer(sheared)
    with pytest.raises(BciiglError, match=r"should have \(7, 6, 5\) voxels, got \(5, 6, 7\)"):
        writer().write(tmp_path / "1.dcm", DATA.T, 1, 0.0)
    assert list(tmp_path.iterdir()) == []


def test_missing_package_is_named(monkeypatch):
    for name in ("pydicom", "pydicom.uid"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        BciiglError, match=r"writing DICOM needs pydicom: pip install 'bciigl\[live"
    ):
        writer()
