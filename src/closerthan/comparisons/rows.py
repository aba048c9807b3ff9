"""Functions of rows: their two pairs, pair numbers, reversed rows, first mentions of objects, degenerate rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pairs_of(rows: NDArray[Any]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the near pair (i, j) and the far pair (l, k) of rows, or of one row; a triplet has l = i.

    Examples
    --------
    >>> (i, j), (l, k) = pairs_of(np.array([[0, 1, 2]]))
    >>> i, j, l, k
    (array([0]), array([1]), array([0]), array([2]))
    """
    return (rows[..., 0], rows[..., 1]), (rows[..., 0 if rows.shape[-1] == 3 else 2], rows[..., -1])


def reversed_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows that say the opposite, with the near pair and the far pair swapped.

    Examples
    --------
    >>> reversed_rows(np.array([[0, 1, 2]])).tolist(), reversed_rows(np.array([[0, 1, 2, 3]])).tolist()
    ([[0, 2, 1]], [[2, 3, 0, 1]])
    """
    return rows[:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]


def pair_numbers(one: NDArray[Any], other: NDArray[Any], n_values: int) -> NDArray[np.int64]:
    """Return a number for each pair of values below ``n_values``; it is the same for (i, j) and (j, i).

    Examples
    --------
    >>> pair_numbers(np.array([0, 2, 1]), np.array([2, 0, 2]), 3).tolist()
    [2, 2, 5]
    """
    key: NDArray[np.int64] = np.minimum(one, other).astype(np.int64)
    key *= n_values
    key += np.maximum(one, other)
    return key


def first_mentions(rows: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.bool_]]]:
    """Yield the objects of each column with a mask of those that no earlier column of the row contains.

    The pairs of a quadruplet may share an object; with the mask, the row is counted once for each of its objects.

    Examples
    --------
    >>> [once.tolist() for _, once in first_mentions(np.array([[0, 1, 0, 2]], dtype=np.int32))]
    [[True], [True], [False], [True]]
    """
    for column, objects in enumerate(rows.T):
        once = np.ones(len(rows), dtype=bool)
        for earlier in rows.T[:column]:
            once &= earlier != objects
        yield objects, once


def self_pair(rows: NDArray[Any]) -> Any:
    """Return a mask of the rows that compare an object with itself."""
    (i, j), (l, k) = pairs_of(rows)  # noqa: E741
    return (i == j) | (l == k)


def same_pair(rows: NDArray[Any]) -> Any:
    """Return a mask of the rows whose two pairs are the same."""
    (i, j), (l, k) = pairs_of(rows)  # noqa: E741
    return ((i == l) & (j == k)) | ((i == k) & (j == l))
