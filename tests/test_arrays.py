import contextlib

import scipy.linalg  # noqa: F401 - its BLAS library is limited too
from threadpoolctl import threadpool_info, threadpool_limits

from closerthan.arrays import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_limit_on_blas_threads_ends_with_its_last_user():
    """Users may overlap in any order if they run in different threads."""
    with threadpool_limits(2, "blas"):
        first, second = contextlib.ExitStack(), contextlib.ExitStack()
        first.enter_context(one_blas_thread())
        second.enter_context(one_blas_thread())
        first.close()
        assert blas_threads() == {1}
        second.close()
        assert blas_threads() == {2}
