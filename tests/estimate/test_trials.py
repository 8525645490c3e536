"""Contexts and feedback of trials: what they are, and that contexts know nothing of the future."""

import math
import re
from decimal import Decimal

import numpy as np
import pytest
from digests import protocol
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recordings import frames_per_run
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GroupKFold, cross_val_score

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain, Trials
from bciigl.brain.events import trial_events
from bciigl.estimate import context, contexts, feedback, feedback_so_far, glm
from bciigl.loop.separate import record_separately
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import event_response
from bciigl.protocol.schedule import decision_time, event_offsets, trial_seconds
from bciigl.protocol.timetable import timetable

TWO_EVENTS = {"task": {"events": ["imagination", "judgment"]}}
PROTOCOLS = {
    "usual": protocol(),
    "frame": protocol(estimate="frame"),
    "tr 0.7": protocol(timing={"tr": 0.7}),
    "tr 2": protocol(timing={"tr": 2.0}),
    "tr 2, frame": protocol(timing={"tr": 2.0}, estimate="frame"),
    # 5.6 / 0.1 is a little less than 56
    "tr 0.1": protocol(timing={"tr": 0.1, "decision": 5.6, "burn_in": 0.0}),
    "latency": protocol(timing={"latency": 1.3}),
    "early": protocol(timing={"decision": 6.1}),
    "early, frame": protocol(timing={"decision": 5.6}, estimate="frame"),
    "two events": protocol(**TWO_EVENTS),
    "two events, frame": protocol(**TWO_EVENTS, estimate="frame", timing={"tr": 0.7}),
    "long events": protocol(timing={"event": 12.0, "isi": 3.3, "burn_in": 0.0}),
    "separate": protocol(recording="separate"),
    "separate, frame": protocol(recording="separate", estimate="frame"),
    "separate, tr 0.7": protocol(recording="separate", timing={"tr": 0.7, "latency": 0.5}),
}
each_protocol = pytest.mark.parametrize("mine", PROTOCOLS.values(), ids=PROTOCOLS)
protocols = st.sampled_from(list(PROTOCOLS.values()))


def recorded(mine: Protocol, trials: int = 4, seed: int = 0):
    """Return noise in the place of a run: one recording, or one for each kind of event."""
    shape = (frames_per_run(mine, trials), 3)
    rng = np.random.default_rng(seed)
    if mine.recording == "separate":
        return {kind: 100 + rng.standard_normal(shape) for kind in mine.task.events}
    return 100 + rng.standard_normal(shape)


def each_series(change, frames):
    """Return the recording, or all of them, changed."""
    if isinstance(frames, dict):
        return {kind: change(series) for kind, series in frames.items()}
    return change(frames)


def complete(mine: Protocol, seconds_into_trial: float, trial: int) -> int:
    """Return how many frames are complete then, by exact arithmetic."""
    times = (seconds_into_trial, mine.timing.burn_in, trial * trial_seconds(mine))
    # Times such as 3 x 9.3 are decimals of few digits, but for the last bits of a float.
    seconds = sum(Decimal(str(round(each, 9))) for each in times)
    return math.floor(seconds / Decimal(str(mine.timing.tr)))


@each_protocol
def test_each_trial_has_a_context_and_feedback(mine):
    frames = recorded(mine)
    for found in (contexts(frames, mine), feedback(frames, mine)):
        assert found.shape == (4, 3)
        assert found.dtype == float
        assert np.isfinite(found).all()
        assert len(np.unique(found)) == found.size


@given(protocols, st.integers(0, 3), st.data())
@settings(max_examples=100)
def test_frame_that_is_not_complete_at_the_decision_never_changes_a_context(mine, trial, data):
    frames = recorded(mine)
    known = complete(mine, decision_time(mine), trial)
    assume(known < frames_per_run(mine, 4))
    later = data.draw(st.integers(known, frames_per_run(mine, 4) - 1))
    value = data.draw(st.floats(-1e6, 1e6))

    def change(series: np.ndarray) -> np.ndarray:
        changed = series.copy()
        changed[later:] = value
        return changed

    expected = context(frames, mine, trial)
    changed = each_series(change, frames)
    np.testing.assert_array_equal(context(changed, mine, trial), expected)
    np.testing.assert_array_equal(contexts(changed, mine)[trial], expected)


