"""How an objective roughly bends, in the two ways that can be told beforehand."""

import math
from typing import Any, Self

import numpy as np

from closerthan.objective.cpu import Array, Point, Singles, inner

EVENLY = 1.0  # of an object's mean curvature, added in all directions: a sample says only so much
LEAST = 0.01  # the same, of the mean of all objects
LARGEST = 0.2  # share by which a map would grow or shrink at first


class Curvature:
    """What two kinds of moves meet: an object goes while all others stay, and the whole map grows or shrinks.

    An object is compared with ever other objects, so that to it they nearly are a fixed landscape: it has a curvature
    of its *own*. What that misses is what all objects do together, and of that above all the map's size.
    """

    def __init__(
        self, inverses: Array, centred: Array, in_size: float, *, is_smooth: bool = True, looked_at: int = 0
    ) -> None:
        self._inverses = inverses
        self._map = centred
        self._in_size = in_size
        self.is_smooth = is_smooth  # otherwise it is only what a sum of many hinges comes to
        self.looked_at = looked_at  # comparisons

    @classmethod
    def at(cls, objective: Any, now: Point) -> Self | None:
        """That of an objective at a map, if it can tell."""
        if not (hasattr(objective, "tells_curvature") and objective.tells_curvature(now)):
            return None
        own, looked_at = objective.own_curvatures(now)
        inverses = inverted(own)
        if inverses is None:
            return None
        centred = now.x - now.x.mean(axis=0)
        least = abs(inner(centred, now.gradient)) / LARGEST
        in_size = max(least, objective.curvature_in_size(centred))  # which may bend down, or be no number
        in_size = in_size if 0.0 < in_size < math.inf else math.inf
        return cls(inverses, centred, in_size, is_smooth=objective.is_smooth, looked_at=looked_at)

    def own(self, vector: Array) -> Array:
        """Each object's part of a vector, divided by the object's own curvature."""
        divided: Array = np.einsum("oab,ob->oa", self._inverses, vector)
        return divided

    def in_size(self, vector: Array) -> Array:
        """The part of a vector along which the map grows, divided by the curvature there."""
        return self._map * (inner(self._map, vector) / self._in_size)


def inverted(matrices: Singles) -> Array | None:
    """The inverses of matrices, each with something added on its diagonal; None where they are not to be trusted."""
    usual = np.einsum("occ->o", matrices).astype(np.float64) / matrices.shape[1]
    scale = usual.mean()
    if not 0.0 < scale < math.inf:
        return None
    firmly = matrices / scale
    np.einsum("occ->oc", firmly)[:] += (EVENLY / scale * usual + LEAST)[:, np.newaxis]
    inverses: Array = np.linalg.inv(firmly) / scale
    return inverses if np.isfinite(inverses).all() else None
