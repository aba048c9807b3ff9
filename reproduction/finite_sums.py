"""Small finite sums other than embeddings: the paper's examples, as objectives that the solvers accept."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.objective.cpu.walks import DenseWalk
from closerthan.objective.protocol import Objective, Point, VarianceReducedWalk


@dataclass(frozen=True)
class Quadratic(Objective):
    """``f(x) = x' A x / 2`` with ``A = diag(curvatures)``: the paper's example has curvatures (1, 0, -1).

    f is the mean of one term per curvature, ``n * curvature * x_k^2 / 2``.

    Examples
    --------
    >>> point = Quadratic((1.0, 0.0, -1.0)).at(np.array([[0.0, 0.0, 1.0]]))
    >>> point.value, point.gradient.tolist()
    (-0.5, [[0.0, 0.0, -1.0]])
    """

    capabilities = frozenset({"variance-reduced walk"})

    curvatures: tuple[float, ...]

    @property
    def n_terms(self) -> int:
        """The number of terms: one per curvature."""
        return len(self.curvatures)

    def at(self, x: Array) -> Point:
        """Return the value and the gradient at ``x``."""
        curvatures = np.array(self.curvatures)
        return Point(x, float(np.sum(curvatures * x**2) / 2), curvatures * x)

    def gradient_changes(self, order: NDArray[np.int64], x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return arrays whose sum is the gradient of the terms in ``order`` at ``x`` minus that at ``anchor``."""
        visits = np.bincount(order, minlength=self.n_terms)
        return (visits * self.n_terms * np.array(self.curvatures) * (x - anchor),)

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        """Start the inner loop of an epoch."""
        return DenseWalk(self.gradient_changes, snapshot, batch_size)


@dataclass(frozen=True)
class ShiftedSines(Objective):
    """The mean of ``g(x - shift)`` over some shifts, with ``g(x) = x^2 + 3 sin(x)^2``.

    g is not convex, but satisfies the Polyak-Lojasiewicz inequality with constant 1/32. For shifts that are symmetric
    about 0, the mean is ``x^2 + 3 c sin(x)^2`` plus a constant, where c is the mean of ``cos(2 shift)``: a function of
    the same form with its minimum at 0, which is not convex if c > 1/3.

    Examples
    --------
    >>> ShiftedSines((-0.5, 0.5)).at(np.array([[0.0]])).gradient.tolist()
    [[0.0]]
    """

    capabilities = frozenset({"variance-reduced walk"})

    shifts: tuple[float, ...]

    @property
    def n_terms(self) -> int:
        """The number of terms: one per shift."""
        return len(self.shifts)

    @property
    def minimum(self) -> float:
        """The value at 0, which is the minimum for symmetric shifts."""
        return self.at(np.zeros((1, 1))).value

    def at(self, x: Array) -> Point:
        """Return the value and the gradient at ``x``."""
        moved = x - np.array(self.shifts)
        return Point(x, float(np.mean(moved**2 + 3 * np.sin(moved) ** 2)), np.mean(_slope(moved), keepdims=True))

    def gradient_changes(self, order: NDArray[np.int64], x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return arrays whose sum is the gradient of the terms in ``order`` at ``x`` minus that at ``anchor``."""
        shifts = np.array(self.shifts)[order]
        return (np.full_like(x, np.sum(_slope(x - shifts) - _slope(anchor - shifts))),)

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        """Start the inner loop of an epoch."""
        return DenseWalk(self.gradient_changes, snapshot, batch_size)


def _slope(x: Array) -> Array:
    slope: Array = 2 * x + 3 * np.sin(2 * x)
    return slope