@given(protocols, st.integers(0, 3), st.integers(0, 100))
@settings(max_examples=100)
def test_context_while_the_run_goes_on_is_that_of_the_whole_run(mine, trial, more):
    frames = recorded(mine)
    known = complete(mine, decision_time(mine), trial)
    # The past is a copy: nothing but its values can matter.
    so_far = each_series(lambda series: series[: known + more].copy(), frames)
    np.testing.assert_array_equal(
        context(so_far, mine, trial), contexts(frames, mine)[trial], strict=True
    )


@each_protocol
def test_context_uses_frames_up_to_the_decision(mine):
    """The causality test could fail: some frame after the trial's beginning does matter."""
    frames = recorded(mine)
    last = complete(mine, decision_time(mine), 2)
    first = complete(mine, 0.0, 2)

    def change(series: np.ndarray) -> np.ndarray:
        changed = series.copy()
        changed[first:last] += 5
        return changed

    assert (context(each_series(change, frames), mine, 2) != context(frames, mine, 2)).all()


@given(protocols, st.integers(0, 3), st.data())
@settings(max_examples=60)
def test_feedback_so_far_uses_no_frame_after_the_end_of_its_trial(mine, trial, data):
    frames = recorded(mine)
    known = complete(mine, trial_seconds(mine), trial)
    expected = feedback_so_far(frames, mine, trial)
    so_far = each_series(lambda series: series[:known].copy(), frames)
    np.testing.assert_array_equal(feedback_so_far(so_far, mine, trial), expected)
    assume(known < frames_per_run(mine, 4))
    later = data.draw(st.integers(known, frames_per_run(mine, 4) - 1))

    def change(series: np.ndarray) -> np.ndarray:
        changed = series.copy()
        changed[later] += 1e6
        return changed

    np.testing.assert_array_equal(
        feedback_so_far(each_series(change, frames), mine, trial), expected
    )


@each_protocol
def test_feedback_so_far_of_a_run_of_one_trial_is_the_feedback_of_the_run(mine):
    # A run ends with its last trial; where a frame ends a little later, that frame tells nothing.
    frames = each_series(
        lambda series: series[: complete(mine, trial_seconds(mine), 0)], recorded(mine, 1)
    )
    expected = feedback_so_far(frames, mine, 0)
    if frames_per_run(mine, 1) == complete(mine, trial_seconds(mine), 0):
        np.testing.assert_array_equal(feedback(frames, mine), expected[None])
    np.testing.assert_array_equal(contexts(recorded(mine, 1), mine)[0], context(frames, mine, 0))


def test_single_frames_of_contexts_and_feedback_by_hand():
    mine = protocol(estimate="frame", feedback={"perception": 0.25, "judgment": 0.75})
    frames = recorded(mine)
    # Trials of 27 s after a rest of 12 s; int((onset + 4) / 1.5) for onsets of 12 and 39 s,
    # and for the answers 9 and 18 s later
    np.testing.assert_array_equal(contexts(frames, mine)[:2], frames[[10, 28]])
    expected = 0.25 * frames[[16, 34]] + 0.75 * frames[[22, 40]]
    np.testing.assert_allclose(feedback(frames, mine)[:2], expected, atol=1e-12)


def test_single_frames_of_separate_recordings_by_hand():
    mine = protocol(estimate="frame", recording="separate")
    frames = recorded(mine)
    # Trials of 9 s; both answers begin 2 s into a trial of their own recordings.
    np.testing.assert_array_equal(contexts(frames, mine)[:2], frames["imagination"][[10, 16]])
    expected = (frames["perception"][[12, 18]] + frames["judgment"][[12, 18]]) / 2
    np.testing.assert_allclose(feedback(frames, mine)[:2], expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["perception", "judgment"])
def test_kind_of_no_weight_does_not_count(kind):
    mine = protocol(feedback={kind: 0.0}, recording="separate")
    frames = recorded(mine)
    changed = {**frames, kind: frames[kind] + recorded(mine, seed=1)[kind]}
    np.testing.assert_array_equal(feedback(changed, mine), feedback(frames, mine))


@pytest.mark.parametrize("tr", [0.7, 1.5, 2.0])
def test_feedback_is_the_weighted_sum_of_both_answers(tr):
    """Responses of one voxel per kind of event: estimates say whose they are."""
    times = (np.arange(frames_per_run(protocol(timing={"tr": tr}), 4)) + 0.5) * tr
    frames = np.zeros((len(times), 3))
    for trial in range(4):
        for voxel, offset in enumerate(event_offsets(protocol()).values()):
            onset = 12.0 + 27.0 * trial + offset
            frames[:, voxel] += event_response(times - onset, 2.0)

    def mixed(perception: float, judgment: float) -> np.ndarray:
        weights = {"perception": perception, "judgment": judgment}
        return feedback(frames, protocol(timing={"tr": tr}, feedback=weights))

    seen, judged = mixed(1.0, 0.0), mixed(0.0, 1.0)
    np.testing.assert_allclose(mixed(0.2, 0.8), 0.2 * seen + 0.8 * judged, atol=1e-12)
    assert (seen.argmax(axis=1) == 1).all()
    assert (judged.argmax(axis=1) == 2).all()
    assert (contexts(frames, protocol(timing={"tr": tr})).argmax(axis=1) == 0).all()


