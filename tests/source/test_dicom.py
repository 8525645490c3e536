"""Mosaics and enhanced DICOM, as scanners export them, and files that are broken."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pydicom
import pytest
from dicom_files import (
    PERSON,
    SERIES,
    assert_same_in_space,
    changed,
    enhanced_dataset,
    oblique,
    volumes,
    write_slices,
)

from bciigl.base.errors import BciiglError
from bciigl.source.dicom_writer import MosaicWriter
from bciigl.source.volumes import VolumeError, VolumeReader

# Which values of a damaged header are odd.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DATA = volumes(4)
AFFINE = oblique()

needs_data = pytest.mark.skipif("BCIIGL_TEST_DATA" not in os.environ, reason="needs real mosaics")


def real_mosaics() -> list[Path]:
    return sorted(Path(os.environ["BCIIGL_TEST_DATA"], "dicom").rglob("*.dcm"))


def mosaic(path: Path, number: int = 1) -> Path:
    writer = MosaicWriter(DATA[0].shape, AFFINE, 1.5, description="x", slope=1.0, identity="a")
    writer.write(path, DATA[0], number, 3600.0)
    return path


@needs_data
def test_real_mosaics_agree_with_nibabel():
    from nibabel.nicom.dicomwrappers import wrapper_from_file

    for path in real_mosaics():
        (volume,) = VolumeReader().read(path)
        wrapper = wrapper_from_file(path)  # (row, column, slice), to the left and back
        np.testing.assert_array_equal(volume.data, wrapper.get_data().transpose(1, 0, 2))
        affine = np.diag([-1, -1, 1, 1]) @ wrapper.affine[:, [1, 0, 2, 3]]
        np.testing.assert_allclose(volume.affine, affine, atol=1e-9)


@needs_data
def test_real_mosaics_agree_with_dcm2niix(tmp_path):
    nibabel, dcm2niix = pytest.importorskip("nibabel"), pytest.importorskip("dcm2niix")
    for path in (real_mosaics()[0], real_mosaics()[-1]):
        folder = tmp_path / path.parent.name
        folder.mkdir()
        subprocess.run([dcm2niix.bin, "-z", "n", "-s", "y", "-o", folder, path], check=True)
        image = nibabel.load(next(folder.glob("*.nii")))
        assert_same_in_space(VolumeReader().read(path)[0], np.asarray(image.dataobj), image.affine)


@needs_data
def test_real_mosaics_are_counted_and_timed_by_their_headers():
    found = {path: VolumeReader().read(path)[0] for path in real_mosaics()}
    rtcloud = [each for path, each in found.items() if path.parent.name == "rtcloud"]
    assert [each.number for each in rtcloud] == [10, *range(1, 11)]  # 000000 is volume 10 again
    assert {(each.data.shape, each.tr) for each in rtcloud} == {((64, 64, 27), 1.5)}
    assert np.diff([each.acquired for each in rtcloud[1:]]) == pytest.approx([1.5] * 9)
    assert rtcloud[1].acquired == 12 * 3600 + 47 * 60 + 50.3275
    assert {each.description for each in rtcloud} == {"func_ses-01_task-faces_run-01"}
    pyneal = [each for path, each in found.items() if path.parent.name == "pyneal"]
    assert [each.number for each in pyneal] == [1, 2, 3]
    assert {(each.data.shape, each.tr) for each in pyneal} == {((64, 64, 18), 1.0)}
    assert len({each.series for each in found.values()}) == 2


@needs_data
def test_truncated_real_mosaics_are_refused(tmp_path):
    for path in (real_mosaics()[0], real_mosaics()[-1]):
        content = path.read_bytes()
        for share in (0.0, 0.001, 0.3, 0.9, 0.999):
            (tmp_path / "a.dcm").write_bytes(content[: int(share * len(content))])
            with pytest.raises(VolumeError, match=r"a\.dcm: "):
                VolumeReader().read(tmp_path / "a.dcm")


def test_mosaic_without_private_header_is_read_by_its_directions(tmp_path):
    path = mosaic(tmp_path / "a.dcm")
    dataset = pydicom.dcmread(path)
    del dataset[0x0029, 0x1010]
    dataset.save_as(path)
    (volume,) = VolumeReader().read(path)
    np.testing.assert_array_equal(volume.data, DATA[0])
    np.testing.assert_allclose(volume.affine, AFFINE, atol=1e-9)
    del dataset[0x0019, 0x100A]
    dataset.save_as(path)
    with pytest.raises(VolumeError, match="does not say how many tiles"):
        VolumeReader().read(path)


def test_mosaic_is_numbered_by_acquisition_then_by_instance(tmp_path):
    path = mosaic(tmp_path / "a.dcm", 7)
    for elements, number in [
        ({"InstanceNumber": 21}, 7),  # three echoes, counted through
        ({"AcquisitionNumber": None}, 7),
        ({"AcquisitionNumber": "", "InstanceNumber": 8}, 8),
        ({"AcquisitionNumber": None, "InstanceNumber": None}, None),
    ]:
        assert VolumeReader().read(changed(path, **elements))[0].number == number


def test_times_are_seconds_of_the_day(tmp_path):
    path = mosaic(tmp_path / "a.dcm")
    for time, seconds in [
        ("235959.5", 86399.5),
        ("0102", 3720.0),
        ("07", 25200.0),
        ("01:02:03", 3723.0),
    ]:
        (volume,) = VolumeReader().read(changed(path, AcquisitionTime=time))
        assert volume.acquired == seconds
    (volume,) = VolumeReader().read(changed(path, AcquisitionTime="", ContentTime="000001"))
    assert volume.acquired == 1.0
    for time in ("nonsense", "256199", ""):
        path = changed(path, AcquisitionTime=time, ContentTime="")
        assert VolumeReader().read(path)[0].acquired is None


def test_slope_and_intercept_are_applied_to_signed_pixels(tmp_path):
    pixels = DATA[0].astype(int) - 2000
    dataset = enhanced_dataset(pixels[None], AFFINE, 1)
    dataset.PixelRepresentation = 1
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    (volume,) = VolumeReader().read(tmp_path / "a.dcm")
    assert_same_in_space(volume, 2 * pixels + 10, AFFINE)


@pytest.mark.parametrize("count", [1, 3])
def test_enhanced_file_has_one_volume_or_several(tmp_path, count):
    path = tmp_path / "a.dcm"
    enhanced_dataset(DATA[:count], AFFINE, 17).save_as(path, enforce_file_format=True)
    found = VolumeReader().read(path)
    assert [each.number for each in found] == ([17] if count == 1 else [1, 2, 3])
    for number, volume in enumerate(found, 1):
        assert_same_in_space(volume, 2.0 * DATA[number - 1] + 10 * number, AFFINE)
        assert (volume.series, volume.tr) == (SERIES, 0.8)
        assert volume.acquired == 36000 + 2 * number
        assert not any(word in str(volume[2:]) for word in PERSON)


def test_enhanced_frames_that_cannot_be_told_apart_are_refused(tmp_path):
    path = tmp_path / "a.dcm"
    enhanced_dataset(DATA, AFFINE, 1, indexed=False).save_as(path, enforce_file_format=True)
    with pytest.raises(VolumeError, match="which of its frames belong to the same volume"):
        VolumeReader().read(path)
    dataset = pydicom.dcmread(path)
    for index, frame in enumerate(dataset.PerFrameFunctionalGroupsSequence):
        frame.FrameContentSequence[0].FrameAcquisitionNumber = 1 + index // 4
    dataset.save_as(path)
    assert [each.number for each in VolumeReader().read(path)] == [1, 2, 3, 4]
    del dataset.PerFrameFunctionalGroupsSequence[-1]
    dataset.save_as(path)
    with pytest.raises(VolumeError, match="has 16 frames, but its header describes 15"):
        VolumeReader().read(path)


def test_enhanced_echoes_and_phases_are_series_of_their_own(tmp_path):
    dataset = enhanced_dataset(DATA, AFFINE, 5, indexed=False)
    for index, frame in enumerate(dataset.PerFrameFunctionalGroupsSequence):
        echo, kind = pydicom.Dataset(), pydicom.Dataset()
        echo.EffectiveEchoTime = [12.0, 30.0][index // 4 % 2]
        kind.ComplexImageComponent = ["MAGNITUDE", "PHASE"][index // 8]
        frame.MREchoSequence, frame.MRImageFrameTypeSequence = [echo], [kind]
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    found = {each.series: each for each in VolumeReader().read(tmp_path / "a.dcm")}
    suffixes = ["", " echo 2", " phase", " echo 2 phase"]
    assert list(found) == [SERIES + suffix for suffix in suffixes]
    for index, volume in enumerate(found.values()):
        assert volume.number == 5
        assert_same_in_space(volume, 2.0 * DATA[index] + 10 * (index + 1), AFFINE)


def test_broken_headers_are_refused(tmp_path):
    path = mosaic(tmp_path / "a.dcm")
    for elements, message in [
        ({"PixelData": None}, "has no image, or is truncated"),
        ({"Rows": 0xFFFF, "Columns": 0xFFFF}, "truncated or damaged: 65535 x 65535 pixels in 1"),
        ({"NumberOfFrames": 2**31 - 1}, "pixels in 2147483647 frames in 240 bytes"),
        ({"Rows": 5, "Columns": 24}, "cannot have 2 x 2 tiles"),
        ({"BitsAllocated": 12}, "should have 16 bits"),
        ({"SamplesPerPixel": 3}, "one sample a pixel, got 16 and 3"),
        ({"RescaleSlope": 0}, "RescaleSlope is 0"),
        ({"ImagePositionPatient": None}, "ImagePositionPatient: should be 3 numbers, got 0"),
        ({"ImageOrientationPatient": [1, 0, 0, 1, 0, 0]}, "not two directions at a right angle"),
        ({"PixelSpacing": [3, -3]}, "PixelSpacing: should be positive"),
        ({"PixelSpacing": [3, 3, 3]}, "PixelSpacing: should be 2 numbers"),
        ({"SpacingBetweenSlices": None, "SliceThickness": 0}, "how far slices are from each"),
        ({"SeriesInstanceUID": None}, "has no SeriesInstanceUID"),
    ]:
        with pytest.raises(VolumeError, match=message):
            pytest.fail(f"{elements}: {VolumeReader().read(changed(path, **elements))}")


def test_tiles_that_contradict_each_other_are_refused(tmp_path):
    dataset = pydicom.dcmread(mosaic(tmp_path / "a.dcm"))
    dataset[0x0019, 0x100A].value = 3
    dataset.save_as(tmp_path / "a.dcm")
    with pytest.raises(VolumeError, match="does not say how many tiles"):
        VolumeReader().read(tmp_path / "a.dcm")
    del dataset[0x0029, 0x1010]
    dataset.save_as(tmp_path / "a.dcm")
    with pytest.raises(VolumeError, match="more than the 3 tiles"):
        VolumeReader().read(tmp_path / "a.dcm")


def test_compressed_pixels_are_refused(tmp_path):
    dataset = pydicom.dcmread(mosaic(tmp_path / "a.dcm"))
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    dataset.save_as(tmp_path / "b.dcm")
    with pytest.raises(VolumeError, match="deflated.*; export it uncompressed"):
        VolumeReader().read(tmp_path / "b.dcm")
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.JPEG2000Lossless
    dataset.PixelData = pydicom.encaps.encapsulate([dataset.PixelData])
    dataset["PixelData"].is_undefined_length = True
    dataset.save_as(tmp_path / "b.dcm")
    with pytest.raises(VolumeError, match=r"compressed \(JPEG 2000 .*\); export them uncompressed"):
        VolumeReader().read(tmp_path / "b.dcm")


def test_truncated_files_are_refused(tmp_path):
    files = [mosaic(tmp_path / "mosaic.dcm"), tmp_path / "enhanced.dcm"]
    enhanced_dataset(DATA, AFFINE, 1).save_as(files[1], enforce_file_format=True)
    files += write_slices(tmp_path, DATA[:1], AFFINE, "ge")[0][:1]
    for path in files:
        content = path.read_bytes()
        for length in {*np.linspace(0, len(content) - 1, 25).astype(int), len(content) - 1}:
            (tmp_path / "cut.dcm").write_bytes(content[:length])
            with pytest.raises(VolumeError):
                pytest.fail(f"{length}: {VolumeReader().read(tmp_path / 'cut.dcm')}")


def test_damaged_bytes_give_an_error_or_a_volume(tmp_path):
    rng = np.random.default_rng(0)
    files = [mosaic(tmp_path / "mosaic.dcm"), tmp_path / "enhanced.dcm"]
    enhanced_dataset(DATA[:2], AFFINE, 1).save_as(files[1], enforce_file_format=True)
    files += write_slices(tmp_path, DATA[:1], AFFINE, "ge")[0][:1]
    refused = 0
    for path in files:
        content = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(25):
            damaged = content.copy()
            places = rng.integers(132, len(content), rng.integers(1, 6))
            damaged[places] = rng.integers(0, 256, len(places))
            (tmp_path / "damaged.dcm").write_bytes(damaged.tobytes())
            try:
                for volume in VolumeReader().read(tmp_path / "damaged.dcm"):
                    assert volume.data.ndim == 3 and np.isfinite(volume.affine).all()
            except VolumeError:
                refused += 1
    assert 5 < refused < 70


def test_damaged_mosaic_layout_is_refused(tmp_path):
    """Every seventh byte of the private header, changed: the same volume, or an error."""
    path = mosaic(tmp_path / "a.dcm")
    content = bytearray(path.read_bytes())
    start = content.index(b"SV10")
    for place in range(start, start + 700, 7):
        damaged = content.copy()
        damaged[place] ^= 0x81
        (tmp_path / "b.dcm").write_bytes(damaged)
        try:
            (volume,) = VolumeReader().read(tmp_path / "b.dcm")
        except VolumeError:
            continue
        assert volume.data.shape == DATA[0].shape
        np.testing.assert_array_equal(volume.data, DATA[0])


def test_missing_package_is_named(tmp_path, monkeypatch):
    path = mosaic(tmp_path / "a.dcm")
    for name in [each for each in sys.modules if each.startswith("bciigl.source.dicom")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(
        BciiglError, match=r"reading DICOM needs pydicom: pip install 'bciigl\[live"
    ):
        VolumeReader().read(path)
