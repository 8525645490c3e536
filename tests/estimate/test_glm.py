"""Regression: the weights of the frames against a naive solution, and what it recovers."""

import numpy as np
import pytest

from bciigl.estimate import glm
from bciigl.protocol.hrf import event_response
from bciigl.protocol.model import Timing

TIMING = Timing()


def times(frames: int, tr: float = 1.5) -> np.ndarray:
    """Return when frames are sampled."""
    return (np.arange(frames) + 0.5) * tr


def regressors(frames: int, onsets: np.ndarray, timing: Timing = TIMING) -> np.ndarray:
    """Return the response to each event, (frames, events)."""
    return np.column_stack(
        [event_response(times(frames, timing.tr) - each, timing.event) for each in onsets]
    )


def events(onsets: np.ndarray, timing: Timing = TIMING) -> glm.Events:
    """Return events that all last as long."""
    lasts = np.full(len(onsets), timing.event)
    return glm.Events(np.asarray(onsets), lasts, timing.event, timing.tr)


def autoregressive(shape: tuple[int, int], coefficient: float, seed: int) -> np.ndarray:
    """Return stationary AR(1) noise with innovations of SD 1, (frames, voxels)."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    noise[0] /= np.sqrt(1 - coefficient**2)
    for before, now in zip(noise, noise[1:], strict=False):
        now += coefficient * before
    return noise


def autocorrelation(frames: np.ndarray, happened: glm.Events) -> float:
    """Return the autocorrelation that frames tell."""
    return glm.rounded(*glm.last_products(frames, happened))


def every_event(count: int) -> np.ndarray:
    """Return weights that ask for each event by itself."""
    return np.eye(count)


def naive(frames: np.ndarray, onsets: np.ndarray, coefficient: float, timing: Timing) -> np.ndarray:
    """Return the estimates by the normal equations of ridge GLS, as they are in textbooks.

    Rows of missing frames are left out of the data, the design and the covariance.
    """
    n, tr = len(frames), timing.tr
    cosines = [
        np.cos(np.pi * k * (np.arange(n) + 0.5) / n) for k in range(1 + int(2 * n * tr / 256))
    ]
    there = np.flatnonzero(np.isfinite(frames).all(axis=1))
    design = np.column_stack([regressors(n, onsets, timing), *cosines])[there]
    lag = np.abs(np.subtract.outer(there, there))
    precision = np.linalg.inv(coefficient**lag / (1 - coefficient**2))
    told = design.T @ precision @ design
    # Twice as much as the event that is seen best tells of itself.
    strongest = np.diag(told)[: len(onsets)].max()
    ridge = np.diag([2.0 * strongest] * len(onsets) + [1e-6] * len(cosines))
    return np.linalg.solve(told + ridge, design.T @ precision @ frames[there])[: len(onsets)]


def test_estimates_solve_the_normal_equations_with_and_without_gaps():
    for coefficient in (0.0, 0.3, 0.6, 0.9):
        for tr, event, frames in ((1.5, 2.0, 50), (0.7, 1.0, 90), (2.0, 5.0, 7)):
            timing = Timing(tr=tr, event=event)
            whole = 100 + 3 * autoregressive((frames, 4), coefficient, seed=1)
            onsets = np.arange(3.0, frames * tr - tr, 9.0)
            for lost in ([], [0], [frames - 1], [2, 3, 5], list(range(1, frames, 3))):
                series = whole.copy()
                series[lost] = np.nan
                # The coefficient that was found, not the one that was drawn from, is assumed.
                found = autocorrelation(series, events(onsets, timing))
                estimates = glm.estimate(series, events(onsets, timing), every_event(len(onsets)))
                # The inverse of the covariance loses digits at 0.9; the drift's ridge does, too.
                np.testing.assert_allclose(
                    estimates, naive(series, onsets, found, timing), atol=1e-6
                )


def test_autocorrelation_with_gaps_is_that_of_neighbours_that_are_there():
    onsets, lost = np.arange(12.0, 200.0, 9.0), [0, 17, 40, 41, 42, 60, 99, 139]
    series = 100 + autoregressive((140, 8), 0.8, seed=1)
    series[lost] = np.nan
    there = np.delete(np.arange(140), lost)
    cosines = np.cos(np.pi / 140 * np.outer(np.arange(140) + 0.5, np.arange(2)))
    design = np.column_stack([regressors(140, onsets), cosines])[there]
    centred = series[there] - series[there].mean(axis=0)
    left = centred - design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    next_to = np.diff(there) == 1
    expected = (left[1:] * left[:-1])[next_to].sum() / (left**2).sum()
    assert expected > 0.3
    assert autocorrelation(series, events(onsets)) == pytest.approx(expected, abs=0.0501)


def test_where_nothing_tells_of_an_event_its_estimate_is_none():
    series = np.full((20, 3), np.nan)
    onsets, weights = np.array([3.0, 12.0]), every_event(2)
    assert autocorrelation(series, events(onsets)) == 0.0
    np.testing.assert_array_equal(glm.estimate(series, events(onsets), weights), np.zeros((2, 3)))
    series[:2] = 7.0  # before the first event
    np.testing.assert_allclose(glm.estimate(series, events(onsets), weights), 0, atol=1e-9)


def test_naive_solution_is_tried_with_noise_that_is_autocorrelated():
    onsets = np.arange(3.0, 70.0, 9.0)
    found = [
        autocorrelation(100 + 3 * autoregressive((50, 4), each, seed=1), events(onsets))
        for each in (0.0, 0.9)
    ]
    assert found[0] == 0.0
    assert found[1] >= 0.4


def test_sums_of_events_are_sums_of_their_estimates():
    series = autoregressive((100, 5), 0.4, seed=2)
    onsets = np.arange(12.0, 130.0, 9.0)
    weights = np.random.default_rng(0).uniform(size=(4, len(onsets)))
    each = glm.estimate(series, events(onsets), every_event(len(onsets)))
    # All events lie within one window of the run's whole length; rounding alone is left.
    np.testing.assert_allclose(
        glm.estimate(series, events(onsets), weights), weights @ each, atol=1e-10
    )


def test_lone_events_keep_their_ratio_under_the_ridge():
    onsets = np.arange(20.0, 400.0, 60.0)  # a response lasts 32 s
    amplitudes = np.array([1.0, 2.0, -1.0, 0.5, 3.0, 1.5, 0.0])
    series = 800 + regressors(300, onsets) @ amplitudes[:, None]
    weights = every_event(len(onsets))
    found = glm.estimate(series, events(onsets), weights, (), 0.0, glm.RIDGE)[:, 0]
    shrinkage = found[4] / amplitudes[4]
    # The ridge is twice what a response tells: 1 / (1 + 2). The constant and the cosines take a
    # little of each.
    assert shrinkage == pytest.approx(1 / 3, abs=0.05)
    # Drift takes up some of what the ridge leaves, more or less by an event's place in the run:
    # 0.05 of a response of 3.
    np.testing.assert_allclose(found, shrinkage * amplitudes, atol=0.05)


def test_lone_event_is_shrunk_alike_whatever_the_tr_and_the_noise():
    for tr, event in ((0.5, 2.0), (1.5, 2.0), (3.0, 2.0), (1.5, 8.0)):
        timing, frames = Timing(tr=tr, event=event), int(150 / tr)
        response = regressors(frames, [60.0], timing)
        for coefficient in (0.0, 0.3, 0.6):
            weights = glm.frame_weights(
                glm.Window(frames, (60.0,), (event,), event, tr, ()), (1.0,), coefficient
            )
            # The constant and a cosine take up to a third of what a long response tells in 150 s.
            assert weights @ response[:, 0] == pytest.approx(1 / 3, abs=0.07)


def test_without_noise_amplitudes_are_recovered_exactly():
    onsets = np.arange(12.0, 400.0, 9.0)
    amplitudes = np.random.default_rng(3).uniform(size=(len(onsets), 6))
    series = 800 + regressors(276, onsets) @ amplitudes
    found = glm.estimate(series, events(onsets), every_event(len(onsets)))
    # The run's mean of 800 pays the drift's ridge of 1e-6.
    np.testing.assert_allclose(found, amplitudes, atol=1e-4)


def test_neighbouring_events_are_told_apart_under_the_ridge():
    onsets = np.arange(12.0, 400.0, 9.0)
    amplitudes = np.random.default_rng(3).uniform(size=(len(onsets), 50))
    series = regressors(276, onsets) @ amplitudes
    found = glm.estimate(series, events(onsets), every_event(len(onsets)), (), 0.0, glm.RIDGE)
    correlation = np.corrcoef(np.vstack([amplitudes, found]))
    truth, estimate = np.arange(len(onsets)), len(onsets) + np.arange(len(onsets))
    with_itself = correlation[truth, estimate]
    with_the_next = correlation[truth[1:], estimate[:-1]]
    assert with_itself.min() > 0.8
    # Independent patterns in 50 voxels correlate by 0.14 (SD) anyway.
    assert with_itself.mean() > 0.95 > 0.4 > np.abs(with_the_next).mean()


@pytest.mark.parametrize(
    ("drift", "remains"),
    [
        # Its period is hardly longer than what is taken for drift, and it raises the
        # autocorrelation from 0 to 0.5.
        (lambda t: 5 * np.cos(2 * np.pi * t / 300 + 1), 0.25),
        (lambda t: 0.025 * t, 0.08),
        (lambda t: 10 * np.exp(-t / 200), 0.08),
    ],
    ids=["slow cosine", "linear trend", "settling"],
)
def test_drift_does_not_matter_much(drift, remains):
    onsets = np.arange(12.0, 400.0, 9.0)
    amplitudes = np.random.default_rng(4).uniform(size=(len(onsets), 6))
    series = regressors(276, onsets) @ amplitudes + 0.3 * autoregressive((276, 6), 0.3, seed=5)
    weights = every_event(len(onsets))
    still = glm.estimate(series, events(onsets), weights)
    drifting = glm.estimate(series + drift(times(276))[:, None], events(onsets), weights)
    # Of a drift by 10 peak responses; the first and the last events are seen from one side only.
    changed = np.abs(drifting - still)
    assert np.median(changed) < remains
    assert changed.max() < 1.5


def test_constant_does_not_matter():
    onsets = np.arange(12.0, 100.0, 9.0)
    series = autoregressive((80, 3), 0.3, seed=6)
    weights = every_event(len(onsets))
    # The drift's ridge of 1e-6 leaves that share of 1000.
    np.testing.assert_allclose(
        glm.estimate(series + 1000, events(onsets), weights),
        glm.estimate(series, events(onsets), weights),
        atol=1e-3,
    )


@pytest.mark.parametrize("coefficient", [0.0, 0.2, 0.5, 0.8])
def test_autocorrelation_is_that_of_the_noise_less_what_regression_takes(coefficient):
    frames, onsets = 300, np.arange(12.0, 440.0, 9.0)
    found = autocorrelation(autoregressive((frames, 64), coefficient, seed=7), events(onsets))
    lag = np.abs(np.subtract.outer(np.arange(frames), np.arange(frames)))
    covariance = coefficient**lag
    cosines = np.cos(np.pi / frames * np.outer(np.arange(frames) + 0.5, np.arange(4)))
    design = np.column_stack([regressors(frames, onsets), cosines])
    left = np.eye(frames) - design @ np.linalg.pinv(design)
    residual = left @ covariance @ left
    expected = np.trace(residual, offset=1) / np.trace(residual)
    # 64 x 300 frames: a standard error under 0.01. The rest is rounding to steps of 0.1.
    assert found == pytest.approx(max(expected, 0), abs=0.05 + 0.03)
    assert expected < coefficient + 0.01


def test_autocorrelation_is_within_bounds():
    onsets = np.array([12.0])
    slow = np.cumsum(np.random.default_rng(0).standard_normal((300, 5)), axis=0)
    assert autocorrelation(np.cumsum(slow, axis=0), events(onsets)) <= 0.9
    alternating = np.tile([[1.0], [-1.0]], (50, 1))
    assert autocorrelation(alternating, events(onsets)) == 0.0
    assert autocorrelation(np.full((100, 2), 7.0), events(onsets)) == 0.0


@pytest.mark.parametrize("base", [0.0, 800.0, 1e6])
def test_rounding_errors_are_no_autocorrelated_noise(base):
    onsets = np.arange(12.0, 400.0, 9.0)
    amplitudes = np.random.default_rng(0).uniform(size=(len(onsets), 6))
    frames = base + regressors(276, onsets) @ amplitudes
    assert autocorrelation(frames, events(onsets)) == 0.0


def test_as_many_events_as_frames_leave_no_noise():
    noise = np.random.default_rng(0).standard_normal((6, 4))
    assert autocorrelation(noise, events(np.arange(-20.0, 8.0, 1.0))) == 0.0


def test_gain_depends_little_on_the_autocorrelation():
    onsets = np.arange(12.0, 400.0, 9.0)
    response = regressors(276, onsets[20:21])[:, 0]
    window = glm.Window(276, tuple(onsets), (2.0,) * len(onsets), 2.0, 1.5, ())
    gains = [
        glm.frame_weights(window, tuple(np.eye(44)[20]), each) @ response
        for each in (0.0, 0.2, 0.4)
    ]
    # So that runs between which the coefficient differs by a step or two are comparable.
    assert max(gains) < 1.1 * min(gains)


def test_what_is_kept_cannot_be_changed():
    window = glm.Window(20, (3.0, 12.0), (2.0, 2.0), 2.0, 1.5, ())
    kept = (
        glm.least_squares(window, 0.3)[0],
        glm.frame_weights(window, (1.0, 0.0), 0.3),
    )
    for each in kept:
        with pytest.raises(ValueError, match="read-only"):
            each[0] = 1.0


def test_frames_far_from_an_event_do_not_change_its_estimate():
    onsets = np.arange(12.0, 3000.0, 9.0)
    series = autoregressive((2000, 3), 0.3, seed=8)
    weights = np.zeros((1, len(onsets)))
    weights[0, 30] = 1.0  # at 282 s
    before = glm.estimate(series, events(onsets), weights)
    far = np.flatnonzero(times(2000) > 282 + 2 * 256)
    # The last 512 s tell the autocorrelation of the whole run, in steps of 0.1.
    middle = far[far < 2000 - 512 / 1.5]
    changed = series.copy()
    changed[middle] += 100
    np.testing.assert_array_equal(glm.estimate(changed, events(onsets), weights), before)
    near = series.copy()
    near[int(290 / 1.5)] += 100
    assert (glm.estimate(near, events(onsets), weights) != before).all()


def test_window_is_a_run_of_its_own_but_for_responses_that_go_on_in_it():
    onsets = np.arange(12.0, 1040.0, 9.0)
    series = 100 + autoregressive((700, 4), 0.6, seed=10)
    weights = np.zeros((1, len(onsets)))
    weights[0, 98] = 1.0  # at 894 s
    found = glm.estimate(series, events(onsets), weights)[0]
    first = 700 - 341  # the last 512 s, since the run ends less than 256 s after the event
    since = onsets - first * 1.5
    inside = since > -32  # a response to 2 s lasts 32 s
    coefficient = autocorrelation(series, events(onsets))
    expected = naive(series[first:], since[inside], coefficient, TIMING)
    np.testing.assert_allclose(found, expected[98 - np.sum(~inside)], atol=1e-6)


def test_window_is_enough():
    onsets = np.arange(12.0, 1500.0, 9.0)
    amplitudes = np.random.default_rng(9).uniform(size=(len(onsets), 50))
    series = regressors(1000, onsets) @ amplitudes
    weights = every_event(len(onsets))[60:100]
    found = glm.estimate(series, events(onsets), weights, (), 0.0, glm.RIDGE)
    whole = naive(series, onsets, 0.0, TIMING)[60:100]
    # More cosines fit the whole run: they take a little of each amplitude's mean over events.
    assert np.abs(found - whole).max() < amplitudes.std() / 4
