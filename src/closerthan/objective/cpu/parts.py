"""Sums over many terms in parts whose sizes depend only on the problem, added in a fixed order.

The result therefore has the same bits for any number of threads.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from closerthan.compiled.threads import WorkerPool

__all__ = ["LEAST_PART", "MOST_PARTS", "cut", "summed"]

LEAST_PART = 2**14  # with fewer terms, handing work to another thread costs more than it gains
MOST_PARTS = 16  # also the largest number of threads, so that sums do not depend on how many there are


def cut(n_terms: int, least_part: int) -> list[tuple[int, int]]:
    """Cut terms into 1, 2, 4, 8 or 16 equal parts of at least ``least_part``; return where each begins and ends.

    Examples
    --------
    >>> cut(10, 5)
    [(0, 5), (5, 10)]
    """
    n_parts = min(2 ** int(math.log2(max(n_terms / least_part, 1))), MOST_PARTS)
    places = [n_terms * part // n_parts for part in range(n_parts + 1)]
    return list(itertools.pairwise(places))


def summed(
    pool: WorkerPool,
    piece: Callable[[Any, Any], Any],
    parts: Sequence[Any],
    shape: tuple[int, ...],
    dtype: type[np.floating[Any]] = np.float64,
) -> tuple[list[Any], tuple[Any, ...]]:
    """Run ``piece`` on all parts, and add the arrays that it fills in the order of the parts.

    Return the results of ``piece``, and one or two arrays whose sum is the total: the last addition is left to the
    caller, who combines it with other work in the same pass over memory.
    """
    width = min(len(pool), len(parts))
    arrays = [np.empty(shape, dtype) for _ in range(min(width + 1, len(parts)))]  # the first accumulates the total

    def run(part: Any, array: Any) -> Any:
        array[:] = 0.0
        return piece(part, array)

    results = []
    n_summed, full = 0, arrays[1:1]
    while n_summed < len(parts):
        wave = parts[n_summed : n_summed + width]
        for array in full:
            arrays[0] += array
        first = 1 if n_summed else 0
        results += pool.map(run, wave, arrays[first : first + len(wave)])
        full = arrays[1 : first + len(wave)]
        n_summed += len(wave)
    for array in full[:-1]:
        arrays[0] += array
    return results, (arrays[0], *full[-1:])
