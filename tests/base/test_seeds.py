"""Random streams."""

import numpy as np

from bciigl.base.seeds import Seed, global_numpy_seeded


def test_stream_is_fixed_by_seed_and_names():
    first = Seed(3).rng("run", 1, "arma").random(5)
    np.testing.assert_array_equal(Seed(3).child("run", 1).rng("arma").random(5), first)
    for other in (Seed(4).rng("run", 1, "arma"), Seed(3).rng("run", 2, "arma"), Seed(3).rng("run")):
        assert not np.isin(other.random(5), first).any()


def test_streams_are_numpy_s_children():
    child = np.random.SeedSequence(3).spawn(8)[7]
    expected = np.random.default_rng(child).random(5)
    np.testing.assert_array_equal(Seed(3).rng(7).random(5), expected)


def test_global_state_is_seeded_and_put_back():
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with global_numpy_seeded(np.random.default_rng(0)):
        first = np.random.rand(4)  # noqa: NPY002
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.random.rand(1000)  # noqa: NPY002
    with global_numpy_seeded(np.random.default_rng(0)):
        np.testing.assert_array_equal(np.random.rand(4), first)  # noqa: NPY002


def test_global_state_is_put_back_after_an_error():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    try:
        with global_numpy_seeded(np.random.default_rng(0)):
            raise KeyError
    except KeyError:
        pass
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
