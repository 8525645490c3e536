"""Courses of noise: autoregression, heart beat and breathing, task, drift, motion."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from bciigl.base.seeds import Seed
from bciigl.brain.subject import NoiseParameters
from bciigl.protocol.model import Motion


class RunPlan(NamedTuple):
    """What a scanner knows of a run before it begins."""

    tr: float
    stimulated: np.ndarray
    """In which frames an event is planned to be on, (frames,); only task noise depends on it."""

    @property
    def frames(self) -> int:
        """How many frames the run has."""
        return len(self.stimulated)


def arma_filter(parameters: NoiseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of the filter that turns innovations into noise."""
    ar, ma = parameters.auto_reg_rho, parameters.ma_rho
    return np.array([1.0, *ma, *np.zeros(len(ar) - len(ma))]), np.array([1.0, *np.negative(ar)])


def arma_run_sd(parameters: NoiseParameters, frames: int) -> float:
    """Return the root of the expected variance within a run, about its own mean.

    The process begins at rest and its innovations have SD 1. A slow process has less variance
    within a short run than it has in the long term.
    """
    impulse = lfilter(*arma_filter(parameters), np.eye(1, frames)[0])
    mean_square = np.cumsum(impulse**2).mean()
    square_of_mean = (np.cumsum(impulse) ** 2).sum() / frames**2
    return float(np.sqrt(mean_square - square_of_mean)) if frames > 1 else 1.0


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
    breathing, heart_beat = np.cos(0.2 * turns + phases[0]), np.sin(1.17 * turns + phases[1])  # Hz
    return zscore(breathing + heart_beat)


def task(plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return a course that is 1 plus white noise while an event is planned to be on, (frames,)."""
    white = seed.rng("task").standard_normal(plan.frames)
    return zscore(plan.stimulated * (1 + white))


def drift(sigma: float, plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return slow drift, the same in every voxel, in scanner units, (frames,)."""
    # Half-period cosines of the run with random phases, whose weights fall geometrically:
    # fmrisim's basis, summed by one FFT.
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
    """Return the ratio of neighbouring weights with 99 % of the power slower than 150 s."""

    def error(ratio: float) -> float:
        retained = 1 - ratio ** (2 * seconds / 150.0)
        return abs(retained / (1 - ratio ** (2 * seconds / tr)) - 0.99)

    return minimize_scalar(error, bounds=(0, 1), method="bounded").x


def motion_spikes(motion: Motion, noise_sd: float, plan: RunPlan, seed: Seed) -> np.ndarray:
    """Return how far sudden movements shift each frame, in scanner units, (frames,)."""
    rng = seed.rng("motion")
    hit = rng.random(plan.frames) < motion.spikes_per_minute * plan.tr / 60
    return motion.size * noise_sd * hit * rng.choice([-1.0, 1.0], plan.frames)


def zscore(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and SD 1 along the first axis; 0 where they are constant."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt(np.einsum("i...,i...->...", centred, centred) / len(values))
    centred /= np.where(sd > 1e-12, sd, np.inf)
    return centred
