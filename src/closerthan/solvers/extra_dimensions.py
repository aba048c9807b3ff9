"""Extra dimensions that help a random start to unfold (over-parametrisation as in Burer and Monteiro 2003).

Objects that start at random positions have to move past each other, and in few dimensions they are in each other's
way: on a line, two objects can swap places only by passing through each other. A map with more dimensions unfolds
faster, and most of its structure then lies along its first principal axes.
"""

import numpy as np

from closerthan.arrays import Array, blocks, inner
from closerthan.objective.protocol import Map, Point

NO_BETTER_THAN_CHANCE = 0.4  # error above which a start holds nothing worth preserving; chance is one half


def is_at_chance(start: Point[Map]) -> bool:
    """Return true if a start is no better than chance."""
    return start.error > NO_BETTER_THAN_CHANCE


def widen(start: Array, n_wide: int, rng: np.random.Generator) -> Array:
    """Add random dimensions to a start until it has ``n_wide``; they have the same spread as its own dimensions."""
    n_rows, n_dims = start.shape
    wide = np.empty((n_rows, n_wide))
    with np.errstate(over="ignore", invalid="ignore"):  # the solver undoes epochs whose objective is not finite
        centre, squares = start.mean(axis=0), 0.0
        for block in blocks(n_rows):
            centred = start[block] - centre
            wide[block, :n_dims] = centred
            squares += inner(centred, centred)
        spread = np.sqrt(squares / start.size)
        for block in blocks(n_rows):
            wide[block, n_dims:] = spread * rng.standard_normal((block.stop - block.start, n_wide - n_dims))
    return wide
