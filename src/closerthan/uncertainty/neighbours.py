"""Neighbours: how often one object is among the nearest of another. It needs no alignment of the maps."""

from collections.abc import Sequence

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole

__all__ = ["neighbour_probability"]

MOST_CELLS = 10**8  # of a table: 800 MB


def neighbour_probability(maps: Array, k: int = 1, of: Sequence[int] | None = None) -> Array:
    """The share of the maps in which object j is among the k nearest of object i: row i, column j.

    Parameters
    ----------
    maps
        (n_maps, n_objects, n_dims).
    k
        How many count as near.
    of
        Objects whose rows are wanted; None: all of them.

    Examples
    --------
    >>> maps = np.array([[[0.0], [1.0], [3.0]], [[0.0], [2.0], [3.0]]])
    >>> neighbour_probability(maps, 1)[1].tolist()
    [0.5, 0.0, 0.5]
    """
    n_maps, n_objects, _ = maps.shape
    k = whole("k", k)
    if k >= n_objects:
        raise ValueError(f"k is {k}, but an object has {n_objects - 1} others; choose a smaller k")
    rows = np.arange(n_objects) if of is None else np.asarray(of, dtype=np.int64)
    if len(rows) and not (rows.min() >= 0 and rows.max() < n_objects):
        raise ValueError(f"objects are numbered from 0 to {n_objects - 1}; of= names {rows.min()} to {rows.max()}")
    if len(rows) * n_objects > MOST_CELLS:
        raise ValueError(
            f"a table of {len(rows):,} x {n_objects:,} objects is too large; pass of= with the objects that matter"
        )
    counts = np.zeros((len(rows), n_objects))
    block = max(1, 2**24 // n_objects)
    for x in maps:
        norms = np.einsum("od,od->o", x, x)
        for begin in range(0, len(rows), block):
            mine = rows[begin : begin + block]
            squared = norms - 2.0 * np.einsum("id,jd->ij", x[mine], x)  # less what is the same for a whole row
            squared[np.arange(len(mine)), mine] = np.inf
            near = np.argpartition(squared, k - 1, axis=1)[:, :k]
            counts[begin + np.arange(len(mine))[:, np.newaxis], near] += 1.0
    shares: Array = counts / max(n_maps, 1)
    return shares
