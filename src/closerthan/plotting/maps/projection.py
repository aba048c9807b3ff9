"""Projection of a map with any number of dimensions onto the two axes of a figure."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError
from closerthan.geometry import principal_axes

__all__ = ["Projection", "project"]


class Projection(NamedTuple):
    """A map as it is drawn: two coordinates per object, and the titles of the two axes."""

    coordinates: NDArray[np.float64]  # (n_objects, 2)
    x_title: str
    y_title: str
    axes: NDArray[np.float64]  # directions of the map that are drawn, one per column


def project(embedding: NDArray[np.float64], axes: tuple[int, int] = (0, 1)) -> Projection:
    """Return a map as it is drawn.

    A map with one dimension is drawn as position against rank, a map with two dimensions as it is, and a map with more
    dimensions along two of its principal axes.

    Parameters
    ----------
    embedding
        (n_objects, n_dims) coordinates.
    axes
        Principal axes to draw, counted from 0, if there are more than two dimensions.

    Examples
    --------
    >>> project(np.array([[3.0], [1.0], [2.0]])).coordinates.tolist()
    [[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]
    """
    n_dims = embedding.shape[1]
    if n_dims == 1:
        rank = np.argsort(np.argsort(embedding[:, 0], kind="stable"), kind="stable")
        return Projection(np.column_stack([embedding[:, 0], rank + 1.0]), "position", "rank", np.eye(1))
    if n_dims == 2:
        return Projection(embedding, "", "", np.eye(2))
    if len(set(axes)) != 2 or not all(0 <= axis < n_dims for axis in axes):
        raise ParameterError("axes", axes, f"choose two different axes from 0 to {n_dims - 1}")
    principal = principal_axes(embedding)
    x_title, y_title = (principal.title(axis) for axis in axes)
    columns = list(axes)
    return Projection(principal.coordinates[:, columns], x_title, y_title, principal.rotation[:, columns])
