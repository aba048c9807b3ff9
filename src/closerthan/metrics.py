"""How good a map is: triplet error against answers, Procrustes distance against another map, retrieval by class."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan import kernels
from closerthan.comparisons import Comparisons
from closerthan.objective import Array, kernel_rows

__all__ = ["Alignment", "Retrieval", "margins", "procrustes", "retrieval", "triplet_error"]


def triplet_error(comparisons: Comparisons | ArrayLike, embedding: ArrayLike) -> float:
    """The share (by weight) of comparisons that the map gets wrong; equal distances count as wrong.

    Works for triplets and quadruplets.

    Examples
    --------
    >>> triplet_error([[0, 1, 2], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    0.5
    """
    answers = Comparisons.of(comparisons)
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
    answers = Comparisons.of(comparisons)
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


class Retrieval(NamedTuple):
    """How well queries find their own class; each number is a mean over the queries."""

    mean_average_precision: float
    precision: NDArray[np.float64]  # precision[K - 1]: the share of the K nearest that are of the query's class
    recall: NDArray[np.float64]  # recall[K - 1]: the share of the query's class that is among the K nearest


def retrieval(queries: ArrayLike, query_labels: ArrayLike, gallery: ArrayLike, gallery_labels: ArrayLike) -> Retrieval:
    """Rank a gallery by its distance from each query, and see where the query's own class ends up.

    The average precision of a query is the mean, over the objects of its class, of the precision at their rank.
    Objects at the same distance keep the gallery's order.

    Examples
    --------
    >>> found = retrieval([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"])
    >>> round(found.mean_average_precision, 4), found.precision.tolist()[:2], found.recall.tolist()
    (0.8333, [1.0, 0.5], [0.5, 0.5, 1.0])
    """
    x, y = _matrix("queries", queries), _matrix("gallery", gallery)
    wanted, found = np.asarray(query_labels), np.asarray(gallery_labels)
    for name, points, labels in (("query_labels", x, wanted), ("gallery_labels", y, found)):
        if labels.shape != (len(points),):
            raise ValueError(f"{name} have shape {labels.shape}; one label is needed for each of {len(points)} places")
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"queries have {x.shape[1]} dimensions, the gallery {y.shape[1]}; they must agree")
    stray = ~np.isin(wanted, found)
    if stray.any():
        raise ValueError(f"class {wanted[stray][0]!r} of a query is not in the gallery; leave such queries out")
    squared = np.sum(x**2, axis=1)[:, None] - 2 * x @ y.T + np.sum(y**2, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    hits = found[order] == wanted[:, None]
    found_so_far = np.cumsum(hits, axis=1)
    precision = found_so_far / np.arange(1, len(y) + 1)
    n_relevant = found_so_far[:, -1]
    average = np.sum(precision * hits, axis=1) / n_relevant
    recall = found_so_far / n_relevant[:, None]
    return Retrieval(float(average.mean()), precision.mean(axis=0), recall.mean(axis=0))


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
