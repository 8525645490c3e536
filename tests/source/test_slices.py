"""DICOM with one slice a file, as Philips, GE and others export it: put together, never mixed."""

import logging
from pathlib import Path

import numpy as np
import pydicom
import pytest
from dicom_files import (
    PERSON,
    SERIES,
    VENDORS,
    assert_same_in_space,
    changed,
    oblique,
    read_all,
    slice_dataset,
    volumes,
    write_slices,
)

from bciigl.source.volumes import VolumeError, VolumeReader

DATA = volumes(4)
AFFINE = oblique()


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2", "1.2.840.10008.1.2.2"])
def test_other_byte_orders_and_implicit_types_are_read(tmp_path, syntax):
    reader, found = VolumeReader(), []
    for place in range(4):
        plane = DATA[0][:, :, place].T
        dataset = slice_dataset(plane, AFFINE, place, 1, 4, "philips")
        dataset.RescaleSlope, dataset.RescaleIntercept = "0.5", "-3"
        dataset.file_meta.TransferSyntaxUID = pydicom.uid.UID(syntax)
        if syntax.endswith(".2.2"):
            dataset.PixelData = plane.astype(">u2").tobytes()
        dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
        found += reader.read(tmp_path / "a.dcm")
    (volume,) = found
    assert_same_in_space(volume, DATA[0] * 0.5 - 3, AFFINE)
    assert volume.data.dtype == np.float32


@pytest.mark.parametrize("vendor", VENDORS)
def test_slices_become_volumes_in_any_order(tmp_path, vendor):
    files = sum(write_slices(tmp_path, DATA, AFFINE, vendor), [])
    for order in (files, files[::-1], np.random.default_rng(0).permutation(files)):
        found = read_all([Path(each) for each in order])
        assert sorted(each.number for each in found) == [1, 2, 3, 4]
        for volume in found:
            assert_same_in_space(volume, DATA[volume.number - 1], AFFINE)
            assert (volume.series, volume.description, volume.tr) == (SERIES, "bold run 1", 2.0)
            assert not any(word in str(volume[2:]) for word in PERSON)


def test_slices_are_given_as_soon_as_they_are_a_volume(tmp_path):
    for vendor, late in [("philips", 0), ("ge", 0), ("siemens", 1), ("bare", 1)]:
        reader = VolumeReader()
        files = sum(write_slices(tmp_path, DATA, AFFINE, vendor), [])
        found = [reader.read(path) for path in files]
        given = [index for index, each in enumerate(found) if each]
        # Where the header does not say how many there are, the first slice of the second volume.
        assert given == [3 + late, 7, 11, 15]


def test_time_of_a_volume_is_that_of_its_first_slice_unless_all_are_the_same(tmp_path):
    for vendor, times in [
        ("philips", [36002.25, 36004.25, 36006.25, 36008.25]),
        ("siemens", [36002.6, 36004.6, 36006.6, 36008.6]),
        ("ge", [36000.0, None, None, None]),  # all have the time of the series
    ]:
        files = sum(write_slices(tmp_path, DATA, AFFINE, vendor), [])
        assert [each.acquired for each in read_all(files)] == pytest.approx(times)


def test_slices_below_the_first_one_are_read_as_well(tmp_path):
    down = AFFINE @ np.diag([1, 1, -1, 1])
    (volume,) = read_all(sum(write_slices(tmp_path, DATA[:1], down, "ge"), []))
    assert_same_in_space(volume, DATA[0], down)


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("volume", [0, 1])
def test_lost_slice_loses_its_volume_only(tmp_path, vendor, volume):
    files = write_slices(tmp_path, DATA, AFFINE, vendor)
    for lost in range(4):
        rest = [path for path in sum(files, []) if path != files[volume][lost]]
        found = read_all(rest)
        assert sorted({each.number for each in found}) == sorted({1, 2, 3, 4} - {volume + 1})
        for each in found:
            assert_same_in_space(each, DATA[each.number - 1], AFFINE)


def test_volumes_that_never_become_whole_are_dropped(tmp_path, caplog):
    reader = VolumeReader()
    with caplog.at_level(logging.WARNING, "bciigl"):
        for number in range(1, 12):
            plane = DATA[0][:, :, 0].T
            dataset = slice_dataset(plane, AFFINE, 0, number, 4, "philips")
            dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
            assert reader.read(tmp_path / "a.dcm") == []
    assert caplog.messages[0] == "volume 1 is dropped: 1 of 4 slices came"
    assert len(caplog.messages) == 3


@pytest.mark.parametrize("vendor", VENDORS)
def test_slice_that_comes_twice_is_taken_once(tmp_path, vendor):
    files = sum(write_slices(tmp_path, DATA, AFFINE, vendor), [])
    found = read_all([path for path in files for _ in range(2)] + files)
    assert [each.number for each in found] == [1, 2, 3, 4]


