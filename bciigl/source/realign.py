"""Rigid realignment of fMRI volumes to a reference volume, one by one, in real time.

Gauss-Newton on the difference of intensities, inverse compositional (Baker & Matthews 2004): the
derivatives are those of the reference, computed once, so a step costs one interpolation. Each
volume has a gain and an offset of its own, so global changes of the signal do not look like
movement. On smoothed volumes the search finds jumps of 20 mm and 20 degrees, so it always starts
at the reference: the result does not depend on the volumes before, or on which of them were lost.
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.spatial.transform import Rotation

from bciigl.base.errors import BciiglError
from bciigl.brain.images import dimensions, voxel_size

SMOOTHING = 2.5
"""SD of a Gaussian in mm. With less, errors of interpolation weigh more."""

POINTS = 8000
"""How many brain voxels are compared, about; more cost time and add little precision."""

MARGIN, FEWEST = 2.0, 500
"""Points weigh less within two voxels of the edge of the field of view; 500 have to be inside."""

STEPS, SMALLEST_STEP = 25, 0.01
"""The search ends with a step under 0.01 mm; it fails if 25 steps were longer."""

LEAST_CORRELATION = 0.9
"""Of a realigned volume with the reference: 0.99 if all is well, about 0.85 if a slice is lost."""

SCALES = np.array([1.0] * 3 + [50.0] * 3)
"""From parameters to mm: rotations count as arcs on a sphere of 50 mm."""


class RealignError(BciiglError):
    """A volume that cannot be realigned."""


class Movement(NamedTuple):
    """Where the head is, relative to where it was in the reference volume.

    Attributes
    ----------
    parameters : array, (6,)
        Translations along x, y and z in mm (RAS+), then right-handed rotations about x, y and z in
        radians. The head is rotated about z first, then about y, then x, then translated.
    centre : array, (3,)
        What it is rotated around, the same for all volumes: the centre of the reference's brain
        voxels, mm.
    """

    parameters: np.ndarray
    centre: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """From places in the reference to where they are now, both in mm (RAS+), (4, 4)."""
        matrix = _rigid(self.parameters)
        matrix[:3, 3] += self.centre - matrix[:3, :3] @ self.centre
        return matrix


class Realigner:
    """Rigid realignment of each volume to one reference volume.

    Parameters
    ----------
    reference : array, (x, y, z)
        What all volumes are realigned to; they have the same grid.
    affine : array, (4, 4)
        From voxel indices to mm (RAS+).
    voxels : array, (n, 3)
        The region, as voxel indices in the reference.

    Examples
    --------
    >>> realigner = Realigner(first, affine, region.voxels)
    >>> movement, values = realigner(volume)
    """

    def __init__(self, reference: np.ndarray, affine: np.ndarray, voxels: np.ndarray) -> None:
        self._shape = np.shape(reference)
        reference = self._checked(reference, "the reference volume")
        if reference.ndim != 3:
            sizes = f"three dimensions, got {dimensions(reference.shape)}"
            raise RealignError(f"the reference volume: should have {sizes}")
        self._smoothing = SMOOTHING / voxel_size(affine)
        smooth = ndimage.gaussian_filter(reference, self._smoothing)
        # Half as bright as what is bright: the brain with its edge, and little else of the head.
        brain = np.argwhere(smooth > 0.5 * reference[reference > reference.mean()].mean()).T
        points = brain[:, :: max(1, brain.shape[1] // POINTS)]
        if np.sum(self._depth(points) >= MARGIN) < FEWEST:
            raise RealignError("the reference volume: shows too little of a head to realign to")
        self._centre = _moved(affine, brain.mean(axis=1, keepdims=True))[:, 0]
        # Places are in mm from the centre.
        affine = affine - np.pad(self._centre[:, None], ((0, 1), (3, 0)))
        self._to_voxels = np.linalg.inv(affine)
        self._points, self._region = _moved(affine, points), _moved(affine, np.transpose(voxels))
        self._design = self._linearised(self._prepared(reference))

    def __call__(self, volume: np.ndarray) -> tuple[Movement, np.ndarray]:
        """Return the head's movement, and the region's values at the places it moved to.

        Values, (n,), are interpolated by cubic splines; those of voxels that left the field of
        view are not numbers. `RealignError` if the volume does not look like the reference,
        wherever the head may have moved.
        """
        volume = self._checked(volume, "volume")
        matrix = self._search(self._prepared(volume))
        angles = Rotation.from_matrix(matrix[:3, :3]).as_euler("XYZ")
        spline = ndimage.spline_filter(volume, mode="mirror")
        values, depth = self._read(spline, matrix, self._region)
        # The field of view ends half a voxel beyond the centres of the outermost voxels.
        values[depth < -0.5] = np.nan
        return Movement(np.append(matrix[:3, 3], angles), self._centre), values

    def _checked(self, volume: np.ndarray, name: str) -> np.ndarray:
        volume = np.asarray(volume, dtype=float)
        if volume.shape != self._shape:
            sizes = f"{dimensions(self._shape)} voxels, got {dimensions(volume.shape)}"
            raise RealignError(f"{name}: should have {sizes}")
        if not np.isfinite(volume).all():
            raise RealignError(f"{name}: has voxels that are not numbers")
        if volume.min() == volume.max():
            raise RealignError(f"{name}: shows nothing, all its voxels are {volume.max():g}")
        return volume

    def _prepared(self, volume: np.ndarray) -> np.ndarray:
        """Return the coefficients of the cubic spline through a smoothed volume."""
        smooth = ndimage.gaussian_filter(volume, self._smoothing, truncate=3.0)
        return ndimage.spline_filter(smooth, mode="mirror")

    def _read(
        self, spline: np.ndarray, matrix: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a volume's values at moved places, (n,), and the depth of these."""
        at = _moved(self._to_voxels @ matrix, places)
        values = ndimage.map_coordinates(spline, at, mode="mirror", prefilter=False)
        return values, self._depth(at)

    def _depth(self, at: np.ndarray) -> np.ndarray:
        """Return how many voxels inside the outermost ones voxel coordinates (3, n) are."""
        return np.minimum(at, np.array(self._shape)[:, None] - 1 - at).min(axis=0)

    def _linearised(self, spline: np.ndarray) -> np.ndarray:
        """Return the reference at the points, 1, and its derivatives by the parameters, (n, 8)."""
        values, _ = self._read(spline, np.eye(4), self._points)
        columns = [values, np.ones(len(values))]
        for change in 0.5 * np.diag(1 / SCALES):
            ahead, _ = self._read(spline, _rigid(change), self._points)
            behind, _ = self._read(spline, _rigid(-change), self._points)
            columns.append((ahead - behind) / np.sum(2 * change))
        return np.column_stack(columns)

    def _search(self, spline: np.ndarray) -> np.ndarray:
        """Return the movement around the centre, (4, 4), that a prepared volume shows."""
        matrix, correlation = np.eye(4), 0.0
        for _ in range(STEPS):
            values, depth = self._read(spline, matrix, self._points)
            weights = np.clip(depth / MARGIN, 0, 1)
            if (weights == 1).sum() < FEWEST:
                break
            weighted = self._design * weights[:, None]
            # The volume there is gain * (reference after a small step) + offset.
            gain, _, *change = np.linalg.solve(weighted.T @ self._design, weighted.T @ values)
            step = np.array(change) / gain
            matrix = matrix @ np.linalg.inv(_rigid(step))
            if np.linalg.norm(step * SCALES) < SMALLEST_STEP:
                inside = weights > 0
                correlation = np.corrcoef(values[inside], self._design[inside, 0])[0, 1]
                break
        if correlation < LEAST_CORRELATION:
            raise RealignError("volume: does not look like the reference, moved in any way")
        return matrix


def _rigid(parameters: np.ndarray) -> np.ndarray:
    """Return the matrix, (4, 4), of a movement around the origin."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("XYZ", parameters[3:]).as_matrix()
    matrix[:3, 3] = parameters[:3]
    return matrix


def _moved(matrix: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return places, (3, n), after a movement (4, 4)."""
    return matrix[:3, :3] @ places + matrix[:3, 3:]
