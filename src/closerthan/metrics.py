"""How good a map is: triplet error against answers, Procrustes distance against another map."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan import kernels
from closerthan.comparisons import Comparisons
from closerthan.objective import Array, kernel_rows

__all__ = ["Alignment", "margins", "procrustes", "triplet_error"]


def triplet_error(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> float:
    """The share (by weight) of comparisons that the map gets wrong; equal distances count as wrong.

    Works for triplets and quadruplets.

    Examples
    --------
    >>> triplet_error([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    0.5
    """
    answers = Comparisons.of(comparisons, unmentioned="ignore")
    return wrong_share(answers, _map_of(answers, embedding))


def wrong_share(answers: Comparisons, x: Array) -> float:
    """The triplet error, of arguments that were checked before."""
    return float(kernels.wrong_weight(kernel_rows(answers), answers.weights, x) / answers.total_weight)


def margins(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> Array:
    """Squared distance of the far pair minus that of the near pair: positive where the map agrees.

    Examples
    --------
    >>> margins([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    array([ 8., -8.])
    """
    answers = Comparisons.of(comparisons, unmentioned="ignore")
    out = np.empty(len(answers))
    kernels.margins(kernel_rows(answers), _map_of(answers, embedding), out)
    return out


class Alignment(NamedTuple):
    """One map laid over another."""

    aligned: NDArray[np.float64]
    distance: float  # 0: same shape; 1: nothing in common


def procrustes(embedding: ArrayLike, reference: ArrayLike, *, scaling: bool = True) -> Alignment:
    """Move, turn, mirror and (unless told otherwise) scale a map so that it fits a reference best.

    The distance is the squared difference that is left, relative to the reference's spread. Maps with fewer
    dimensions are padded with zeros.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = 3 * square[:, ::-1] + 5
    >>> bool(procrustes(turned, square).distance < 1e-12)
    True
    """
    x, target = _matrix("embedding", embedding), _matrix("reference", reference)
    if len(x) != len(target):
        raise ValueError(f"the maps have {len(x)} and {len(target)} objects; they must show the same ones")
    width = max(x.shape[1], target.shape[1])
    x, target = (np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in (x, target))
    centre = target.mean(axis=0)
    x, centred = x - x.mean(axis=0), target - centre
    spread = float(np.sum(centred**2))
    if spread == 0:
        raise ValueError("all objects of the reference are in one place; there is nothing to align with")
    left, singular, right = np.linalg.svd(x.T @ centred)
    size = float(np.sum(x**2))
    scale = float(singular.sum()) / size if scaling and size > 0 else 1.0
    aligned = scale * x @ (left @ right)
    return Alignment(aligned + centre, float(np.sum((aligned - centred) ** 2)) / spread)


def _matrix(name: str, array: Any) -> Array:
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError(f"{name} must be a table of finite numbers, one row an object; its shape is {matrix.shape}")
    return matrix


def _map_of(answers: Comparisons, embedding: ArrayLike) -> Array:
    x = _matrix("embedding", embedding)
    if len(x) < answers.n_objects:
        raise ValueError(f"the map has {len(x)} objects, but the comparisons speak of {answers.n_objects}")
    return x
