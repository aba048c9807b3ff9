"""Triplet kernels: the similarity of two objects as an inner product of the answers about them.

After Kleindessner and von Luxburg (2017, "Kernel functions based on triplet comparisons"). Each object is represented
by a long, sparse vector of answers, which are 1 or -1, and 0 if missing:

- *k1*, for an object as the anchor: for each pair (j, k), whether it is closer to j or to k;
- *k2*, for an object as one of the two that are compared: for each anchor i and each other object k, whether i is
  closer to it or to k.

The kernel is the cosine of the angle between two such vectors.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked
from closerthan.comparisons import Comparisons, pair_numbers
from closerthan.comparisons.questions import consecutive_numbers

__all__ = ["KERNELS", "triplet_kernel"]

KERNELS = ("k1", "k2", "both")


@checked
def triplet_kernel(answers: Comparisons | ArrayLike, kind: str = "both") -> Array:
    """Return the kernel matrix of all objects, for any method that takes a precomputed kernel.

    Answers are kept as sparse vectors, so that memory grows with their number and with the n x n kernel matrix.
    Repeated answers to a question are summed with their weights.

    Parameters
    ----------
    answers
        Triplets.
    kind
        "k1", "k2", or "both", the mean of the two, which is a kernel as well.

    Returns
    -------
    Array
        n x n cosines, symmetric and positive semidefinite. The row of an object without answers is zero, even on
        the diagonal.

    Examples
    --------
    The answers about 2 and 3 are the same for the anchors 0 and 1, and the opposite for anchor 4:

    >>> triplet_kernel([[0, 2, 3], [1, 2, 3], [4, 3, 2]], "k1")[np.ix_([0, 1, 4], [0, 1, 4])].tolist()
    [[1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    """
    if kind not in KERNELS:
        raise ParameterError("kind", kind, f"it can be {', '.join(KERNELS)}")
    comparisons = Comparisons.of(answers)
    if comparisons.rows.shape[1] != 3:
        raise ValueError("triplet kernels need triplets; for quadruplets use ct.objects.answer_similarities")
    if kind == "both":
        return (triplet_kernel(comparisons, "k1") + triplet_kernel(comparisons, "k2")) / 2
    anchor, near, far = comparisons.rows.astype(np.int64).T
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    n_objects = comparisons.n_objects
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
    """Return the cosines between the rows of a sparse matrix, whose entries at the same position are summed."""
    from scipy.sparse import csr_array

    place = consecutive_numbers(column)  # renumbered without gaps, since most of the n x n columns may be empty
    vectors = csr_array((values, (row, place)), shape=(n_objects, int(place.max()) + 1))
    products: Array = (vectors @ vectors.T).toarray()
    length = np.sqrt(np.diagonal(products))
    length[length == 0] = 1.0
    products /= np.outer(length, length)
    return products
