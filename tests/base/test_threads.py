"""BLAS on one thread."""

import numpy as np
from threadpoolctl import threadpool_info

from bciigl.base.threads import one_thread


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_within_and_what_it_had_afterwards():
    before = blas_threads()
    with one_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before
