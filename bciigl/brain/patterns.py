"""What each event looks like across the region's voxels."""

import numpy as np
from scipy.ndimage import gaussian_filter

from bciigl.brain.images import voxel_size
from bciigl.brain.region import Region
from bciigl.protocol.model import Brain, Task

IMAGERY_SD = np.sqrt(1.25)
"""SD relative to perception's: the paper's code adds half of a uniform pattern to that."""

Patterns = dict[tuple[str, object], np.ndarray]
"""Pattern (voxels,) of each event: ("imagination", option), ("judgment", True for a match), ..."""


def draw_patterns(task: Task, brain: Brain, region: Region, rng: np.random.Generator) -> Patterns:
    """Return random patterns of all events that can happen.

    Perception and judgment patterns are uniform between 0 and 1, voxel by voxel. The pattern of
    imagining an option is a weighted sum of that of perceiving it and of one of its own, such that
    the two correlate by `brain.similarity`: that is the expectation, from which a small region or
    smooth patterns may be some way off. With `brain.smoothness` all are smooth in space, with the
    mean and SD that they would have without it, but not within 0 and 1.
    """

    def draw() -> np.ndarray:
        return _smooth_pattern(region, brain.smoothness, rng)

    patterns: Patterns = {}
    for option in task.options:
        perceived, own = draw(), draw()
        mixed = brain.similarity * perceived + np.sqrt(1 - brain.similarity**2) * own
        patterns["perception", option] = perceived
        patterns["imagination", option] = IMAGERY_SD * mixed
    for match in (True, False):
        patterns["judgment", match] = draw()
    return patterns


def _smooth_pattern(region: Region, fwhm: float, rng: np.random.Generator) -> np.ndarray:
    if fwhm == 0:
        return rng.random(len(region))
    sigma = fwhm / np.sqrt(8 * np.log(2)) / voxel_size(region.affine)
    margin = np.ceil(4 * sigma).astype(int)
    corner = region.voxels.min(axis=0) - margin
    shape = region.voxels.max(axis=0) + margin - corner + 1
    white = rng.random(shape) - 0.5
    impulse = np.zeros(2 * margin + 1)
    impulse[tuple(margin)] = 1.0
    # Smoothing shrinks the SD by the norm of its kernel.
    shrunk = np.linalg.norm(gaussian_filter(impulse, sigma, mode="constant"))
    smooth = gaussian_filter(white, sigma, mode="constant") / shrunk
    return 0.5 + smooth[tuple((region.voxels - corner).T)]
