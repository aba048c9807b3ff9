"""Ellipses: confidence regions for the positions of objects."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.wording import counted

__all__ = ["Ellipses", "PlaneEllipses", "check_number", "fewest"]


def fewest(n_dims: int) -> int:
    """Return the smallest number of replicates for ellipses; with fewer, the matrix of moments is singular."""
    return n_dims + 2


def check_number(n_replicates: int, n_dims: int) -> None:
    """Raise an error if there are too few replicates for ellipses."""
    if n_replicates < fewest(n_dims):
        raise ValueError(
            f"there are {n_replicates} replicates; ellipses in {counted(n_dims, 'dimension')} need at least "
            f"{fewest(n_dims)}, better 100"
        )


class PlaneEllipses(NamedTuple):
    """Ellipses in a plane, as they are drawn; one row per object.

    Attributes
    ----------
    centres
        (n_objects, 2).
    half_axes
        (n_objects, 2), the longer one first.
    angles
        Angle of the longer axis, in degrees, counter-clockwise from the first axis of the plane.
    """

    centres: NDArray[np.float64]
    half_axes: NDArray[np.float64]
    angles: NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Ellipses:
    """One ellipse per object (an ellipsoid in more than two dimensions), of nominal probability ``level``.

    Its centre is the object's position on the fitted map. Its shape is the second moment of the replicates' positions
    about that centre: their variance plus the squared offset of their mean, which reflects the bias of a fit to few
    answers. Its radius is that of Hotelling's T-squared distribution, since the moment is itself an estimate.

    An ellipse describes the position relative to the other objects, not the size of the map. How often it contains the
    true position depends on the study: the guide shows simulations in which the 95 % ellipse does so less often.

    Attributes
    ----------
    centres
        (n_objects, n_dims).
    moments
        (n_objects, n_dims, n_dims).
    level
        The nominal probability.
    n_replicates
        Number of replicates from which the moments are estimated.

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

    def __repr__(self) -> str:
        n_objects, n_dims = self.centres.shape
        return (
            f"Ellipses({counted(n_objects, 'object')} in {counted(n_dims, 'dimension')}, level {self.level:g}, "
            f"{counted(self.n_replicates, 'replicate')})"
        )

    @classmethod
    def around(cls, centres: Array, maps: Array, level: float) -> "Ellipses":
        """Return the ellipses of aligned maps around the positions of a map."""
        if not 0 < level < 1:
            raise ParameterError("level", level, "it must lie between 0 and 1, as in 0.95")
        n_maps, _, n_dims = maps.shape
        check_number(n_maps, n_dims)
        offsets = maps - centres
        return cls(centres, np.einsum("rod,roe->ode", offsets, offsets) / (n_maps - 1), level, n_maps)

    def radius(self, n_dims: int | None = None) -> float:
        """Return the radius of the ellipses in standard deviations, in ``n_dims`` dimensions (by default all)."""
        from scipy.stats import f

        p = self.centres.shape[1] if n_dims is None else n_dims
        n = self.n_replicates
        return float(np.sqrt(p * (n - 1) / (n - p) * f.ppf(self.level, p, n - p)))

    def contain(self, places: ArrayLike) -> NDArray[np.bool_]:
        """Return, for each object, True if its ellipse contains the object's row of ``places``."""
        offsets = np.asarray(places, dtype=np.float64) - self.centres
        squared = np.einsum("od,ode,oe->o", offsets, np.linalg.pinv(self.moments, hermitian=True), offsets)
        inside: NDArray[np.bool_] = squared <= self.radius() ** 2
        return inside

    def half_axes(self) -> Array:
        """Return the semi-axes of the ellipses, (n_objects, n_dims), the longest first."""
        spread = np.linalg.eigvalsh(self.moments)[:, ::-1]
        axes: Array = self.radius() * np.sqrt(np.maximum(spread, 0.0))
        return axes

    def in_plane(self, axes: Array) -> PlaneEllipses:
        """Return the ellipses projected onto the plane that the two columns of ``axes`` span.

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
