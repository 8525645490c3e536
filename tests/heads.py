"""Small heads for tests: quick for fmrisim, and with all that a real one has."""

import numpy as np
from scipy.ndimage import gaussian_filter

from bciigl.brain.subject import NoiseParameters, Subject

PARAMETERS = {
    "snr": 60.0,
    "sfnr": 70.0,
    "max_activity": 1000.0,
    "fwhm": 5.0,
    "auto_reg_sigma": 0.8,
    "auto_reg_rho": (0.5,),
    "ma_rho": (0.0,),
    "drift_sigma": 2.0,
    "physiological_sigma": 0.3,
    "task_sigma": 0.2,
}


def head(shape=(18, 22, 16), radius=0.8, **parameters) -> Subject:
    """Return an ellipsoid of a brain, a little off the centre of its grid."""
    template = template_of(shape, radius)
    affine = np.array([[3.0, 0, 0, -27], [0, 3.0, 0, -30], [0, 0, 3.5, -20], [0, 0, 0, 1]])
    noise = NoiseParameters(**{**PARAMETERS, **parameters})
    return Subject("small", template, template > 0.25, affine, noise)


def template_of(shape, radius) -> np.ndarray:
    """Return a mean image with a maximum of 1: brain around 0.6, background around 0.03."""
    place = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij"))
    distance = np.sqrt(((place.T - [0.05, -0.03, 0.0]) ** 2).sum(axis=-1)).T
    # Smooth, as anatomy is: fmrisim measures smoothness on the image as a whole.
    texture = gaussian_filter(np.random.default_rng(1).standard_normal(shape), 1.2)
    template = np.where(distance < radius, 0.6 + 0.5 * texture, 0.03 + 0.1 * texture.clip(0))
    return template / template.max()
