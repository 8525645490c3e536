"""How fast the networks of the released code are trained, beside what their products alone take.

A step of training is compared with the matrix products that no implementation can do without, in
the same run: of its first two thirds, in which both networks step, and of its last, in which one
does. It should reach at least half of that bound.

Usage: OMP_NUM_THREADS=1 python benchmarks/network.py [BLOCKS]   (a few seconds)
"""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from bciigl.base.threads import one_thread
from bciigl.learn.network import Networks
from bciigl.learn.network_igl import BATCH, EPOCHS, HIDDEN, RATE

FEATURES, ACTIONS, BATCHES = 64, 3, 6
UNITS = (*HIDDEN, ACTIONS)
BAR = 0.5


def taken(steps: Sequence[Callable[[], object]], blocks: int) -> np.ndarray:
    """Return how long each of some steps takes, (blocks, steps), in turns."""
    found = np.empty((blocks, len(steps)))
    for block in range(blocks):
        for place, step in enumerate(steps):
            start = time.perf_counter()
            for _ in range(10):
                step()
            found[block, place] = (time.perf_counter() - start) / 10
    return found


def _slopes(networks: Networks) -> list[list[np.ndarray]]:
    sides = (networks.f_slopes, networks.psi_slopes)
    return [[np.zeros_like(weights) for weights, _ in side] for side in sides]


def main() -> None:
    """Measure, and exit with 1 if training is slower than the bar."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = np.random.default_rng(0)
    networks = Networks(FEATURES, FEATURES, ACTIONS, ACTIONS, HIDDEN, rng, RATE)
    context, feedback = rng.normal(size=(2, BATCH, FEATURES)).astype(np.float32)
    action, target = np.zeros(BATCH, int), context[:, 0]
    inputs = [context, feedback]
    sides = list(zip(inputs, (networks.f, networks.psi), _slopes(networks), strict=True))
    hidden = [[rng.normal(size=(BATCH, n)).astype(np.float32) for n in UNITS] for _ in sides]

    def products(networks: int) -> None:
        for (first, layers, slopes), further in zip(sides[:networks], hidden, strict=False):
            values = [first, *further]
            for place, (weights, _) in enumerate(layers):
                np.matmul(values[place], weights)
                np.matmul(values[place].T, values[place + 1], out=slopes[place])
                if place:
                    np.matmul(values[place + 1], weights.T)

    steps = [
        lambda: products(2),
        lambda: networks.contrast(context, feedback, action, action),
        lambda: products(1),
        lambda: networks.imitate(context, target, action),
    ]
    with one_thread():
        found = taken(steps, blocks)
    names = ("products of both", "step of both", "products of one", "step of one")
    _, both, _, one = times = np.median(found, axis=0)
    for name, each in zip(names, times, strict=True):
        print(f"{name:24} {1000 * each:.3f} ms")
    run = ACTIONS * EPOCHS * BATCHES * (2 * both + one) / 3
    print(f"a run of 2300 trials: {run:.0f} s")
    shares = {
        "both networks": np.median(found[:, 0] / found[:, 1]),
        "one network": np.median(found[:, 2] / found[:, 3]),
    }
    for name, share in shares.items():
        print(f"{name}: {share:.2f} of the bound (at least {BAR})")
    sys.exit(min(shares.values()) < BAR)


if __name__ == "__main__":
    main()
