"""Slices put together to volumes: where they lie in the head, and which of them belong together."""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bciigl.source.volumes import Volume, VolumeError

# A volume that misses slices is given up when this many newer ones have begun.
_HELD = 8
# Series and finished volumes that are remembered, so that memory stays flat.
_SERIES, _FINISHED = 8, 16
# Images of a series that are kept until it is known how many slices a volume has.
_WAITING = 2000


class Slice(NamedTuple):
    """One slice and what its header says about its place in space and time."""

    pixels: np.ndarray  # (rows, columns), float32
    orientation: np.ndarray  # directions of a row and of a column, (6,)
    spacing: np.ndarray  # mm between rows and between columns, (2,)
    position: np.ndarray  # of the first pixel, mm to the left, back and top, (3,)
    time_point: int | None  # which volume, where the header says it outright
    instance: int | None  # which image of the series, from 1
    acquisition: int | None  # which volume with some vendors, always 1 with others
    claimed: int | None  # how many slices a volume has, if the header says
    uid: str  # no other image has it
    volume: Volume  # what the volume shares; its `data` and `affine` are not used

    @property
    def place(self) -> float:
        """Where along the normal of its plane the slice lies."""
        return place(self.orientation, self.position)


def place(orientation: np.ndarray, position: np.ndarray) -> float:
    """Return how far along the normal of its plane a slice lies, in mm to two decimals."""
    return round(float(np.cross(orientation[:3], orientation[3:]) @ position), 2)


