"""Calibration: the person's own response, and noise of one SD, from frames alone."""

import numpy as np
import pytest
from recordings import frames_per_run, small
from scipy.signal import lfilter
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

from bciigl.estimate import UNCALIBRATED, Calibrator, contexts, feedback, glm
from bciigl.loop import Agent, simulate
from bciigl.loop.session import simulate_run
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import basis, event_response, shape_of
from bciigl.recording.trial import RunId
from bciigl.source import SimulatedSource

SHRUNK = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
LATE = {"hrf_delay": 2.0}
EARLY_NARROW = {"hrf_delay": -1.0, "hrf_dispersion": 0.8}


def protocol(trials: int = 46, **sections) -> Protocol:
    """Return an experiment with the noise of a real brain."""
    brain = {"noise": 1.0, **sections.pop("brain", {})}
    task = {"trials": 4 * trials, "trials_per_run": trials}
    return small(task=task, brain=brain, **sections)


def recorded(mine: Protocol, runs: int = 1) -> list:
    """Return the frames of the first runs."""
    source, trials = SimulatedSource(mine), mine.task.trials_per_run
    places = [RunId("train", run) for run in range(1, runs + 1)]
    return [simulate_run(mine, source, Agent(3), each, trials).frames for each in places]


def calibrated(mine: Protocol, runs: list) -> Calibrator:
    calibrator = Calibrator(mine)
    for each in runs:
        calibrator.add(each)
    return calibrator


def noise(mine: Protocol, seed: int, voxels: int = 6) -> np.ndarray:
    """Return a run of noise alone: autocorrelated, shared by voxels, and not equally strong."""
    rng = np.random.default_rng(seed)
    frames = frames_per_run(mine, mine.task.trials_per_run)
    own, shared = rng.standard_normal((frames, voxels)), rng.standard_normal((frames, 1))
    series = lfilter([1.0], [1.0, -0.3], own + 0.7 * shared, axis=0)
    return 500 + series * np.linspace(1, 2, voxels)


def spread(estimates: np.ndarray) -> float:
    """Return how many times as large the largest variance of any direction is as the smallest."""
    values = np.linalg.eigvalsh(np.cov(estimates.T))
    return values[-1] / values[0]


@pytest.mark.parametrize("method", ["glm", "frame"])
def test_normalised_estimates_of_noise_are_uncorrelated_and_of_one_sd(method):
    mine = protocol(estimate=method)
    known = calibrated(mine, [noise(mine, seed) for seed in range(4)]).calibration
    others = [noise(mine, seed) for seed in range(10, 18)]
    for estimate in (contexts, feedback):
        raw, made = (
            np.concatenate([estimate(each, mine, how) for each in others])
            for how in (UNCALIBRATED, known)
        )
        # Of 368 independent estimates in 6 voxels, a ratio of about 1.7.
        assert spread(made) < 2.5 < 5 < spread(raw)


@pytest.mark.parametrize("brain", [LATE, EARLY_NARROW], ids=["late", "early and narrow"])
def test_response_of_a_person_is_recovered(brain):
    mine = protocol(brain=brain, seed=1)
    times, _ = basis(mine.timing.event)
    true = event_response(times, mine.timing.event, shape_of(mine.brain))
    usual = np.corrcoef(event_response(times, mine.timing.event), true)[0, 1]
    runs = recorded(mine, 3)
    for count, least in {1: 0.97, 3: 0.985}.items():
        weights = calibrated(mine, runs[:count]).calibration.response
        found = event_response(times, mine.timing.event, weights=weights)
        assert np.corrcoef(found, true)[0, 1] > max(least, usual)


def test_response_is_fitted_after_1_2_4_and_more_runs():
    mine = protocol(trials=10)
    calibrator, found = Calibrator(mine), []
    for each in recorded(mine, 4):
        calibrator.add(each)
        found.append(calibrator.calibration)
    responses = [each.response for each in found]
    assert responses[1] == responses[2]
    assert len(set(responses)) == 3
    assert not np.array_equal(found[1].whitening, found[2].whitening)


def test_each_part_can_be_switched_off():
    frames = recorded(protocol(trials=10))
    for estimate, known in {
        ("glm", "individual", True): (True, True, True),
        ("glm", "canonical", True): (False, True, True),
        ("glm", "individual", False): (True, False, True),
        ("glm", "canonical", False): (False, False, False),
        ("frame", "individual", True): (False, True, False),
        ("frame", "individual", False): (False, False, False),
    }.items():
        how = dict(zip(("method", "hrf", "normalise"), estimate, strict=True))
        found = calibrated(protocol(trials=10, estimate=how), frames).calibration
        given = (found.response != (), found.whitening is not None)
        assert (*given, found.autocorrelation is not None) == known, estimate


