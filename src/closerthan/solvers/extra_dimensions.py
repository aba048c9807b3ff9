"""Extra dimensions, in which a random start finds its way faster (over-parametrised, as in Burer and Monteiro 2003).

Objects that start at random places have to pass each other, and in few dimensions they block each other: on a line, two
of them can change places only by going through each other. A map of more dimensions unfolds faster, and what it has
found is mostly along its first principal axes.
"""

import numpy as np

from closerthan.arrays import Array, blocks, inner
from closerthan.objective.protocol import Point

MULTIPLE = 8  # numbers: to this multiple the rows of single steps are padded anyway
NO_BETTER_THAN_CHANCE = 0.4  # error from which on a start has nothing to lose; chance is one half


def is_wanted(start: Point) -> bool:
    """Whether a start is no better than chance."""
    return start.error > NO_BETTER_THAN_CHANCE


def width(n_dims: int) -> int:
    """At least one dimension more, and as many as padded rows have anyway.

    Examples
    --------
    >>> [width(n_dims) for n_dims in (1, 2, 7, 8, 10)]
    [8, 8, 8, 16, 16]
    """
    return -(-(n_dims + 1) // MULTIPLE) * MULTIPLE


def widened(start: Array, rng: np.random.Generator) -> Array:
    """A random start with extra dimensions, in which it is as random as in its own."""
    n_rows, n_dims = start.shape
    wide = np.empty((n_rows, width(n_dims)))
    with np.errstate(over="ignore", invalid="ignore"):  # a map that cannot be measured is taken back by the solver
        centre, squares = start.mean(axis=0), 0.0
        for some in blocks(n_rows):
            centred = start[some] - centre
            wide[some, :n_dims] = centred
            squares += inner(centred, centred)
        spread = np.sqrt(squares / start.size)
        for some in blocks(n_rows):
            wide[some, n_dims:] = spread * rng.standard_normal((some.stop - some.start, wide.shape[1] - n_dims))
    return wide
