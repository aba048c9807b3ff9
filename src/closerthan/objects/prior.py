"""Prior distribution of the position of a new object: that of the map, or one predicted from features."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from closerthan.arrays import Array
from closerthan.geometry import matrix_of
from closerthan.objects.from_features import FeatureRegression

__all__ = ["Prior"]

FOLDS = 5
LEAST_VARIANCE = 1e-6  # relative to the mean variance, since a map may be flat in some direction


@dataclass(frozen=True)
class Prior:
    """Normal distributions of new positions, with one mean per object and a common covariance.

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
        """Return the prior in which new objects are distributed like those of the map."""
        return cls(np.tile(places.mean(axis=0), (n_new, 1)), _covariance(places - places.mean(axis=0)))

    @classmethod
    def of_features(cls, places: Array, features: ArrayLike, new: ArrayLike, regression: FeatureRegression) -> Self:
        """Return the prior whose means a regression predicts, with the covariance of its cross-validated errors."""
        old_features, new_features = matrix_of("features", features), matrix_of("features", new)
        fold = np.arange(len(old_features)) % min(FOLDS, len(old_features))
        residuals = np.empty_like(places)
        for part in range(int(fold.max()) + 1):
            out = fold == part
            fitted = regression.fit(old_features[~out], places[~out])
            residuals[out] = places[out] - fitted(old_features[out])
        return cls(regression.fit(old_features, places)(new_features), _covariance(residuals))

    @property
    def precision(self) -> Array:
        """Inverse of the covariance."""
        inverse: Array = np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)
        return inverse

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw a position for each new object."""
        root = np.linalg.cholesky(self.covariance)
        positions: Array = self.means + rng.standard_normal(self.means.shape) @ root.T
        return positions


def _covariance(offsets: Array) -> Array:
    covariance = offsets.T @ offsets / max(len(offsets) - 1, 1)
    size = float(np.trace(covariance)) / len(covariance)
    if not size > 0:
        raise ValueError("all objects of the map are in one place; new ones cannot be placed on it")
    return covariance + LEAST_VARIANCE * size * np.eye(len(covariance))
