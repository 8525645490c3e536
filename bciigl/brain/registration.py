"""Fit a subject's template to a volume of a participant.

SimpleITK searches the fit with the most mutual information, coarse to fine: rigid first, then
affine. It looks at every voxel and uses one thread, so the same images give the same fit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

from bciigl.base.errors import BciiglError, needs
from bciigl.brain.images import Image, voxel_size
from bciigl.brain.subject import FEWEST_BRAIN_VOXELS, Subject

METHODS = ("affine", "rigid")
POOR_DICE, POOR_CORRELATION = 0.9, 0.75
"""Fits of EPI images that look right are above both."""
LIKELY_SCALES = (0.75, 1.35)
"""How much smaller or larger than the template a head is, along any direction."""

_GRID = 3.0  # mm: finer images are not fitted better
_MARGIN = 9.0  # mm around the template's brain that are compared: its edge tells most


class RegistrationError(BciiglError):
    """A volume to which a template cannot be fitted."""


class Fit(NamedTuple):
    """Where a subject's template lies in a participant's head."""

    matrix: np.ndarray  # from mm of the subject's space to mm of the reference's, (4, 4)
    template: np.ndarray  # on the reference's grid, (x, y, z)
    brain: np.ndarray  # the template's brain on the reference's grid, bool (x, y, z)
    dice: float  # overlap of the template's brain and the participant's, 0 to 1
    correlation: float  # of the two images in both brains and a margin around them

    def problems(self) -> list[str]:
        """Return why the fit should not be trusted; empty if nothing is striking."""
        found = []
        if self.dice < POOR_DICE:
            words = f"the brains overlap by {self.dice:.2f} only (Dice)"
            found.append(f"{words}; good fits have {POOR_DICE:g} or more")
        if self.correlation < POOR_CORRELATION:
            least = f"good fits have {POOR_CORRELATION:g} or more"
            found.append(f"the images correlate by {self.correlation:.2f} only; {least}")
        scales = np.linalg.svd(self.matrix[:3, :3], compute_uv=False)
        if scales.min() < LIKELY_SCALES[0] or scales.max() > LIKELY_SCALES[1]:
            words = f"{scales.min():.2f} to {scales.max():.2f} times the template's size"
            found.append(f"the head would be {words}")
        return found


def brain_mask(volume: np.ndarray) -> np.ndarray:
    """Return where the brain is in an EPI volume, by its intensity, bool (x, y, z).

    The threshold is Otsu's; of what is above it, the largest piece is kept and its holes are
    filled. `RegistrationError` is raised if there is no such piece.
    """
    values = volume.clip(0, np.percentile(volume, 99.5))  # a few bright vessels tell nothing
    bright = values > _otsu(values) if values.max() > values.min() else np.zeros(values.shape, bool)
    # Eroded first, so that scalp and eyes come off; the field's edges are not the brain's.
    core = ndimage.binary_erosion(bright, border_value=1)
    pieces, count = ndimage.label(core)
    brain = np.zeros(volume.shape, bool)
    if count:
        core = pieces == 1 + np.argmax(np.bincount(pieces.ravel())[1:])
        brain = ndimage.binary_fill_holes(ndimage.binary_dilation(core) & bright)
    if brain.sum() < FEWEST_BRAIN_VOXELS:
        message = f"of {FEWEST_BRAIN_VOXELS} voxels or more that are brighter than the background"
        raise RegistrationError(f"there is no brain in the reference: no piece {message}")
    return brain


def register(subject: Subject, reference: Image, method: str = "affine") -> Fit:
    """Fit a subject's template to a volume of a participant.

    The search begins with the two brains' centres on each other, and the axes as the affines say:
    a head that is turned by more than about 40 degrees against that may not be found.

    Parameters
    ----------
    subject : Subject
        Its template and brain mask.
    reference : Image
        A mean EPI volume, (x, y, z); it may show a part of the brain only.
    method : str
        ``"rigid"``: 6 parameters, for the subject's own head; or ``"affine"``: 12 parameters.

    Returns
    -------
    Fit
        Its numbers are those of the part of the brain that both images show.
    """
    if method not in METHODS:
        raise RegistrationError(f"method should be {' or '.join(METHODS)}, got {method!r}")
    brain = brain_mask(reference.data)
    itk = _simpleitk()
    template, grid = _upright(subject.template, subject.affine)
    around = _upright(_grown(subject.mask, subject.voxel_size), subject.affine, order=0)[0]
    volume, its_grid = _upright(reference.data, reference.affine)
    field = _upright(np.ones(reference.data.shape), reference.affine, order=0)[0]
    images = [_as_itk(itk, *each) for each in ((template, grid), (volume, its_grid))]
    masks = [_as_itk(itk, each > 0, where) for each, where in ((around, grid), (field, its_grid))]
    center = _center(subject.mask, subject.affine)
    found = itk.Euler3DTransform()
    found.SetCenter(center.tolist())
    found.SetTranslation((_center(brain, reference.affine) - center).tolist())
    try:
        _search(itk, images, masks, found, shrink=(4, 2, 1))
        if method == "affine":
            rigid, found = found, itk.AffineTransform(3)
            found.SetCenter(rigid.GetCenter())
            found.SetMatrix(rigid.GetMatrix())
            found.SetTranslation(rigid.GetTranslation())
            _search(itk, images, masks, found, shrink=(2, 1))
    except RuntimeError as error:  # such as: the images do not overlap
        reason = "they have too little in common"
        message = f"the template of subject {subject.name} does not fit the reference: {reason}"
        raise RegistrationError(message) from error
    matrix = np.eye(4)
    matrix[:3, :3] = np.reshape(found.GetMatrix(), (3, 3))
    matrix[:3, 3] = found.TransformPoint([0.0] * 3)
    return _judged(subject, reference, brain, matrix)


def _simpleitk() -> ModuleType:
    try:
        import SimpleITK
    except ImportError as error:
        raise needs("fitting a region", "SimpleITK", "region") from error
    return SimpleITK


def _otsu(values: np.ndarray) -> float:
    """Return the threshold that tells two classes of values apart best (Otsu 1979)."""
    counts, edges = np.histogram(values, 256)
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.cumsum(counts)[:-1]
    above = counts.sum() - below
    sums = np.cumsum(counts * middles)
    apart = sums[:-1] / below.clip(1) - (sums[-1] - sums[:-1]) / above.clip(1)
    return float(edges[1 + np.argmax(below * above * apart**2)])


def _center(mask: np.ndarray, affine: np.ndarray) -> np.ndarray:
    return affine[:3, :3] @ np.argwhere(mask).mean(axis=0) + affine[:3, 3]


def _grown(mask: np.ndarray, size: np.ndarray) -> np.ndarray:
    return ndimage.distance_transform_edt(~mask, size) <= _MARGIN


def _upright(data: np.ndarray, affine: np.ndarray, order: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return an image on a grid along the axes of its space, and that grid's affine.

    SimpleITK takes no sheared grids, which an affine of NIfTI may be.
    """
    corners = np.argwhere(np.ones((2, 2, 2))) * data.shape - 0.5
    places = corners @ affine[:3, :3].T + affine[:3, 3]
    low = places.min(axis=0) + _GRID / 2
    shape = np.ceil((places.max(axis=0) - low) / _GRID - 1e-6).astype(int)
    grid = np.diag([_GRID, _GRID, _GRID, 1.0])
    grid[:3, 3] = low
    return _resampled(data, np.linalg.inv(affine) @ grid, tuple(shape), order), grid


