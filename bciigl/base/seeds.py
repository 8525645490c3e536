"""Randomness: named streams of numbers that do not disturb each other."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Seed:
    """A place in the tree of random streams.

    Each name leads to a child of its own, as `numpy.random.SeedSequence.spawn` makes them: what one
    stream is used for never changes the numbers of another, in whatever order or process they are
    drawn.

    Parameters
    ----------
    entropy : int
        The seed the user gave.
    path : tuple of int
        The way from the root to here.
    """

    entropy: int
    path: tuple[int, ...] = ()

    def child(self, *names: str | int) -> "Seed":
        """Return the seed that the names lead to from here."""
        steps = (zlib.crc32(name.encode()) if isinstance(name, str) else name for name in names)
        return Seed(self.entropy, (*self.path, *steps))

    def rng(self, *names: str | int) -> np.random.Generator:
        """Return a new generator of the stream that the names lead to."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=self.child(*names).path)
        return np.random.default_rng(sequence)


@contextmanager
def global_numpy_seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global state from `rng`, and put it back as it was afterwards.

    For libraries that draw from the global state and take no seed. Not for threads: they share it.
    """
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def run_seed(seed: int, session: str, run: int) -> Seed:
    """Return where the random numbers of a session's run, counted from 1, begin."""
    return Seed(seed).child("session", session, "run", run - 1)
