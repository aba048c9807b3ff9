"""What the paper's theorems ask for and promise, as numbers.

Letters of the paper: L is the smoothness of each term, m the draws in an epoch, b the batch size, eta the step of a
rule (so that m eta is what the Barzilai-Borwein quotient itself gives), eps its stabiliser.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from closerthan.losses import Loss
from closerthan.objective import Array

__all__ = [
    "InnerLoop",
    "Interval",
    "gradient_bound",
    "inner_loop",
    "largest_batch",
    "largest_step",
    "pl_constant",
    "pl_rate",
    "smoothness",
    "step_bounds",
]


class Interval(NamedTuple):
    """From ``low`` to ``high``."""

    low: float
    high: float


def step_bounds(smoothness: float, epsilon: float) -> Interval:
    """Where m eta of the stabilised rule must lie: ``1/(L + eps) <= m eta <= 1/eps`` (equation 14).

    Examples
    --------
    >>> step_bounds(smoothness=3.0, epsilon=1.0)
    Interval(low=0.25, high=1.0)
    """
    return Interval(1 / (smoothness + epsilon), math.inf if epsilon == 0 else 1 / epsilon)


def smoothness(loss: Loss, diameter: float, *, n_grid: int = 81) -> float:
    """A Lipschitz constant of a triplet's gradient on maps in which no two objects are further apart than ``diameter``.

    With u = x_i - x_j and v = x_i - x_k the Hessian in (u, v) has, besides ``2 slope_near`` and ``2 slope_far`` across
    u and v, the eigenvalues of a 2 x 2 matrix made of the loss's first and second derivatives; going over to the three
    rows multiplies by at most 3, the largest eigenvalue of ((2, 1), (1, 2)). The largest is sought on a grid of squared
    distances (second derivatives by differences), so this is an estimate from below of a bound from above. Where a
    slope jumps, as gnmds's does, the jump itself has no Lipschitz constant and is stepped over.

    Examples
    --------
    >>> from closerthan.losses import GNMDS
    >>> smoothness(GNMDS(), diameter=2.0)
    6.0
    """
    if not diameter > 0:
        raise ValueError(f"diameter is {diameter}; it must be positive")
    squared = np.linspace(0.0, diameter, n_grid) ** 2
    return max(3 * _curvature(loss, near, far) for near in squared.tolist() for far in squared.tolist())


def _curvature(loss: Loss, near: float, far: float) -> float:
    """The largest absolute eigenvalue of the Hessian in (u, v)."""
    small = 1e-5 * (1 + near + far)
    low_near, low_far = max(near - small, 0.0), max(far - small, 0.0)
    here = loss.slopes(near, far)
    along_near = np.subtract(loss.slopes(near + small, far), loss.slopes(low_near, far)) / (near + small - low_near)
    along_far = np.subtract(loss.slopes(near, far + small), loss.slopes(near, low_far)) / (far + small - low_far)
    if max(np.abs(along_near).max(), np.abs(along_far).max()) * small > 0.1:
        along_near = along_far = np.zeros(2)  # a jump
    mixed = 4 * along_near[1] * math.sqrt(near * far)
    block = np.array(
        [[2 * here[0] + 4 * along_near[0] * near, mixed], [mixed, 2 * here[1] + 4 * along_far[1] * far]],
    )
    return float(max(np.abs(np.linalg.eigvalsh(block)).max(), 2 * abs(here[0]), 2 * abs(here[1])))


def largest_batch(draws: int, smoothness: float, epsilon: float) -> float:
    """Theorem 2 holds for batches smaller than this; below 1 it holds for none.

    Examples
    --------
    >>> largest_batch(draws=1000, smoothness=1.0, epsilon=1.0) == 1000 / (2 * (1 + 5**0.5))
    True
    """
    if not epsilon > 0:
        return 0.0
    ratio = epsilon / smoothness
    return min(
        draws * ratio**2 / (1 + math.sqrt(1 + 4 * ratio)),
        draws * ratio / (2 * (1 + math.sqrt(1 + 4 / ratio))),
    )


def gradient_bound(fall: float, draws: int, epochs: int, batch_size: int, least_step: float) -> float:
    """Theorem 2: the mean of ``|grad f|^2`` at its output is at most ``4 (f(start) - f*) / (m S b eta_min)``.

    Examples
    --------
    >>> gradient_bound(fall=1.0, draws=100, epochs=4, batch_size=1, least_step=0.01)
    1.0
    """
    return 4 * fall / (draws * epochs * batch_size * least_step)


class InnerLoop(NamedTuple):
    """Lemma 1's constants for one epoch; its condition is that every Gamma is positive."""

    beta: float
    rho: float
    c: Array  # c_0 .. c_m
    gamma: Array  # Gamma_0 .. Gamma_(m-1)

    @property
    def holds(self) -> bool:
        """Whether the lemma says anything."""
        return bool(np.all(self.gamma > 0))


def inner_loop(step: float, smoothness: float, draws: int, batch_size: int = 1) -> InnerLoop:
    """Lemma 1's constants, with the paper's ``beta = 4 m b eta^2 L^3``.

    Examples
    --------
    >>> inner_loop(step=1e-5, smoothness=1.0, draws=100).holds
    True
    >>> inner_loop(step=1.0, smoothness=1.0, draws=100).holds
    False
    """
    beta = 4 * draws * batch_size * step**2 * smoothness**3
    growth = batch_size * step * beta + 2 * batch_size * step**2 * smoothness**2
    addend = batch_size * step**2 * smoothness**3
    # c_t = rho c_(t+1) + addend from c_m = 0: a geometric sum, with rho = 1 + growth.
    with np.errstate(over="ignore", invalid="ignore"):
        c = addend * np.expm1(np.arange(draws, -1, -1) * math.log1p(growth)) / growth
        after = c[1:]
        gamma = batch_size * step * (1 - after / beta - batch_size * step * (smoothness + 2 * after))
    return InnerLoop(beta, 1 + growth, c, gamma)


def largest_step(smoothness: float, draws: int, batch_size: int = 1) -> float:
    """The largest eta for which Lemma 1's condition holds, by bisection.

    Examples
    --------
    >>> eta = largest_step(smoothness=2.0, draws=1000)
    >>> inner_loop(0.99 * eta, 2.0, 1000).holds, inner_loop(1.01 * eta, 2.0, 1000).holds
    (True, False)
    """
    low, high = 1e-12 / smoothness, 1 / smoothness
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if inner_loop(middle, smoothness, draws, batch_size).holds else (low, middle)
    return low


def pl_constant(
    value: Callable[[Array], Array], slope: Callable[[Array], Array], points: Array, minimum: float
) -> float:
    """The largest lambda with ``slope^2 / 2 >= lambda (value - minimum)`` at all points (Polyak-Lojasiewicz).

    Examples
    --------
    >>> pl_constant(lambda x: x**2, lambda x: 2 * x, np.linspace(1, 2, 5), 0.0)
    2.0
    """
    above = value(points) - minimum
    apart = above > 1e-12 * np.abs(above).max()
    return float(np.min(slope(points[apart]) ** 2 / 2 / above[apart]))


def pl_rate(constant: float, draws: int, epochs: int, batch_size: int, least_step: float) -> float:
    """Theorem 3's rho for modules of so many epochs: ``2 / (lambda m S b eta_min)``; it promises something below 1.

    Examples
    --------
    >>> pl_rate(constant=0.5, draws=100, epochs=10, batch_size=1, least_step=0.01)
    0.4
    """
    return 2 / (constant * draws * epochs * batch_size * least_step)