def stack(
    planes: Sequence[np.ndarray],
    orientation: np.ndarray,
    spacing: np.ndarray,
    positions: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the voxels, (x, y, z), and the affine of parallel slices in any order.

    Parameters
    ----------
    planes : sequence of arrays, (rows, columns)
        At least two.
    orientation, spacing : array, (6,) and (2,)
        As in `Slice`.
    positions : array, (slices, 3)
        Must be evenly spaced on a line.
    """
    if len(planes) < 2:
        raise VolumeError("has one slice; a volume has at least two")
    if len({plane.shape for plane in planes}) > 1:
        raise VolumeError("has slices of different sizes")
    order = np.argsort(positions @ np.cross(orientation[:3], orientation[3:]))
    positions = positions[order]
    step = (positions[-1] - positions[0]) / (len(positions) - 1)
    ideal = positions[0] + np.arange(len(positions))[:, None] * step
    if np.abs(positions - ideal).max() > 0.05 * np.linalg.norm(step):
        raise VolumeError("its slices are not evenly spaced")
    data = np.stack([planes[index] for index in order]).transpose(2, 1, 0)
    return data, patient_affine(orientation, spacing, step, positions[0])


def patient_affine(
    orientation: np.ndarray, spacing: np.ndarray, step: np.ndarray, position: np.ndarray
) -> np.ndarray:
    """Return the affine from voxels (column, row, slice) to mm, as NIfTI has it.

    Arguments are in DICOM's directions (left, back, top): `step` leads from a slice to the next,
    `position` is that of the first voxel.
    """
    affine = np.eye(4)
    affine[:3] = np.column_stack(
        [orientation[:3] * spacing[1], orientation[3:] * spacing[0], step, position]
    )
    affine[:2] *= -1
    if not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-9:
        raise VolumeError("its orientation, spacing and position do not map voxels to mm")
    return affine


def _period(images: Mapping[int, Slice]) -> int | None:
    """Return after how many images, numbered without a gap, the first one's place comes back."""
    places: list[float] = []
    before = None
    for instance in sorted(images):
        if before is not None and instance != before + 1:
            places = []
        before, where = instance, images[instance].place
        if where in places:
            if where == places[0] and len(places) > 1:
                return len(places)
            places = []
        places.append(where)
    return None


def _check_order(images: Sequence[Slice]) -> None:
    """Refuse slices whose numbers do not follow their places.

    Where volumes are counted by the numbers of images and these do not begin at 1, a volume would
    have slices of two; its places then jump back.
    """
    images = sorted(images, key=lambda each: each.instance or 0)
    steps = np.diff([each.place for each in images])
    if not ((steps > 0).all() or (steps < 0).all()):
        raise VolumeError("its images are not numbered in the order of slices and volumes")


class SliceCollector:
    """Keeps slices, from any number of series, until their volumes are whole."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}

    def add(self, image: Slice) -> list[Volume]:
        """Return the volumes that become whole by this slice."""
        name = image.volume.series
        series = self._series.setdefault(name, _Series())
        if len(self._series) > _SERIES:
            del self._series[next(iter(self._series))]
        return series.add(image)


def _key(image: Slice, count: int) -> tuple[int, int | None]:
    """Return the number of a slice's volume, with what slices of a volume have in common."""
    number = image.time_point
    if number is None and image.instance is not None:
        number = (image.instance - 1) // count + 1
    if number is None:
        number = image.acquisition
    if number is None:
        raise VolumeError("does not say which volume its slice belongs to")
    return number, image.acquisition


class _Series:
    """The slices of one series.

    A volume is whole when it has as many slices as the header says. Where the header does not say,
    they are counted when the next volume begins.
    """

    def __init__(self) -> None:
        self._count: int | None = None
        self._waiting: dict[int, Slice] = {}  # by instance, while the number of slices is unknown
        self._held: dict[tuple, dict[float, Slice]] = {}  # by volume, then by place
        self._finished: dict[tuple, set[str]] = {}  # the images of recent volumes
        self._began: tuple[int, float | None] | None = None  # number and time of the last volume

    def add(self, image: Slice) -> list[Volume]:
        """Return the volumes that become whole by this slice."""
        self._count = self._count or image.claimed
        if self._count is None:
            return self._wait(image)
        key = _key(image, self._count)
        if key in self._finished:
            if image.uid in self._finished[key]:
                return []  # the same file again
            raise VolumeError(f"volume {key[0]} was whole without this slice, or is damaged")
        held = self._held.setdefault(key, {})
        other = held.setdefault(image.place, image)
        if other.uid != image.uid:
            self._finish(key)  # which of the two belongs to it? so that nothing is ever mixed
            raise VolumeError(f"volume {key[0]} has two slices at the same place; it is dropped")
        whole = [key for key, held in self._held.items() if len(held) == self._count]
        volumes = [self._volume(key) for key in whole]
        self._give_up()
        return volumes

    def _wait(self, image: Slice) -> list[Volume]:
        """Keep a slice until it is known how many a volume has."""
        if image.instance is None or len(self._waiting) >= _WAITING:
            self._waiting.clear()
            raise VolumeError("nothing says how many slices a volume has")
        if self._waiting.setdefault(image.instance, image).uid != image.uid:
            raise VolumeError(f"two images of its series have the number {image.instance}")
        self._count = _period(self._waiting)
        if self._count is None:
            return []
        waiting, self._waiting = self._waiting, {}
        return [volume for each in waiting.values() for volume in self.add(each)]

    def _volume(self, key: tuple) -> Volume:
        images = list(self._finish(key).values())
        first = images[0]
        for each in images:
            same = np.allclose(each.orientation, first.orientation, atol=1e-4)
            if not same or not np.allclose(each.spacing, first.spacing, atol=1e-4):
                raise VolumeError(f"volume {key[0]} has slices of different directions or sizes")
        if first.time_point is None and first.instance is not None:
            _check_order(images)
        positions = np.array([each.position for each in images])
        pixels = [each.pixels for each in images]
        data, affine = stack(pixels, first.orientation, first.spacing, positions)
        times = [each.volume.acquired for each in images if each.volume.acquired is not None]
        acquired = min(times, default=None)
        before, self._began = self._began, (key[0], acquired)
        # Some scanners give every image the time at which the series began.
        if before and before[0] != key[0] and before[1] == acquired:
            acquired = None
        return first.volume._replace(data=data, affine=affine, number=key[0], acquired=acquired)

    def _finish(self, key: tuple) -> dict[float, Slice]:
        """Return the slices of a volume and keep their names only."""
        images = self._held.pop(key)
        self._finished[key] = {each.uid for each in images.values()}
        if len(self._finished) > _FINISHED:
            del self._finished[next(iter(self._finished))]
        return images

    def _give_up(self) -> None:
        """Forget the oldest volume that is not whole, if there are too many."""
        if len(self._held) > _HELD:
            key = next(iter(self._held))
            message = "volume %s is dropped: %s of %s slices came"
            found = len(self._held.pop(key))
            logging.getLogger("bciigl").warning(message, key[0], found, self._count)
