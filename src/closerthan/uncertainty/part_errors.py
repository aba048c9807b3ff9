"""Errors of maps fitted to subsets of the answers, each evaluated on all answers outside its subset.

A map fitted to half of the answers can be evaluated on the whole other half, not only on the fold that all maps hold
out. Each answer is then predicted by several maps, which averages out their chance errors and doubles the precision
of the differences between sizes, from which a learning curve is estimated.

Answers are not counted as right or wrong. Each contributes its probability of being wrong, which is calibrated on how
often answers with similar scores are wrong (Rao-Blackwellisation). This removes the binomial noise of single answers.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from closerthan.accuracy import chance_levels, correct_choices, pair_scores, pair_similarities
from closerthan.arrays import Array
from closerthan.calibration import Calibration, ChoiceCalibration
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import Loss
from closerthan.metrics import log_odds

__all__ = ["PartAccuracies", "PartErrors", "growing"]


class WholeAnswerMeans(TypedDict, total=False):
    """The attributes of a learning curve about whole answers."""

    accuracies: Array
    bits: Array
    answer_chance: float
    guessing_bits: float


class PartErrors:
    """Errors of maps fitted to subsets of several sizes, on the groups of answers outside each subset.

    Parameters
    ----------
    group
        The group of each row; subsets consist of whole groups.
    weights
        Weights of the rows, or None.
    n_sizes
        Number of sizes.
    scored
        Mask of the rows that errors are measured on; None means all of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=2000)
    >>> answer = np.where(rng.random(2000) < 1 / (1 + np.exp(-3 * score)), 1, -1)
    >>> parts = PartErrors(np.arange(2000), None, 1)
    >>> parts.add(0, np.arange(500), score * answer)
    >>> int(parts.evaluated.sum()), parts.errors()[0].round(2).tolist(), float(np.mean(score * answer < 0).round(2))
    (1500, [0.14], 0.14)
    """

    def __init__(
        self, group: NDArray[Any], weights: Array | None, n_sizes: int, scored: NDArray[np.bool_] | None = None
    ) -> None:
        self._group = group
        self._weights = np.ones(len(group)) if weights is None else weights
        self._scored = np.ones(len(group), dtype=bool) if scored is None else scored
        self._totals = np.bincount(group, self._weights * self._scored)
        self._scores: list[list[tuple[NDArray[Any], NDArray[Any]]]] = [[] for _ in range(n_sizes)]

    def add(self, size: int, rows: NDArray[Any], scores: NDArray[Any]) -> None:
        """Add the scores of all rows on the map fitted to ``rows``; a score of 0 counts as half wrong."""
        inside = np.zeros(len(self._totals), dtype=bool)
        inside[self._group[rows]] = True
        outside = np.flatnonzero(~inside[self._group] & self._scored)
        # Dividing by the root mean square gives maps of any size the same influence.
        unit = float(np.sqrt(np.mean(scores[outside].astype(np.float64) ** 2))) or 1.0
        self._scores[size].append((outside.astype(np.uint32), scores[outside] / unit))

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """True for each group that was evaluated by maps of every size."""
        evaluated = np.ones(len(self._totals), dtype=bool)
        for of_size in self._scores:
            by_this_size = np.zeros(len(evaluated), dtype=bool)
            for rows, _ in of_size:
                by_this_size[self._group[rows]] = True
            evaluated &= by_this_size
        return evaluated

    def errors(self) -> tuple[Array, Array]:
        """Return the error of each size, and the covariance of these errors; groups are independent of each other.

        A bias of the calibration is nearly the same for all sizes. It is estimated by the difference between the
        counted and the calibrated error of the largest size, shrunk towards zero according to its variance (James and
        Stein 1961), and added to all sizes; with many answers the error of the largest size equals the counted error.
        Differences between sizes have the variance of the calibrated errors, and their common level that of the counted
        error.
        """
        evaluated = self.evaluated
        sums = np.array([self._sums(of_size) for of_size in self._scores])[:, :, evaluated]
        expected, counted, totals = sums[:, 0], sums[-1, 1], self._totals[evaluated]
        residuals = counted + expected - expected[-1]
        residuals -= totals * residuals.sum(axis=1, keepdims=True) / totals.sum()
        covariance = residuals @ residuals.T / totals.sum() ** 2
        errors = expected.sum(axis=1) / totals.sum()
        bias = counted.sum() / totals.sum() - errors[-1]
        shrunk_bias = max(bias**2 - covariance[-1, -1], 0.0) / (bias or 1.0)
        return errors + shrunk_bias, covariance

    def _sums(self, of_size: list[tuple[NDArray[Any], NDArray[Any]]]) -> Array:
        """Return the expected and the counted weight of the wrong answers in each group, for maps of one size."""
        rows, scores = (np.concatenate(column) for column in zip(*of_size, strict=True))
        weights = self._weights[rows] / np.bincount(rows, minlength=len(self._group))[rows]
        wrong = np.where(scores == 0, 0.5, scores < 0)
        # Scores are rounded to steps of 1 %, so that the time of the calibration does not depend on their number.
        sizes = np.exp(np.arange(-1000, 1001) / 100)
        step = np.searchsorted(sizes[:-1], np.abs(scores))
        counts = [np.bincount(step, weights * outcome, minlength=len(sizes)) for outcome in (1 - wrong, wrong)]
        calibration = Calibration.fitted(np.concatenate([sizes, -sizes]), np.concatenate(counts))
        expected = calibration.probability(-sizes)[step]
        group = self._group[rows]
        return np.array([np.bincount(group, weights * one, minlength=len(self._totals)) for one in (expected, wrong)])


class PartAccuracies:
    """Accuracy and bits of whole answers by maps fitted to subsets of several sizes, on the answers outside them.

    Parameters
    ----------
    comparisons
        The comparisons; their answers must be known.
    group
        The group of each row; subsets consist of whole groups.
    n_sizes
        Number of sizes.
    scored
        Mask of the rows whose answers are counted; None means all of them.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> odd_ones = [[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 0, 3]]
    >>> answers = Comparisons.from_triplets(odd_ones, answers=[0, 0, 1, 1])
    >>> parts = PartAccuracies(answers, np.array([0, 0, 1, 1]), 1)
    >>> first = np.array([0, 1])
    >>> parts.add(0, first, parts.scored(np.array([[0.0], [1.0], [5.0], [9.0]]), STE(), first))
    >>> parts.measured["accuracies"]
    array([1.])
    """

    def __init__(
        self, comparisons: Comparisons, group: NDArray[Any], n_sizes: int, scored: NDArray[np.bool_] | None = None
    ) -> None:
        self._choices = Choices.of(comparisons)
        weights = np.ones(len(self._choices)) if self._choices.weights is None else self._choices.weights
        self._weights = weights if scored is None else weights * scored[self._choices.rows]
        self._group, self._row_group = group[self._choices.rows], group
        self._sums, self._totals = np.zeros((2, n_sizes)), np.zeros(n_sizes)

    def _outside(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which answers are scored on the map fitted to ``rows``."""
        return ~np.isin(self._group, self._row_group[rows]) & (self._weights > 0)

    def scored(self, x: Array, loss: Loss, rows: NDArray[Any]) -> Array:
        """Return which answers outside ``rows`` the map fitted to them predicts (ties are split), and their bits.

        The probabilities of answers come from a slope and a lapse rate fitted to the same answers.
        """
        outside = self._choices.take(np.flatnonzero(self._outside(rows)))
        if not len(outside):
            return np.zeros((2, 0))
        right = correct_choices(outside, pair_similarities(outside, x))
        scores = pair_scores(outside, lambda pairs: log_odds(pairs, x, loss))
        logs = ChoiceCalibration.fitted(outside, scores).log_probability(outside, scores)
        return np.stack([right, -logs / np.log(2)])

    def add(self, size: int, rows: NDArray[Any], scores: Array) -> None:
        """Add the scores (see :meth:`scored`) of the map fitted to ``rows``."""
        weights = self._weights[self._outside(rows)]
        self._sums[:, size] += scores @ weights
        self._totals[size] += weights.sum()

    @property
    def measured(self) -> WholeAnswerMeans:
        """The accuracy and the bits per answer of each size, NaN without a map of this size, and those of guessing."""
        with np.errstate(invalid="ignore"):
            accuracies, bits = self._sums / self._totals
        chance = chance_levels(self._choices)
        answer_chance, guessing_bits = (
            float(np.average(one, weights=self._choices.weights)) for one in (chance, -np.log2(chance))
        )
        return {
            "accuracies": accuracies,
            "bits": bits,
            "answer_chance": answer_chance,
            "guessing_bits": guessing_bits,
        }


def growing(
    inside: NDArray[np.bool_], group: NDArray[Any], fractions: Sequence[float], rng: np.random.Generator
) -> list[NDArray[Any]]:
    """Return nested random subsets of the groups in ``inside``, one per fraction, as row indices.

    Examples
    --------
    >>> parts = growing(np.array([True, True, True, False]), np.array([0, 0, 1, 2]), [0.5, 1], np.random.default_rng(0))
    >>> [part.tolist() for part in parts]
    [[0, 1], [0, 1, 2]]
    """
    rows = np.flatnonzero(inside)
    groups = np.unique(group[rows])
    rank = np.zeros(int(group.max()) + 1, dtype=np.int64)
    rank[rng.permutation(groups)] = np.arange(len(groups))
    return [rows[rank[group[rows]] < max(round(fraction * len(groups)), 1)] for fraction in fractions]
