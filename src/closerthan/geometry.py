"""Rotations of maps: to their principal axes, or onto another map (Procrustes)."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import checked, whole
from closerthan.representation import shows_fields
from closerthan.wording import percent

__all__ = ["PrincipalAxes", "leading_axes", "matrix_of", "principal_axes", "procrustes_rotation"]


@shows_fields
class PrincipalAxes(NamedTuple):
    """A map rotated to its principal axes."""

    coordinates: NDArray[np.float64]  # centred; distances are unchanged
    rotation: NDArray[np.float64]  # one axis per column: coordinates = (embedding - its mean) @ rotation
    shares: NDArray[np.float64]  # fraction of the total variance along each axis, in descending order

    @checked
    def title(self, axis: int) -> str:
        """Return the label of an axis in a figure."""
        return f"principal axis {axis + 1} ({percent(self.shares[axis], digits=0)} of the spread)"


@checked
def principal_axes(embedding: ArrayLike) -> PrincipalAxes:
    """Rotate a map about its centre so that the first axis has the largest variance, the second the next, and so on.

    Distances do not change. The sign of each axis is fixed: its coordinate of largest absolute value is positive.

    Examples
    --------
    >>> axes = principal_axes([[0.0, 0.0], [3.0, 3.0], [0.0, 1.0], [3.0, 2.0]])
    >>> axes.shares.round(2)
    array([0.95, 0.05])
    """
    x = matrix_of("embedding", embedding)
    x = x - x.mean(axis=0)
    # Scaled to the unit box, so that the squares of huge or tiny coordinates neither overflow nor underflow.
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    spread, rotation = np.linalg.eigh((x / size).T @ (x / size))
    rotation, shares = rotation[:, ::-1], np.maximum(spread[::-1], 0.0)
    rotated = x @ rotation
    largest = rotated[np.abs(rotated).argmax(axis=0), np.arange(rotated.shape[1])]
    rotation = rotation * np.where(largest < 0, -1.0, 1.0)
    return PrincipalAxes(x @ rotation, rotation, shares / (shares.sum() or 1.0))


@checked
def procrustes_rotation(cross: Array) -> tuple[Array, Array]:
    """Return the orthogonal matrix that rotates (or reflects) a map X onto a map Y, and the trace that it attains.

    Both maps are centred, and ``cross`` is ``X.T @ Y``, or a stack of such matrices. Among all orthogonal matrices R,
    the one returned minimises ``|X R - Y|**2`` and so maximises ``trace(R.T @ cross)``, whose maximum is the sum of the
    singular values (Schönemann 1966).

    Examples
    --------
    >>> square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    >>> rotation, trace = procrustes_rotation(square[:, ::-1].T @ square)
    >>> bool(np.allclose(square[:, ::-1] @ rotation, square)), float(trace.round(6))
    (True, 8.0)
    """
    u, singular_values, vh = np.linalg.svd(cross)
    return u @ vh, singular_values.sum(axis=-1)


@checked
def leading_axes(covariance: Array, n_dims: int) -> Array:
    """Return the directions of largest variance, one per row, in descending order of variance.

    If the covariance is not finite, as for a map that diverged, the first coordinate axes are returned.

    Examples
    --------
    >>> np.abs(leading_axes(np.diag([1.0, 9.0, 4.0]), 2)).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    axes = np.eye(whole("n_dims", n_dims), len(covariance))
    if math.isfinite(covariance.sum()):
        axes[:] = np.linalg.eigh(covariance)[1].T[: -n_dims - 1 : -1]  # the last ones have the largest variance
    return axes


@checked
def matrix_of(name: str, array: Any) -> Array:
    """Return a map as a two-dimensional array; raise an error unless its numbers are finite."""
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be a table of finite numbers, one row per object; its shape is {matrix.shape}")
    return matrix
