"""The scanner's physics and causality."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain, Event, Trials
from bciigl.brain.scanner import ScannerError
from bciigl.protocol import Protocol
from bciigl.protocol.hrf import Shape, event_response, peak_time


def brain(**sections) -> Brain:
    task = {"options": [7, 8, 9], "trials_per_run": 4, **sections.pop("task", {})}
    return Brain(Protocol.model_validate({"name": "x", "task": task, **sections}))


@cache
def quiet() -> Brain:
    return brain(brain={"noise": 0.0})


@cache
def noisy() -> Brain:
    return brain(brain={"noise": 1.0})


def base() -> np.ndarray:
    return quiet().subject.base[quiet().region.index]


def noise_sd() -> float:
    return quiet().subject.noise_sd


def signal(*events: Event, of: Brain | None = None) -> np.ndarray:
    """Return what events add to a run without noise, (frames, voxels)."""
    return (of or quiet()).scan().play(events) - base()


def test_isolated_event_peaks_when_and_as_high_as_stated():
    fine = brain(brain={"noise": 0.0, "cnr": 0.7}, timing={"tr": 0.1})
    response = signal(Event("perception", 3.0, 8), of=fine)
    times = (np.arange(len(response)) + 0.5) * 0.1
    pattern = fine.patterns["perception", 8]
    # a frame every 0.1 s misses the peak by at most 0.05 s, where the response is 0.9999
    np.testing.assert_allclose(response.max(axis=0), 0.7 * noise_sd() * pattern, rtol=2e-4)
    peak = times[response.argmax(axis=0)]
    np.testing.assert_allclose(peak, 3.0 + peak_time(2.0), atol=0.1)


def test_noise_sd_is_that_of_the_recorded_noise():
    noise = np.concatenate([noisy().scan(run=run).play([]) - base() for run in range(1, 5)])
    # 160 frames, autocorrelated: 10 % standard error of one voxel's SD, less of their mean
    runs = np.split(noise, 4)
    found = np.mean([run.std(axis=0) for run in runs])
    assert found == pytest.approx(noise_sd(), rel=0.05)


def test_frames_are_sampled_in_the_middle():
    timing = quiet().protocol.timing
    onset = 4.4
    frames = signal(Event("judgment", onset, True))
    times = (np.arange(len(frames)) + 0.5) * timing.tr
    expected = np.outer(
        event_response(times - onset, timing.event),
        0.5 * noise_sd() * quiet().patterns["judgment", True],
    )
    np.testing.assert_allclose(frames, expected, atol=1e-9)


@pytest.mark.parametrize(("tr", "delay"), [(0.7, 2.3), (2.2, -1.5), (0.1, 4.0)])
def test_response_is_whole_whatever_the_tr(tr, delay):
    odd = brain(brain={"noise": 0.0, "hrf_delay": delay}, timing={"tr": tr, "decision": 9.0})
    scanner = odd.scan()
    times = (np.arange(scanner.frames) + 0.5) * tr
    expected = np.outer(
        event_response(times - 3.3, 2.0, Shape(delay)), odd.patterns["judgment", True]
    )
    found = scanner.play([Event("judgment", 3.3, True)]) - base()
    np.testing.assert_allclose(found, 0.5 * noise_sd() * expected, atol=1e-9)


def test_hrf_delay_shifts_the_response():
    late = brain(brain={"noise": 0.0, "hrf_delay": 1.5})
    event = Event("judgment", 3.0, False)
    # the seed and so the patterns are the same; 1.5 s are one frame
    np.testing.assert_allclose(signal(event, of=late)[1:], signal(event)[:-1], atol=1e-9)


def test_responses_add_up():
    one, other = Event("imagination", 3.0, 7), Event("perception", 7.7, 9)
    np.testing.assert_allclose(signal(one, other), signal(one) + signal(other), atol=1e-9)
    np.testing.assert_allclose(signal(one, one), 2 * signal(one), atol=1e-9)


def test_without_noise_the_patterns_are_recovered_exactly():
    truth = Trials((7, 8, 9, 7), (7, 7, 9, 8))
    events = truth.events(quiet().protocol)
    frames = signal(*events)
    times = (np.arange(len(frames)) + 0.5) * quiet().protocol.timing.tr
    design = np.array([event_response(times - event.onset, 2.0) for event in events]).T
    found = np.linalg.lstsq(design, frames, rcond=None)[0] / (0.5 * noise_sd())
    expected = [quiet().patterns[event.kind, event.content] for event in events]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_noise_weight_scales_the_noise_and_nothing_else():
    events = Trials((7, 8, 9, 7), (7, 7, 9, 8)).events(quiet().protocol)
    clean = quiet().scan().play(events)
    motion = {"spikes_per_minute": 10.0}
    full = brain(brain={"noise": 1.0, "motion": motion}).scan().play(events) - clean
    half = brain(brain={"noise": 0.5, "motion": motion}).scan().play(events) - clean
    np.testing.assert_allclose(half, full / 2, atol=1e-9)
    assert half.std() == pytest.approx(full.std() / 2)


def test_judgment_does_not_depend_on_the_option():
    for match in (True, False):
        event = Event("judgment", 3.0, match)
        expected = 0.5 * noise_sd() * quiet().patterns["judgment", match]
        np.testing.assert_allclose(quiet().amplitude(event), expected)
    # a run of matches on one option differs from that on another before judgment only
    alone = [
        signal(*(e for e in Trials((o,), (o,)).events(quiet().protocol) if e.kind == "judgment"))
        for o in (7, 8, 9)
    ]
    np.testing.assert_array_equal(alone[0], alone[1])
    np.testing.assert_array_equal(alone[0], alone[2])


def test_nothing_before_an_event_changes():
    without = noisy().scan().play([])
    for onset in (0.0, 20.0, 20.25, 33.9):
        with_event = noisy().scan().play([Event("perception", onset, 7)])
        times = (np.arange(len(without)) + 0.5) * 1.5
        np.testing.assert_array_equal(with_event[times <= onset], without[times <= onset])
        assert (with_event[times > onset + 1] != without[times > onset + 1]).all(axis=1)[:10].all()


EVENTS = st.deferred(
    lambda: st.lists(
        st.builds(
            lambda onset, which: Event(which[0], onset, which[1]),
            st.one_of(st.floats(0, 119.9), st.sampled_from([0.0, 0.75, 12.0, 21.0, 119.25])),
            st.sampled_from(list(quiet().patterns)),
        ),
        max_size=12,
    )
)


@given(EVENTS, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_run_event_by_event_is_the_run_of_all_events_at_once(events, random):
    expected = noisy().scan(trials=4).play(events)
    scanner = noisy().scan(trials=4)
    taken = []
    for event in sorted(events, key=lambda each: each.onset):
        # frames are taken one by one or many at once, none of them sampled after the event
        latest = scanner.tr * (math.floor(event.onset / scanner.tr - 0.5) + 1)
        if random.random() < 0.5:
            taken.extend(scanner.until(latest))
        else:
            while scanner.time + scanner.tr <= latest + 1e-9:
                taken.append(next(scanner))
        scanner.announce(event)
    taken.extend(scanner)
    np.testing.assert_array_equal(np.array(taken), expected)


@given(EVENTS, st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_order_of_announcements_does_not_matter(events, random):
    expected = noisy().scan().play(events)
    random.shuffle(events)
    np.testing.assert_array_equal(noisy().scan().play(events), expected)


def test_frames_come_when_they_are_complete():
    scanner = quiet().scan()
    assert scanner.until(1.49).shape == (0, 64)
    assert scanner.until(1.5).shape == (1, 64)
    assert scanner.until(1.5).shape == (0, 64)
    assert scanner.time == 1.5
    assert scanner.until(15.0).shape == (9, 64)
    assert len(scanner.until(float("inf"))) == scanner.frames - 10
    with pytest.raises(ScannerError, match="nan"):
        scanner.until(float("nan"))
    assert scanner.frames == 80  # 12 s of rest and 4 trials of 27 s
    with pytest.raises(StopIteration):
        next(scanner)


@pytest.mark.parametrize("tr", [0.1, 0.7, 1.1, 2.2])
def test_frame_is_complete_at_its_end_whatever_the_tr(tr):
    scanner = brain(timing={"tr": tr, "decision": 9.0}).scan()
    for k in range(1, 40):
        assert len(scanner.until(k * tr)) == 1


def test_frames_given_out_are_copies():
    scanner = quiet().scan()
    first = next(scanner)
    first[:] = 0
    np.testing.assert_array_equal(next(scanner), base())


def test_past_cannot_be_changed():
    scanner = quiet().scan()
    scanner.until(6.0)  # the last of four frames was sampled at 5.25 s
    scanner.announce(Event("perception", 5.25, 7))
    with pytest.raises(ScannerError, match=r"comes too late: the frame sampled at 5.25 s"):
        scanner.announce(Event("perception", 5.2, 7))


@pytest.mark.parametrize("onset", [-1.0, 120.0, float("nan"), float("inf")])
def test_event_outside_the_run_is_refused(onset):
    with pytest.raises(ScannerError, match="not within the run of 120 s"):
        quiet().scan().announce(Event("perception", onset, 7))


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("perception", 6, r"perception of 6 is not in the protocol \(7, 8, 9\)"),
        ("judgment", "match", r"\(True, False\)"),
        ("imagination", [7], r"\(7, 8, 9\)"),
        ("dream", 7, "no such kind of event"),
    ],
)
def test_event_that_is_not_in_the_protocol_is_refused(kind, content, message):
    with pytest.raises(BciiglError, match=message):
        quiet().scan().announce(Event(kind, 1.0, content))


def test_scanner_gives_out_frames_alone():
    scanner = noisy().scan()
    scanner.announce(Event("imagination", 1.0, 8))
    public = {name for name in dir(scanner) if not name.startswith("_")}
    assert public == {"announce", "frames", "play", "taken", "time", "tr", "until"}
    assert type(next(scanner)) is np.ndarray
