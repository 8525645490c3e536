"""Volumes of a simulated head as a scanner exports them: made, moved and written."""

import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import ndimage

from bciigl.base.seeds import Seed
from bciigl.brain.field import field_of
from bciigl.brain.region import Region
from bciigl.brain.subject import Subject
from bciigl.protocol import Protocol
from bciigl.recording.trial import RunId
from bciigl.source.realign import Movement, Realigner
from bciigl.source.volumes import VolumeReader, write_nifti_volume

PREPARED = 16
"""Volumes of noise that all of those outside the region are made of."""
STEP = 0.2
"""How far the head moves from one volume to the next, as a share of how far it strays."""

WriteVolume = Callable[[RunId, int, np.ndarray], None]
"""Writes a volume, (x, y, z), of a run, by number from 1."""


class Background:
    """Volumes of a subject's head, with noise that is cheap to make.

    Its SD and its smoothness are those of the subject's noise, but volumes are independent of each
    other, and each is plus or minus one of 16 that were drawn before: no autocorrelation, no drift.
    """

    def __init__(self, subject: Subject, weight: float, seed: Seed) -> None:
        rng, field = seed.rng("background"), field_of(subject)
        noise = np.zeros((PREPARED, *subject.shape), np.float32)
        for each in noise:
            each[subject.mask] = subject.brain_sd * field.draw(rng)
            each += subject.system_sd * rng.standard_normal(subject.shape)
        self._noise, self._base = weight * noise, subject.base.astype(np.float32)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a volume, (x, y, z)."""
        sign = rng.choice(np.array([-1, 1], np.float32))
        return np.maximum(self._base + sign * self._noise[rng.integers(PREPARED)], 0.0)


class HeadMovement:
    """A head that strays around its place, slowly, by some mm; about a degree for each mm."""

    def __init__(self, size: float, subject: Subject, rng: np.random.Generator) -> None:
        self._rng, self._affine = rng, subject.affine
        self._scale = size * np.array([1.0] * 3 + [np.pi / 180] * 3)
        self._centre = subject.affine[:3] @ [*np.argwhere(subject.mask).mean(axis=0), 1]
        self._now = np.zeros(6)

    def next(self) -> np.ndarray:
        """Return where the head is now, (6,): mm and radians, as `Movement.parameters`."""
        kept = np.sqrt(1 - STEP**2)
        self._now = kept * self._now + STEP * self._scale * self._rng.standard_normal(6)
        return self._now

    def moved(self, volume: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return a volume of the head that has moved."""
        matrix = Movement(parameters, self._centre).matrix @ self._affine
        from_moved = np.linalg.inv(matrix) @ self._affine
        return ndimage.affine_transform(
            volume, from_moved[:3, :3], from_moved[:3, 3], mode="nearest"
        )


def volume_writer(kind: str, folder: Path, protocol: Protocol, subject: Subject) -> WriteVolume:
    """Return what writes volumes as ``"nifti"`` or ``"dicom"``, a series for each run."""
    tr = protocol.timing.tr

    def write_nifti(place: RunId, number: int, volume: np.ndarray) -> None:
        path = folder / f"{protocol.name}_run-{place.run:02}_{number:05}.nii"
        write_nifti_volume(path, volume, subject.affine, tr, (number - 1) * tr)

    if kind == "nifti":
        return write_nifti
    from bciigl.source.dicom_writer import MosaicWriter, mosaic_slope

    slope, session, writers = mosaic_slope(float(subject.base.max())), secrets.token_hex(8), {}
    now = time.localtime()
    began = now.tm_hour * 3600 + now.tm_min * 60 + now.tm_sec

    def write_dicom(place: RunId, number: int, volume: np.ndarray) -> None:
        if place not in writers:
            writers[place] = MosaicWriter(
                subject.shape,
                subject.affine,
                tr,
                description=f"{protocol.name} run {place.run}",
                slope=slope,
                identity=f"{session} {place.run}",
            )
        path = folder / f"001_{place.run:06}_{number:06}.dcm"
        writers[place].write(path, volume, number, (began + (number - 1) * tr) % 86400)

    return write_dicom


def fastest(kind: str, protocol: Protocol, subject: Subject, region: Region) -> float:
    """Return how many times as fast as a real scanner a rehearsal can be on this computer.

    Either writing volumes takes longest, or reading and realigning them does.
    """
    realigner = Realigner(subject.base, subject.affine, region.voxels)
    with tempfile.TemporaryDirectory() as folder:
        write = volume_writer(kind, Path(folder), protocol, subject)
        spent = []
        for number in range(1, 4):  # the first one takes longer
            began = time.perf_counter()
            write(RunId("train", 1), number, subject.base)
            written = time.perf_counter()
            for path in Path(folder).iterdir():
                VolumeReader().read(path)
                path.unlink()
            if protocol.live.realign:
                realigner(subject.base)
            spent.append(max(written - began, time.perf_counter() - written))
    return protocol.timing.tr / min(spent)
