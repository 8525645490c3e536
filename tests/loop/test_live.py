"""A run in progress: nothing that happens later changes what was seen."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import small

from bciigl.brain import Brain
from bciigl.estimate import contexts, feedback_so_far
from bciigl.loop.live import LiveRun
from bciigl.loop.person import Human
from bciigl.protocol.schedule import decision_time, frames_complete, trial_seconds, trial_start

TRIALS = 4
NOISY = {"noise": 1.0, "motion": {"spikes_per_minute": 5.0}}
BRAINS = {
    "usual": Brain(small(brain=NOISY)),
    "frame": Brain(small(brain=NOISY, estimate="frame")),
    "tr 0.7, latency": Brain(small(brain=NOISY, timing={"tr": 0.7, "latency": 1.3})),
    # a trial of 26.1 s is no whole number of frames
    "tr 2": Brain(small(brain=NOISY, timing={"tr": 2.0, "isi": 6.7})),
    "early": Brain(small(brain=NOISY, timing={"decision": 5.6, "burn_in": 0.0})),
    "two events": Brain(small(brain=NOISY, task={"events": ["imagination", "judgment"]})),
    "quiet": Brain(small(brain={"noise": 0.0})),
}
each_brain = pytest.mark.parametrize("brain", BRAINS.values(), ids=BRAINS)
brains = st.sampled_from(list(BRAINS.values()))
options = st.lists(st.integers(0, 2), min_size=TRIALS, max_size=TRIALS)
lapses = st.lists(st.booleans(), min_size=TRIALS, max_size=TRIALS)


def person(
    brain: Brain,
    meant: Sequence[int],
    imagined: Sequence[int] | None = None,
    lapses: Sequence[bool] | None = None,
) -> Human:
    """Return a person of whom all is known."""
    human = Human(brain.protocol, len(meant), np.random.default_rng(0))
    human.meant = np.array(meant)
    human.imagined = np.array(meant if imagined is None else imagined)
    human._lapses = np.array([False] * len(meant) if lapses is None else lapses)
    return human


def live(
    brain: Brain, human: Human, guesses: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the contexts and the feedback of a run as they came, and its frames."""
    run = LiveRun(brain, human, "train", 0)
    seen = [(run.imagine(), run.answer(guess)) for guess in guesses]
    return *map(np.array, zip(*seen, strict=True)), run.finish()


GUESSES = (1, 0, 2, 1)
MEANT = (0, 0, 2, 1)


@given(brains, st.integers(0, TRIALS - 1), options, options, options, lapses)
@settings(max_examples=60)
def test_nothing_after_a_decision_changes_its_context(
    brain, trial, meant, imagined, guesses, lapsed
):
    expected, *_ = live(brain, person(brain, MEANT), GUESSES)
    # The person lapses in judging this trial's guess, and is another one from then on.
    other = person(
        brain,
        [*MEANT[: trial + 1], *meant[trial + 1 :]],
        [*MEANT[: trial + 1], *imagined[trial + 1 :]],
        [*[False] * trial, *lapsed[trial:]],
    )
    found, *_ = live(brain, other, [*GUESSES[:trial], *guesses[trial:]])
    np.testing.assert_array_equal(found[: trial + 1], expected[: trial + 1])


@given(brains, st.integers(0, TRIALS - 1), options, options, options, lapses)
@settings(max_examples=60)
def test_nothing_after_a_trial_changes_its_feedback(brain, trial, meant, imagined, guesses, lapsed):
    _, expected, _ = live(brain, person(brain, MEANT), GUESSES)
    past = trial + 1
    other = person(
        brain,
        [*MEANT[:past], *meant[past:]],
        [*MEANT[:past], *imagined[past:]],
        [*[False] * past, *lapsed[past:]],
    )
    _, found, _ = live(brain, other, [*GUESSES[:past], *guesses[past:]])
    np.testing.assert_array_equal(found[:past], expected[:past])


