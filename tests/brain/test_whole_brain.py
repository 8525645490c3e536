"""fmrisim's own measures of our whole brain, beside those of its own noise."""

import numpy as np
import pytest
from brain_measures import assert_agreement
from heads import head
from laws import autocorrelation, temporal_sd

from bciigl.base.seeds import Seed
from bciigl.brain.noise import ExactNoise, RunPlan, StockNoise, drift, physiological, task
from bciigl.brain.region import Region
from bciigl.brain.subject import load_subject
from bciigl.protocol.model import NoiseSources


@pytest.mark.slow
def test_small_head_measures_as_fmrisim_s():
    assert_agreement(head(shape=(30, 34, 28), radius=0.45), 40)


@pytest.mark.slow
def test_moving_average_measures_as_fmrisim_s():
    subject = head(shape=(30, 34, 28), radius=0.45, auto_reg_rho=(0.72,), ma_rho=(-0.56,))
    assert_agreement(subject, 40)


def test_slow_noise_in_a_short_run_is_nearly_fmrisim_s():
    # At AR 0.9 a voxel's SD differs from run to run; fmrisim evens that out afterwards, which a
    # scanner cannot. What is left after averaging four runs is within the bounds all the same.
    subject = head(auto_reg_rho=(0.9,), physiological_sigma=0.0, drift_sigma=0.0)
    region = Region(np.argwhere(subject.mask)[:8], subject.affine)
    plan = RunPlan(1.5, np.zeros(40, bool))
    found = []
    for engine in (ExactNoise, StockNoise):
        noise = engine(subject, region, NoiseSources())
        runs = [
            np.array([volume[subject.mask] for volume in noise.volumes(plan, Seed(i))])
            for i in range(4)
        ]
        found.append((temporal_sd(runs).mean(), autocorrelation(runs).mean()))
    (sd, lag1), (expected_sd, expected_lag1) = found
    assert sd == pytest.approx(expected_sd, rel=0.1)
    assert lag1 == pytest.approx(expected_lag1, abs=0.05)


def volumes(subject, frames, **sources):
    """Return full-strength noise in the brain from some sources, (frames, voxels)."""
    sources = NoiseSources(**{**dict.fromkeys(NoiseSources.model_fields, False), **sources})
    region = Region(np.argwhere(subject.mask)[:8], subject.affine)
    plan = RunPlan(1.5, np.arange(frames) % 6 < 2)
    return np.array(
        [v[subject.mask] for v in ExactNoise(subject, region, sources).volumes(plan, Seed(0))]
    )


def test_every_voxel_fluctuates_by_the_same_sd():
    subject = head(shape=(12, 14, 10))
    sd = volumes(subject, 1500, arma=True).std(axis=0) / subject.brain_sd
    # 1500 frames at AR 0.5 are worth 900: a standard error of 2.4 %, four of it for 700 voxels; the
    # variance of the field itself goes from 0.5 to 2
    np.testing.assert_allclose(sd, 1, atol=0.1)


@pytest.mark.parametrize(("source", "course"), [("physiological", physiological), ("task", task)])
def test_sources_with_one_course_follow_it(source, course):
    subject = head()
    plan = RunPlan(1.5, np.arange(60) % 6 < 2)
    found = volumes(subject, 60, **{source: True}) / subject.brain_sd
    expected = course(plan, Seed(0))
    signs = np.sign(found[0] * expected[0])
    np.testing.assert_allclose(found, np.outer(expected, signs), atol=1e-9)


def test_drift_is_the_same_in_all_voxels():
    subject = head()
    found = volumes(subject, 60, drift=True)
    expected = drift(subject.noise.drift_sigma, RunPlan(1.5, np.zeros(60, bool)), Seed(0))
    np.testing.assert_allclose(found, np.outer(expected, np.ones(found.shape[1])), atol=1e-9)


@pytest.mark.slow
def test_built_in_subject_measures_as_fmrisim_s():
    assert_agreement(load_subject("brainiak"), 24)
