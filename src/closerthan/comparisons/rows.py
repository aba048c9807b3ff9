"""Rows of comparisons: their two pairs, numbers of pairs, the same answers reversed, who is mentioned first where."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pairs_of(rows: NDArray[Any]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The near pair and the far pair of rows (or of one row): (i, j) and (l, k), where a triplet has l = i.

    Examples
    --------
    >>> (i, j), (l, k) = pairs_of(np.array([[0, 1, 2]]))
    >>> i, j, l, k
    (array([0]), array([1]), array([0]), array([2]))
    """
    return (rows[..., 0], rows[..., 1]), (rows[..., 0 if rows.shape[-1] == 3 else 2], rows[..., -1])


def reversed_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows that say the opposite: the near pair and the far pair are swapped.

    Examples
    --------
    >>> reversed_rows(np.array([[0, 1, 2]])).tolist(), reversed_rows(np.array([[0, 1, 2, 3]])).tolist()
    ([[0, 2, 1]], [[2, 3, 0, 1]])
    """
    return rows[:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]


def pair_numbers(one: NDArray[Any], other: NDArray[Any], n_values: int) -> NDArray[np.int64]:
    """A number for each pair of values below ``n_values``, the same for (i, j) and (j, i).

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
    """For each column: its objects, and whether the row mentions them there for the first time.

    The pairs of a quadruplet may share an object; a count of comparisons per object counts the row once.

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
    """Rows that compare an object with itself."""
    (i, j), (l, k) = pairs_of(rows)  # noqa: E741
    return (i == j) | (l == k)


def same_pair(rows: NDArray[Any]) -> Any:
    """Rows whose two pairs are one."""
    (i, j), (l, k) = pairs_of(rows)  # noqa: E741
    return ((i == l) & (j == k)) | ((i == k) & (j == l))
