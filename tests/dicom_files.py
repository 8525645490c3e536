"""Synthetic DICOM files as vendors write them: one slice a file, and enhanced multi-frame."""

from collections.abc import Sequence
from pathlib import Path

import nibabel
import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import EnhancedMRImageStorage, ExplicitVRLittleEndian, MRImageStorage, generate_uid

from bciigl.source.volumes import Volume, VolumeReader

SERIES = "1.2.3.4"
PERSON = ("Doe", "Jane", "JD123", "19700102", "20200101")
VENDORS = ("philips", "ge", "siemens", "bare")


def oblique(sizes: Sequence[float] = (3.0, 2.5, 4.0)) -> np.ndarray:
    """Return an affine with axes in odd directions, of a head as scanners see it."""
    turn = nibabel.eulerangles.euler2mat(0.1, -0.2, 0.3)
    affine = np.eye(4)
    affine[:3, :3] = np.diag([-1, -1, 1]) @ turn @ np.diag(sizes)
    affine[:3, 3] = [80.5, 60.25, -40.125]
    return affine


def volumes(count: int, shape: tuple[int, ...] = (6, 5, 4)) -> np.ndarray:
    """Return random volumes, (count, x, y, z), whose values are whole."""
    return np.random.default_rng(0).integers(0, 4000, (count, *shape)).astype(np.uint16)


def assert_same_in_space(found: Volume, data: np.ndarray, affine: np.ndarray) -> None:
    """Compare two volumes mm by mm: the order of their voxels may differ."""
    voxels = np.argwhere(np.ones(data.shape, bool))
    there = nibabel.affines.apply_affine(np.linalg.inv(found.affine) @ affine, voxels)
    assert found.data.size == data.size
    np.testing.assert_allclose(there, np.rint(there), atol=1e-4)
    values = found.data[tuple(np.rint(there).astype(int).T)]
    np.testing.assert_array_equal(values, data.ravel())


def changed(path: Path, name: str = "changed.dcm", **elements: object) -> Path:
    """Write a file again with other elements; None removes one."""
    dataset = pydicom.dcmread(path)
    for keyword, value in elements.items():
        if value is None:
            delattr(dataset, keyword)
        else:
            setattr(dataset, keyword, value)
    dataset.save_as(path.with_name(name))
    return path.with_name(name)


def read_all(files: list[Path], reader: VolumeReader | None = None) -> list[Volume]:
    reader = reader or VolumeReader()
    return [volume for path in files for volume in reader.read(path)]


def slice_dataset(
    plane: np.ndarray, affine: np.ndarray, place: int, number: int, slices: int, vendor: str
) -> Dataset:
    """Return a slice of volume `number`, from 1, with what a vendor's header says about it.

    ``"bare"`` is what an anonymiser leaves: images are numbered, and that is all.
    """
    dataset = _dataset(plane[None], MRImageStorage)
    axes = np.diag([-1, -1, 1]) @ affine[:3]
    sizes = np.linalg.norm(axes[:, :3], axis=0)
    dataset.ImageOrientationPatient = [*axes[:, 0] / sizes[0], *axes[:, 1] / sizes[1]]
    dataset.ImagePositionPatient = list(axes @ [0, 0, place, 1])
    dataset.PixelSpacing = [sizes[1], sizes[0]]
    dataset.RepetitionTime = 2000
    dataset.InstanceNumber = (number - 1) * slices + place + 1
    dataset.AcquisitionTime = "100000"
    dataset.AcquisitionNumber = 1
    if vendor == "philips":
        dataset.TemporalPositionIdentifier = number
        dataset.InstanceNumber = place * 100 + number  # time runs first
        block = dataset.private_block(0x2001, "Philips Imaging DD 001", create=True)
        block.add_new(0x18, "SL", slices)
        dataset.AcquisitionTime = f"1000{2 * number:02d}.25"
    elif vendor == "ge":
        dataset.ImagesInAcquisition, dataset.NumberOfTemporalPositions = slices, 100
        block = dataset.private_block(0x0021, "GEMS_RELA_01", create=True)
        block.add_new(0x4F, "SL", slices)
    elif vendor == "siemens":
        dataset.AcquisitionNumber = number
        dataset.AcquisitionTime = f"1000{2 * number:02d}.{9 - place}"  # from the top down
    return dataset