def _resampled(
    data: np.ndarray, mapping: np.ndarray, shape: tuple[int, ...], order: int = 1
) -> np.ndarray:
    return ndimage.affine_transform(
        np.asarray(data, float), mapping[:3, :3], mapping[:3, 3], shape, order=order
    )


def _as_itk(itk: ModuleType, data: np.ndarray, grid: np.ndarray) -> Any:
    kind = np.uint8 if data.dtype == bool else np.float32
    image = itk.GetImageFromArray(np.ascontiguousarray(data.T, kind))
    image.SetSpacing([_GRID] * 3)
    image.SetOrigin(grid[:3, 3].tolist())
    return image


def _search(
    itk: ModuleType, images: list[Any], masks: list[Any], found: Any, shrink: tuple[int, ...]
) -> None:
    """Move a transform to where the images have the most mutual information."""
    method = itk.ImageRegistrationMethod()
    method.SetMetricAsMattesMutualInformation(numberOfHistogramBins=32)
    # Where the reference has no field of view, zeros would pass for a head that ends there.
    method.SetMetricFixedMask(masks[0])
    method.SetMetricMovingMask(masks[1])
    method.SetInterpolator(itk.sitkLinear)
    method.SetShrinkFactorsPerLevel(shrink)
    method.SetSmoothingSigmasPerLevel(
        [_GRID / 2 * factor if factor > 1 else 0 for factor in shrink]
    )
    method.SetOptimizerAsRegularStepGradientDescent(
        learningRate=1.0,
        minStep=0.01,
        numberOfIterations=200,
        relaxationFactor=0.7,
        gradientMagnitudeTolerance=1e-9,  # the default ends the search before the best place
    )
    method.SetOptimizerScalesFromPhysicalShift()
    method.SetInitialTransform(found, inPlace=True)
    with _one_thread(itk):
        method.Execute(*images)


@contextmanager
def _one_thread(itk: ModuleType) -> Iterator[None]:
    """Let SimpleITK use one thread: the sums of several depend on who is first, in the last bit."""
    # The method's own number of threads does not reach all its parts.
    before = itk.ProcessObject.GetGlobalDefaultNumberOfThreads()
    itk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    try:
        yield
    finally:
        itk.ProcessObject.SetGlobalDefaultNumberOfThreads(before)


def _judged(subject: Subject, reference: Image, brain: np.ndarray, matrix: np.ndarray) -> Fit:
    """Return a fit with how good it is, where both images show something."""
    shape = reference.data.shape
    mapping = np.linalg.inv(matrix @ subject.affine) @ reference.affine
    template = _resampled(subject.template, mapping, shape)
    its_brain = _resampled(subject.mask, mapping, shape) > 0.5
    field = _resampled(np.ones(subject.shape), mapping, shape, order=0) > 0
    mine = brain & field
    both = int(its_brain.sum() + mine.sum())
    if not both:
        raise RegistrationError("the fitted template lies outside the reference's field of view")
    dice = 2 * (its_brain & mine).sum() / both
    near = _grown(its_brain | mine, voxel_size(reference.affine)) & field
    pair = np.corrcoef(template[near], reference.data[near])
    return Fit(matrix, template, its_brain, float(dice), float(np.nan_to_num(pair[0, 1])))
