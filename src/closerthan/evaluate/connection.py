"""Connection: which objects comparisons speak of, and whether they link all of them."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons

__all__ = ["groups", "mentions"]


def mentions(comparisons: Comparisons, n_objects: int | None = None) -> NDArray[np.int64]:
    """For each object, how many comparisons it takes part in; ``n_objects`` if there are more than these know of.

    Examples
    --------
    >>> mentions(Comparisons.from_quadruplets([[0, 1, 0, 2], [1, 2, 0, 3]])).tolist()
    [2, 2, 2, 1]
    """
    counts = np.zeros(n_objects or comparisons.n_objects, dtype=np.int64)
    for column, objects in enumerate(comparisons.rows.T):
        # The pairs of a quadruplet may share an object; it is still one comparison of that object.
        once = np.ones(len(comparisons), dtype=bool)
        for earlier in comparisons.rows.T[:column]:
            once &= earlier != objects
        counts += np.bincount(objects[once], minlength=len(counts))
    return counts


def groups(comparisons: Comparisons) -> int:
    """How many groups of objects there are that no comparison links to each other; objects never mentioned aside.

    Examples
    --------
    >>> groups(Comparisons.from_triplets([[0, 1, 2], [3, 4, 5], [5, 4, 6]]))
    2
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = comparisons.rows
    heads, tails = np.repeat(rows[:, :1], rows.shape[1] - 1, axis=1).ravel(), rows[:, 1:].ravel()
    links = coo_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(comparisons.n_objects,) * 2)
    _, labels = connected_components(links.tocsr(), directed=False)
    return len(np.unique(labels[np.unique(rows)]))
