"""The simulated brain, through the interface of all sources."""

import numpy as np
import pytest
from recordings import small

from bciigl.base.errors import BciiglError
from bciigl.brain import Brain, Event
from bciigl.source import SimulatedSource


def test_frames_are_the_scanner_s_one_by_one_or_many_at_once():
    mine = small(task={"trials": 10})
    brain, event = Brain(mine), Event("perception", 20.0, "b")
    for run, trials in ((1, 4), (3, 2)):  # the last run is shorter
        expected = brain.scan("train", run, trials=trials).play([event]).astype(np.float32)
        for stops in ([500], [3, 3, 2, 10, 40, 500]):
            source, frames = SimulatedSource(mine), []
            source.begin_run("train", run, len(expected))
            assert source.elapsed() == 0
            source.announce(event)
            for stop in stops:
                frames += source.read(stop)
                assert source.elapsed() == len(frames) * 1.5
            assert [each.index for each in frames] == list(range(len(expected)))
            np.testing.assert_array_equal([each.values for each in frames], expected)
            times = (np.arange(len(expected)) + 1) * 1.5
            np.testing.assert_allclose([each.acquired for each in frames], times)
            np.testing.assert_allclose([each.arrived for each in frames], times)
            assert {each.status for each in frames} == {"ok"}
            assert source.read(500) == []


def test_source_says_what_it_is():
    source = SimulatedSource(small(brain={"noise": 0.25}, timing={"tr": 2.0}))
    assert (source.tr, source.n_voxels, source.group) == (2.0, 64, "simulated")
    assert source.sidecar == {"Manufacturer": "simulated", "NoiseWeight": 0.25}
    assert source.fingerprint == source.brain.fingerprint
    np.testing.assert_array_equal(source.affine, source.brain.region.affine)
    source.begin_run("train", 1, 10)
    with pytest.raises(BciiglError, match="imagination: it needs a simulated person"):
        source.announce(Event("imagination", 1.0, None))
