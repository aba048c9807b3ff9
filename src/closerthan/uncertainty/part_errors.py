"""Errors of maps of parts, each on all answers outside of its part.

A map of half of the answers can be judged by the whole other half, not only by the fold that is held out from all maps.
So each answer is judged by several maps, what one of them has by chance is averaged out, and the differences between
sizes, by which a learning curve is drawn, are known twice as well.

Answers are not counted as right or wrong: each has a probability to be wrong, by how clearly its map decides it and by
how often such answers are wrong (Rao and Blackwell). What one answer had by chance is averaged out too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.calibration import Calibration

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
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=2000)
    >>> answer = np.where(rng.random(2000) < 1 / (1 + np.exp(-3 * score)), 1, -1)
    >>> found = PartErrors(np.arange(2000), None, 1)
    >>> found.add(0, np.arange(500), score * answer)
    >>> int(found.seen.sum()), found.errors()[0].round(2).tolist(), float(np.mean(score * answer < 0).round(2))
    (1500, [0.14], 0.14)
    """

    def __init__(self, group: NDArray[Any], weights: Array | None, n_sizes: int) -> None:
        self._group = group
        self._weights = np.ones(len(group)) if weights is None else weights
        self._totals = np.bincount(group, self._weights)
        self._judged: list[list[tuple[NDArray[Any], NDArray[Any]]]] = [[] for _ in range(n_sizes)]

    def add(self, size: int, rows: NDArray[Any], scores: NDArray[Any]) -> None:
        """Keep what the map of these rows says of all other answers; scores that are not positive are wrong."""
        inside = np.zeros(len(self._totals), dtype=bool)
        inside[self._group[rows]] = True
        judged = np.flatnonzero(~inside[self._group])
        # Maps of any size count the same.
        unit = float(np.sqrt(np.mean(scores[judged].astype(np.float64) ** 2))) or 1.0
        self._judged[size].append((judged.astype(np.uint32), scores[judged] / unit))

    @property
    def seen(self) -> NDArray[np.bool_]:
        """The groups that were judged by maps of each size."""
        seen = np.ones(len(self._totals), dtype=bool)
        for judged in self._judged:
            by_this = np.zeros(len(seen), dtype=bool)
            for rows, _ in judged:
                by_this[self._group[rows]] = True
            seen &= by_this
        return seen

    def errors(self) -> tuple[Array, Array]:
        """The error of each size, and their covariance: groups are independent of each other.

        Should the calibration be wrong, all sizes share its bias, or nearly so. What the largest size's error lies off
        the counted one tells it; of that, as much as is beyond chance is added to all (James and Stein 1961), so that
        with many answers the counted error of that size is what is left. What lies between sizes varies as the
        probabilities do, and all of them together no more than the counted error.
        """
        seen = self.seen
        sums = np.array([self._sums(judged) for judged in self._judged])[:, :, seen]
        expected, counted, totals = sums[:, 0], sums[-1, 1], self._totals[seen]
        residuals = counted + expected - expected[-1]
        residuals -= totals * residuals.sum(axis=1, keepdims=True) / totals.sum()
        covariance = residuals @ residuals.T / totals.sum() ** 2
        errors = expected.sum(axis=1) / totals.sum()
        off = counted.sum() / totals.sum() - errors[-1]
        beyond_chance = max(off**2 - covariance[-1, -1], 0.0) / (off or 1.0)
        return errors + beyond_chance, covariance

    def _sums(self, judged: list[tuple[NDArray[Any], NDArray[Any]]]) -> Array:
        """For each group, by maps of one size: the expected weight of its wrong answers, and the weight counted."""
        rows, scores = (np.concatenate(column) for column in zip(*judged, strict=True))
        weights = self._weights[rows] / np.bincount(rows, minlength=len(self._group))[rows]
        wrong = scores <= 0
        # Scores in steps of 1 %: nearly as exact, and calibrated in no time, however many there are.
        sizes = np.exp(np.arange(-1000, 1001) / 100)
        step = np.searchsorted(sizes[:-1], np.abs(scores))
        there = [np.bincount(step, weights * such, minlength=len(sizes)) for such in (~wrong, wrong)]
        calibration = Calibration.fitted(np.concatenate([sizes, -sizes]), np.concatenate(there))
        expected = calibration.probability(-sizes)[step]
        group = self._group[rows]
        return np.array([np.bincount(group, weights * one, minlength=len(self._totals)) for one in (expected, wrong)])


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
