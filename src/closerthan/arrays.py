"""Array types, and the one product that many rooms need."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Singles", "inner"]

Array = NDArray[np.float64]
Singles = NDArray[np.float32]


def inner(a: Array | Singles, b: Array | Singles) -> float:
    """The inner product of two maps, without BLAS: its threads would go on spinning on cores that a fit needs.

    Examples
    --------
    >>> inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(np.einsum("ij,ij->", a, b))
