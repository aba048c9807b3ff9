"""Errors of maps of parts, each on all answers outside of its part.

A map of half of the answers can be judged by the whole other half, not only by the fold that is held out from all maps.
So each answer is judged by several maps, what one of them has by chance is averaged out, and the differences between
sizes, by which a learning curve is drawn, are known twice as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array

__all__ = ["PartErrors", "growing"]


class PartErrors:
    """For each group of answers and each size of part, how often maps of parts without the group get it wrong.

    Parameters
    ----------
    group
        The group of each row; parts consist of whole groups.
    weights
        Of the rows, or None.
    n_sizes
        How many sizes of parts there are.

    Examples
    --------
    >>> found = PartErrors(np.array([0, 1, 2, 2]), None, 1)
    >>> found.add(0, np.array([0]), np.array([True, True, False, False]))
    >>> found.add(0, np.array([1]), np.array([False, True, True, False]))
    >>> found.seen.tolist(), found.errors()[0].tolist()
    ([True, True, True], [0.375])
    """

    def __init__(self, group: NDArray[Any], weights: Array | None, n_sizes: int) -> None:
        self._group = group
        self._weights = np.ones(len(group)) if weights is None else weights
        self._totals = np.bincount(group, self._weights)
        self._wrong, self._n_maps = np.zeros((2, n_sizes, len(self._totals)))

    def add(self, size: int, rows: NDArray[Any], wrong: NDArray[np.bool_]) -> None:
        """Count what the map of these rows gets wrong, of all answers; those that it was fitted to are left out."""
        outside = np.ones(len(self._totals), dtype=bool)
        outside[self._group[rows]] = False
        self._wrong[size] += outside * np.bincount(self._group, self._weights * wrong)
        self._n_maps[size] += outside

    @property
    def seen(self) -> NDArray[np.bool_]:
        """The groups that were judged by maps of each size."""
        return np.asarray((self._n_maps > 0).all(axis=0))

    def errors(self) -> tuple[Array, Array]:
        """The error of each size, and their covariance: groups are independent of each other."""
        totals, wrong = self._totals[self.seen], self._wrong[:, self.seen] / self._n_maps[:, self.seen]
        errors = wrong.sum(axis=1) / totals.sum()
        residuals = (wrong - errors[:, np.newaxis] * totals) / totals.sum()
        return errors, residuals @ residuals.T


def growing(
    inside: NDArray[np.bool_], group: NDArray[Any], shares: Sequence[float], rng: np.random.Generator
) -> list[NDArray[Any]]:
    """For each share, rows of so many of the groups that are inside; they enter in random order.

    Examples
    --------
    >>> parts = growing(np.array([True, True, True, False]), np.array([0, 0, 1, 2]), [0.5, 1], np.random.default_rng(0))
    >>> [part.tolist() for part in parts]
    [[0, 1], [0, 1, 2]]
    """
    rows = np.flatnonzero(inside)
    there = np.unique(group[rows])
    place = np.zeros(int(group.max()) + 1, dtype=np.int64)
    place[rng.permutation(there)] = np.arange(len(there))
    return [rows[place[group[rows]] < max(round(share * len(there)), 1)] for share in shares]
