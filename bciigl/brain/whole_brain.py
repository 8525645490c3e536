"""Noise of the whole brain, one volume at a time.

Where fmrisim standardises a run by its own mean and SD, this takes the law's, which are known
before the run; so no more than a few volumes are ever held.
"""

from collections.abc import Iterator

import numpy as np
from scipy.signal import lfilter

from bciigl.base.seeds import Seed
from bciigl.brain.arma import arma_filter, arma_run_sd
from bciigl.brain.field import Field
from bciigl.brain.noise_sources import RunPlan, brain_courses, drift
from bciigl.brain.subject import NoiseParameters, Subject
from bciigl.protocol.model import NoiseSources


def whole_brain_noise(
    subject: Subject, sources: NoiseSources, field: Field, plan: RunPlan, seed: Seed
) -> Iterator[np.ndarray]:
    """Yield the full-strength noise of each frame in scanner units, (x, y, z)."""
    parameters = subject.noise.only(sources)
    rng = seed.rng("system")
    offset = subject.offset_sd * rng.standard_normal(subject.shape)
    drifts = drift(parameters.drift_sigma, plan, seed)
    for mixture, drifted in zip(_mixtures(parameters, field, plan, seed), drifts, strict=True):
        volume = np.full(subject.shape, drifted)
        volume[subject.mask] += subject.brain_sd * mixture
        if sources.system:
            volume += subject.system_sd * rng.standard_normal(subject.shape) + offset
        yield volume


def _mixtures(
    parameters: NoiseParameters, field: Field, plan: RunPlan, seed: Seed
) -> Iterator[np.ndarray]:
    """Yield the mixture of the brain's sources in each frame, (brain voxels,)."""
    weight = parameters.auto_reg_sigma
    patterns = [
        (course, share * field.draw(seed.rng(name, "field")))
        for name, share, course in brain_courses(parameters, plan, seed)
    ]
    variance = weight**2 + sum((pattern**2 for _, pattern in patterns), np.zeros(field.voxels))
    sd = np.sqrt(np.where(variance > 0, variance, 1.0))
    autoregressive = _autoregressive(parameters, field, plan.frames, seed.rng("arma"))
    for frame in range(plan.frames):
        mixture = weight * next(autoregressive) if weight else np.zeros(field.voxels)
        for course, pattern in patterns:
            mixture += course[frame] * pattern
        yield mixture / sd


def _autoregressive(
    parameters: NoiseParameters, field: Field, frames: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield the ARMA field frame by frame, (brain voxels,), of SD 1 within a run."""
    numerator, denominator = arma_filter(parameters)
    sd = np.sqrt(field.variance) * arma_run_sd(parameters, frames)
    state = np.zeros((len(denominator) - 1, field.voxels))
    for _ in range(frames):
        value, state = lfilter(numerator, denominator, field.draw(rng)[None], axis=0, zi=state)
        yield value[0] / sd
