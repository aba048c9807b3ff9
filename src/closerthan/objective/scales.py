"""How large a map should be, given the mean loss at several sizes."""

import functools
import math

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array

__all__ = ["SIZE_SAMPLE", "best_scale", "sample_places"]

SIZE_SAMPLE = 1024  # comparisons that tell how large a map should be
_GOLDEN = 0.6180339887498949


@functools.lru_cache(maxsize=8)  # short fits of the same answers need them again and again
def sample_places(n_terms: int, size: int) -> NDArray[np.int64]:
    """Evenly spread, but by the golden ratio: files may have a period."""
    return np.sort((np.arange(size) * _GOLDEN % 1.0 * n_terms).astype(np.int64))


def best_scale(means: Array, scales: Array, collapsed: float, trust: float) -> float:
    """The scale to choose, one of which is 1; ``means`` are the mean losses with the map scaled by each.

    A map is enlarged so far that it gains the share ``trust`` of what the best scale does. One that cannot be measured,
    or that is worse than a collapsed one whatever its size, keeps its size.

    Examples
    --------
    >>> best_scale(np.array([0.5, 0.4, 0.2]), np.array([0.5, 1.0, 2.0]), 0.7, 0.5)
    1.5
    """
    as_it_is = int(np.flatnonzero(scales == 1.0)[0])
    means = np.where(np.isnan(means), np.inf, means)
    now, best = means[as_it_is], int(np.argmin(means))
    if not means[best] < now < np.inf or (math.isfinite(collapsed) and means[best] >= collapsed):
        return 1.0
    if best < as_it_is:
        return float(scales[best])
    gains = np.maximum.accumulate(now - means[as_it_is : best + 1])
    return float(np.interp(trust * gains[-1], gains, scales[as_it_is : best + 1]))
