"""Disagreement: answers that contradict each other, and what that means for any map."""

import numpy as np

from closerthan.comparisons import Comparisons

__all__ = ["least_error"]


def least_error(comparisons: Comparisons) -> float:
    """The share (by weight) of comparisons that every map gets wrong, because others say the opposite.

    A map in enough dimensions need not reach it: answers may contradict each other in longer circles, too.

    Examples
    --------
    >>> least_error(Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]]))
    0.25
    """
    rows = comparisons.rows
    heads, tails = (rows[:, [0, 0]], rows[:, [1, 2]]) if rows.shape[1] == 3 else (rows[:, [0, 2]], rows[:, [1, 3]])
    pairs = np.minimum(heads, tails).astype(np.int64) * comparisons.n_objects + np.maximum(heads, tails)
    turned = pairs[:, 0] > pairs[:, 1]
    pairs.sort(axis=1)
    order = np.lexsort(pairs.T)
    pairs = pairs[order]
    question = np.concatenate([[0], np.cumsum((pairs[1:] != pairs[:-1]).any(axis=1))])
    weights = np.ones(len(rows)) if comparisons.weights is None else comparisons.weights[order]
    one_way = np.bincount(question, weights * turned[order])
    other_way = np.bincount(question, weights * ~turned[order])
    return float(np.minimum(one_way, other_way).sum() / comparisons.total_weight)
