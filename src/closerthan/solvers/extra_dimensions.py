"""Extra dimensions, in which a random start finds its way sooner (over-parametrised, as Burer and Monteiro 2003).

Objects that begin at random have to pass each other, and in few dimensions they get in each other's way: with one, two
of them can change places only by going through each other. A map of more dimensions unfolds sooner, and what it has
found is mostly along its first principal axes.
"""

import math

import numpy as np

from closerthan.arrays import Array, Singles, inner
from closerthan.compiled import kernels, simd
from closerthan.objective.cpu import Point

NO_BETTER_THAN_CHANCE = 0.4  # error from which on a start has nothing to lose; chance is one half


def is_wanted(start: Point) -> bool:
    """Whether a start is no better than chance."""
    return start.error > NO_BETTER_THAN_CHANCE


def width(n_dims: int) -> int:
    """At least one dimension more, and as many as the padded rows of single steps have anyway.

    Examples
    --------
    >>> [width(n_dims) for n_dims in (1, 2, 7, 8, 10)]
    [8, 8, 8, 16, 16]
    """
    return simd.padded_length(n_dims + 1)


def widened(start: Array, rng: np.random.Generator) -> Array:
    """A random start with further dimensions, in which it is as random as in its own."""
    n_rows, n_dims = start.shape
    wide = np.empty((n_rows, width(n_dims)))
    with np.errstate(over="ignore", invalid="ignore"):  # a map that cannot be measured is taken back by the solver
        wide[:, :n_dims] = centred = start - start.mean(axis=0)
        spread = np.sqrt(inner(centred, centred) / start.size)
        wide[:, n_dims:] = spread * rng.standard_normal((n_rows, wide.shape[1] - n_dims))
    return wide


def narrowed(x: Singles, mean: Array, n_dims: int) -> tuple[Singles, Array]:
    """Two maps in so many dimensions: the mean's widest ones, around its centre.

    What ``principal_axes`` does, but without BLAS, whose threads would take the fit's cores, and for any map.
    """
    n_rows, n_wide = mean.shape
    centre, covariance = np.empty(n_wide), np.empty((n_wide, n_wide))
    kernels.covariance(mean, centre, covariance)
    axes = np.eye(n_dims, n_wide)
    if math.isfinite(covariance.sum()):
        axes[:] = np.linalg.eigh(covariance, UPLO="L")[1].T[: -n_dims - 1 : -1]  # the last ones are the widest
    narrow_mean, narrow_x = np.empty((n_rows, n_dims)), simd.padded(np.zeros((n_rows, n_dims)))
    kernels.projection(mean, centre, axes, narrow_mean)
    kernels.projection(x, centre, axes, narrow_x)
    return narrow_x, narrow_mean
