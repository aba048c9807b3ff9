"""Diagnostics of answers: how often objects occur, whether comparisons connect all of them, and contradictions.

``least_error`` is the error that contradictions make unavoidable for every map.
"""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons, first_mentions, pair_questions
from closerthan.comparisons.questions import consecutive_numbers

__all__ = ["connected_groups", "different_mentions", "least_error", "mentions"]


def mentions(comparisons: Comparisons, n_objects: int | None = None) -> NDArray[np.int64]:
    """Return the number of comparisons of each object; pass ``n_objects`` if some objects occur in none.

    Examples
    --------
    >>> mentions(Comparisons.from_quadruplets([[0, 1, 0, 2], [1, 2, 0, 3]])).tolist()
    [2, 2, 2, 1]
    """
    counts = np.zeros(n_objects or comparisons.n_objects, dtype=np.int64)
    for objects, once in first_mentions(comparisons.rows):
        counts += np.bincount(objects[once], minlength=len(counts))
    return counts


def different_mentions(comparisons: Comparisons) -> NDArray[np.int64]:
    """Return the number of different questions about each object, however often they were asked.

    Examples
    --------
    >>> different_mentions(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 0, 2], [0, 1, 3]])).tolist()
    [3, 3, 2, 1]
    """
    question, _ = pair_questions(comparisons)
    return mentions(comparisons.take(np.sort(np.unique(question, return_index=True)[1])))


def connected_groups(comparisons: Comparisons) -> int:
    """Return the number of connected groups of objects, linked by comparisons; unmentioned objects do not count.

    Examples
    --------
    >>> connected_groups(Comparisons.from_triplets([[0, 1, 2], [3, 4, 5], [5, 4, 6]]))
    2
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = comparisons.rows
    heads, tails = np.repeat(rows[:, :1], rows.shape[1] - 1, axis=1).ravel(), rows[:, 1:].ravel()
    links = coo_array((np.ones(len(heads), dtype=np.int8), (heads, tails)), shape=(comparisons.n_objects,) * 2)
    _, labels = connected_components(links.tocsr(), directed=False)
    return len(np.unique(labels[comparisons.mentioned]))


def least_error(comparisons: Comparisons) -> float:
    """Return the fraction (by weight) of comparisons that every map gets wrong, because others contradict them.

    It is a lower bound: answers may also contradict each other in longer cycles.

    Examples
    --------
    >>> least_error(Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 0, 2]]))
    0.25
    """
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    total_weight = comparisons.total_weight
    if comparisons.answers is None:  # only repeated questions can have contradictory answers
        group = comparisons.groups("answers")
        repeated = np.flatnonzero((np.bincount(group) > 1)[group])
        if not len(repeated):
            return 0.0
        comparisons, weights = comparisons.replace(weights=None).take(repeated), weights[repeated]
    question, answer = pair_questions(comparisons)
    number = consecutive_numbers(question)
    one_way = np.bincount(number, weights * answer)
    other_way = np.bincount(number, weights * ~answer)
    return float(np.minimum(one_way, other_way).sum() / total_weight)
