"""How an objective roughly bends, in the two ways that can be told beforehand."""

from typing import Any, Self

import numpy as np

from closerthan.objective import Array, Point, Singles, inner

EVENLY = 1.0  # of an object's mean curvature, added in all directions: a sample says only so much
LEAST = 0.01  # the same, of the mean of all objects
LARGEST = 0.2  # share by which a map may grow or shrink at a time


class Curvature:
    """What two kinds of moves meet: an object goes while all others stay, and the whole map grows or shrinks.

    An object is compared with ever other objects, so that to it they nearly are a fixed landscape: it has a curvature
    of its *own*. What that misses is what all objects do together, and of that above all the map's size.
    """

    def __init__(self, centred: Array, in_size: float, inverse: Singles) -> None:
        self._map = centred
        self._in_size = in_size
        self._inverse = inverse

    @classmethod
    def at(cls, objective: Any, now: Point) -> Self | None:
        """That of an objective at a map, if it can tell."""
        own = objective.own_curvatures(now) if hasattr(objective, "own_curvatures") else None
        inverse = None if own is None else _inverse(own)
        if inverse is None:
            return None
        centred = now.x - now.x.mean(axis=0)
        return cls(centred, objective.curvature_in_size(centred), inverse)

    def own(self, vector: Array) -> Array:
        """Each object's part of a vector, divided by the object's own curvature."""
        with np.errstate(over="ignore", invalid="ignore"):
            divided: Singles = np.einsum("oab,ob->oa", self._inverse, vector.astype(np.float32))
        return divided.astype(np.float64)

    def in_size(self, vector: Array) -> Array:
        """The part of a vector along which the map grows, divided by the curvature there."""
        along = inner(self._map, vector)
        growth = along / max(abs(along) / LARGEST, self._in_size) if along else 0.0
        return growth * self._map


def _inverse(matrices: Singles) -> Singles | None:
    usual = np.einsum("occ->o", matrices) / matrices.shape[1]
    if not 0.0 < usual.mean() < np.inf:
        return None
    firmly = matrices.copy()
    np.einsum("occ->oc", firmly)[:] += (EVENLY * usual + LEAST * usual.mean())[:, np.newaxis]
    return np.linalg.inv(firmly)
