"""Array types and small array functions that many modules use."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Singles", "blocks", "frozen", "inner", "one_blas_thread"]

Array = NDArray[np.float64]
Singles = NDArray[np.float32]

BLOCK_ROWS = 2**14  # rows of a map that fit in the cache


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover the rows of a map, so that temporary arrays need not be as large as the map.

    Examples
    --------
    >>> list(blocks(20_000))
    [slice(0, 16384, None), slice(16384, 20000, None)]
    """
    for first in range(0, n_rows, BLOCK_ROWS):
        yield slice(first, min(first + BLOCK_ROWS, n_rows))


def inner(a: Array | Singles, b: Array | Singles) -> float:
    """Return the inner product of two maps, without BLAS, whose threads would keep spinning on cores that a fit needs.

    Examples
    --------
    >>> inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(np.einsum("ij,ij->", a, b))


class _BlasLimit:
    """The limit on the number of BLAS threads. The whole process shares it, and its last user removes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._users:
                self._limit = threadpool_limits(1, "blas")
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limit.restore_original_limits()


_BLAS_LIMIT = _BlasLimit()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, in all threads of this process.

    SciPy's L-BFGS-B calls BLAS for short vectors. More threads then mostly wait for each other, and on busy cores they
    make it several times slower.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    _BLAS_LIMIT.enter()
    try:
        yield
    finally:
        _BLAS_LIMIT.leave()


def frozen(array: NDArray[Any] | None) -> Any:
    """Return a contiguous, read-only view of an array; None stays None.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    if array is None:
        return None
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
