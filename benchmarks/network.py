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


def main() -> None:
    """Measure, and exit with 1 if training is slower than the bar."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = np.random.default_rng(0)
    networks = Networks(FEATURES, FEATURES, ACTIONS, ACTIONS, HIDDEN, rng, RATE)
    context, feedback = rng.normal(size=(2, BATCH, FEATURES)).astype(np.float32)
    action, target = np.zeros(BATCH, int), context[:, 0]
    weights = [each for each, _ in networks.f]
    hidden = [rng.normal(size=(BATCH, units)).astype(np.float32) for units in (*HIDDEN, ACTIONS)]
    values = [context, *hidden]

    def products() -> None:
        for place, each in enumerate(weights):
            values[place] @ each
            values[place].T @ values[place + 1]
            if place:
                values[place + 1] @ each.T

    steps = [
        products,
        lambda: networks.contrast(context, feedback, action, action),
        lambda: networks.imitate(context, target, action),
    ]
    with one_thread():
        found = taken(steps, blocks)
    bound, both, one = np.median(found, axis=0)
    names = ("products of one network", "step of both", "step of one")
    for name, each in zip(names, (bound, both, one), strict=True):
        print(f"{name:24} {1000 * each:.3f} ms")
    run = ACTIONS * EPOCHS * BATCHES * (2 * both + one) / 3
    print(f"a run of 2300 trials: {run:.0f} s")
    shares = {
        "both networks": np.median(2 * found[:, 0] / found[:, 1]),
        "one network": np.median(found[:, 0] / found[:, 2]),
    }
    for name, share in shares.items():
        print(f"{name}: {share:.2f} of the bound (at least {BAR})")
    sys.exit(min(shares.values()) < BAR)


if __name__ == "__main__":
    main()
