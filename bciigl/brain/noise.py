"""Noise of a region or of the whole brain, run by run, as fmrisim composes it.

In scanner units and at full strength, a voxel's noise is

    brain_sd x mixture + system_sd x white noise + static offset + drift

where the mixture of autoregressive field, physiological and task noise has SD 1 in each voxel. The
`exact` engine samples the law that this has within the region. It agrees with whole-brain fmrisim
to second order (means, variances, correlations in space and time), not beyond: fmrisim's volumes
are divided by their own SD, which makes their tails a little lighter than a Gaussian's.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from bciigl.base.seeds import Seed
from bciigl.brain import fmrisim_adapter
from bciigl.brain.field import RegionField, field_of
from bciigl.brain.region import Region
from bciigl.brain.subject import NoiseParameters, Subject
from bciigl.protocol.model import Motion, NoiseSources


class RunPlan(NamedTuple):
    """What a scanner knows of a run before it begins."""

    tr: float
    stimulated: np.ndarray
    """In which frames an event is planned to be on, (frames,); only task noise depends on it."""

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


def arma_filter(parameters: NoiseParameters) -> tuple[np.ndarray, np.ndarray]:
    """Return numerator and denominator of the filter that turns innovations into noise."""
    ar, ma = parameters.auto_reg_rho, parameters.ma_rho
    return np.array([1.0, *ma, *np.zeros(len(ar) - len(ma))]), np.array([1.0, *np.negative(ar)])


def arma_run_sd(parameters: NoiseParameters, frames: int) -> float:
    """Return the root of the expected variance within a run, about its own mean."""
    # From rest: a slow process has less variance within a short run than in the long term.
    impulse = lfilter(*arma_filter(parameters), np.eye(1, frames)[0])
    mean_square = np.cumsum(impulse**2).mean()
    square_of_mean = (np.cumsum(impulse) ** 2).sum() / frames**2
    return float(np.sqrt(mean_square - square_of_mean)) if frames > 1 else 1.0


class ExactNoise:
    """Noise with the law that whole-brain fmrisim has within the region, sampled directly.

    Each source draws from its own stream, so that switching one off leaves the numbers of the
    others as they were.
    """

    def __init__(self, subject: Subject, region: Region, sources: NoiseSources) -> None:
        self._subject, self._sources = subject, sources
        self._parameters = subject.noise.only(sources)
        self._brain_field = field_of(subject)
        self._field = RegionField(self._brain_field, region)
        self._voxels = len(region)

    def run(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        """Return a run's full-strength noise in scanner units, (frames, voxels)."""
        noise = self._mixture(plan, seed)
        noise *= self._subject.brain_sd
        noise += drift(self._parameters.drift_sigma, plan, seed)[:, None]
        if self._sources.system:
            rng = seed.rng("system")
            offset = self._subject.offset_sd * rng.standard_normal(self._voxels)
            white = rng.standard_normal((plan.frames, self._voxels))
            white *= self._subject.system_sd
            noise += white
            noise += offset - white.mean(axis=0)
        return noise

    def _mixture(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        parameters = self._parameters
        mixture = np.zeros((plan.frames, self._voxels))
        if parameters.auto_reg_sigma:
            innovations = self._field.draw(seed.rng("arma"), plan.frames)
            mixture = zscore(lfilter(*arma_filter(parameters), innovations, axis=0))
        courses = list(brain_courses(parameters, plan, seed))
        if not courses:
            return mixture
        mixture *= parameters.auto_reg_sigma
        for name, weight, course in courses:
            mixture += weight * np.outer(course, self._field.draw(seed.rng(name, "field"), 1))
        return zscore(mixture)

    def volumes(self, plan: RunPlan, seed: Seed) -> Iterator[np.ndarray]:
        """Yield the full-strength noise of each frame of the whole brain, (x, y, z).

        Where fmrisim standardises a run by its own mean and SD, this takes the law's, which are
        known before the run; so no more than a few volumes are ever held.
        """
        subject, rng = self._subject, seed.rng("system")
        offset = subject.offset_sd * rng.standard_normal(subject.shape)
        drifts = drift(self._parameters.drift_sigma, plan, seed)
        for mixture, drifted in zip(self._brain_mixtures(plan, seed), drifts, strict=True):
            volume = np.full(subject.shape, drifted)
            volume[subject.mask] += subject.brain_sd * mixture
            if self._sources.system:
                volume += subject.system_sd * rng.standard_normal(subject.shape) + offset
            yield volume

    def _brain_mixtures(self, plan: RunPlan, seed: Seed) -> Iterator[np.ndarray]:
        """Yield the mixture of the brain's sources in each frame, (brain voxels,)."""
        parameters, field = self._parameters, self._brain_field
        weight, rng = parameters.auto_reg_sigma, seed.rng("arma")
        patterns = [
            (course, share * field.draw(seed.rng(name, "field")))
            for name, share, course in brain_courses(parameters, plan, seed)
        ]
        variance = weight**2 + sum((pattern**2 for _, pattern in patterns), np.zeros(field.voxels))
        sd = np.sqrt(np.where(variance > 0, variance, 1.0))
        numerator, denominator = arma_filter(parameters)
        arma_sd = np.sqrt(field.variance) * arma_run_sd(parameters, plan.frames)
        state = np.zeros((len(denominator) - 1, field.voxels))
        for frame in range(plan.frames):
            mixture = np.zeros(field.voxels)
            if weight:
                drawn = field.draw(rng)[None]
                value, state = lfilter(numerator, denominator, drawn, axis=0, zi=state)
                mixture = weight * (value[0] / arma_sd)
            for course, pattern in patterns:
                mixture += course[frame] * pattern
            yield mixture / sd


class StockNoise:
    """fmrisim's own whole-brain noise, cropped to the region: slow, and the reference."""

    def __init__(self, subject: Subject, region: Region, sources: NoiseSources) -> None:
        self._subject, self._region, self._sources = subject, region, sources

    def run(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        """Return a run's full-strength noise in scanner units, (frames, voxels)."""
        index = self._region.index
        return self._whole_brain(plan, seed)[index].T - self._subject.base[index]

    def volumes(self, plan: RunPlan, seed: Seed) -> Iterator[np.ndarray]:
        """Yield the full-strength noise of each frame of the whole brain, (x, y, z)."""
        volumes = self._whole_brain(plan, seed)
        return (volumes[..., frame] - self._subject.base for frame in range(plan.frames))

    def _whole_brain(self, plan: RunPlan, seed: Seed) -> np.ndarray:
        return fmrisim_adapter.whole_brain_volumes(
            self._subject, self._sources, plan.stimulated, plan.tr, seed.rng("fmrisim")
        )


ENGINES: dict[str, type[ExactNoise] | type[StockNoise]] = {
    "exact": ExactNoise,
    "fmrisim": StockNoise,
}
