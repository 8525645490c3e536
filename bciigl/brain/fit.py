"""Fit a subject to a recording: template, mask and noise, estimated by fmrisim."""

import os
from collections.abc import Iterable, Iterator

import numpy as np
from pydantic import ValidationError
from scipy import ndimage

from bciigl.base.errors import BciiglError
from bciigl.base.json_files import first_problem
from bciigl.base.progress import Notify, silent
from bciigl.base.seeds import Seed
from bciigl.brain import fmrisim_adapter
from bciigl.brain.images import Image, dimensions, read_image, read_mask, voxel_size
from bciigl.brain.subject import FEWEST_BRAIN_VOXELS, NoiseParameters, Subject

ENOUGH_FRAMES = 100
"""Volumes below which the estimates of autocorrelation vary much from sample to sample."""

AIR_DISTANCE = 5
"""Voxels from the brain at which fmrisim begins to count what it sees as background."""


class FitError(BciiglError):
    """A recording from which no subject can be fitted."""


def fit_subject(
    bold: str | os.PathLike,
    *,
    name: str,
    mask: str | os.PathLike | None = None,
    tr: float | None = None,
    seed: int = 0,
    report: Notify = silent,
) -> tuple[Subject, dict]:
    """Return a subject whose noise is that of a recording, and notes on where it comes from.

    Mask and template are `fmrisim.mask_brain`'s, the noise parameters `fmrisim.calc_noise`'s: AR(1)
    and MA(1), SFNR, SNR and smoothness. It does not estimate drift, physiological and task noise;
    their weights are 0 and can be set in subject.json. The background of `bold`, a 4-D NIfTI file,
    tells the SNR, so it must not be skull-stripped. A `mask` takes the place of fmrisim's, `tr`
    (s) that of the header. fmrisim samples voxels and volumes, the same for the same seed.
    """
    report("reading the recording")
    image = read_image(bold)
    image = image._replace(tr=tr if tr is not None else image.tr)
    _refuse(bold, _recording_problems(image))
    report("finding the brain")
    brain, template = fmrisim_adapter.brain_mask(image.data)
    if mask is not None:
        brain = read_mask(mask, image.data.shape[:3], image.affine, "the recording")
    _refuse(mask or bold, _mask_problems(brain, image))
    air = image.data.mean(axis=3)[~ndimage.binary_dilation(brain, iterations=AIR_DISTANCE)]
    if not air.size or air.std() == 0:
        remedy = "a brain mask (--mask)" if mask is None else f"a smaller mask than {mask}"
        raise FitError(
            f"{bold}: {'shows no' if not air.size else 'is empty in the'} air around the head, "
            f"{AIR_DISTANCE} voxels from the brain, which tells the scanner's noise; give a "
            f"recording that has not been cropped or skull-stripped, or {remedy}"
        )
    report(f"estimating the noise of {brain.sum()} voxels in {image.data.shape[3]} volumes")
    estimated = fmrisim_adapter.estimate_noise(
        image.data, brain, template, voxel_size(image.affine), Seed(seed).rng("subject fit")
    )
    try:
        names = NoiseParameters.model_fields
        plain = {each: np.asarray(estimated[each], float).tolist() for each in names}
        noise = NoiseParameters(**plain)
    except ValidationError as error:
        message = f"{bold}: its noise is not that of a brain: {first_problem(error)}"
        raise FitError(message) from error
    about = {
        "source": os.path.basename(bold),
        "frames": image.data.shape[3],
        "tr": image.tr,
        "seed": seed,
        "mask": "fmrisim.mask_brain" if mask is None else os.path.basename(mask),
    }
    return Subject(name, template, brain, image.affine, noise), about


def _refuse(path: str | os.PathLike, problems: Iterable[str]) -> None:
    for problem in problems:
        raise FitError(f"{path}: {problem}")


def _recording_problems(image: Image) -> Iterator[str]:
    data, shape = image.data, dimensions(image.data.shape)
    if data.ndim != 4:
        yield f"should be a 4-D recording (x, y, z, time), got {shape}"
    if data.shape[3] < 20:  # autocorrelation could not be estimated
        yield f"should have at least 20 volumes, got {data.shape[3]}"
    if min(data.shape[:3]) < 4:
        yield f"should have at least 4 voxels along each axis, got {shape}"
    broken = ~np.isfinite(data)
    if broken.any():
        first = np.argwhere(broken)[0].tolist()
        yield (
            f"{broken.sum()} values are NaN or infinite, the first at {first}; "
            "replace them, by 0 where there is no signal"
        )
    if image.tr is None:
        yield "the header has no repetition time; give it with --tr SECONDS"
    elif not 0.05 <= image.tr <= 30:
        yield f"the repetition time cannot be {image.tr:g} s; give it with --tr SECONDS"
    negative = (data < 0).mean()
    if negative > 0.01:
        yield (
            f"{100 * negative:.0f} % of its values are negative, but magnitude images have none; "
            "was a mean subtracted?"
        )
    if data.max() <= 0 or not (data.std(axis=3) > 0).any():
        yield "holds no signal that changes in time"


def _mask_problems(brain: np.ndarray, image: Image) -> Iterator[str]:
    voxels = brain.sum()
    if voxels < FEWEST_BRAIN_VOXELS:
        yield (
            f"the brain mask has {voxels} voxels, too few for a brain ({FEWEST_BRAIN_VOXELS}); "
            "check the recording, or give another mask"
        )
    courses = image.data[brain]
    dead = (courses.std(axis=1) == 0) | (courses.mean(axis=1) <= 0)
    if dead.any():
        yield (
            f"{dead.sum()} of {voxels} voxels of the brain have no signal or never change, such as "
            f"{np.argwhere(brain)[dead][0].tolist()}; give a mask without them"
        )
