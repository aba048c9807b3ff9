"""From features to the map: places for objects that nobody was asked about.

The paper's way: kernel ridge regression with an RBF kernel, learnt from the objects on the map and their features.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from closerthan.objective.cpu import Array

__all__ = ["FeatureMap"]


@dataclass(frozen=True)
class FeatureMap:
    """Kernel ridge regression from features to places, by scikit-learn.

    The kernel is ``exp(-width * |a - b|^2)``. Each of the map's coordinates is centred before and shifted back after,
    so that the ridge pulls towards the map's middle and not towards the origin.

    Parameters
    ----------
    ridge
        How strongly large weights are punished (the authors' code has 0.1).
    width
        The kernel's width; None: one over the mean squared distance between the features.

    Examples
    --------
    >>> features = np.linspace(0, 1, 20)[:, None]
    >>> places = np.column_stack([features, features**2])
    >>> predict = FeatureMap(ridge=1e-6).fit(features, places)
    >>> bool(np.abs(predict([[0.5]]) - [[0.5, 0.25]]).max() < 1e-2)
    True
    """

    ridge: float = 0.1
    width: float | None = None
    _centre: Any = None
    _model: Any = None

    def __post_init__(self) -> None:
        for name in ("ridge", "width"):
            number = getattr(self, name)
            if number is not None and not number > 0:
                raise ValueError(f"{name} is {number}; it must be positive")

    def fit(self, features: ArrayLike, places: ArrayLike) -> Self:
        """A feature map that has learnt from objects whose features and places are known."""
        from sklearn.kernel_ridge import KernelRidge

        known = _table("features", features)
        targets = _table("places", places)
        if len(known) != len(targets):
            raise ValueError(
                f"there are features of {len(known)} objects and places of {len(targets)}; they must agree"
            )
        width = 1 / mean_squared_distance(known) if self.width is None else self.width
        centre = targets.mean(axis=0)
        model = KernelRidge(alpha=self.ridge, kernel="rbf", gamma=width).fit(known, targets - centre)
        return type(self)(self.ridge, width, centre, model)

    def __call__(self, features: ArrayLike) -> Array:
        """Places for objects with these features."""
        if self._model is None:
            raise ValueError("this feature map has not learnt anything yet; call fit(features, places) first")
        places: Array = self._model.predict(_table("features", features)) + self._centre
        return places


def mean_squared_distance(features: Array) -> float:
    """The mean of ``|a - b|^2`` over all ordered pairs of different rows.

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


def _table(name: str, array: ArrayLike) -> Array:
    table = np.asarray(array, dtype=np.float64)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"{name} must be a table of finite numbers, one row an object; their shape is {table.shape}")
    return table
