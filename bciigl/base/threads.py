"""One thread for matrix products, so that results do not depend on the number of cores."""

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, so it is done once, after numpy's.
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
