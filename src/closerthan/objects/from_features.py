"""Regression from features to positions, for objects without comparisons.

As in the paper, this is kernel ridge regression with an RBF kernel, fitted to the objects on the map.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from closerthan.arrays import Array
from closerthan.checks import checked, positive
from closerthan.geometry import matrix_of
from closerthan.signatures import readable

__all__ = ["FeatureRegression"]


@readable
@dataclass(frozen=True)
class FeatureRegression:
    """Kernel ridge regression from features to positions, by scikit-learn.

    The kernel is ``exp(-width * |a - b|^2)``. The coordinates of the map are centred before the fit and shifted back
    after it, so that the penalty shrinks predictions towards the centre of the map and not towards the origin.

    Parameters
    ----------
    ridge
        Penalty on large weights (0.1 in the authors' code).
    width
        Parameter of the kernel; None means one over the mean squared distance between the features.

    Examples
    --------
    >>> features = np.linspace(0, 1, 20)[:, None]
    >>> places = np.column_stack([features, features**2])
    >>> predict = FeatureRegression(ridge=1e-6).fit(features, places)
    >>> bool(np.abs(predict([[0.5]]) - [[0.5, 0.25]]).max() < 1e-2)
    True
    """

    ridge: float = 0.1
    width: float | None = None
    _centre: Any = None
    _model: Any = None

    def __post_init__(self) -> None:
        positive(ridge=self.ridge, width=self.width)

    @checked
    def fit(self, features: ArrayLike, places: ArrayLike) -> Self:
        """Return the regression fitted to objects whose features and positions are known."""
        from sklearn.kernel_ridge import KernelRidge

        inputs = matrix_of("features", features)
        targets = matrix_of("places", places)
        if len(inputs) != len(targets):
            raise ValueError(
                f"there are features of {len(inputs)} objects and places of {len(targets)}; the numbers must be equal"
            )
        width = 1 / mean_squared_distance(inputs) if self.width is None else self.width
        centre = targets.mean(axis=0)
        model = KernelRidge(alpha=self.ridge, kernel="rbf", gamma=width).fit(inputs, targets - centre)
        return type(self)(self.ridge, width, centre, model)

    def __call__(self, features: ArrayLike) -> Array:
        """Predict positions for objects with these features."""
        if self._model is None:
            raise ValueError("this regression is not fitted yet; call fit(features, places) first")
        places: Array = self._model.predict(matrix_of("features", features)) + self._centre
        return places


def mean_squared_distance(features: Array) -> float:
    """Return the mean of ``|a - b|^2`` over all ordered pairs of different rows.

    Examples
    --------
    >>> mean_squared_distance(np.array([[0.0], [2.0]]))
    4.0
    """
    n_rows = len(features)
    spread = float(np.sum((features - features.mean(axis=0)) ** 2))
    if not spread > 0:
        raise ValueError("all features are the same; nothing can be learnt from them")
    return 2 * spread / (n_rows - 1)
