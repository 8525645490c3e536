"""Real time: frames come no earlier than they would, and are the same."""

import time

import numpy as np
import pytest
from recordings import Losing, small

from bciigl.base.errors import BciiglError
from bciigl.source import PacedSource, SimulatedSource

MINE = small(timing={"tr": 0.1, "event": 0.1, "isi": 0.1, "burn_in": 0.0}, task={"trials": 4})
FRAMES = 24  # 4 trials of 3 events, each 0.2 s


def begun(speed: float, elapsed: float = 0.0, **lost) -> PacedSource:
    source = PacedSource(Losing(MINE, lost=lost.get("lost", {})), speed)
    source.begin_run("train", 1, FRAMES, elapsed=elapsed)
    return source


@pytest.mark.parametrize("speed", [10.0, 40.0])
def test_frames_come_no_earlier_than_complete_and_are_the_same(speed):
    plain = SimulatedSource(MINE)
    plain.begin_run("train", 1, FRAMES)
    expected, source, frames = plain.read(FRAMES), begun(speed), []
    assert source.elapsed() == 0
    before = time.monotonic()
    for stop in (1, 5, 5, 6, FRAMES):
        frames += source.read(stop)
        assert len(frames) == stop
        assert (time.monotonic() - before) * speed >= stop * 0.1 - 1e-6
        assert source.elapsed() >= stop * 0.1 - 1e-6
    for mine, other in zip(frames, expected, strict=True):
        np.testing.assert_array_equal(mine.values, other.values)
        assert mine._replace(values=None, arrived=0) == other._replace(values=None, arrived=0)
        assert mine.arrived >= mine.acquired - 1e-6
    arrivals = [each.arrived for each in frames]
    assert arrivals == sorted(arrivals)


def test_what_was_recorded_before_is_not_waited_for():
    source = begun(1e-6, elapsed=2.0)  # a frame would take a day
    frames = source.read(20)
    assert len(frames) == 20
    assert [each.arrived for each in frames] == pytest.approx([each.acquired for each in frames])
    assert source.elapsed() == pytest.approx(2.0)
    source = begun(20.0, elapsed=2.0)
    before = time.monotonic()
    assert len(source.read(FRAMES)) == FRAMES
    assert time.monotonic() - before >= 0.4 / 20 - 1e-6
    # Each run begins anew.
    source.begin_run("train", 1, FRAMES)
    before = time.monotonic()
    source.read(4)
    assert time.monotonic() - before >= 0.4 / 20 - 1e-6


def test_time_stands_still_in_a_pause():
    source = begun(10.0)
    source.read(1)
    answers = [True] * 6  # as many looks, 0.05 s each: three seconds of the run
    source.paused = lambda: bool(answers) and answers.pop()
    before = time.monotonic()
    (frame,) = source.read(2)
    assert time.monotonic() - before >= 0.3 - 1e-6
    assert frame.arrived < 3.0
    # And what is due next is not late.
    before = time.monotonic()
    source.read(FRAMES)
    assert time.monotonic() - before >= (FRAMES - 2) * 0.1 / 10 - 0.1


def test_all_else_is_the_other_source_s():
    inner = Losing(MINE, lost={("train", 1, 3): "corrupt"})
    source = PacedSource(inner, 1000.0)
    source.begin_run("train", 1, FRAMES)
    assert [each.status for each in source.read(5)] == ["ok", "ok", "ok", "corrupt", "ok"]
    for name in ("tr", "region", "fingerprint", "group", "sidecar", "n_voxels"):
        assert getattr(source, name) == getattr(inner, name)
    assert source.participant("train", 1, 4) is None
    for speed in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(BciiglError, match="speed should be a number above 0"):
            PacedSource(inner, speed)