def write_slices(
    folder: Path, data: np.ndarray, affine: np.ndarray, vendor: str, first: int = 1
) -> list[list[Path]]:
    """Write volumes, (volumes, x, y, z), slice by slice; return the files of each volume."""
    files = []
    for number, volume in enumerate(data, first):
        files.append([])
        for place in range(volume.shape[2]):
            plane = volume[:, :, place].T
            path = folder / f"{vendor}{number:03d}_{place:03d}.dcm"
            dataset = slice_dataset(plane, affine, place, number, volume.shape[2], vendor)
            dataset.save_as(path, enforce_file_format=True)
            files[-1].append(path)
    return files


def enhanced_dataset(
    data: np.ndarray, affine: np.ndarray, instance: int, *, indexed: bool = True
) -> Dataset:
    """Return one file with the volumes (volumes, x, y, z), the last slice of each first.

    `indexed` frames say which volume they belong to.
    """
    axes = np.diag([-1, -1, 1]) @ affine[:3]
    sizes = np.linalg.norm(axes[:, :3], axis=0)
    frames, planes = [], []
    for number, volume in enumerate(data, 1):
        for place in reversed(range(volume.shape[2])):
            content = Dataset()
            content.FrameAcquisitionDateTime = f"20200101{100000 + 2 * number + place / 10:.6f}"
            if indexed:
                content.TemporalPositionIndex = number
            position = Dataset()
            position.ImagePositionPatient = list(axes @ [0, 0, place, 1])
            scale = Dataset()
            scale.RescaleSlope, scale.RescaleIntercept = 2, 10 * number
            frame = Dataset()
            frame.FrameContentSequence, frame.PlanePositionSequence = [content], [position]
            frame.PixelValueTransformationSequence = [scale]
            frames.append(frame)
            planes.append(volume[:, :, place].T)
    dataset = _dataset(np.array(planes), EnhancedMRImageStorage)
    # As Siemens' XA30 calls it, though it is none.
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "M", "ND", "MOSAIC"]
    dataset.InstanceNumber, dataset.NumberOfFrames = instance, len(frames)
    orientation, measures, timing, common = Dataset(), Dataset(), Dataset(), Dataset()
    orientation.ImageOrientationPatient = [*axes[:, 0] / sizes[0], *axes[:, 1] / sizes[1]]
    measures.PixelSpacing = [sizes[1], sizes[0]]
    timing.RepetitionTime = 800
    common.PlaneOrientationSequence, common.PixelMeasuresSequence = [orientation], [measures]
    common.MRTimingAndRelatedParametersSequence = [timing]
    dataset.SharedFunctionalGroupsSequence = [common]
    dataset.PerFrameFunctionalGroupsSequence = frames
    return dataset


def _dataset(pixels: np.ndarray, kind: str) -> Dataset:
    """Return what all files have, with the name and birthday of a person who does not exist."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.SOPClassUID, dataset.SOPInstanceUID = kind, generate_uid()
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
    dataset.ImageType = ["ORIGINAL", "PRIMARY", "M"]
    dataset.PatientName, dataset.PatientID = "Doe^Jane", "JD123"
    dataset.PatientBirthDate, dataset.StudyDate = "19700102", "20200101"
    dataset.SeriesInstanceUID, dataset.SeriesDescription = SERIES, "bold run 1"
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.Rows, dataset.Columns = pixels.shape[1:]
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 16, 12, 11
    dataset.PixelRepresentation = 0
    dataset.PixelData = pixels.astype("<u2").tobytes()
    return dataset
