"""Triplet kernels: how alike two objects are, as the inner product of the answers about them.

After Kleindessner and von Luxburg (2017, "Kernel functions based on triplet comparisons"). Each object has a long,
sparse vector of answers, 1 or -1, and 0 where nobody was asked:

- *k1*, of an object as the anchor: for each pair (j, k), whether it is closer to j or to k;
- *k2*, of an object as one of the two that are compared: for each anchor i and each other object k, whether i is closer
  to it or to k.

Two objects are alike if their vectors point the same way: the kernel is the cosine of the angle between them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.comparisons import Comparisons, pair_numbers
from closerthan.comparisons.grouping import numbered

__all__ = ["KERNELS", "triplet_kernel"]

KERNELS = ("k1", "k2", "both")


@checked
def triplet_kernel(answers: Comparisons | ArrayLike, kind: str = "both") -> Array:
    """A kernel between all objects, for anything that takes a precomputed one.

    Answers are sparse vectors: memory grows with their number and with the n x n numbers of the kernel. Repeated
    answers to a question add up, by weight.

    Parameters
    ----------
    answers
        Triplets.
    kind
        "k1", "k2", or "both": the mean of the two, which is a kernel too.

    Returns
    -------
    n x n cosines, symmetric and positive semidefinite. An object without answers has zeros, on the diagonal too.

    Examples
    --------
    Objects 0 and 1 give the same answer about 2 and 3, object 4 the opposite one:

    >>> triplet_kernel([[0, 2, 3], [1, 2, 3], [4, 3, 2]], "k1")[np.ix_([0, 1, 4], [0, 1, 4])].tolist()
    [[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    """
    if kind not in KERNELS:
        raise ValueError(f"kind is {kind!r}; it can be {', '.join(KERNELS)}")
    given = Comparisons.of(answers)
    if given.rows.shape[1] != 3:
        raise ValueError("triplet kernels are made of triplets; these are quadruplets, for which ct.cluster has sums")
    if kind == "both":
        return (triplet_kernel(given, "k1") + triplet_kernel(given, "k2")) / 2
    anchor, near, far = given.rows.astype(np.int64).T
    weights = np.ones(len(given)) if given.weights is None else given.weights
    n_objects = given.n_objects
    if kind == "k1":
        column = pair_numbers(near, far, n_objects)
        return _cosines(n_objects, anchor, column, np.where(near < far, weights, -weights))
    return _cosines(
        n_objects,
        np.concatenate([near, far]),
        np.concatenate([anchor * n_objects + far, anchor * n_objects + near]),
        np.concatenate([weights, -weights]),
    )


def _cosines(n_objects: int, row: NDArray[np.int64], column: NDArray[np.int64], values: Array) -> Array:
    """Of the angles between the rows of a sparse matrix, whose entries at the same place add up."""
    from scipy.sparse import csr_array

    place = numbered(column)  # without gaps: most of the n x n columns may be empty
    vectors = csr_array((values, (row, place)), shape=(n_objects, int(place.max()) + 1))
    products: Array = (vectors @ vectors.T).toarray()
    length = np.sqrt(np.diagonal(products))
    length[length == 0] = 1.0
    products /= np.outer(length, length)
    return products
