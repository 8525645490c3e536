"""Noise between voxels: its covariance, and how values become uncorrelated with an SD of 1."""

import numpy as np

# Of more voxels only the variances are kept: a matrix between all of them is out of reach.
MOST_VOXELS = 1000
# How far a covariance is shrunk to the mean variance, at least.
SHRINKAGE = 0.02
# Noise with a smaller share of the variance comes from rounding.
NEGLIGIBLE = 1e-9

Whitening = np.ndarray | None
"""(voxels, components), or a factor for each of many voxels; None changes nothing."""


def normalised(values: np.ndarray, whitening: Whitening) -> np.ndarray:
    """Return values, (rows, voxels), in SDs of the noise and uncorrelated."""
    if whitening is None:
        return values
    return values * whitening if whitening.ndim == 1 else values @ whitening


class Scatter:
    """Sums of products of values between voxels, which add up over runs; or of squares alone."""

    def __init__(self, voxels: int, *, between: bool = True) -> None:
        between = between and voxels <= MOST_VOXELS
        self.products = np.zeros((voxels,) * (2 if between else 1))
        self.freedom = 0

    def add(self, values: np.ndarray, freedom: int) -> None:
        """Add values, (rows, voxels), with as many degrees of freedom."""
        full = self.products.ndim == 2
        self.products += values.T @ values if full else (values**2).sum(axis=0)
        self.freedom += freedom

    def power(self, whitening: Whitening = None) -> float:
        """Return the sum of squares, of all values and voxels, when they are normalised."""
        products = self.products
        if whitening is not None:
            many = whitening.ndim == 1
            products = products * whitening**2 if many else (whitening.T @ products) @ whitening
        return float(products.sum() if products.ndim == 1 else np.trace(products))

    def whitening(self, total: "Scatter") -> Whitening:
        """Return what makes values like these uncorrelated, with an SD of 1.

        None if there are hardly any, compared with a `total` of which they are the noise.
        """
        voxels, freedom = len(self.products), self.freedom
        mean = self.power() / (max(freedom, 1) * voxels)
        if not mean > NEGLIGIBLE * total.power() / (max(total.freedom, 1) * voxels):
            return None
        if self.products.ndim == 1:
            variance = (1 - SHRINKAGE) * self.products / freedom + SHRINKAGE * mean
            return 1 / np.sqrt(variance)
        covariance = self.products / freedom
        # As Ledoit and Wolf (2004): more where it is known less well than it differs from a sphere.
        spread = ((covariance - mean * np.eye(voxels)) ** 2).sum() / voxels
        share = min(max(SHRINKAGE, voxels / freedom * mean**2 / max(spread, 1e-300)), 1.0)
        values, vectors = np.linalg.eigh((1 - share) * covariance + share * mean * np.eye(voxels))
        # By principal components of the frames: estimates share them, though not their variances.
        return vectors / np.sqrt(values)
