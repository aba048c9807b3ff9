"""The best size of a map, given its mean loss at several sizes."""

import bisect
import functools
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array

__all__ = ["SIZE_SAMPLE", "best_scale", "sample_places"]

SIZE_SAMPLE = 1024  # comparisons from which the best size of a map is estimated
_GOLDEN = 0.6180339887498949


@functools.lru_cache(maxsize=8)  # repeated short fits of the same answers need the same sample
def sample_places(n_terms: int, size: int) -> NDArray[np.int64]:
    """Return ``size`` evenly spread indices, spaced by the golden ratio because the order of a file may be periodic."""
    return np.sort((np.arange(size) * _GOLDEN % 1.0 * n_terms).astype(np.int64))


def best_scale(means: Array, scales: Array, collapsed: float, trust: float) -> float:
    """Return the factor by which to multiply a map.

    A map is enlarged until it gains the fraction ``trust`` of what the best scale gains. A map keeps its size if its
    loss is not finite, or if at every size it is worse than a map whose objects all coincide.

    Parameters
    ----------
    means
        Mean losses of the map multiplied by each of the scales.
    scales
        Candidate factors in increasing order; one of them is 1.
    collapsed
        Loss if all objects coincide; not finite if that is undefined.
    trust
        Fraction of the best gain, from 0 to 1.

    Examples
    --------
    >>> best_scale(np.array([0.5, 0.4, 0.2]), np.array([0.5, 1.0, 2.0]), 0.7, 0.5)
    1.5
    """
    # Plain numbers, since for so few of them each call of NumPy takes longer than the arithmetic.
    losses = [math.inf if math.isnan(mean) else mean for mean in means.tolist()]
    factors: list[float] = scales.tolist()
    unchanged = factors.index(1.0)
    least, now = min(losses), losses[unchanged]
    best = losses.index(least)
    if not least < now < math.inf or (math.isfinite(collapsed) and least >= collapsed):
        return 1.0
    if best < unchanged:
        return factors[best]
    gains = list(itertools.accumulate((now - loss for loss in losses[unchanged : best + 1]), max))
    goal = trust * gains[-1]
    place = bisect.bisect_right(gains, goal)  # the first scale that gains more than the goal
    if place == len(gains):
        return factors[best]
    before, after = unchanged + place - 1, unchanged + place
    slope = (factors[after] - factors[before]) / (gains[place] - gains[place - 1])
    return slope * (goal - gains[place - 1]) + factors[before]
