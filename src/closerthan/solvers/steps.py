"""Step rules: small frozen objects that compute the step size from the current and the previous snapshot.

A rule is called with the epoch (from 0), the number of term gradients drawn per epoch, and the two snapshots; it
returns the paper's eta. A solver with batches of b comparisons makes ``draws / b`` steps of size ``b * eta`` per
epoch, so the total step size of an epoch is ``draws * eta`` for any batch size.

Because f is a *mean* over comparisons, the gradient and the curvature of one object's row shrink like 1/n. The
default step sizes scale with n for that reason: see ``docs/defaults.md``.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from closerthan.arrays import inner
from closerthan.checks import number, positive
from closerthan.objective.protocol import Point

__all__ = ["BarzilaiBorwein", "Constant", "Decay", "StabilizedBB", "StepRule"]

FIRST_STEP = 0.5  # total step size of the first epoch, divided by the number of objects n
EPSILON = 0.1  # steps no longer grow once n times the curvature of an object's row is below this
LONGEST = 0.25  # largest step along a single comparison, however small the estimated curvature is


class StepRule(Protocol):
    """A function that returns the step size of an epoch."""

    def __call__(self, epoch: int, draws: int, now: Point, before: Point | None) -> float: ...


def _first(first: float | None, draws: int, now: Point) -> float:
    """Return ``first`` as a float, for which the kernels are compiled, or the default ``FIRST_STEP * n / draws``."""
    return FIRST_STEP * len(now.x) / draws if first is None else float(first)


@dataclass(frozen=True)
class Constant:
    """The same step size in each epoch; None stands for ``0.5 * n_objects / draws``.

    Examples
    --------
    >>> point = Point(np.zeros((3, 1)), 0.0, np.zeros((3, 1)))
    >>> Constant(0.01)(0, 100, point, None)
    0.01
    """

    step: float | None = None

    def __post_init__(self) -> None:
        positive(step=self.step)

    def __call__(self, epoch: int, draws: int, now: Point, before: Point | None) -> float:
        return _first(self.step, draws, now)


@dataclass(frozen=True)
class Decay:
    """The step size ``first / (1 + rate * epoch)``, for SGD; ``first=None`` as in :class:`Constant`.

    Examples
    --------
    >>> point = Point(np.zeros((3, 1)), 0.0, np.zeros((3, 1)))
    >>> Decay(first=0.2, rate=1.0)(1, 100, point, None)
    0.1
    """

    first: float | None = None
    rate: float = 0.01

    def __post_init__(self) -> None:
        positive(first=self.first)
        number("rate", self.rate, lambda it: it >= 0, "not be negative")

    def __call__(self, epoch: int, draws: int, now: Point, before: Point | None) -> float:
        return _first(self.first, draws, now) / (1 + self.rate * epoch)


@dataclass(frozen=True)
class BarzilaiBorwein:
    """The Barzilai-Borwein step size ``|dx|^2 / <dx, dy> / draws`` (equation 9), which may be negative or infinite.

    Examples
    --------
    >>> at = lambda x: Point(np.array([[x]]), 0.0, np.array([[-x]]))  # f(x) = -x^2 / 2
    >>> BarzilaiBorwein()(1, 1, at(2.0), at(1.0))
    -1.0
    """

    first: float | None = None

    def __post_init__(self) -> None:
        positive(first=self.first)

    def __call__(self, epoch: int, draws: int, now: Point, before: Point | None) -> float:
        if before is None:
            return _first(self.first, draws, now)
        moved, along = _secant(now, before)
        return _ratio(moved, along) / draws


@dataclass(frozen=True)
class StabilizedBB:
    """The stabilised Barzilai-Borwein step size (SBB, equation 13), which is positive and bounded.

    ``|dx|^2 / (|<dx, dy>| + epsilon |dx|^2) / draws``; ``epsilon=0`` is SBB_0, which is not bounded.

    Parameters
    ----------
    epsilon
        The paper's eps. None means the larger of ``per_object / n_objects`` and ``1 / (longest * draws)``.
    first
        The step size of the first epoch. None means ``0.5 * n_objects / draws``.
    per_object
        The curvature of one object's row below which steps no longer grow.
    longest
        The largest step along a single comparison. It takes effect with fewer than 40 comparisons per object (see
        docs/defaults.md).

    Examples
    --------
    >>> at = lambda x: Point(np.array([[x]]), 0.0, np.array([[-x]]))  # f(x) = -x^2 / 2
    >>> StabilizedBB(epsilon=1.0)(1, 1, at(2.0), at(1.0))
    0.5
    """

    epsilon: float | None = None
    first: float | None = None
    per_object: float = EPSILON
    longest: float = LONGEST

    def __post_init__(self) -> None:
        positive(first=self.first, per_object=self.per_object, longest=self.longest)
        if self.epsilon is not None:
            number("epsilon", self.epsilon, lambda it: it >= 0, "not be negative")

    def epsilon_for(self, n_objects: int, draws: int) -> float:
        """Return the epsilon used for these numbers of objects and draws.

        Examples
        --------
        >>> StabilizedBB().epsilon_for(n_objects=100, draws=10_000)
        0.001
        """
        if self.epsilon is not None:
            return self.epsilon
        full_gradient = draws == 1  # no bound is needed: no step follows a single comparison
        return max(self.per_object / n_objects, 0.0 if full_gradient else 1 / (self.longest * draws))

    def __call__(self, epoch: int, draws: int, now: Point, before: Point | None) -> float:
        if before is None:
            return _first(self.first, draws, now)
        epsilon = self.epsilon_for(len(now.x), draws)
        moved, along = _secant(now, before)
        return _ratio(moved, abs(along) + epsilon * moved) / draws


def _secant(now: Point, before: Point) -> tuple[float, float]:
    """Return ``|dx|^2`` and ``<dx, dy>`` between two snapshots."""
    dx = now.x - before.x
    dy = now.gradient - before.gradient
    return inner(dx, dx), inner(dx, dy)


def _ratio(moved: float, curvature: float) -> float:
    """Return ``moved / curvature``: 0 if nothing moved, infinite (a divergence, which is reported) for curvature 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return float(np.divide(moved, curvature)) if moved else 0.0
