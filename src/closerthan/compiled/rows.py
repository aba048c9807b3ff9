"""Comparisons inside kernels: their objects, their distances, and memory asked for in time.

A comparison (i, j, l, k) says that the pair (i, j) is closer than the pair (l, k). With
``near = |x_i - x_j|^2``, ``far = |x_l - x_k|^2`` and the loss's two slopes, the row gradients are

    x_i: +2 slope_near (x_i - x_j)      x_l: +2 slope_far (x_l - x_k)
    x_j: -2 slope_near (x_i - x_j)      x_k: -2 slope_far (x_l - x_k)

Each kernel is written for quadruplets. For triplets ``l`` *is* ``i`` at compile time, so that the compiler
folds the two rows into one. Weights are relative to their mean; ``None`` (all equal) costs nothing.

To Python a kernel returns numbers and plain tuples: making anything else runs Python code in which Ctrl-C may strike,
and numba does not survive that.

Random choices are never made in kernels: which comparisons are visited, in which order, is an argument. Where
comparisons have weights, that order visits heavy ones more often, so that single steps need no weights.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from closerthan.comparisons import Comparisons
from closerthan.compiled.compiling import inlined, prefetch
from closerthan.compiled.simd import added, summed

AHEAD = 8  # how many comparisons ahead rows are prefetched
BLOCK = 16  # comparisons whose losses are evaluated together: two or more vectors, and Polyak steps from one map
STRETCH = 1024  # comparisons of an order that are copied together before they are visited


class Triplets(NamedTuple):
    """Rows (i, j, k): the pair (i, j) is closer than the pair (i, k)."""

    table: np.ndarray


class Quadruplets(NamedTuple):
    """Rows (i, j, l, k): the pair (i, j) is closer than the pair (l, k)."""

    table: np.ndarray


def ends(rows: Any, q: int) -> Any:
    """The four objects of comparison ``q``. Numbers are unsigned, which spares a test for negative indices."""
    raise NotImplementedError("only for compiled code")


@overload(ends)
def _ends(rows: Any, q: Any) -> Any:
    kind = getattr(rows, "instance_class", None)
    if kind is Triplets:

        def read(rows: Any, q: Any) -> Any:
            place = np.uint64(q)
            i, j, k = np.uint32(rows.table[place, 0]), np.uint32(rows.table[place, 1]), np.uint32(rows.table[place, 2])
            return i, j, i, k

    elif kind is Quadruplets:

        def read(rows: Any, q: Any) -> Any:
            place = np.uint64(q)
            i, j = np.uint32(rows.table[place, 0]), np.uint32(rows.table[place, 1])
            l, k = np.uint32(rows.table[place, 2]), np.uint32(rows.table[place, 3])  # noqa: E741 - the paper's letters
            return i, j, l, k

    else:
        return None
    return read


def fetched(rows: Any, order: Any) -> Any:
    """Copies of the comparisons in ``order``, one after another: reading them there waits for nothing else."""
    raise NotImplementedError("only for compiled code")


@overload(fetched)
def _fetched(rows: Any, order: Any) -> Any:
    kind: Any = getattr(rows, "instance_class", None)
    if kind not in (Triplets, Quadruplets):
        return None
    width = 3 if kind is Triplets else 4

    def copy(rows: Any, order: Any) -> Any:
        table = np.empty((order.shape[0], width), rows.table.dtype)
        for t in range(order.shape[0]):
            for c in range(width):
                table[t, c] = rows.table[np.uint64(order[t]), c]
        return kind(table)

    return copy


@inlined
def weight_of(weights, q):
    """How much comparison ``q`` counts; ``None`` is resolved when the kernel is compiled."""
    if weights is None:
        return 1.0
    return weights[q]


@summed(2)
def distances(factors, i, j, l, k):  # noqa: E741
    """The squared distances of the two pairs."""
    return (i - j) * (i - j), (l - k) * (l - k)


@added
def gradient_of(factors, i, j, l, k):  # noqa: E741
    """One comparison's gradient; the factors are twice its slopes."""
    near, far = factors
    pull, push = near * (i - j), far * (l - k)
    return pull, push, -pull, -push


@inlined
def prefetch_ahead(rows, q, array):
    """Ask for what a walk over the rows will read soon after comparison ``q``."""
    if q + AHEAD < rows.table.shape[0]:
        for later in ends(rows, q + AHEAD):
            prefetch(array, later)


@inlined
def measure(rows, first, size, x, nears, fars):
    """The squared distances of the pairs of ``size`` comparisons from ``first`` on."""
    for member in range(size):
        prefetch_ahead(rows, first + member, x)
        nears[member], fars[member] = distances(x, ends(rows, first + member), ())


def rows_of(comparisons: Comparisons) -> Triplets | Quadruplets:
    """The rows in the form that tells the compiler their kind."""
    kind = Triplets if comparisons.rows.shape[1] == 3 else Quadruplets
    return kind(comparisons.rows)
