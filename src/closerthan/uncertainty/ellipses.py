"""Ellipses: where an object's true place may be."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.wording import counted

__all__ = ["Ellipses", "PlaneEllipses", "check_number", "fewest"]


def fewest(n_dims: int) -> int:
    """How many replicates have ellipses in so many dimensions: a moment of fewer has no inverse."""
    return n_dims + 2


def check_number(n_replicates: int, n_dims: int) -> None:
    """Raise an error if so few replicates have no ellipses."""
    if n_replicates < fewest(n_dims):
        raise ValueError(
            f"there are {n_replicates} replicates; ellipses in {counted(n_dims, 'dimension')} need at least "
            f"{fewest(n_dims)}, better 100"
        )


class PlaneEllipses(NamedTuple):
    """Ellipses as they are drawn; one row an object."""

    centres: NDArray[np.float64]
    half_axes: NDArray[np.float64]  # the long one first
    angles: NDArray[np.float64]  # of the long axis, in degrees, counter-clockwise from the first axis of the picture


@dataclass(frozen=True)
class Ellipses:
    """One ellipse per object (in more dimensions an ellipsoid), of nominal probability ``level``.

    Its centre is the object's place on the fitted map; its shape is the second moment of the replicates' places about
    that centre: their variance plus the squared distance of their mean, which reflects the bias of a fit to few
    answers. Its size is Hotelling's, as the moment itself is estimated from few replicates.

    An ellipse says where an object lies relative to the others, not how large the map is. How often it holds the true
    place depends on the study: see the guide for simulated worlds in which the 95 % ellipse does so less often.

    Attributes
    ----------
    centres
        (n_objects, n_dims).
    moments
        (n_objects, n_dims, n_dims).
    level
        The nominal probability.
    n_replicates
        How many replicates the moments are from.

    Examples
    --------
    >>> maps = np.random.default_rng(0).normal(size=(1000, 1, 2))
    >>> ellipses = Ellipses.around(np.zeros((1, 2)), maps, level=0.95)
    >>> bool(ellipses.contain([[2.0, 0.0]])[0]), bool(ellipses.contain([[2.8, 0.0]])[0])
    (True, False)
    """

    centres: Array
    moments: Array
    level: float
    n_replicates: int

    @classmethod
    def around(cls, centres: Array, maps: Array, level: float) -> "Ellipses":
        """The ellipses of aligned maps around the places of a map."""
        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it lies between 0 and 1, as in 0.95")
        n_maps, _, n_dims = maps.shape
        check_number(n_maps, n_dims)
        off = maps - centres
        return cls(centres, np.einsum("rod,roe->ode", off, off) / (n_maps - 1), level, n_maps)

    def radius(self, n_dims: int | None = None) -> float:
        """How many standard deviations the ellipses reach in so many dimensions; by default all of the map."""
        from scipy.stats import f

        p = self.centres.shape[1] if n_dims is None else n_dims
        n = self.n_replicates
        return float(np.sqrt(p * (n - 1) / (n - p) * f.ppf(self.level, p, n - p)))

    def contain(self, places: ArrayLike) -> NDArray[np.bool_]:
        """For each object, whether its ellipse holds a place."""
        off = np.asarray(places, dtype=np.float64) - self.centres
        squared = np.einsum("od,ode,oe->o", off, np.linalg.pinv(self.moments, hermitian=True), off)
        inside: NDArray[np.bool_] = squared <= self.radius() ** 2
        return inside

    def half_axes(self) -> Array:
        """The ellipses' half axes, (n_objects, n_dims), the longest first."""
        spread = np.linalg.eigvalsh(self.moments)[:, ::-1]
        axes: Array = self.radius() * np.sqrt(np.maximum(spread, 0.0))
        return axes

    def in_plane(self, axes: Array) -> PlaneEllipses:
        """The ellipses of two directions alone, which are the columns of ``axes``; centres are turned likewise.

        Examples
        --------
        >>> flat = Ellipses(np.zeros((1, 2)), np.diag([4.0, 1.0])[np.newaxis], 0.95, 100).in_plane(np.eye(2))
        >>> (flat.half_axes[0, 0] / flat.half_axes[0, 1]).round(2), abs(flat.angles[0]).round(2)
        (np.float64(2.0), np.float64(0.0))
        """
        moments = np.einsum("da,ode,eb->oab", axes, self.moments, axes)
        squares, directions = np.linalg.eigh(moments)
        long = directions[:, :, 1]
        half = self.radius(2) * np.sqrt(np.maximum(squares[:, ::-1], 0.0))
        return PlaneEllipses(self.centres @ axes, half, np.degrees(np.arctan2(long[:, 1], long[:, 0])))
