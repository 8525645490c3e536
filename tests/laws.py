"""Statistics of noise, and how far sampling alone moves them."""

from collections.abc import Callable

import numpy as np

Runs = list[np.ndarray]
"""Recordings (frames, voxels)."""


def temporal_sd(runs: Runs) -> np.ndarray:
    """Return the SD in time of each voxel."""
    return np.sqrt(np.mean([run.var(axis=0) for run in runs], axis=0))


def autocorrelation(runs: Runs, lags: int = 1) -> np.ndarray:
    """Return the autocorrelation of each voxel at lags from 1, (lags, voxels)."""
    return np.mean([_autocorrelation(run, lags) for run in runs], axis=0)


def _autocorrelation(run: np.ndarray, lags: int) -> np.ndarray:
    centred = run - run.mean(axis=0)
    power = (centred**2).sum(axis=0)
    return np.array([(centred[k:] * centred[:-k]).sum(axis=0) / power for k in range(1, lags + 1)])


def sfnr(runs: Runs) -> np.ndarray:
    """Return mean over detrended SD of each voxel, as Friedman and Glover (2006) define it."""
    return np.mean([run.mean(axis=0) / _detrended(run).std(axis=0) for run in runs], axis=0)


def _detrended(run: np.ndarray) -> np.ndarray:
    trend = np.vander(np.linspace(-1, 1, len(run)), 3)
    return run - trend @ np.linalg.lstsq(trend, run, rcond=None)[0]


def spatial_correlation(runs: Runs) -> np.ndarray:
    """Return the correlations of all pairs of voxels over time."""
    above = np.triu_indices(runs[0].shape[1], 1)
    return np.mean([np.corrcoef(run.T)[above] for run in runs], axis=0)


def offsets(runs: Runs) -> np.ndarray:
    """Return the SD over voxels of the means over time, as one number in an array."""
    means = np.array([run.mean(axis=0) for run in runs])
    return np.array([means.std(axis=1).mean()])


def tolerance(
    statistic: Callable[[Runs], np.ndarray], draw: Callable[[int], np.ndarray], runs: int
) -> tuple[np.ndarray, float]:
    """Return what to expect of a statistic of `runs` runs, and how far chance takes it from there.

    The expectation is the mean over 200 groups of runs drawn from the law; the tolerance is the
    largest deviation from it, of any voxel or pair, in any of them. A sample of the same law thus
    passes with a probability of about 99.5 %.
    """
    groups = [statistic([draw(runs * g + i) for i in range(runs)]) for g in range(200)]
    expected = np.mean(groups, axis=0)
    return expected, float(np.abs(np.array(groups) - expected).max())
