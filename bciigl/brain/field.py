"""The spatial law of fmrisim's noise: a smooth random field, standardised within the brain mask.

Each volume of that noise is a Gaussian field with a power-law spectrum on a periodic cubic grid;
then the brain's mean is subtracted, and the rest divided by the brain's SD. Subtracting a mean is
linear, so the covariance of any voxels follows from the spectrum and the mask. The division is not;
it lowers the correlations within the default region by about 0.01 (seen in 8000 volumes), which the
covariance below leaves out.
"""

import numpy as np
from scipy import fft

from bciigl.brain.region import Region
from bciigl.brain.subject import Subject

MOST_COVARIANCE_VOXELS = 1500
"""Voxels up to which a region is drawn by its covariance; a larger one is cut out of the brain."""


class Field:
    """Smooth random volumes of a subject's brain.

    Parameters
    ----------
    subject : Subject
        Its mask and smoothness.
    """

    def __init__(self, subject: Subject) -> None:
        self.mask = subject.mask
        size = max(subject.shape)
        self._grid = (size,) * 3
        self._power = _power(size, subject.noise.fwhm)
        self._amplitude = np.sqrt(self._power)
        self._covariance = fft.irfftn(self._power, self._grid)  # of two voxels, by their distance
        mask = np.zeros(self._grid)
        mask[self._crop] = self.mask
        with_brain = fft.irfftn(self._power * fft.rfftn(mask), self._grid) / self.mask.sum()
        self._with_brain = with_brain[self._crop]  # covariance of each voxel with the brain's mean
        self._of_brain = float(self._with_brain[self.mask].mean())  # variance of the brain's mean
        self._scale = self._covariance[0, 0, 0] - self._of_brain  # mean variance over the brain

    @property
    def voxels(self) -> int:
        """How many voxels the brain has."""
        return int(self.mask.sum())

    @property
    def _crop(self) -> tuple[slice, ...]:
        return tuple(slice(length) for length in self.mask.shape)

    def variance(self) -> np.ndarray:
        """Return the variance of each voxel of the brain, (voxels,); 1 on average."""
        own = self._covariance[0, 0, 0] - 2 * self._with_brain[self.mask] + self._of_brain
        return own / self._scale

    def covariance(self, region: Region) -> np.ndarray:
        """Return the covariance of a region's voxels, (n, n)."""
        apart = (region.voxels[:, None] - region.voxels) % self._grid[0]
        with_brain = self._with_brain[region.index]
        free = self._covariance[tuple(np.moveaxis(apart, -1, 0))]
        return (free - with_brain[:, None] - with_brain + self._of_brain) / self._scale

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a volume's values in the brain, (voxels,): mean 0, SD 1, as fmrisim makes them."""
        white = fft.rfftn(rng.standard_normal(self._grid))
        values = fft.irfftn(white * self._amplitude, self._grid)[self._crop][self.mask]
        return (values - values.mean()) / values.std()


class RegionField:
    """The same field within a region, drawn by its covariance: one matrix product for many volumes.

    A region of many voxels is cut out of whole volumes instead, because its covariance would grow
    with the square of their number.
    """

    def __init__(self, field: Field, region: Region) -> None:
        self._field = field
        self._of_brain = np.flatnonzero(_in_region(region, field.mask)[field.mask])
        self._root = None
        if len(region) <= MOST_COVARIANCE_VOXELS:
            self._root = _square_root(field.covariance(region))

    def draw(self, rng: np.random.Generator, volumes: int) -> np.ndarray:
        """Return independent volumes of the field, (volumes, voxels)."""
        if self._root is not None:
            return rng.standard_normal((volumes, len(self._root))) @ self._root
        return np.array([self._field.draw(rng)[self._of_brain] for _ in range(volumes)])


def _in_region(region: Region, mask: np.ndarray) -> np.ndarray:
    inside = np.zeros(mask.shape, bool)
    inside[region.index] = True
    return inside


def _square_root(covariance: np.ndarray) -> np.ndarray:
    """Return the symmetric square root; unlike Cholesky's it exists for singular matrices too."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.sqrt(values.clip(min=0))) @ vectors.T


def _power(size: int, fwhm: float) -> np.ndarray:
    """Return the spectrum on the half grid of a real FFT: fmrisim's power law, without a mean."""
    # fmrisim's fit of the exponent to the smoothness (Ellis et al. 2020).
    exponent = np.log(fwhm - 0.36778719) / np.log(2.10601011) + 2.15439247
    steps = fft.fftfreq(size, 1 / size)
    half = fft.rfftfreq(size, 1 / size)
    distance = np.sqrt(
        steps[:, None, None] ** 2 + steps[None, :, None] ** 2 + half[None, None, :] ** 2
    )
    distance[0, 0, 0] = 1.0
    power = distance**-exponent
    power[0, 0, 0] = 0.0
    return power