@given(st.integers(1, TRIALS))
@settings(max_examples=TRIALS)
def test_number_of_trials_to_come_changes_nothing(trials):
    """Without noise, which is drawn for a run of a certain length."""
    brain = BRAINS["quiet"]
    expected = live(brain, person(brain, MEANT), GUESSES)
    found = live(brain, person(brain, MEANT[:trials]), GUESSES[:trials])
    for some, all_ in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(some, all_[:trials])


@each_brain
def test_what_comes_before_does_matter(brain):
    """The tests above could fail."""
    context, feedback, _ = live(brain, person(brain, MEANT), GUESSES)
    imagined = live(brain, person(brain, MEANT, [0, 0, 1, 1]), GUESSES)
    assert (imagined[0][2] != context[2]).any()
    judged = live(brain, person(brain, MEANT, lapses=[False, False, True, False]), GUESSES)
    assert (judged[1][2] != feedback[2]).any()
    np.testing.assert_array_equal(judged[0][:3], context[:3])
    guessed = live(brain, person(brain, MEANT), [1, 0, 0, 1])
    assert (guessed[1][2] != feedback[2]).any()


@each_brain
def test_what_is_seen_in_the_run_is_what_is_estimated_from_its_recording(brain):
    context, feedback, frames = live(brain, person(brain, MEANT), GUESSES)
    np.testing.assert_array_equal(contexts(frames, brain.protocol), context, strict=True)
    later = [feedback_so_far(frames, brain.protocol, trial) for trial in range(TRIALS)]
    np.testing.assert_array_equal(later, feedback)
    # as the image keeps them
    np.testing.assert_array_equal(frames.astype(np.float32).astype(float), frames, strict=True)


@each_brain
def test_frames_are_those_of_the_scanner_with_all_events(brain):
    human = person(brain, MEANT)
    *_, frames = live(brain, human, GUESSES)
    events = [
        event
        for trial, guess in enumerate(GUESSES)
        for event in (human.imagine(trial), *human.answer(trial, guess))
    ]
    expected = brain.scan("train", 0, trials=TRIALS).play(events)
    np.testing.assert_array_equal(frames, expected.astype(np.float32))


@each_brain
def test_no_frame_is_taken_before_it_is_complete(brain):
    mine = brain.protocol
    run = LiveRun(brain, person(brain, MEANT), "train", 0)
    for trial in range(TRIALS):
        assert run.trial == trial
        run.imagine()
        known = frames_complete(
            trial_start(mine, trial) + decision_time(mine.timing), mine.timing.tr
        )
        assert run.frames[:known].all() and not run.frames[known:].any()
        run.answer(0)
        known = frames_complete(trial_start(mine, trial) + trial_seconds(mine), mine.timing.tr)
        assert run.frames[:known].all() and not run.frames[known:].any()
    assert run.finish().all()


@each_brain
def test_frames_that_come_one_by_one_are_the_same_and_each_is_waited_for(brain):
    expected = live(brain, person(brain, MEANT), GUESSES)
    run = LiveRun(brain, person(brain, MEANT), "train", 0)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        assert not run.frames[len(waits) :].any()
        waits.append(seconds)

    run.wait = wait
    seen = [(run.imagine(), run.answer(guess)) for guess in GUESSES]
    frames = run.finish()
    context, feedback = map(np.array, zip(*seen, strict=True))
    for found, known in zip((context, feedback, frames), expected, strict=True):
        assert found.tobytes() == known.tobytes()
    tr = brain.protocol.timing.tr
    assert waits == [k * tr for k in range(1, len(frames) + 1)]


def test_waiting_may_begin_in_the_middle_of_a_run():
    brain = BRAINS["usual"]
    *_, expected = live(brain, person(brain, MEANT), GUESSES)
    run = LiveRun(brain, person(brain, MEANT), "train", 0)
    run.imagine()
    run.answer(GUESSES[0])
    waits: list[float] = []
    run.wait = waits.append
    for guess in GUESSES[1:]:
        run.imagine()
        run.answer(guess)
    assert run.finish().tobytes() == expected.tobytes()
    assert waits == [k * 1.5 for k in range(27, len(expected) + 1)]  # 12 s and 27 s: 26 frames