def test_volumes_are_never_mixed(tmp_path):
    # All volumes have the same number: the second one cannot be told from the first.
    files = sum(write_slices(tmp_path, DATA, AFFINE, "philips"), [])
    for path in files:
        changed(path, path.name, TemporalPositionIdentifier=1)
    reader = VolumeReader()
    assert len(read_all(files[:4], reader)) == 1
    for path in files[4:]:
        with pytest.raises(VolumeError, match="volume 1 was whole without this slice"):
            reader.read(path)
    reader = VolumeReader()
    read_all(files[1:4], reader)
    with pytest.raises(VolumeError, match="volume 1 has two slices at the same place"):
        reader.read(files[5])
    for path in (files[0], files[4]):
        with pytest.raises(VolumeError, match="volume 1 was whole without this slice"):
            reader.read(path)


def test_images_that_are_not_numbered_from_1_are_refused_not_mixed(tmp_path):
    for vendor in ("ge", "bare"):
        files = sum(write_slices(tmp_path, DATA, AFFINE, vendor), [])
        for path in files:
            number = int(pydicom.dcmread(path).InstanceNumber) - 1
            changed(path, path.name, InstanceNumber=number)
        reader, refused = VolumeReader(), 0
        for path in files:
            try:
                assert reader.read(path) == []
            except VolumeError as error:
                assert "not numbered in the order of slices and volumes" in str(error)
                refused += 1
        assert refused == 3


def test_number_of_slices_that_headers_contradict_is_counted(tmp_path):
    # GE counts interpolated slices twice; the whole series; or nothing but the volumes.
    for elements in [
        {"ImagesInAcquisition": 8},
        {"ImagesInAcquisition": 16, "NumberOfTemporalPositions": 4},
        {"ImagesInAcquisition": None, "NumberOfTemporalPositions": 4},
    ]:
        files = sum(write_slices(tmp_path, DATA, AFFINE, "ge"), [])
        for path in files:
            changed(path, path.name, **elements)
        found = read_all(files)
        assert [each.number for each in found] == [1, 2, 3, 4]
        for volume in found:
            assert_same_in_space(volume, DATA[volume.number - 1], AFFINE)


def test_slices_that_nothing_counts_are_refused(tmp_path):
    path = write_slices(tmp_path, DATA[:1], AFFINE, "siemens")[0][0]
    with pytest.raises(VolumeError, match="nothing says how many slices a volume has"):
        VolumeReader().read(changed(path, InstanceNumber=None))


def test_acquisition_counts_volumes_where_images_are_not_numbered(tmp_path):
    files = sum(write_slices(tmp_path, DATA, AFFINE, "philips"), [])
    for path in files:
        number = pydicom.dcmread(path).TemporalPositionIdentifier
        other = {"TemporalPositionIdentifier": None, "InstanceNumber": None}
        changed(path, path.name, AcquisitionNumber=number, **other)
    assert [each.number for each in read_all(files)] == [1, 2, 3, 4]
    path = changed(files[0], AcquisitionNumber=None)
    with pytest.raises(VolumeError, match="does not say which volume its slice belongs to"):
        VolumeReader().read(path)


def test_echoes_and_phases_are_series_of_their_own(tmp_path):
    files = sum(write_slices(tmp_path, DATA[:1], AFFINE, "philips"), [])
    kinds = {
        "": {},
        " echo 2": {"EchoNumbers": 2},
        " phase": {"ImageType": ["ORIGINAL", "PRIMARY", "PHASE MAP", "P"]},
    }
    reader, found = VolumeReader(), []
    for path in files:  # interleaved
        for index, elements in enumerate(kinds.values()):
            other = {"SOPInstanceUID": f"1.2.{index}", **elements}
            found += reader.read(changed(path, **other))
    assert [each.series for each in found] == [SERIES + suffix for suffix in kinds]


def test_pause_between_volumes_of_ge_is_part_of_the_tr(tmp_path):
    files = sum(write_slices(tmp_path, DATA[:1], AFFINE, "ge"), [])
    for path in files:
        dataset = pydicom.dcmread(path)
        dataset.private_block(0x0043, "GEMS_PARM_01", create=True).add_new(0x7C, "FL", 0.5)
        dataset.save_as(path)
    assert read_all(files)[0].tr == 2.5


def test_slices_that_do_not_fit_together_are_refused(tmp_path):
    files = write_slices(tmp_path, DATA[:1], AFFINE, "philips")[0]
    position = pydicom.dcmread(files[3]).ImagePositionPatient
    for elements, message in [
        ({"ImagePositionPatient": [position[0], position[1], position[2] + 2]}, "evenly spaced"),
        ({"PixelSpacing": [1, 1]}, "different directions or sizes"),
        ({"Rows": 4, "PixelData": bytes(48)}, "slices of different sizes"),
    ]:
        reader = VolumeReader()
        read_all(files[:3], reader)
        with pytest.raises(VolumeError, match=message):
            reader.read(changed(files[3], **elements))
