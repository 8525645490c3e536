"""Noise that has one time course for many voxels: heart beat and breathing, task, drift, motion."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bciigl.base.seeds import Seed
from bciigl.brain.subject import NoiseParameters
from bciigl.protocol.model import Motion

BREATHS_PER_SECOND = 0.2
HEARTBEATS_PER_SECOND = 1.17
DRIFT_PERIOD = 150.0
"""Seconds; 99 % of the drift's power is slower."""


class RunPlan(NamedTuple):
    """What a scanner knows of a run before it begins.

    Attributes
    ----------
    tr : float
        Seconds per frame.
    stimulated : bool array (frames,)
        In which frames an event is planned to be on; only task noise depends on it.
    """

    tr: float
    stimulated: np.ndarray

    @property
    def frames(self) -> int:
        """How many frames the run has."""
        return len(self.stimulated)


def brain_courses(
    parameters: NoiseParameters, plan: RunPlan, seed: Seed
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield the brain's sources that have one time course: name, weight, course (frames,)."""
    if parameters.physiological_sigma:
        yield "physiological", parameters.physiological_sigma, physiological(plan, seed)
    if parameters.task_sigma and plan.stimulated.any():
        yield "task", parameters.task_sigma, task(plan, seed)


def physiological(plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return breathing and heart beat, each with a random phase, (frames,)."""
    phases = 2 * np.pi * seed.rng("physiological").random(2)
    turns = 2 * np.pi * np.arange(plan.frames) * plan.tr
    return zscore(
        np.cos(BREATHS_PER_SECOND * turns + phases[0])
        + np.sin(HEARTBEATS_PER_SECOND * turns + phases[1])
    )


def task(plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return a course that is 1 plus white noise while an event is planned to be on, (frames,)."""
    white = seed.rng("task").standard_normal(plan.frames)
    return zscore(plan.stimulated * (1 + white))


def drift(sigma: float, plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return slow drift, the same in every voxel, in scanner units, (frames,).

    A sum of half-period cosines of the run with random phases, whose weights fall geometrically:
    fmrisim's basis, summed by one FFT.
    """
    if not sigma:
        return np.zeros(plan.frames)
    frames = plan.frames
    phases = 2 * np.pi * seed.rng("drift").random(frames)
    weights = _drift_decay(frames * plan.tr, plan.tr) ** np.arange(frames)
    spectrum = np.zeros(2 * frames, complex)
    spectrum[1 : frames + 1] = weights * np.exp(1j * phases)
    course = np.fft.ifft(spectrum).real[:frames]
    return sigma * zscore(course)


def _drift_decay(seconds: float, tr: float) -> float:
    """Return the ratio of neighbouring weights that leaves 99 % of the power above the period."""

    def error(ratio: float) -> float:
        retained = 1 - ratio ** (2 * seconds / DRIFT_PERIOD)
        return abs(retained / (1 - ratio ** (2 * seconds / tr)) - 0.99)

    return minimize_scalar(error, bounds=(0, 1), method="bounded").x


def motion_spikes(motion: Motion, noise_sd: float, plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return how far sudden movements shift each frame, in scanner units, (frames,).

    Each frame is hit independently with the probability that the rate gives; a hit shifts the whole
    brain by `motion.size` noise SDs, up or down.
    """
    rng = seed.rng("motion")
    hit = rng.random(plan.frames) < motion.spikes_per_minute * plan.tr / 60
    return motion.size * noise_sd * hit * rng.choice([-1.0, 1.0], plan.frames)


def zscore(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and SD 1 along the first axis; 0 where they are constant."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt(np.einsum("i...,i...->...", centred, centred) / len(values))
    centred /= np.where(sd > 1e-12, sd, np.inf)
    return centred
