"""Where a new object is expected before anybody was asked about it: anywhere on the map, or where its features say."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from closerthan.arrays import Array
from closerthan.geometry import matrix_of
from closerthan.objects.from_features import FeatureRegression

__all__ = ["Prior"]

FOLDS = 5
LEAST_VARIANCE = 1e-6  # of the mean variance: a map may be flat in some direction


@dataclass(frozen=True)
class Prior:
    """Normal distributions of new places, one mean per object and one covariance for all.

    Examples
    --------
    >>> prior = Prior.of_map(np.array([[0.0], [2.0], [4.0]]), 2)
    >>> prior.means.tolist(), prior.covariance.round(3).tolist()
    ([[2.0], [2.0]], [[4.0]])
    """

    means: Array
    covariance: Array

    @classmethod
    def of_map(cls, places: Array, n_new: int) -> Self:
        """New objects are spread like those of the map."""
        return cls(np.tile(places.mean(axis=0), (n_new, 1)), _covariance(places - places.mean(axis=0)))

    @classmethod
    def of_features(cls, places: Array, known: ArrayLike, new: ArrayLike, regression: FeatureRegression) -> Self:
        """New objects are where a regression puts them, give or take what it errs on objects that it has not seen."""
        seen, fresh = matrix_of("features", known), matrix_of("features", new)
        fold = np.arange(len(seen)) % min(FOLDS, len(seen))
        missed = np.empty_like(places)
        for part in range(int(fold.max()) + 1):
            out = fold == part
            missed[out] = places[out] - regression.fit(seen[~out], places[~out])(seen[out])
        return cls(regression.fit(seen, places)(fresh), _covariance(missed))

    @property
    def precision(self) -> Array:
        """The inverse of the covariance."""
        inverse: Array = np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)
        return inverse

    def drawn(self, rng: np.random.Generator) -> Array:
        """A place for each new object."""
        root = np.linalg.cholesky(self.covariance)
        drawn: Array = self.means + rng.standard_normal(self.means.shape) @ root.T
        return drawn


def _covariance(offsets: Array) -> Array:
    covariance = offsets.T @ offsets / max(len(offsets) - 1, 1)
    size = float(np.trace(covariance)) / len(covariance)
    if not size > 0:
        raise ValueError("all objects of the map are in one place; new ones cannot be placed on it")
    return covariance + LEAST_VARIANCE * size * np.eye(len(covariance))
