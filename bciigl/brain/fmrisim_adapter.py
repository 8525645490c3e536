"""fmrisim as it comes: the one place where its functions are called and its random state is set.

fmrisim draws from numpy's global random state. What draws is called with that state seeded from one
of our generators, and the state is put back afterwards. Processes, not threads, may call side by
side.
"""

import warnings

import numpy as np

from bciigl.base.seeds import global_numpy_seeded
from bciigl.base.threads import one_thread
from bciigl.brain.subject import SYSTEM_SHARE, NoiseParameters, Subject
from bciigl.protocol.model import NoiseSources


def noise_dictionary(noise: NoiseParameters, voxel_size: np.ndarray) -> dict:
    """Return parameters as fmrisim takes them, with nothing left to its defaults."""
    # matched=0: the noise is composed from the parameters, not fitted to them, run by run.
    return {**noise.model_dump(mode="json"), "voxel_size": voxel_size.tolist(), "matched": 0}


def whole_brain_volumes(
    subject: Subject,
    sources: NoiseSources,
    stimulated: np.ndarray,
    tr: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return base image and noise, (x, y, z, frames); `stimulated`: while an event is on."""
    from brainiak.utils import fmrisim

    dictionary = noise_dictionary(subject.noise.only(sources), subject.voxel_size)
    if not sources.system:
        dictionary["snr"] = np.inf
    with global_numpy_seeded(rng), one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        return fmrisim.generate_noise(
            dimensions=np.array(subject.shape),
            stimfunction_tr=np.asarray(stimulated, float),
            tr_duration=tr,
            template=subject.template,
            mask=subject.mask.astype(float),
            noise_dict=dictionary,
            temporal_proportion=SYSTEM_SHARE if sources.system else 0.0,
        )


def brain_mask(volumes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mask and template of a recording (x, y, z, frames) by `fmrisim.mask_brain`."""
    from brainiak.utils import fmrisim

    try:
        mask, template = fmrisim.mask_brain(volumes, mask_self=True)
    except IndexError:
        # It looks for two clear peaks in the histogram, which small images may not have; 0.2 of the
        # maximum is what its documentation advises.
        mask, template = fmrisim.mask_brain(volumes, mask_threshold=0.2, mask_self=True)
    return mask > 0, template


def estimate_noise(
    volumes: np.ndarray,
    mask: np.ndarray,
    template: np.ndarray,
    voxel_size: np.ndarray,
    rng: np.random.Generator,
) -> dict:
    """Return the noise of a recording (x, y, z, frames) by `fmrisim.calc_noise`."""
    from brainiak.utils import fmrisim

    # On one thread also because hundreds of small fits are many times slower on several.
    with global_numpy_seeded(rng), one_thread(), warnings.catch_warnings():
        # Of the ARMA fits to 100 voxels, whose mean counts, some always begin or end badly.
        warnings.filterwarnings("ignore", module="statsmodels")
        return fmrisim.calc_noise(
            volumes,
            mask.astype(float),
            template,
            noise_dict={"voxel_size": voxel_size.tolist(), "matched": 0},
        )


def scale_to_noise(signal: np.ndarray, noise: np.ndarray, cnr: float) -> np.ndarray:
    """Return a signal (frames, voxels) whose largest value is `cnr` times each voxel's noise SD."""
    from brainiak.utils import fmrisim

    # It scales its first argument in place.
    return fmrisim.compute_signal_change(
        signal.copy(), noise, {}, magnitude=[cnr], method="CNR_Amp/Noise-SD"
    )
