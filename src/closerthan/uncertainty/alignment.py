"""Generalised Procrustes analysis: alignment of many maps of the same objects.

A map is determined only up to rotation, reflection and translation. To compare positions across maps, each map is
aligned with the mean of all maps, the mean is updated, and so on until it no longer changes (Gower 1975).

References
----------
J. C. Gower, Generalized Procrustes analysis, Psychometrika 1975.
"""

import numpy as np

from closerthan.arrays import Array
from closerthan.geometry import procrustes_rotation
from closerthan.losses import CKL, TSTE

__all__ = ["align", "size_is_free"]

ROUNDS = 50
TOLERANCE = 1e-9  # change of the mean, relative to the size of the map, at which the iteration ends


def size_is_free(loss: object) -> bool:
    """Return True if, under this loss, answers hardly determine the size of a map.

    In ckl and tste, the probabilities of answers depend only on ratios of distances once these are large, so that a map
    ten times as large implies the same answers. In ste, gnmds and soe the size expresses how certain answers are.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> size_is_free(STE()), size_is_free(CKL())
    (False, True)
    """
    return isinstance(loss, CKL | TSTE)


def align(maps: Array, reference: Array, weights: Array, *, scaling: bool = False) -> Array:
    """Align maps with each other, and their mean with a reference map.

    Parameters
    ----------
    maps
        (n_maps, n_objects, n_dims).
    reference
        A map that does not move. All aligned maps are rotated and shifted together so that their mean fits it best.
    weights
        Weight of each object.
    scaling
        Whether maps are also scaled.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> rotated = np.stack([square[:, ::-1] + 3.0, 5.0 - square])
    >>> bool(np.allclose(align(rotated, square, np.ones(4)), square))
    True
    """
    if not len(maps):
        return maps.copy()
    weight = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1.0 / len(weights))
    maps = maps - np.einsum("o,rod->rd", weight, maps)[:, np.newaxis]
    centre = np.einsum("o,od->d", weight, reference)
    target = reference - centre
    size = _size(target, weight)
    mean = target
    for _ in range(ROUNDS):
        moved = maps @ _rotations(maps, mean, weight)
        if scaling:
            moved *= _scales(moved, mean, weight)
        new_mean = moved.mean(axis=0)
        if scaling and _size(new_mean, weight) > 0:  # without this, all maps would shrink from round to round
            moved *= size / _size(new_mean, weight)
            new_mean = moved.mean(axis=0)
        step, mean = _size(new_mean - mean, weight), new_mean
        if step <= TOLERANCE * size:
            break
    aligned: Array = moved @ _rotations(mean[np.newaxis], target, weight)[0] + centre
    return aligned


def _rotations(maps: Array, target: Array, weight: Array) -> Array:
    """Return, for each map, the rotation (or reflection) that brings it closest to the target."""
    return procrustes_rotation(np.einsum("o,rod,oe->rde", weight, maps, target))[0]


def _scales(maps: Array, target: Array, weight: Array) -> Array:
    squares = np.einsum("o,rod,rod->r", weight, maps, maps)
    fits = np.einsum("o,rod,od->r", weight, maps, target)
    scales: Array = np.divide(fits, squares, out=np.ones(len(maps)), where=squares > 0)[:, np.newaxis, np.newaxis]
    return scales


def _size(x: Array, weight: Array) -> float:
    return float(np.sqrt(np.einsum("o,od,od->", weight, x, x)))
