"""Randomness: named streams of numbers that do not disturb each other."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Seed:
    """A node in a tree of random streams: the seed the user gave, and the path to the node.

    Each name leads to its own child, as with `numpy.random.SeedSequence.spawn`. Drawing from one
    stream never changes the numbers of another, whatever the order or the process.
    """

    entropy: int
    path: tuple[int, ...] = ()

    def child(self, *names: str | int) -> "Seed":
        """Return the seed of the child at these names."""
        steps = (zlib.crc32(name.encode()) if isinstance(name, str) else name for name in names)
        return Seed(self.entropy, (*self.path, *steps))

    def rng(self, *names: str | int) -> np.random.Generator:
        """Return a new generator of the stream at these names."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=self.child(*names).path)
        return np.random.default_rng(sequence)


@contextmanager
def global_numpy_seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global state, and put it back afterwards; not thread-safe."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def run_seed(seed: int, session: str, run: int) -> Seed:
    """Return where the random numbers of a session's run, counted from 1, begin."""
    return Seed(seed).child("session", session, "run", run - 1)
