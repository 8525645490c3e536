"""Confounds such as the head's movement: estimates are as if they had not been."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from digests import protocol
from recordings import small, use_source

from bciigl.estimate import Calibrator, context, contexts, feedback, feedback_so_far, glm
from bciigl.estimate.frames import series_events
from bciigl.loop import record
from bciigl.protocol.schedule import frames_complete
from bciigl.protocol.timetable import Timetable, timetable
from bciigl.recording import open_dataset
from bciigl.recording.trial import RunReport
from bciigl.source import SimulatedSource

TRIALS, VOXELS, EARLY = 12, 5, 3
PROTOCOLS = {
    "glm": protocol(),
    "frame": protocol(estimate="frame"),
    "tr 2": protocol(timing={"tr": 2.0}),
}
each_protocol = pytest.mark.parametrize("mine", PROTOCOLS.values(), ids=PROTOCOLS)


def run_of(mine, seed: int = 0, noise: float = 1.0):
    """Return the frames of a head that lies still, how it might move, and what that would do."""
    rng, when = np.random.default_rng(seed), timetable(mine, TRIALS)
    length = when.frames(mine.timing.tr)
    events = series_events(mine, mine.task.events, when)
    _, window, _ = events.window(np.zeros((length, 1)), 0, length)
    still = 100 + glm.responses(window) @ rng.standard_normal((3 * TRIALS, VOXELS))
    still += noise * rng.standard_normal(still.shape)
    movement = 0.05 * np.cumsum(rng.standard_normal((length, 6)), axis=0)
    return still, movement, 4 * movement @ rng.standard_normal((6, VOXELS)), when


def moving(when: Timetable, movement: np.ndarray) -> Timetable:
    return replace(when, confounds=movement)


@pytest.mark.parametrize("mine", [PROTOCOLS["glm"], PROTOCOLS["tr 2"]], ids=["glm", "tr 2"])
@pytest.mark.parametrize("estimates", [contexts, feedback])
def test_movement_makes_no_difference_where_it_is_regressed_out(mine, estimates):
    still, movement, effect, when = run_of(mine)
    known = moving(when, movement)
    found = estimates(still + effect, mine, when=known)
    first = EARLY if estimates is contexts else 0  # the first contexts have few frames
    np.testing.assert_allclose(
        found[first:], estimates(still, mine, when=known)[first:], rtol=0, atol=1e-6
    )
    # It could: without it, much does.
    spoilt, right = estimates(still + effect, mine, when=when), estimates(still, mine, when=when)
    assert np.std(spoilt - right) > 2 * np.std(found[first:] - right[first:])


@pytest.mark.parametrize("estimates", [contexts, feedback])
def test_estimates_without_noise_are_those_of_a_head_that_lies_still(estimates):
    mine = protocol(estimate={"normalise": False})
    still, movement, effect, when = run_of(mine, noise=0.0)
    expected = estimates(still, mine, when=when)
    found = estimates(still + effect, mine, when=moving(when, movement))
    first = EARLY if estimates is contexts else 0
    np.testing.assert_allclose(found[first:], expected[first:], rtol=0, atol=1e-5)


def test_calibration_is_that_of_a_head_that_lies_still():
    mine = protocol()
    still, movement, effect, when = run_of(mine)
    found = []
    for frames in (still, still + effect):
        calibrator = Calibrator(mine)
        calibrator.add(frames, moving(when, movement))
        found.append(calibrator.calibration)
    np.testing.assert_allclose(found[1].whitening, found[0].whitening, rtol=1e-6)
    assert found[1].autocorrelation == found[0].autocorrelation == 0.0
    calibrator = Calibrator(mine)
    calibrator.add(still + effect, when)
    assert calibrator.calibration.autocorrelation > 0.0  # movement looks like slow noise


@each_protocol
@pytest.mark.parametrize("trial", [0, 4, 11])
def test_contexts_depend_on_no_later_frame_and_no_later_movement(mine, trial):
    still, movement, effect, when = run_of(mine)
    frames, tr = still + effect, mine.timing.tr
    expected = context(frames, mine, trial, when=moving(when, movement))
    known = frames_complete(when.decisions[trial], tr)
    for value in (1e3, np.nan):
        later_frames, later_movement = frames.copy(), movement.copy()
        later_frames[known:], later_movement[known:] = value, value
        changed = moving(when, later_movement)
        np.testing.assert_array_equal(context(later_frames, mine, trial, when=changed), expected)
        np.testing.assert_array_equal(contexts(later_frames, mine, when=changed)[trial], expected)
        # While the run goes on, there is no more of either.
        so_far = context(frames[:known], mine, trial, when=moving(when, movement))
        np.testing.assert_array_equal(so_far, expected)
    # It could depend on them: what came before matters.
    if trial:
        earlier = movement.copy()
        earlier[known - 5 : known] += 0.1
        assert not np.array_equal(
            context(frames, mine, trial, when=moving(when, earlier)), expected
        )


def test_feedback_so_far_depends_on_nothing_later():
    mine = protocol()
    still, movement, effect, when = run_of(mine)
    expected = feedback_so_far(still + effect, mine, 6, when=moving(when, movement))
    known = frames_complete(when.starts[7], mine.timing.tr)
    movement[known:] = 7.0
    found = feedback_so_far(still + effect, mine, 6, when=moving(when, movement))
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def given():
    """Give frames, events and movement."""
    mine = PROTOCOLS["glm"]
    still, movement, effect, when = run_of(mine)
    return still + effect, series_events(mine, mine.task.events, when), movement


def test_nothing_is_taken_out_where_nothing_is_known(given):
    frames, events, movement = given
    assert glm.without_confounds(frames, events, None) is frames
    unknown = glm.without_confounds(frames, events, np.full_like(movement, np.nan))
    np.testing.assert_array_equal(unknown, frames)
    none = glm.without_confounds(frames, events, movement[:, :0])
    np.testing.assert_array_equal(none, frames)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e-6, 1e6, 1 / 3])
def test_confounds_that_do_not_change_explain_nothing(given, value):
    frames, events, movement = given
    constant = np.full((len(frames), 1), value)
    np.testing.assert_array_equal(glm.without_confounds(frames, events, constant), frames)
    both = np.concatenate([movement, constant], axis=1)
    np.testing.assert_allclose(
        glm.without_confounds(frames, events, both),
        glm.without_confounds(frames, events, movement),
        rtol=0,
        atol=1e-9,
    )


def test_confounds_may_be_collinear_and_of_any_size(given):
    frames, events, movement = given
    expected = glm.without_confounds(frames, events, movement)
    sums = movement[:, :1] + movement[:, 1:2]
    for others in (
        np.concatenate([movement, movement], axis=1),
        np.concatenate([movement, sums], axis=1),
        movement * [1e-3, 1, 1e3, 1e-5, 1, 50],
        movement + [5, -3, 0, 1, 2, 100],
    ):
        found = glm.without_confounds(frames, events, others)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_all_but_the_mean_of_what_movement_does_is_taken_out(given):
    frames, events, movement = given
    still, _, effect, _ = run_of(PROTOCOLS["glm"])
    found = glm.without_confounds(frames, events, movement)
    np.testing.assert_allclose(
        found - glm.without_confounds(still, events, movement),
        np.broadcast_to(effect.mean(axis=0), effect.shape),
        rtol=0,
        atol=1e-6,
    )
    np.testing.assert_allclose(found.mean(axis=0), frames.mean(axis=0), rtol=1e-12)


def test_frames_without_movement_stay_as_they_are(given):
    """Such as a volume that could not be realigned; it tells nothing about the others."""
    frames, events, movement = given
    movement[10:13], frames[20:22] = np.nan, np.nan
    before = frames.copy()
    found = glm.without_confounds(frames, events, movement)
    np.testing.assert_array_equal(found[10:13], frames[10:13])
    assert np.isnan(found[20:22]).all()
    assert np.isfinite(np.delete(found, [20, 21], axis=0)).all()
    frames[10:13] = 1e4
    again = glm.without_confounds(frames, events, movement)
    rest = np.delete(np.arange(len(frames)), range(10, 13))
    np.testing.assert_array_equal(again[rest], found[rest])
    np.testing.assert_array_equal(frames[rest], before[rest])  # the given ones are not changed


def test_few_frames_are_left_alone(given):
    frames, events, movement = given
    changed = [
        not np.array_equal(glm.without_confounds(frames[:count], events, movement), frames[:count])
        for count in range(len(frames))
    ]
    first = changed.index(True)
    assert 30 < first < 60
    assert all(changed[first + 20 :])
    # What is left has more noise than before, but not much.
    mine, ratios = PROTOCOLS["glm"], []
    for seed in range(20):
        still, movement, _, when = run_of(mine, seed)
        ratios.append(
            contexts(still, mine, when=moving(when, movement)).std(axis=1)
            / contexts(still, mine, when=when).std(axis=1)
        )
    assert np.mean(ratios, axis=0).max() < 1.5


class Moving(SimulatedSource):
    """A simulated scanner in which the head moves, which changes all voxels."""

    def begin_run(self, session, run, frames, *, elapsed=0.0) -> None:
        """Begin a run."""
        super().begin_run(session, run, frames, elapsed=elapsed)
        rng = np.random.default_rng([run, session == "test"])
        self._movement = np.round(0.1 * np.cumsum(rng.standard_normal((frames, 6)), axis=0), 6)
        self._effect = 20 * self._movement @ rng.standard_normal((6, self.n_voxels))

    def read(self, stop) -> list:
        """Return frames with their movement."""
        return [
            each._replace(
                values=each.values + self._effect[each.index], movement=self._movement[each.index]
            )
            for each in super().read(stop)
        ]

    def report(self) -> RunReport:
        """Return how the head moved."""
        return RunReport(movement=self._movement)


def test_recorded_session_has_the_movement_that_its_estimates_were_made_with(tmp_path):
    found = {}
    for motion in (False, True):
        mine = small(estimate={"motion": motion}, task={"trials": 8, "trials_per_run": 8})
        with pytest.MonkeyPatch.context() as patch:
            use_source(patch, partial(Moving))
            record(mine, tmp_path / str(motion))
        dataset = open_dataset(tmp_path / str(motion))
        when = dataset.timetable("train", 1)
        assert (when.confounds is not None) == motion
        frames, calibration = dataset.frames("train", 1), dataset.calibration
        found[motion] = dataset.sessions["train"].interactions
        np.testing.assert_array_equal(
            contexts(frames, mine, calibration, when), found[motion].context
        )
        np.testing.assert_array_equal(
            feedback(frames, mine, calibration, when), found[motion].feedback
        )
    assert not np.array_equal(found[True].context, found[False].context)