def test_before_any_run_nothing_is_known():
    assert Calibrator(protocol()).calibration == UNCALIBRATED
    calibrator = Calibrator(protocol())
    calibrator.add(np.full((frames_per_run(protocol(), 46), 3), np.nan))
    assert calibrator.calibration == UNCALIBRATED


def test_missing_frames_change_little():
    mine = protocol()
    (frames,) = recorded(mine)
    lossy = frames.copy()
    lossy[np.random.default_rng(0).choice(len(frames), 40, replace=False)] = np.nan
    whole, found = (calibrated(mine, [each]).calibration for each in (frames, lossy))
    assert np.isfinite(contexts(lossy, mine, found)).all(axis=1).mean() > 0.9
    times, _ = basis(2.0)
    one, other = (event_response(times, 2.0, weights=each.response) for each in (whole, found))
    assert np.corrcoef(one, other)[0, 1] > 0.98
    # Components may turn among themselves; what they make of the noise may not.
    whole, found = (each.whitening @ each.whitening.T for each in (whole, found))
    product = np.linalg.solve(whole, found)
    assert np.abs(product - np.eye(64)).max() < 0.5


def test_separate_recordings_are_calibrated_together():
    mine = protocol(recording="separate", brain=LATE)
    (frames,) = recorded(mine)
    found = calibrated(mine, [frames]).calibration
    times, _ = basis(2.0)
    true = event_response(times, 2.0, shape_of(mine.brain))
    corrected = event_response(times, 2.0, weights=found.response)
    assert np.corrcoef(corrected, true)[0, 1] > 0.95
    estimates = contexts(frames, mine, found), feedback(frames, mine, found)
    assert np.isfinite(estimates).all()
    assert found.whitening.shape == (64, 64)


@pytest.mark.parametrize("level", [0.0, 1e-6, 1e-3])
def test_hardly_any_noise_does_no_harm(level):
    mine = protocol(trials=20, brain={"noise": level, **EARLY_NARROW})
    (frames,) = recorded(mine)
    found = calibrated(mine, [frames]).calibration
    assert np.isfinite(contexts(frames, mine, found)).all()
    assert np.abs(found.response).max() <= 5
    if not level:
        nothing = np.full(frames.shape, 7.0)
        assert calibrated(mine, [nothing]).calibration.whitening is None


def test_many_voxels_are_scaled_each_by_itself():
    mine = protocol(trials=10)
    frames = noise(mine, 0, voxels=1100)
    found = calibrated(mine, [frames]).calibration
    assert found.whitening.shape == (1100,)
    sd = feedback(frames, mine, found).std(axis=0)
    assert sd[550:].mean() == pytest.approx(sd[:550].mean(), rel=0.1)


def test_cost_of_a_run_grows_with_its_length_and_no_faster(monkeypatch):
    mine, lengths = protocol(trials=300), []
    windows = glm.least_squares

    def counted(when: glm.Window, coefficient: float):
        lengths.append(when.frames)
        return windows(when, coefficient)

    monkeypatch.setattr(glm, "least_squares", counted)
    Calibrator(mine).add(noise(mine, 0, voxels=2))
    assert max(lengths) * mine.timing.tr < 1.5 * glm.WINDOW


@pytest.mark.slow
def test_contexts_do_not_hold_the_guess():
    for brain in ({"noise": 0.05}, {"noise": 1.0, **LATE}):
        train = simulate(small(task={"trials": 460, "trials_per_run": 46}, brain=brain))["train"]
        given = train.interactions
        known = cross_val_score(SHRUNK, given.context, given.action, cv=5).mean()
        assert known < 1 / 3 + 4 * np.sqrt(2 / 9 / 460)
        told = cross_val_score(SHRUNK, given.feedback, given.action, cv=5).mean()
        assert told > known


def test_windows_are_scaled_voxel_by_voxel():
    timing = {"tr": 2.0, "event": 2.0, "isi": 0.0, "together": True, "frame_lag": 0.0}
    mine = small(timing={**timing, "burn_in": 0.0}, estimate="window")
    sd, rng = np.array([0.5, 1.0, 4.0]), np.random.default_rng(0)
    calibrator = Calibrator(mine)
    for _ in range(20):
        frames = rng.standard_normal((8, 3)) * sd + 100
        frames[3] = np.nan
        calibrator.add(frames)
    calibrator.add(np.full((8, 3), np.nan))
    found = calibrator.calibration
    assert (found.response, found.autocorrelation) == ((), None)
    np.testing.assert_allclose(found.whitening * sd, 1.0, rtol=0.3)
