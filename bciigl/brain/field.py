"""The spatial law of fmrisim's noise: a smooth random field, standardised within the brain mask.

Each volume of that noise is a Gaussian field with a power-law spectrum on a periodic cubic grid;
then the brain's mean is subtracted, and the rest divided by the brain's SD. Subtracting a mean is
linear, so the covariance of any voxels follows from the spectrum and the mask. The division is not
linear, but its effect on the covariance is known: it weakens each principal mode of the brain's
noise by as much as the mode itself makes the SD large.
"""

from functools import lru_cache

import numpy as np
from scipy import fft
from scipy.integrate import quad_vec
from scipy.sparse.linalg import LinearOperator, eigsh

from bciigl.brain.region import Region
from bciigl.brain.subject import Subject

MOST_COVARIANCE_VOXELS = 3000
"""Voxels up to which a region is drawn by its covariance; a larger one is cut out of the brain."""

MODES = 12
"""Principal modes whose effect on a volume's SD counts; they hold 70 % of the built-in brain's
variance, and the rest averages out (twice as many change no correlation by more than 0.0004)."""


class Field:
    """Smooth random volumes of a subject's brain; `field_of` makes it."""

    def __init__(self, subject: Subject) -> None:
        self.mask = subject.mask
        self.voxels = int(self.mask.sum())
        self._crop = tuple(slice(length) for length in self.mask.shape)
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
        shares, self._modes = self._principal_modes()
        self._gain, gains = _standardised(shares)
        self._surplus = shares * self.voxels * (self._gain - gains)
        own = self._covariance[0, 0, 0] - 2 * self._with_brain[self.mask] + self._of_brain
        # Of each voxel of the brain, (voxels,); 1 on average.
        self.variance = self._gain * own / self._scale - self._modes**2 @ self._surplus

    def covariance(self, region: Region) -> np.ndarray:
        """Return the covariance of a region's voxels, (n, n)."""
        with_brain = self._with_brain[region.index]
        apart = (region.voxels.T[:, :, None] - region.voxels.T[:, None]) % self._grid[0]
        free = self._covariance[tuple(apart)]
        centred = (free - with_brain[:, None] - with_brain + self._of_brain) / self._scale
        modes = self._modes[self.among_brain(region)]
        return self._gain * centred - (modes * self._surplus) @ modes.T

    def among_brain(self, region: Region) -> np.ndarray:
        """Return the places of a region's voxels among those of the brain, (n,)."""
        place = np.cumsum(self.mask.ravel()) - 1
        return place[np.ravel_multi_index(region.index, self.mask.shape)]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a volume's values in the brain, (voxels,): mean 0, SD 1, as fmrisim makes them."""
        white = fft.rfftn(rng.standard_normal(self._grid))
        values = fft.irfftn(white * self._amplitude, self._grid)[self._crop][self.mask]
        return (values - values.mean()) / values.std()

    def _principal_modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest shares of the brain's variance and their modes, (voxels, modes)."""

        def covariance_times(values: np.ndarray) -> np.ndarray:
            volume = np.zeros(self._grid)
            volume[self._crop][self.mask] = values - values.mean()
            values = fft.irfftn(self._power * fft.rfftn(volume), self._grid)[self._crop][self.mask]
            return (values - values.mean()) / (self._scale * self.voxels)

        operator = LinearOperator((self.voxels,) * 2, matvec=covariance_times, dtype=float)
        start = np.linspace(1.0, 2.0, self.voxels)  # any, as long as it is always the same
        return eigsh(operator, k=min(MODES, self.voxels - 1), v0=start, tol=1e-4)


field_of = lru_cache(maxsize=4)(Field)
"""Return the field of a subject, set up once."""


class RegionField:
    """The same field within a region, drawn by its covariance.

    A large region is cut out of whole volumes, as covariances grow with the square of its voxels.
    """

    def __init__(self, field: Field, region: Region) -> None:
        self._field = field
        self._of_brain = field.among_brain(region)
        self._root = None
        if len(region) <= MOST_COVARIANCE_VOXELS:
            # The brain's mean has no variance, so the matrix may be singular: hence the tiny ridge.
            ridge = 1e-9 * np.eye(len(region))
            self._root = np.linalg.cholesky(field.covariance(region) + ridge).T

    def draw(self, rng: np.random.Generator, volumes: int) -> np.ndarray:
        """Return independent volumes of the field, (volumes, voxels)."""
        if self._root is not None:
            return rng.standard_normal((volumes, len(self._root))) @ self._root
        return np.array([self._field.draw(rng)[self._of_brain] for _ in range(volumes)])


def _standardised(shares: np.ndarray) -> tuple[float, np.ndarray]:
    """Return by how much division by a volume's SD changes the variance along its modes.

    With independent standard normal z and s^2 = sum(shares z^2) + what the shares leave of 1, a
    mode becomes z / s, of variance E[z^2 / s^2]; a mode too small to matter for s, E[1 / s^2]. Both
    are integrals over t of E[z^2 exp(-t s^2)] and E[exp(-t s^2)], which have closed forms. The
    small mode's comes first, then one for each of the shares, (modes,).
    """
    rest = 1 - shares.sum()

    def integrand(t: float) -> np.ndarray:
        narrowed = 1 / (1 + 2 * t * shares)
        return np.exp(-t * rest) * np.sqrt(narrowed.prod()) * np.array([1.0, *narrowed])

    gain, *gains = quad_vec(integrand, 0, np.inf)[0]
    return float(gain), np.array(gains)


def _power(size: int, fwhm: float) -> np.ndarray:
    """Return the spectrum on the half grid of a real FFT: fmrisim's power law, without a mean."""
    # fmrisim's fit of the exponent to the smoothness (Ellis et al. 2020).
    exponent = np.log(fwhm - 0.36778719) / np.log(2.10601011) + 2.15439247
    steps = fft.fftfreq(size, 1 / size)
    half = fft.rfftfreq(size, 1 / size)
    distance = np.sqrt(steps[:, None, None] ** 2 + steps[:, None] ** 2 + half**2)
    distance[0, 0, 0] = 1.0
    power = distance**-exponent
    power[0, 0, 0] = 0.0
    return power
