"""Designs with jitter and events of their own: estimated exactly, causal, recorded as planned."""

import numpy as np
import pytest
from recordings import small

from bciigl.brain import Brain, Trials
from bciigl.estimate import Calibrator, context, contexts, feedback
from bciigl.loop import record
from bciigl.protocol.timetable import timetable
from bciigl.recording import open_dataset

OWN = {
    "imagination": {"duration": 4.0, "pause": 5.0},
    "perception": {"duration": 1.0, "pause": 2.0},
    "judgment": {"duration": 3.0},
}
DESIGNS = {
    "isolated": {"isi": 40.0},
    "overlapping": {"isi": 3.0},
    "jitter": {"jitter": 4.0},
    "exponential jitter that overlaps": {
        "isi": 3.0,
        "jitter": 3.0,
        "jitter_distribution": "exponential",
    },
    "unequal": OWN,
    "unequal, jitter, null trials": {**OWN, "jitter": 2.5, "null_trials": 0.3, "iti": 1.0},
    "seen and judged together": {"together": True, "jitter": 2.0},
}


def scanned(timing: dict, noise: float, trials: int = 12, **sections):
    """Return a brain, what happened in a run, its times and its frames."""
    mine = small(timing=timing, brain={"noise": noise, "region": {"size": 2}}, **sections)
    brain, truth = Brain(mine), Trials.random(mine, trials, 3)
    frames = brain.scan("train", 2, trials=trials).play(truth.events(mine, "train", 2))
    return brain, truth, timetable(mine, trials, "train", 2), frames.astype(np.float32)


@pytest.mark.parametrize("timing", DESIGNS.values(), ids=DESIGNS)
def test_without_noise_estimates_are_the_responses(timing):
    brain, truth, when, frames = scanned(timing, noise=0.0)
    peak = brain.protocol.brain.cnr * brain.subject.noise_sd
    patterns = brain.patterns
    imagined = peak * np.array([patterns["imagination", each] for each in truth.imagined])
    seen = np.array([patterns["perception", each] for each in truth.guessed])
    judged = np.array([patterns["judgment", bool(each)] for each in truth.rewards])
    answers = peak * (0.5 * seen + 0.5 * judged)
    calibrator = Calibrator(brain.protocol)
    calibrator.add(frames, when)
    for known in ((), (calibrator.calibration,)):
        given = (frames, brain.protocol, *known)
        # 32 bits of a signal of about 800 leave 1e-4 of a peak of 7, blown up where events overlap.
        np.testing.assert_allclose(contexts(*given, when=when), imagined, atol=0.05)
        np.testing.assert_allclose(feedback(*given, when=when), answers, atol=0.05)


def test_context_knows_nothing_of_what_comes_after_the_decision():
    timing = DESIGNS["unequal, jitter, null trials"]
    brain, truth, when, frames = scanned(timing, noise=1.0)
    mine = brain.protocol
    whole = contexts(frames, mine, when=when)
    other = Trials(truth.imagined, tuple(reversed(truth.guessed)))
    again = brain.scan("train", 2, trials=12).play(other.events(mine, "train", 2))
    for trial in range(12):
        complete = int(when.decisions[trial] / mine.timing.tr + 1e-6)
        changed = frames.copy()
        changed[complete:] = 1e6
        np.testing.assert_array_equal(context(changed, mine, trial, when=when), whole[trial])
    # The first guess alone differs before the second decision: only later contexts may change.
    np.testing.assert_allclose(contexts(again, mine, when=when)[0], whole[0], atol=1e-3)


def test_events_are_recorded_when_they_happened_and_estimated_again(tmp_path):
    timing = DESIGNS["unequal, jitter, null trials"]
    human = {"key_press": True, "judgment_lapse": 0.3}
    mine = small(timing=timing, brain={"region": {"size": 2}}, human=human)
    record(mine, tmp_path)
    dataset = open_dataset(tmp_path)
    for run, trials in ((1, 4), (2, 3)):
        when = timetable(mine, trials, "train", run)
        events = dataset.events("train", run)
        for kind, onsets in when.onsets.items():
            found = [each for each in events if each.kind == kind]
            np.testing.assert_allclose([each.onset for each in found], onsets, atol=1e-9)
            assert {each.duration for each in found} == {OWN[kind]["duration"]}
        frames = dataset.frames("train", run)
        assert len(frames) == when.frames(mine.timing.tr)
        again = contexts(frames, mine, dataset.calibration, when)
        rows = dataset.sessions["train"].interactions.run == run
        np.testing.assert_array_equal(dataset.sessions["train"].interactions.context[rows], again)
        keys = [each.match for each in dataset.keys("train", run)]
        assert keys == dataset.run_truth("train", run).judged.tolist()
    assert all(0 < each.seconds < 5 for each in dataset.keys("train", 1))
