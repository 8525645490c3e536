"""One thread for matrix products, so that results do not depend on the number of cores."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

_within = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread; within such a context another one costs nothing."""
    if getattr(_within, "limited", False):
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        _within.limited = True
        try:
            yield
        finally:
            _within.limited = False


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so it is done once, after numpy's.
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
