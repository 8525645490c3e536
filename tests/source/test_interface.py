"""Sources by name, and what a custom one need not write."""

import numpy as np
import pytest
from recordings import REGION, small

from bciigl.base.errors import BciiglError
from bciigl.protocol import ProtocolError, load
from bciigl.source import Frame, ReplaySource, SimulatedSource, Source, make_source


class Bare(Source):
    """The least that a source is."""

    tr, region = 2.0, REGION

    def begin_run(self, session, run, frames, *, elapsed=0.0):
        """Do nothing."""

    def read(self, stop):
        """Return nothing."""
        return []


def test_source_is_made_by_its_name(write):
    assert type(make_source(small())) is SimulatedSource
    with pytest.raises(BciiglError, match=r"source\.path: should be the folder"):
        make_source(small(source={"name": "replay"}))
    with pytest.raises(BciiglError, match="recording: shared"):
        ReplaySource(small(source={"name": "replay", "path": "x"}, recording="separate"))
    path = write("name: x\ntask: {options: [1, 2, 3]}\nsource: {name: replai}\n")
    with pytest.raises(ProtocolError, match="'replai'; did you mean 'replay'"):
        load(path)


def test_custom_source_has_sensible_defaults():
    source = Bare()
    assert source.n_voxels == 5
    np.testing.assert_array_equal(source.affine, REGION.affine)
    assert (source.sidecar, source.fingerprint, source.group) == ({}, "", "participant")
    assert source.announce(None) is source.participant("train", 1, 4) is None
    assert source.elapsed() == 0.0
    assert Frame(0, None, 2.0, 2.0).status == "ok"
    with pytest.raises(TypeError):
        Source()
