"""Room: more dimensions than a map has, in which a random start finds its way sooner.

Objects that begin at random have to pass each other, and in few dimensions they get in each other's way: with one, two
of them can change places only by going through each other. A map of more dimensions unfolds sooner, and what it has
found is mostly in its widest directions.
"""

import numpy as np

from closerthan import lanes
from closerthan.objective import Array, Singles, inner

LEAST = 3  # dimensions more
AHEAD = 0.01  # better than a map that knows nothing, as a share of its loss: a start that has something to lose


def is_wanted(value: float, ignorance: float) -> bool:
    """Whether a start knows nothing, so that room can do it no harm."""
    return value > ignorance - AHEAD * abs(ignorance)


def width(n_dims: int) -> int:
    """As many dimensions as the padded rows of single steps have anyway, if those are some more.

    Examples
    --------
    >>> [width(n_dims) for n_dims in (2, 5, 8, 10)]
    [8, 8, 16, 16]
    """
    return lanes.padded_length(n_dims + LEAST)


@np.errstate(over="ignore", invalid="ignore")  # a map that cannot be measured is taken back by the solver
def widened(start: Array, rng: np.random.Generator) -> Array:
    """A random start around 0 with further dimensions, in which it is as random as in its own."""
    n_rows, n_dims = start.shape
    centred = start - start.mean(axis=0)
    spread = np.sqrt(inner(centred, centred) / start.size)
    return np.hstack([centred, spread * rng.standard_normal((n_rows, width(n_dims) - n_dims))])


@np.errstate(over="ignore", invalid="ignore")
def narrowed(x: Singles, mean: Array, n_dims: int) -> tuple[Singles, Array]:
    """Two maps in so many dimensions: the mean's widest ones, around its centre."""
    centre = mean.mean(axis=0)
    # A row for each dimension: sums along rows are fast, and need no BLAS, whose threads would take the fit's cores.
    around, moved = (np.ascontiguousarray((map_[:, : len(centre)] - centre).T) for map_ in (mean, x))
    spread = np.einsum("an,bn->ab", around, around)
    if not np.isfinite(spread).all():
        return lanes.padded(x[:, :n_dims]), mean[:, :n_dims].copy()
    widest = np.linalg.eigh(spread)[1].T[: -n_dims - 1 : -1].copy()
    x, mean = (np.einsum("an,da->dn", map_, widest).T for map_ in (moved, around))
    return lanes.padded(x), np.ascontiguousarray(mean)
