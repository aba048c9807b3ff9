"""Similarities of objects, computed from answers without a map."""

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import checked
from closerthan.comparisons import Comparisons, pairs_of

__all__ = ["answer_similarities"]


@checked
def answer_similarities(answers: Comparisons) -> Array:
    """Return, for each pair, how often it is the closer pair minus how often the farther (Perrot et al. 2020).

    For triplets (AddS-3), ``S_ij = sum over k of [i: j < k] - [i: k < j] + [j: i < k] - [j: k < i]``, weighted. For
    quadruplets (AddS-4), the near pair gains the weight that the far pair loses. The time is proportional to the number
    of answers, and the memory is n x n numbers.

    Examples
    --------
    >>> answer_similarities(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])).tolist()
    [[0.0, 2.0, -1.0], [2.0, 0.0, -1.0], [-1.0, -1.0, 0.0]]
    """
    n_objects = answers.n_objects
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    sums = np.zeros(n_objects * n_objects)
    for (one, other), sign in zip(pairs_of(answers.rows), (1.0, -1.0), strict=True):
        sums += np.bincount(one.astype(np.int64) * n_objects + other, sign * weights, n_objects * n_objects)
    square = sums.reshape(n_objects, n_objects)
    return square + square.T
