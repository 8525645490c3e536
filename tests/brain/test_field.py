"""The spatial law, against fmrisim's own volumes and against closed forms."""

from functools import cache

import numpy as np
import pytest
from brainiak.utils import fmrisim
from heads import head

from bciigl.base.seeds import global_numpy_seeded
from bciigl.brain.field import MOST_COVARIANCE_VOXELS, RegionField, _standardised, field_of
from bciigl.brain.region import Region, find_region
from bciigl.protocol.model import Cube

SUBJECT = head(shape=(12, 14, 10))
BRAIN = Region(np.argwhere(SUBJECT.mask), SUBJECT.affine)


@cache
def field():
    return field_of(SUBJECT)


def volumes_of_fmrisim(count):
    with global_numpy_seeded(np.random.default_rng(0)):
        return np.array(
            [
                fmrisim._generate_noise_spatial(
                    np.array(SUBJECT.shape), SUBJECT.mask.astype(float), SUBJECT.noise.fwhm
                )[SUBJECT.mask]
                for _ in range(count)
            ]
        )


def test_covariance_of_the_brain_is_that_of_fmrisim_s_volumes():
    count = 1000
    volumes = volumes_of_fmrisim(count)
    expected = field().covariance(BRAIN)
    found = volumes.T @ volumes / count
    # A covariance c of Gaussians of variance v, v' has the standard error sqrt((v v' + c^2) / n).
    variance = np.diag(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / count)
    assert np.sqrt(np.mean(((found - expected) / error) ** 2)) == pytest.approx(1, abs=0.15)
    # and along the strongest modes, where leaving out the division by the SD would show most
    values, vectors = np.linalg.eigh(expected)
    strongest = vectors[:, -5:]
    ratio = ((volumes @ strongest) ** 2).mean(axis=0) / values[-5:]
    np.testing.assert_allclose(ratio, 1, atol=4 * np.sqrt(2 / count))


def test_volumes_drawn_here_have_the_covariance_too():
    count = 4000
    rng = np.random.default_rng(0)
    volumes = np.array([field().draw(rng) for _ in range(count)])
    np.testing.assert_allclose(volumes.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(volumes.std(axis=1), 1, atol=1e-12)
    variance = field().variance
    # five standard errors, for the largest of 700 voxels
    np.testing.assert_allclose((volumes**2).mean(axis=0) / variance, 1, atol=5 * (2 / count) ** 0.5)


def test_variance_is_the_covariance_s_diagonal_and_one_on_average():
    np.testing.assert_allclose(field().variance, np.diag(field().covariance(BRAIN)), atol=1e-12)
    assert field().variance.mean() == pytest.approx(1, abs=1e-9)


def test_brain_s_mean_has_no_variance():
    assert np.abs(field().covariance(BRAIN).sum(axis=0)).max() < 1e-8


def test_standardised_modes_by_monte_carlo():
    shares = np.array([0.4, 0.2, 0.1])
    squares = np.random.default_rng(0).chisquare(1, (400_000, 3))
    variance = squares @ shares + 0.3
    gain, gains = _standardised(shares)
    # standard errors are below 0.002
    assert gain == pytest.approx((1 / variance).mean(), abs=0.008)
    np.testing.assert_allclose(gains, (squares / variance[:, None]).mean(axis=0), atol=0.008)
    # s^2 / s^2 is 1
    assert shares @ gains + 0.3 * gain == pytest.approx(1, abs=1e-9)


def test_region_is_drawn_with_its_covariance():
    region = find_region(Cube(center=(5, 6, 4), size=3), SUBJECT)
    drawn = RegionField(field(), region).draw(np.random.default_rng(0), 20_000)
    # 4.5 standard errors of at most sqrt(2 / 20000) times the variance, which is about 1
    np.testing.assert_allclose(
        drawn.T @ drawn / 20_000, field().covariance(region), atol=4.5 * 0.01 * 1.3
    )


def test_large_region_is_cut_out_of_the_brain():
    subject = head(shape=(26, 28, 22))
    region = Region(np.argwhere(subject.mask)[1:], subject.affine)
    assert len(region) > MOST_COVARIANCE_VOXELS
    whole = field_of(subject)
    drawn = RegionField(whole, region).draw(np.random.default_rng(0), 2)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(drawn, [whole.draw(rng)[1:], whole.draw(rng)[1:]])
