"""Choose the penalty of sparse dimensions by held-out answers."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from closerthan.arrays import Array

__all__ = ["PenaltyTried", "first_penalty", "search_penalty", "sparsest"]

STEP = 1.25  # factor between neighbouring penalties
MOST_TRIED = 16  # maximum number of penalties to try in each direction


class PenaltyTried(NamedTuple):
    """A penalty, the held-out bits per answer of the dimensions fitted with it, and their number."""

    penalty: float
    bits: float
    n_dims: int


def first_penalty(n_objects: int, n_answers: int) -> float:
    """Return a penalty to start the search from.

    The noise of the gradient falls with the square root of the number of answers per object. The factor is right to
    within three steps of the search for people's answers and for simulated ones.

    Examples
    --------
    >>> round(first_penalty(1854, 1_000_000), 4)
    0.0122
    """
    return 0.2 * math.sqrt(2 * n_objects / n_answers)


def search_penalty(first: float, try_penalty: Callable[[float], PenaltyTried]) -> list[PenaltyTried]:
    """Return all penalties tried, in ascending order.

    Penalties form a geometric series. The search goes up from the first one until held-out answers are predicted worse,
    and down if the first step up was worse. Each fit starts afresh: dimensions that a larger penalty has removed do not
    reappear, and dimensions that fit noise at a smaller one do not vanish.

    Parameters
    ----------
    first
        The penalty to start from.
    try_penalty
        Fits dimensions with a penalty. It may raise StopIteration to end the search after the first penalty.

    Examples
    --------
    >>> tried = search_penalty(1.0, lambda penalty: PenaltyTried(penalty, abs(penalty - 1.6), 3))
    >>> [round(one.penalty, 2) for one in tried]
    [1.0, 1.25, 1.56, 1.95]
    """
    best = try_penalty(first)
    all_tried = [best]
    try:
        for direction in (1, -1):
            for number in range(1, MOST_TRIED):
                tried = try_penalty(first * STEP ** (direction * number))
                all_tried.append(tried)
                if tried.bits >= best.bits:
                    break
                best = tried
            if best.penalty > first:
                break
    except StopIteration:
        pass
    return sorted(all_tried)


def sparsest(bits: Mapping[float, Array]) -> float:
    """Return the largest penalty whose held-out bits exceed those of the best one by at most one standard error.

    Parameters
    ----------
    bits
        The bits of each held-out answer, by penalty.

    Examples
    --------
    >>> import numpy as np
    >>> best = np.array([1.0, 1.2, 0.8, 1.0])
    >>> sparsest({0.1: best, 0.2: best + np.array([0.1, -0.1, 0.1, 0.0]), 0.3: best + 0.1})
    0.2
    """
    best = bits[min(bits, key=lambda penalty: float(bits[penalty].mean()))]
    excess = {penalty: one - best for penalty, one in bits.items()}
    return max(penalty for penalty, one in excess.items() if one.mean() <= one.std() / math.sqrt(len(one)))
