"""Generalised Procrustes alignment: many maps of the same objects, laid over each other.

A map is only known up to a rotation, a reflection and a shift. So that places can be compared across maps, each is
moved to where it is nearest to their mean, the mean is taken again, and so on (Gower 1975).
"""

import numpy as np

from closerthan.arrays import Array
from closerthan.geometry import procrustes_rotation
from closerthan.losses import CKL, TSTE

__all__ = ["align", "size_is_free"]

ROUNDS = 50
STILL = 1e-9  # as a share of the map's size: the mean no longer moves


def size_is_free(loss: object) -> bool:
    """Whether answers say next to nothing about a map's size under this loss.

    In ckl, answers depend on ratios of distances alone once these are large, and so they do in tste: a map that is ten
    times larger means the same. In ste, gnmds and soe the size says how sure answers are.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> size_is_free(STE()), size_is_free(CKL())
    (False, True)
    """
    return isinstance(loss, CKL | TSTE)


def align(maps: Array, reference: Array, weights: Array, *, scaling: bool = False) -> Array:
    """Lay maps over each other, and all of them together over a reference.

    Parameters
    ----------
    maps
        (n_maps, n_objects, n_dims).
    reference
        A map that stays where it is. The aligned maps are rotated and moved to it as a whole, by their mean.
    weights
        How much each object counts.
    scaling
        Whether each map is also scaled.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> rotated = np.stack([square[:, ::-1] + 3.0, 5.0 - square])
    >>> bool(np.allclose(align(rotated, square, np.ones(4)), square))
    True
    """
    if not len(maps):
        return maps.copy()
    share = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1.0 / len(weights))
    maps = maps - np.einsum("o,rod->rd", share, maps)[:, np.newaxis]
    centre = np.einsum("o,od->d", share, reference)
    target = reference - centre
    size = _size(target, share)
    mean = target
    for _ in range(ROUNDS):
        moved = maps @ _rotations(maps, mean, share)
        if scaling:
            moved *= _scales(moved, mean, share)
        after = moved.mean(axis=0)
        if scaling and _size(after, share) > 0:  # or all would shrink, round by round
            moved *= size / _size(after, share)
            after = moved.mean(axis=0)
        step, mean = _size(after - mean, share), after
        if step <= STILL * size:
            break
    aligned: Array = moved @ _rotations(mean[np.newaxis], target, share)[0] + centre
    return aligned


def _rotations(maps: Array, target: Array, share: Array) -> Array:
    """For each map the rotation (or reflection) that brings it nearest to the target."""
    return procrustes_rotation(np.einsum("o,rod,oe->rde", share, maps, target))[0]


def _scales(maps: Array, target: Array, share: Array) -> Array:
    squares = np.einsum("o,rod,rod->r", share, maps, maps)
    fits = np.einsum("o,rod,od->r", share, maps, target)
    scales: Array = np.divide(fits, squares, out=np.ones(len(maps)), where=squares > 0)[:, np.newaxis, np.newaxis]
    return scales


def _size(x: Array, share: Array) -> float:
    return float(np.sqrt(np.einsum("o,od,od->", share, x, x)))
