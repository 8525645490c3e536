"""fmrisim's own measures of our whole brain, beside those of its own noise."""

import numpy as np
import pytest

from bciigl.base.seeds import Seed
from bciigl.brain import fmrisim_adapter
from bciigl.brain.noise import ExactNoise, RunPlan, StockNoise
from bciigl.brain.region import Region
from bciigl.protocol.model import NoiseSources


def measures(subject, engine, frames):
    """Return what `calc_noise` finds in full-strength noise, and the mean lag-1 autocorrelation."""
    region = Region(np.argwhere(subject.mask)[:8], subject.affine)
    plan = RunPlan(1.5, np.zeros(frames, bool))
    noise = engine(subject, region, NoiseSources()).volumes(plan, Seed(0))
    volumes = np.stack([np.maximum(subject.base + each, 0) for each in noise], axis=-1)
    found = fmrisim_adapter.estimate_noise(
        volumes, subject.mask, subject.template, subject.voxel_size, np.random.default_rng(0)
    )
    courses = volumes[subject.mask]
    courses -= courses.mean(axis=1, keepdims=True)
    lag1 = (courses[:, 1:] * courses[:, :-1]).sum(axis=1) / (courses**2).sum(axis=1)
    return {name: found[name] for name in ("snr", "sfnr", "fwhm")}, lag1.mean()


def assert_agreement(subject, frames):
    """Compare our whole brain with fmrisim's, from the same parameters."""
    exact, exact_lag1 = measures(subject, ExactNoise, frames)
    expected, expected_lag1 = measures(subject, StockNoise, frames)
    assert exact == pytest.approx(expected, rel=0.1)
    assert exact_lag1 == pytest.approx(expected_lag1, abs=0.05)
