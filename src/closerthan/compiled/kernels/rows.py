"""Comparisons inside kernels: their objects, distances and gradients, and the prefetching of memory.

A comparison (i, j, l, k) says that the pair (i, j) is closer than the pair (l, k). With
``near = |x_i - x_j|^2``, ``far = |x_l - x_k|^2`` and the loss's two slopes, the row gradients are

    x_i: +2 slope_near (x_i - x_j)      x_l: +2 slope_far (x_l - x_k)
    x_j: -2 slope_near (x_i - x_j)      x_k: -2 slope_far (x_l - x_k)

Each kernel is written for quadruplets. For triplets, ``l`` is the same variable as ``i`` at compile time, and the
compiler merges the two rows. Weights are divided by their mean; ``None`` (all equal) costs nothing.

A kernel returns only numbers and plain tuples to Python. Creating any other object would run Python code that Ctrl-C
can interrupt, which numba does not survive.

Kernels make no random choices: the comparisons to visit, and their order, are an argument. If comparisons have
weights, the order visits heavy ones more often, so single steps need no weights.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from closerthan.comparisons import Comparisons
from closerthan.compiled.compiling import inlined, prefetch
from closerthan.compiled.simd import added, summed

AHEAD = 8  # rows are prefetched this number of comparisons ahead
BLOCK = 16  # comparisons whose losses are evaluated together, in two or more vectors; see also steps_at_once
STRETCH = 1024  # comparisons of an order that are copied at a time before they are visited


class Triplets(NamedTuple):
    """Rows (i, j, k): the pair (i, j) is closer than the pair (i, k)."""

    table: np.ndarray


class Quadruplets(NamedTuple):
    """Rows (i, j, l, k): the pair (i, j) is closer than the pair (l, k)."""

    table: np.ndarray


def ends(rows: Any, q: int) -> Any:
    """Return the four objects of comparison ``q``, as unsigned integers, which need no test for negative indices."""
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


def gather_rows(rows: Any, order: Any) -> Any:
    """Copy the comparisons in ``order`` to contiguous memory, which is faster to read."""
    raise NotImplementedError("only for compiled code")


@overload(gather_rows)
def _gather_rows(rows: Any, order: Any) -> Any:
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
    """Return the weight of comparison ``q``; if ``weights`` is None, the compiler replaces the call by 1."""
    if weights is None:
        return 1.0
    return weights[q]


@summed(2)
def distances(factors, i, j, l, k):  # noqa: E741
    """Return the squared distances of the two pairs."""
    return (i - j) * (i - j), (l - k) * (l - k)


@added
def gradient_of(factors, i, j, l, k):  # noqa: E741
    """Add the gradient of one comparison; the factors are twice its slopes."""
    near, far = factors
    pull, push = near * (i - j), far * (l - k)
    return pull, push, -pull, -push


@inlined
def prefetch_ahead(rows, q, array):
    """Prefetch the rows of ``array`` that will be read soon after comparison ``q``."""
    if q + AHEAD < rows.table.shape[0]:
        for later in ends(rows, q + AHEAD):
            prefetch(array, later)


@inlined
def measure(rows, first, size, x, nears, fars):
    """Compute the squared distances of both pairs for ``size`` comparisons, starting at ``first``."""
    for member in range(size):
        prefetch_ahead(rows, first + member, x)
        nears[member], fars[member] = distances(x, ends(rows, first + member), ())


def rows_of(comparisons: Comparisons) -> Triplets | Quadruplets:
    """Wrap the rows in a type that tells the compiler whether they are triplets or quadruplets."""
    kind = Triplets if comparisons.rows.shape[1] == 3 else Quadruplets
    return kind(comparisons.rows)
