"""Comparison-based hierarchical clustering: a tree of objects from answers alone (Ghoshdastidar et al. 2019).

This is average linkage without distances. Two clusters p and q are compared with all other pairs of clusters:

    ``W(p, q) = mean over clusters r != s of  sum of w(i, j, k, l) / (|p| |q| |r| |s|)``

over i in p, j in q, k in r and l in s, where w is 1 if {i, j} is closer than {k, l} according to the answers, -1 in the
opposite case, and 0 without an answer. The two clusters with the largest W are merged. For repeated questions, w is
decided by the majority.

A merge changes only the sums of answers about the two clusters, which are subtracted and added again. With m answers
and n objects, all merges together take about m log n additions if the tree is balanced.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pair_questions, pairs_of, reversed_rows

__all__ = ["by_size", "comparison_tree", "cut"]

SAME = 1e-9  # relative difference below which scores are ties, so that rounding errors do not break them


def comparison_tree(comparisons: Comparisons) -> Array:
    """Return the tree as SciPy's linkage matrix: one row per merge, with both clusters, the height and the new size.

    Answers do not determine heights, so the height is the number of the merge. Among clusters that are equally close,
    those that contain the objects with the lowest numbers are merged.

    Examples
    --------
    >>> tree = comparison_tree(Comparisons.from_triplets([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]]))
    >>> tree.astype(int).tolist()
    [[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4]]
    """
    state = _Clusters(comparisons.n_objects, _majority(comparisons))
    number = np.arange(comparisons.n_objects)  # number of each cluster in the tree
    tree = np.zeros((comparisons.n_objects - 1, 4))
    for merge in range(len(tree)):
        one, other = state.closest()
        state.merge(one, other)
        tree[merge] = (*sorted((number[one], number[other])), merge + 1, state.sizes[one])
        number[one] = comparisons.n_objects + merge
    return tree


def cut(tree: Array, n_clusters: int) -> NDArray[np.intp]:
    """Cut a tree into clusters and return the cluster of each object, numbered by size.

    Examples
    --------
    >>> cut(np.array([[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    n_objects = len(tree) + 1
    parent = np.arange(2 * n_objects - 1)
    for merge in range(n_objects - n_clusters):
        parent[tree[merge, :2].astype(np.intp)] = n_objects + merge
    while (parent != parent[parent]).any():
        parent = parent[parent]
    return by_size(parent[:n_objects])


def by_size(groups: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Number groups from 0, the largest first; groups of the same size are in the order of their first objects.

    Examples
    --------
    >>> by_size(np.array([7, 4, 4, 9, 9])).tolist()
    [2, 0, 0, 1, 1]
    """
    _, first, label, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    numbered: NDArray[np.intp] = np.argsort(np.lexsort((first, -sizes)))[label]
    return numbered


def _majority(comparisons: Comparisons) -> NDArray[np.int32]:
    """Return one row per question, as the weighted majority answered it; questions with a tie are dropped."""
    question, answer = pair_questions(comparisons)
    _, first, number = np.unique(question, return_index=True, return_inverse=True)
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    votes = np.bincount(number, np.where(answer, weights, -weights))
    rows = comparisons.rows[first]
    rows = np.where((answer[first] == (votes > 0))[:, None], rows, reversed_rows(rows))
    decided: NDArray[np.int32] = rows[votes != 0]
    return decided


class _Clusters:
    """Clusters, identified by their first objects, and the sums of answers for each pair of them."""

    def __init__(self, n_objects: int, rows: NDArray[np.int32]) -> None:
        self.n_objects = n_objects
        self.sizes = np.ones(n_objects)
        self.alive = np.arange(n_objects)
        self.ends = np.stack([np.stack(pair) for pair in pairs_of(rows)])  # clusters of the near and the far pair
        self.sums = np.zeros((n_objects, n_objects))  # above the diagonal
        self._add(np.arange(len(rows)), 1.0)
        self.about: list[NDArray[np.intp]] = [np.empty(0, np.intp)] * n_objects
        members = np.concatenate([end for pair in self.ends for end in pair])
        row_of = np.tile(np.arange(len(rows)), 4)
        order = np.argsort(members, kind="stable")
        bounds = np.searchsorted(members[order], np.arange(n_objects + 1))
        for one in range(n_objects):
            self.about[one] = np.unique(row_of[order[bounds[one] : bounds[one + 1]]])

    def closest(self) -> tuple[int, int]:
        """Return the two closest clusters, the first ones in case of ties."""
        size = self.sizes[self.alive]
        scores = self.sums[np.ix_(self.alive, self.alive)] / np.outer(size, size)
        scores[np.tril_indices(len(size))] = -np.inf
        best = scores.max()
        place = int(np.argmax(scores >= best - SAME * (1 + abs(best))))
        return int(self.alive[place // len(size)]), int(self.alive[place % len(size)])

    def merge(self, one: int, other: int) -> None:
        """Merge the second cluster into the first."""
        rows = np.union1d(self.about[one], self.about[other])
        self._add(rows, -1.0)
        self.sizes[one] += self.sizes[other]
        part = self.ends[:, :, rows]
        part[part == other] = one
        self.ends[:, :, rows] = part
        # Answers whose pairs both lie within clusters no longer contribute.
        across = (part[:, 0] != part[:, 1]).any(axis=0)
        self._add(rows, 1.0)
        self.about[one], self.about[other] = rows[across], np.empty(0, np.intp)
        self.alive = self.alive[self.alive != other]

    def _add(self, rows: NDArray[np.intp], sign: float) -> None:
        near, far = self.ends[:, :, rows]
        for pair, against, gain in ((near, far, sign), (far, near, -sign)):
            both = (pair[0] != pair[1]) & (against[0] != against[1])
            low, high = np.minimum(*pair)[both], np.maximum(*pair)[both]
            term = gain / (self.sizes[against[0]] * self.sizes[against[1]])[both]
            np.add.at(self.sums, (low, high), term)
