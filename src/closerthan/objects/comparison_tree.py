"""Comparison-based hierarchical clustering: a tree of objects from answers alone (Ghoshdastidar et al. 2019).

Average linkage without distances. How close two clusters p and q are is judged against all other pairs of clusters:

    ``W(p, q) = mean over clusters r != s of  sum of w(i, j, k, l) / (|p| |q| |r| |s|)``

over i in p, j in q, k in r and l in s, where w is 1 if {i, j} was called closer than {k, l}, -1 if the other way
round, and 0 if nobody was asked. The two clusters with the largest W are merged. Of a question that was asked several
times the majority counts.

A merge changes only what answers about the two clusters add up to: these are taken out and put in again, all others
stay. Of m answers and n objects all merges together take about m log n additions where the tree is balanced.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pair_questions, pairs_of, reversed_rows

__all__ = ["by_size", "comparison_tree", "cut"]

SAME = 1e-9  # relative: scores that differ by less are ties, which sums in another order would break another way


def comparison_tree(comparisons: Comparisons) -> Array:
    """The tree as SciPy's linkage matrix: one row per merge, with both clusters, the height and the new size.

    Answers know no heights: a merge is as high as it is late. Of clusters that are equally close those with the first
    objects are merged.

    Examples
    --------
    >>> tree = comparison_tree(Comparisons.from_triplets([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 1]]))
    >>> tree.astype(int).tolist()
    [[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 3, 4]]
    """
    state = _Clusters(comparisons.n_objects, _majority(comparisons))
    number = np.arange(comparisons.n_objects)  # that the tree has for each cluster
    tree = np.zeros((comparisons.n_objects - 1, 4))
    for merge in range(len(tree)):
        one, other = state.closest()
        state.merge(one, other)
        tree[merge] = (*sorted((number[one], number[other])), merge + 1, state.sizes[one])
        number[one] = comparisons.n_objects + merge
    return tree


def cut(tree: Array, n_clusters: int) -> NDArray[np.intp]:
    """The cluster of each object after all merges but the last ones; numbered by size.

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
    """Groups numbered from 0, the largest first; of groups of one size, the one with the first object.

    Examples
    --------
    >>> by_size(np.array([7, 4, 4, 9, 9])).tolist()
    [2, 0, 0, 1, 1]
    """
    _, first, label, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    numbered: NDArray[np.intp] = np.argsort(np.lexsort((first, -sizes)))[label]
    return numbered


def _majority(comparisons: Comparisons) -> NDArray[np.int32]:
    """One row per question, as most answers (by weight) have it; none where they are divided."""
    question, answer = pair_questions(comparisons)
    _, first, number = np.unique(question, return_index=True, return_inverse=True)
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    votes = np.bincount(number, np.where(answer, weights, -weights))
    rows = comparisons.rows[first]
    rows = np.where((answer[first] == (votes > 0))[:, None], rows, reversed_rows(rows))
    decided: NDArray[np.int32] = rows[votes != 0]
    return decided


class _Clusters:
    """Clusters, called by their first objects, and what answers add up to between each two."""

    def __init__(self, n_objects: int, rows: NDArray[np.int32]) -> None:
        self.n_objects = n_objects
        self.sizes = np.ones(n_objects)
        self.alive = np.arange(n_objects)
        self.ends = np.stack([np.stack(pair) for pair in pairs_of(rows)])  # of the near and the far pair, by cluster
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
        """The two clusters that are closest; of ties the first."""
        size = self.sizes[self.alive]
        scores = self.sums[np.ix_(self.alive, self.alive)] / np.outer(size, size)
        scores[np.tril_indices(len(size))] = -np.inf
        best = scores.max()
        place = int(np.argmax(scores >= best - SAME * (1 + abs(best))))
        return int(self.alive[place // len(size)]), int(self.alive[place % len(size)])

    def merge(self, one: int, other: int) -> None:
        """Let the second cluster be part of the first."""
        rows = np.union1d(self.about[one], self.about[other])
        self._add(rows, -1.0)
        self.sizes[one] += self.sizes[other]
        part = self.ends[:, :, rows]
        part[part == other] = one
        self.ends[:, :, rows] = part
        # Where both pairs are within clusters, nothing is left to say.
        across = (part[:, 0] != part[:, 1]).any(axis=0)
        self._add(rows, 1.0)
        self.about[one], self.about[other] = rows[across], np.empty(0, np.intp)
        self.alive = self.alive[self.alive != other]

    def _add(self, rows: NDArray[np.intp], sign: float) -> None:
        near, far = self.ends[:, :, rows]
        for pair, against, gain in ((near, far, sign), (far, near, -sign)):
            both = (pair[0] != pair[1]) & (against[0] != against[1])
            low, high = np.minimum(*pair)[both], np.maximum(*pair)[both]
            share = gain / (self.sizes[against[0]] * self.sizes[against[1]])[both]
            np.add.at(self.sums, (low, high), share)
