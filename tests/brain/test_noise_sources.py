"""Each source, number for number as fmrisim makes it from the same random numbers."""

import numpy as np
import pytest
from brainiak.utils import fmrisim
from heads import head
from scipy.signal import lfilter

from bciigl.base.seeds import Seed
from bciigl.brain.field import RegionField, field_of
from bciigl.brain.noise import ExactNoise, RunPlan, arma_filter, drift, physiological, task, zscore
from bciigl.brain.region import find_region
from bciigl.protocol.model import Cube, NoiseSources

SEED = Seed(5)
RUNS = [(40, 1.5), (101, 0.7), (836, 1.5), (300, 3.0)]


@pytest.fixture
def same_numbers(monkeypatch):
    """Let fmrisim draw from a list of numbers."""

    def use(numbers):
        numbers = iter(numbers)

        def rand(*shape):
            return np.array([next(numbers)]) if shape else next(numbers)

        monkeypatch.setattr(np.random, "rand", rand)
        monkeypatch.setattr(np.random, "normal", lambda *_, size: next(numbers).reshape(size))

    return use


@pytest.mark.parametrize(("frames", "tr"), RUNS)
def test_drift(same_numbers, frames, tr):
    same_numbers(SEED.rng("drift").random(frames))
    expected = fmrisim._generate_noise_temporal_drift(frames, tr)
    found = drift(2.5, RunPlan(tr, np.zeros(frames, bool)), SEED)
    np.testing.assert_allclose(found, 2.5 * expected, atol=1e-9)


@pytest.mark.parametrize(("frames", "tr"), RUNS)
def test_physiological(same_numbers, frames, tr):
    same_numbers(SEED.rng("physiological").random(2))
    expected = fmrisim._generate_noise_temporal_phys(list(np.arange(frames) * tr))
    found = physiological(RunPlan(tr, np.zeros(frames, bool)), SEED)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_task(same_numbers):
    stimulated = np.arange(60) % 6 < 2
    same_numbers([SEED.rng("task").standard_normal(60)])
    expected = fmrisim._generate_noise_temporal_task(stimulated.astype(float))
    np.testing.assert_allclose(task(RunPlan(1.5, stimulated), SEED), expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(12, 14, 10), (9, 9, 9), (8, 13, 11)])
def test_field(same_numbers, shape):
    subject = head(shape=shape)
    white = np.random.default_rng(0).standard_normal((max(shape),) * 3)
    same_numbers([white])
    expected = fmrisim._generate_noise_spatial(
        np.array(shape), subject.mask.astype(float), subject.noise.fwhm
    )[subject.mask]
    np.testing.assert_allclose(
        field_of(subject).draw(np.random.default_rng(0)), expected, atol=1e-9
    )


@pytest.mark.parametrize(
    ("ar", "ma"),
    [((0.5,), (0.0,)), ((0.7,), (-0.5,)), ((0.4, 0.3), (0.5,)), ((0.3, 0.2), (0.1, 0.2))],
)
def test_autoregression(monkeypatch, ar, ma):
    noise = head(auto_reg_rho=ar, ma_rho=ma).noise
    volumes = np.random.default_rng(0).standard_normal((30, 2, 3, 2))
    given = iter(volumes.copy())
    monkeypatch.setattr(fmrisim, "_generate_noise_spatial", lambda **_: next(given))
    expected = fmrisim._generate_noise_temporal_autoregression(
        list(range(30)), {"auto_reg_rho": ar, "ma_rho": ma, "fwhm": 4}, (2, 3, 2), None
    )
    found = zscore(lfilter(*arma_filter(noise), volumes, axis=0))
    np.testing.assert_allclose(found, np.moveaxis(expected, -1, 0), atol=1e-9)


def test_mixture_of_the_brain_s_sources():
    subject = head(auto_reg_sigma=0.8, physiological_sigma=0.3, task_sigma=0.2)
    region = find_region(Cube(center=(8, 10, 8), size=3), subject)
    plan = RunPlan(1.5, np.arange(100) % 6 < 2)
    field = RegionField(field_of(subject), region)
    arma = zscore(lfilter([1, 0], [1, -0.5], field.draw(SEED.rng("arma"), 100), axis=0))
    heart, events = (field.draw(SEED.rng(n, "field"), 1) for n in ("physiological", "task"))
    expected = zscore(
        0.8 * arma
        + 0.3 * np.outer(physiological(plan, SEED), heart)
        + 0.2 * np.outer(task(plan, SEED), events)
    )
    sources = NoiseSources(system=False, drift=False)
    found = ExactNoise(subject, region, sources).run(plan, SEED)
    np.testing.assert_allclose(found, subject.brain_sd * expected, atol=1e-9)


def test_mean_of_the_system_noise_is_its_offset():
    subject = head()
    region = find_region(Cube(center=(8, 10, 8), size=3), subject)
    only_system = NoiseSources(arma=False, drift=False, physiological=False, task=False)
    engine = ExactNoise(subject, region, only_system)
    # the offset is drawn first, so it is the same in runs of different lengths
    short, long = (engine.run(RunPlan(1.5, np.zeros(n, bool)), SEED) for n in (50, 80))
    np.testing.assert_allclose(short.mean(axis=0), long.mean(axis=0), atol=1e-9)


def test_what_is_constant_has_no_z_score():
    np.testing.assert_array_equal(zscore(np.full((5, 2), 0.1)), np.zeros((5, 2)))
    np.testing.assert_allclose(zscore(np.array([1.0, 3.0])), [-1, 1])
