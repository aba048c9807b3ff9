"""Array types and small functions of arrays that many modules use."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Singles", "blocks", "frozen", "inner"]

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
