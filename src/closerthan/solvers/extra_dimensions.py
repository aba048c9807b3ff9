"""Extra dimensions, in which a random start finds its way faster (over-parametrised, as in Burer and Monteiro 2003).

Objects that start at random places have to pass each other, and in few dimensions they block each other: on a line, two
of them can change places only by going through each other. A map of more dimensions unfolds faster, and what it has
found is mostly along its first principal axes.
"""

import numpy as np

from closerthan.arrays import Array, blocks, inner
from closerthan.objective.protocol import Map, Point

NO_BETTER_THAN_CHANCE = 0.4  # error from which on a start has nothing to lose; chance is one half


def is_wanted(start: Point[Map]) -> bool:
    """Whether a start is no better than chance."""
    return start.error > NO_BETTER_THAN_CHANCE


def widened(start: Array, n_wide: int, rng: np.random.Generator) -> Array:
    """A random start with ``n_wide`` dimensions, of which the extra ones are as random as its own."""
    n_rows, n_dims = start.shape
    wide = np.empty((n_rows, n_wide))
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
