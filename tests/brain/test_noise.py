"""The exact engine has the law of fmrisim's whole-brain noise within the region."""

from dataclasses import replace

import numpy as np
import pytest
from heads import head
from laws import (
    autocorrelation,
    offsets,
    sfnr,
    spatial_correlation,
    temporal_sd,
    tolerance,
)

from bciigl.base.seeds import Seed
from bciigl.brain.noise import ExactNoise, RunPlan, StockNoise
from bciigl.brain.region import find_region
from bciigl.brain.subject import load_subject
from bciigl.protocol.model import Cube, NoiseSources

PLAN = RunPlan(1.5, np.arange(100) % 6 < 2)
ALL = NoiseSources()


def only(source: str) -> NoiseSources:
    return NoiseSources(**{name: name == source for name in NoiseSources.model_fields})


class Case:
    """Both engines on one subject and region, with runs drawn from each."""

    def __init__(self, subject, cube, sources, runs):
        self.subject = subject
        self.region = find_region(cube, subject)
        self.base = subject.base[self.region.index]
        self.runs = runs
        self.exact = ExactNoise(subject, self.region, sources)
        stock = StockNoise(subject, self.region, sources)
        self.stock = [self.base + stock.run(PLAN, Seed(i)) for i in range(runs)]
        self.drawn: dict[int, np.ndarray] = {}

    def draw(self, i):
        """Return a run of the exact engine, base image included; the same for all statistics."""
        if i not in self.drawn:
            self.drawn[i] = self.base + self.exact.run(PLAN, Seed(1000 + i))
        return self.drawn[i]

    def deviation(self, statistic, runs):
        """Return how far a statistic is from the law's, in units of what chance alone does."""
        expected, chance = tolerance(statistic, self.draw, self.runs)
        return np.abs(statistic(runs) - expected).max() / chance

    def white(self):
        """Return noise with the right mean and SD, and nothing else."""
        rng = np.random.default_rng(0)
        shape = (PLAN.frames, len(self.region))
        sd = self.subject.noise_sd
        return [self.base + sd * rng.standard_normal(shape) for _ in range(self.runs)]

    def bare_cube(self):
        """Return what fmrisim makes of the region alone, without a brain around it."""
        low, high = self.region.voxels.min(axis=0), self.region.voxels.max(axis=0) + 1
        cut = tuple(slice(*each) for each in zip(low, high, strict=True))
        alone = replace(
            self.subject, template=self.subject.template[cut], mask=self.subject.mask[cut]
        )
        size = int(high[0] - low[0])
        cube = Cube(center=((size - 1) // 2,) * 3, size=size)
        engine = StockNoise(alone, find_region(cube, alone), ALL)
        return [self.base + engine.run(PLAN, Seed(i)) for i in range(self.runs)]


STATISTICS = [temporal_sd, autocorrelation, sfnr, spatial_correlation]


@pytest.fixture(scope="module")
def small():
    """Return a small head, so that fmrisim can make 6 runs in a second."""
    return Case(head(), Cube(center=(8, 10, 8), size=3), ALL, runs=6)


@pytest.fixture(scope="module")
def whole_brain():
    """Return the built-in subject: 51 133 brain voxels, three runs of 100 frames."""
    return Case(load_subject("brainiak"), Cube(), ALL, runs=3)


@pytest.mark.slow
def test_small_head_has_fmrisim_s_law(small):
    for statistic in STATISTICS:
        assert small.deviation(statistic, small.stock) < 1, statistic


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
def test_region_has_the_law_of_whole_brain_fmrisim(whole_brain, statistic):
    assert whole_brain.deviation(statistic, whole_brain.stock) < 1


@pytest.mark.slow
def test_white_noise_has_another_law(whole_brain):
    white = whole_brain.white()
    assert whole_brain.deviation(temporal_sd, white) < 1
    assert whole_brain.deviation(autocorrelation, white) > 1
    assert whole_brain.deviation(spatial_correlation, white) > 1


@pytest.mark.slow
def test_fmrisim_on_the_bare_cube_has_another_law(whole_brain):
    assert whole_brain.deviation(spatial_correlation, whole_brain.bare_cube()) > 1


@pytest.mark.slow
def test_impostors_fail_on_a_small_head_too(small):
    assert small.deviation(autocorrelation, small.white()) > 1
    assert small.deviation(spatial_correlation, small.white()) > 1
    assert small.deviation(spatial_correlation, small.bare_cube()) > 1


def twelve_lags(runs):
    return autocorrelation(runs, 12)


# Each alone: these are what its law leaves to chance. What it fixes is tested exactly, below and in
# test_courses.py; one drift of a run tells little about its law by statistics.
SOURCES = {
    "arma": [twelve_lags, spatial_correlation],
    "drift": [twelve_lags],
    "physiological": [twelve_lags, spatial_correlation],
    "task": [twelve_lags, spatial_correlation],
    "system": [temporal_sd, twelve_lags, spatial_correlation, offsets],
}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_each_source_alone_has_fmrisim_s_law_on_a_small_head(source):
    case = Case(head(), Cube(center=(8, 10, 8), size=3), only(source), runs=12)
    for statistic in SOURCES[source]:
        assert case.deviation(statistic, case.stock) < 1, statistic


@pytest.mark.slow
@pytest.mark.parametrize("source", ["drift", "physiological", "system"])
def test_each_source_alone_has_the_law_of_whole_brain_fmrisim(source):
    subject = load_subject("brainiak")
    noise = subject.noise.model_copy(update={"physiological_sigma": 0.3})
    case = Case(replace(subject, noise=noise), Cube(), only(source), runs=3)
    for statistic in SOURCES[source]:
        assert case.deviation(statistic, case.stock) < 1, statistic
    exact = [case.draw(i) for i in range(3)]
    if source != "system":
        np.testing.assert_allclose(temporal_sd(exact), temporal_sd(case.stock), rtol=1e-9)


@pytest.mark.parametrize(
    ("source", "sd"), [("arma", "brain_sd"), ("physiological", "brain_sd"), ("drift", None)]
)
def test_sd_of_a_source_is_exact_in_both_engines(source, sd):
    subject = head()
    region = find_region(Cube(center=(8, 10, 8), size=3), subject)
    expected = subject.noise.drift_sigma if sd is None else getattr(subject, sd)
    for engine in (ExactNoise, StockNoise):
        noise = engine(subject, region, only(source)).run(PLAN, Seed(0))
        np.testing.assert_allclose(noise.std(axis=0), expected, rtol=1e-9)
        np.testing.assert_allclose(noise.mean(axis=0), 0, atol=1e-9 * expected)


@pytest.mark.slow
def test_moving_average_is_fmrisim_s():
    subject = head(auto_reg_rho=(0.7,), ma_rho=(-0.5,))
    case = Case(subject, Cube(center=(8, 10, 8), size=3), only("arma"), runs=12)
    assert case.deviation(twelve_lags, case.stock) < 1


def test_noise_without_sources_is_none():
    subject = head()
    region = find_region(Cube(center=(8, 10, 8), size=3), subject)
    for engine in (ExactNoise, StockNoise):
        noise = engine(subject, region, only("nothing")).run(PLAN, Seed(0))
        np.testing.assert_allclose(noise, 0, atol=1e-9)
