"""A table of distances between named objects, and the comparisons that follow from it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons
from closerthan.representation import shows_fields


@shows_fields
class Distances(NamedTuple):
    """Distances between named objects."""

    table: NDArray[np.float64]
    names: tuple[str, ...]

    def comparisons(self) -> Comparisons:
        """Return every triplet that is not a tie.

        Examples
        --------
        >>> Distances(np.array([[0, 1, 2], [1, 0, 4], [2, 4, 0]]), ("a", "b", "c")).comparisons().rows.tolist()
        [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
        """
        n_objects = len(self.names)
        i, j, k = np.meshgrid(*[np.arange(n_objects)] * 3, indexing="ij")
        closer = (self.table[i, j] < self.table[i, k]) & (i != j) & (i != k)
        return Comparisons.from_triplets(np.stack([i[closer], j[closer], k[closer]], axis=1), names=self.names)