def loop(brain: Brain, trials: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return contexts and feedback estimated trial by trial, and the whole run.

    Each guess follows from the context, as in a closed loop.
    """
    mine = brain.protocol
    options, scanner = mine.task.options, brain.scan(trials=trials)
    taken, seen, answers = np.empty((0, len(brain.region))), [], []
    for trial in range(trials):
        start = mine.timing.burn_in + trial * trial_seconds(mine)
        imagined = options[trial % len(options)]
        scanner.announce(
            trial_events(timetable(mine, trial + 1), trial, imagined, imagined, True)[0]
        )
        taken = np.concatenate([taken, scanner.until(start + decision_time(mine))])
        seen.append(context(taken, mine, trial))
        guess = options[int(abs(seen[-1][0] * 1e3)) % len(options)]
        for event in trial_events(
            timetable(mine, trial + 1), trial, imagined, guess, imagined == guess
        )[1:]:
            scanner.announce(event)
        taken = np.concatenate([taken, scanner.until(start + trial_seconds(mine))])
        answers.append(feedback_so_far(taken, mine, trial))
    taken = np.concatenate([taken, scanner.until(math.inf)])
    assert len(taken) == scanner.frames
    return np.array(seen), np.array(answers), taken


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"estimate": "frame"},
        {"timing": {"tr": 0.7}},
        {"timing": {"tr": 2.0, "latency": 2.5}},
        {"timing": {"decision": 5.5, "latency": 1.0}},
        TWO_EVENTS,
    ],
    ids=["usual", "frame", "tr 0.7", "latency", "decision", "two events"],
)
def test_scanner_and_estimate_agree_on_what_is_known_at_the_decision(sections):
    brain = Brain(protocol(**sections))
    seen, answers, frames = loop(brain, 5)
    np.testing.assert_array_equal(contexts(frames, brain.protocol), seen)
    later = [feedback_so_far(frames, brain.protocol, trial) for trial in range(5)]
    np.testing.assert_array_equal(later, answers)


@pytest.mark.parametrize("estimate", ["glm", "frame"])
def test_separate_recordings_tell_what_was_imagined_and_judged(estimate):
    brain = Brain(protocol(recording="separate", estimate=estimate, brain={"noise": 0.01}))
    truth = Trials.random(brain.protocol, 40, 1)
    frames = record_separately(brain, truth.events(brain.protocol), trials=40)
    for found, told in (
        (contexts(frames, brain.protocol), truth.imagined),
        (feedback(frames, brain.protocol), truth.rewards),
    ):
        # Noise is a hundredth of the brain's, so nearly all of 40 trials should be classified
        # right by 39 others; the first of a run, before drift is known, may fail.
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        right = cross_val_score(classifier, found, [str(each) for each in told], cv=10)
        assert right.mean() > 0.85


def test_long_run_is_estimated_as_well_at_its_end_as_at_its_beginning():
    mine = protocol(task={"trials_per_run": 250, "trials": 250}, brain={"noise": 0.05})
    brain = Brain(mine)
    truth = Trials.random(mine, 220, 2)
    frames = brain.scan(trials=220).play(truth.events(mine))
    found = contexts(frames, mine)
    label = np.array(truth.imagined)
    for rows in (slice(20, 120), slice(120, 220)):
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        # The ceiling at this noise is 100 %.
        assert cross_val_score(classifier, found[rows], label[rows], cv=5).mean() > 0.95
    assert feedback(frames, mine).shape == (220, 64)
    # 5952 s later everything that matters is the same, if the frames of the last 512 s are.
    shifted = each_series(lambda series: series + 0.0, frames)
    shifted[: len(frames) // 2] = shifted[0]
    np.testing.assert_array_equal(context(shifted, mine, 219), found[219])


@each_protocol
def test_too_few_frames_are_refused(mine):
    frames = recorded(mine)
    for trial, estimated, seconds in (
        (0, context, decision_time(mine)),
        (2, context, decision_time(mine)),
        (0, feedback_so_far, trial_seconds(mine)),
        (2, feedback_so_far, trial_seconds(mine)),
    ):
        wanted = complete(mine, seconds, trial)
        for got in (wanted - 1, 0):
            short = each_series(lambda series, stop=got: series[:stop], frames)
            with pytest.raises(BciiglError, match=f"{wanted} of them, got {got}"):
                estimated(short, mine, trial)
        enough = each_series(lambda series, stop=wanted: series[:stop], frames)
        assert np.isfinite(estimated(enough, mine, trial)).all()
        with pytest.raises(BciiglError, match="frames should last until"):
            estimated(frames, mine, 4)


def test_trial_that_was_not_recorded_to_its_end_is_left_out():
    mine = protocol()
    frames = recorded(mine)
    assert len(contexts(frames[:-1], mine)) == len(feedback(frames[:-1], mine)) == 3
    assert len(contexts(frames[:26], mine)) == 1  # 12 s and 27 s are 26 frames


@each_protocol
def test_run_without_a_whole_trial_has_no_contexts(mine):
    for frames in (1, complete(mine, trial_seconds(mine), 0) - 1):
        short = each_series(lambda series, stop=frames: series[:stop], recorded(mine))
        for estimated in (contexts, feedback):
            assert estimated(short, mine).shape == (0, 3)


@each_protocol
def test_trial_before_the_first_is_refused(mine):
    # Its decision lies before the run: frames counted from the end would not be causal.
    for estimated in (context, feedback_so_far):
        for trial in (-1, -3):
            with pytest.raises(
                BciiglError, match=f"trial should be 0 or a larger whole number, got {trial}"
            ):
                estimated(recorded(mine), mine, trial)


@each_protocol
def test_trials_with_less_than_half_of_their_frames_have_no_estimate(mine):
    """Rows of missing frames are left out; what no frame is left for is not a number."""
    frames = recorded(mine)
    begun, ended = (complete(mine, seconds, 2) for seconds in (0.0, trial_seconds(mine)))

    def without(first: int, stop: int):
        def change(series: np.ndarray) -> np.ndarray:
            changed = series.copy()
            changed[first:stop] = np.nan
            return changed

        return each_series(change, frames)

    lost = without(begun, ended)
    for estimated in (contexts, feedback):
        found, known = estimated(lost, mine), estimated(frames, mine)
        assert np.isnan(found[2]).all()
        assert np.isfinite(np.delete(found, 2, axis=0)).all()
        if estimated is contexts:  # what is missing later changes no context before
            np.testing.assert_array_equal(found[:2], known[:2])
    assert np.isnan(context(lost, mine, 2)).all()
    assert np.isnan(feedback_so_far(lost, mine, 2)).all()
    # One frame is no loss, but where it is the one that is taken.
    few = without(begun, begun + 1)
    found = np.concatenate([contexts(few, mine), feedback(few, mine)])
    if mine.estimate == "glm":
        assert np.isfinite(found).all()
        assert (contexts(few, mine)[2] != contexts(frames, mine)[2]).all()


ESTIMATES = {
    "contexts": contexts,
    "feedback": feedback,
    "context": lambda frames, mine: context(frames, mine, 0),
    "feedback_so_far": lambda frames, mine: feedback_so_far(frames, mine, 0),
}
each_estimate = pytest.mark.parametrize("estimated", ESTIMATES.values(), ids=ESTIMATES)


@each_estimate
def test_frames_that_cannot_be_estimated_from_are_refused(estimated):
    shared, separate = protocol(), protocol(recording="separate")
    for shape in ((80,), (80, 2, 2, 2), ()):
        message = re.escape(f"frames should be of one shape (frames, voxels), got {shape}")
        for frames, mine in (
            (np.ones(shape), shared),
            (dict.fromkeys(separate.task.events, np.ones(shape)), separate),
        ):
            with pytest.raises(BciiglError, match=message):
                estimated(frames, mine)
    for shape in ((60, 3), (80, 4)):
        series = dict.fromkeys(separate.task.events, np.ones((80, 3)))
        with pytest.raises(BciiglError, match="frames should be of one shape"):
            estimated({**series, "judgment": np.ones(shape)}, separate)
    # Missing in some voxels alone, or infinite, wherever that is.
    for mine in (shared, separate, protocol(estimate="frame")):
        for value in (math.nan, math.inf, -math.inf):
            for place in (0, -1):
                frames = recorded(mine)
                series = frames["judgment"] if isinstance(frames, dict) else frames
                series[place, 1] = value
                with pytest.raises(BciiglError, match="finite numbers, or missing in all voxels"):
                    estimated(frames, mine)
    with pytest.raises(BciiglError, match="separate has a series for each kind of event"):
        estimated(recorded(shared), separate)
    with pytest.raises(BciiglError, match="shared has one series"):
        estimated(recorded(separate), shared)
    for kinds in (
        [],
        ["perception"],
        ["imagination", "perception", "judgement"],
        ["imagination", "perception", "judgment", "rest"],
    ):
        with pytest.raises(BciiglError, match="of imagination, perception, judgment, got"):
            estimated(dict.fromkeys(kinds, np.ones((80, 3))), separate)


def test_of_separate_recordings_only_those_needed_must_be_there():
    mine = protocol(recording="separate")
    frames = recorded(mine)
    imagination = {"imagination": frames["imagination"]}
    answers = {kind: frames[kind] for kind in ("perception", "judgment")}
    np.testing.assert_array_equal(contexts(imagination, mine), contexts(frames, mine))
    np.testing.assert_array_equal(feedback(answers, mine), feedback(frames, mine))
    with pytest.raises(BciiglError, match="got imagination"):
        feedback(imagination, mine)


@each_estimate
@pytest.mark.parametrize("shape", [(60, 3), (80, 4)], ids=["frames", "voxels"])
def test_recordings_of_different_shapes_are_refused(estimated, shape):
    mine = protocol(recording="separate")
    frames = {**dict.fromkeys(mine.task.events, np.ones((80, 3))), "judgment": np.ones(shape)}
    with pytest.raises(BciiglError, match="frames should be of one shape"):
        estimated(frames, mine)


def test_lists_of_numbers_will_do():
    mine = protocol()
    frames = np.round(recorded(mine))
    for same in (frames.tolist(), frames.astype(int), frames.astype(np.float32)):
        np.testing.assert_allclose(contexts(same, mine), contexts(frames, mine), rtol=1e-4)


def test_trial_that_has_just_begun_is_not_forgotten():
    # 0.1 ms of the trial are recorded, of 1806 s: rounding would lose them.
    late = {"tr": 0.1, "burn_in": 11.9999, "decision": 0.1, "isi": 600.0}
    mine = protocol(timing=late, task={"trials_per_run": 1, "trials": 200})
    assert np.isfinite(context(np.ones((frames_per_run(mine, 1), 2)), mine, 0)).all()


def run_of_guesses(noise: float, runs: int) -> tuple[np.ndarray, ...]:
    """Return causal contexts, others from whole runs, guesses and runs of simulated trials."""
    mine = protocol(task={"trials_per_run": 46}, brain={"noise": noise})
    brain = Brain(mine)
    wanted = np.zeros((46, 46, 3))
    wanted[np.arange(46), np.arange(46), 0] = 1
    onsets, lasts = 12.0 + 9.0 * np.arange(46 * 3), np.full(46 * 3, 2.0)
    causal, whole, guesses = [], [], []
    for run in range(runs):
        truth = Trials.random(mine, 46, run)
        frames = brain.scan(run=run + 1, trials=46).play(truth.events(mine))
        causal.append(contexts(frames, mine))
        whole.append(
            glm.estimate(frames, glm.Events(onsets, lasts, 2.0, 1.5), wanted.reshape(46, -1))
        )
        guesses.append(truth.guessed)
    return tuple(
        map(np.concatenate, (causal, whole, guesses, np.arange(runs)[:, None].repeat(46, 1)))
    )


def test_causal_context_knows_nothing_of_the_guess_but_one_from_the_whole_run_does():
    causal, whole, guess, run = run_of_guesses(0.05, 30)

    def told(features: np.ndarray) -> float:
        centred = features - np.repeat(features.reshape(30, 46, -1).mean(axis=1), 46, axis=0)
        classifier = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        right = cross_val_score(classifier, centred, guess, groups=run, cv=GroupKFold(5))
        return 100 * right.mean()

    # 1380 trials: a standard error of 1.3, so that chance alone stays within 4 points
    assert told(causal) == pytest.approx(100 / 3, abs=4)
    # The ridge lends the imagination some of the perception that follows: 66.5 % in a prototype.
    assert told(whole) > 50


def test_no_trials_are_estimated_in_the_rest_after_a_run():
    for tr in (0.7, 1.5):
        mine = protocol(timing={"tr": tr, "cool_down": 30.0})
        frames = recorded(mine)
        for estimate in (contexts, feedback):
            known = estimate(frames, mine, when=timetable(mine, 4))
            np.testing.assert_array_equal(estimate(frames, mine), known)
