"""Enhanced DICOM: one file has all slices of a volume, or of several, as frames."""

from collections import defaultdict
from typing import Any

import numpy as np
from pydicom.dataset import Dataset

from bciigl.source.dicom_elements import (
    clock,
    component,
    describe,
    number,
    placement,
    read_pixels,
    rescaled,
    whole_number,
)
from bciigl.source.slices import place, stack
from bciigl.source.volumes import Volume, VolumeError

# In which functional group of a frame, or of all frames, an element is.
_GROUPS = {
    "ComplexImageComponent": "MRImageFrameTypeSequence",
    "EffectiveEchoTime": "MREchoSequence",
    "FrameAcquisitionDateTime": "FrameContentSequence",
    "FrameAcquisitionNumber": "FrameContentSequence",
    "FrameType": "MRImageFrameTypeSequence",
    "ImageOrientationPatient": "PlaneOrientationSequence",
    "ImagePositionPatient": "PlanePositionSequence",
    "PixelSpacing": "PixelMeasuresSequence",
    "RepetitionTime": "MRTimingAndRelatedParametersSequence",
    "RescaleIntercept": "PixelValueTransformationSequence",
    "RescaleSlope": "PixelValueTransformationSequence",
    "TemporalPositionIndex": "FrameContentSequence",
}


class _Frame:
    """One slice of an enhanced file, whose elements are found as if it were a file of its own."""

    def __init__(self, own: Dataset, common: Dataset, dataset: Dataset, pixels: np.ndarray) -> None:
        self._groups = own, common
        self._dataset = dataset
        self.pixels = rescaled(self, pixels)
        self.orientation, self.spacing, self.position = placement(self)
        self.place = place(self.orientation, self.position)

    def get(self, keyword: str, /) -> Any:
        """Return the value of an element, None if it is absent."""
        for groups in self._groups:
            items = groups.get(_GROUPS[keyword])
            if items and keyword in items[0]:
                return items[0].get(keyword)
        return self._dataset.get(keyword)


def read_frames(dataset: Dataset) -> list[Volume]:
    """Return the volumes of an enhanced file, in order."""
    pixels = read_pixels(dataset)
    own, common = dataset.PerFrameFunctionalGroupsSequence, Dataset()
    if items := dataset.get("SharedFunctionalGroupsSequence"):
        common = items[0]
    if len(own) != len(pixels):
        raise VolumeError(f"has {len(pixels)} frames, but its header describes {len(own)}")
    kinds = defaultdict(list)  # the echoes, each with its magnitude and perhaps its phase
    for groups, plane in zip(own, pixels, strict=True):
        frame = _Frame(groups, common, dataset, plane)
        kinds[component(frame, "FrameType"), number(frame, "EffectiveEchoTime") or 0.0].append(
            frame
        )
    echoes = sorted({echo for _, echo in kinds})
    volumes = []
    for (part, echo), frames in kinds.items():
        suffix = f" echo {echoes.index(echo) + 1}" if echo > echoes[0] else ""
        suffix += f" {part}" if part else ""
        groups = _split(frames)
        volumes += [_volume(dataset, suffix, groups, which) for which in sorted(groups)]
    return volumes


def _split(frames: list[_Frame]) -> dict[int, list[_Frame]]:
    """Return the frames of each volume by its number, 0 if there is only one volume."""
    if len({frame.place for frame in frames}) == len(frames):
        return {0: frames}
    for keyword in ("TemporalPositionIndex", "FrameAcquisitionNumber"):
        groups: dict[int, list[_Frame]] = defaultdict(list)
        numbers = [whole_number(frame, keyword) for frame in frames]
        for which, frame in zip(numbers, frames, strict=True):
            if which is not None:
                groups[which].append(frame)
        sizes = {len(each) for each in groups.values()}
        sizes |= {len({frame.place for frame in each}) for each in groups.values()}
        if None not in numbers and len(sizes) == 1:
            return groups
    raise VolumeError("nothing says which of its frames belong to the same volume")


def _volume(dataset: Dataset, suffix: str, groups: dict[int, list[_Frame]], which: int) -> Volume:
    frames = groups[which]
    first = frames[0]
    if any(not np.allclose(each.orientation, first.orientation, atol=1e-4) for each in frames):
        raise VolumeError("has slices of different directions")
    positions = np.array([frame.position for frame in frames])
    pixels = [frame.pixels for frame in frames]
    data, affine = stack(pixels, first.orientation, first.spacing, positions)
    volume = describe(dataset)
    times = [clock(frame.get("FrameAcquisitionDateTime")) for frame in frames]
    alone = volume.acquired if len(groups) == 1 else None
    tr = number(first, "RepetitionTime")
    counted = ("InstanceNumber", "AcquisitionNumber")
    numbers = [which] if which else [whole_number(dataset, each) for each in counted]
    return volume._replace(
        data=data,
        affine=affine,
        number=next((each for each in numbers if each is not None), None),
        series=f"{dataset.SeriesInstanceUID}{suffix}",
        tr=tr / 1000 if tr else None,
        acquired=min((each for each in times if each is not None), default=alone),
    )
