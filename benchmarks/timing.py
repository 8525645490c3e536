"""How long a piece of work takes."""

import time
from collections.abc import Callable

import numpy as np


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the median time of a piece of work."""
    measured = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        measured.append(time.perf_counter() - start)
    return float(np.median(measured))
