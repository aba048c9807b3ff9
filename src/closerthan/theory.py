"""What the paper's theorems ask for and promise, as numbers.

Letters of the paper: L is the smoothness of each term, m the draws in an epoch, b the batch size, eta the step of a
rule (so that m eta is what the Barzilai-Borwein quotient itself gives), eps its stabiliser.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import checked, positive, whole
from closerthan.losses import Loss

JUMP = 0.1  # a slope that changes by this much within a finite difference is discontinuous

__all__ = [
    "InnerLoop",
    "Interval",
    "gradient_bound",
    "inner_loop",
    "largest_batch",
    "largest_step",
    "pl_constant",
    "pl_rate",
    "proven_batch",
    "smoothness",
    "step_bounds",
]


class Interval(NamedTuple):
    """From ``low`` to ``high``."""

    low: float
    high: float


@checked
def step_bounds(smoothness: float, epsilon: float) -> Interval:
    """Where m eta of the stabilised rule must lie: ``1/(L + eps) <= m eta <= 1/eps`` (equation 14).

    Examples
    --------
    >>> step_bounds(smoothness=3.0, epsilon=1.0)
    Interval(low=0.25, high=1.0)
    """
    positive(smoothness=smoothness, epsilon=epsilon or None)
    return Interval(1 / (smoothness + epsilon), math.inf if epsilon == 0 else 1 / epsilon)


@checked
def smoothness(loss: Loss, diameter: float, *, n_grid: int = 41) -> float:
    """The Lipschitz constant of a triplet's gradient on maps where no two objects are further apart than ``diameter``.

    With u = x_i - x_j and v = x_i - x_k, a term is a function of |u|^2 and |v|^2; its Hessian H in (u, v) is made of
    the loss's first and second derivatives. The Hessian in the three rows has the eigenvalues of H K, where
    K = ((2, 1), (1, 2)) says how u and v share x_i. The largest is sought over a grid of lengths of u and v and of
    angles between them, with second derivatives by differences. Where a slope jumps, as gnmds's does, there is no
    Lipschitz constant: the jump is stepped over, and the result is that of the pieces.

    Examples
    --------
    >>> from closerthan.losses import GNMDS
    >>> round(smoothness(GNMDS(), diameter=2.0) / 3**0.5, 6)
    2.0
    """
    positive(diameter=diameter)
    lengths = np.linspace(0.0, diameter, whole("n_grid", n_grid, least=2))
    u, v = (side.ravel() for side in np.meshgrid(lengths, lengths))
    first_near, first_far, near_near, near_far, far_far = np.array(
        [_derivatives(loss, near, far) for near, far in zip(u**2, v**2, strict=True)]
    ).T
    across = np.zeros((len(u), 2, 2))
    across[:, 0, 0], across[:, 1, 1] = 2 * first_near, 2 * first_far
    largest = _largest_eigenvalue(across, _SHARED)
    shared = np.kron(_SHARED, np.eye(2))
    for angle in np.linspace(0.0, math.pi, 13):
        possible = u**2 + v**2 - 2 * u * v * math.cos(angle) <= diameter**2 * (1 + 1e-9)
        # In the plane of u and v: u along the first axis, v at the angle.
        place = np.zeros((len(u), 2, 2))
        place[:, 0, 0] = u
        place[:, 1, 0], place[:, 1, 1] = v * math.cos(angle), v * math.sin(angle)
        second = np.array([[near_near, near_far], [near_far, far_far]])
        hessian = np.einsum("abq,qac,qbd->qacbd", 4 * second, place, place)
        for axis in range(2):
            hessian[:, 0, axis, 0, axis] += 2 * first_near
            hessian[:, 1, axis, 1, axis] += 2 * first_far
        largest = max(largest, _largest_eigenvalue(hessian.reshape(-1, 4, 4)[possible], shared))
    return largest


_SHARED = np.array([[2.0, 1.0], [1.0, 2.0]])


def _largest_eigenvalue(hessians: Array, shared: Array) -> float:
    """The largest absolute eigenvalue of H K, for K = R R' those of the symmetric R' H R."""
    root = np.linalg.cholesky(shared)
    return float(np.abs(np.linalg.eigvalsh(root.T @ hessians @ root)).max())


def _derivatives(loss: Loss, near: float, far: float) -> tuple[float, float, float, float, float]:
    """The two first and three second derivatives of a loss; second ones are 0 across a jump."""
    small = 1e-5 * (1 + near + far)
    low_near, low_far = max(near - small, 0.0), max(far - small, 0.0)
    here = loss.slopes(near, far)
    along_near = np.subtract(loss.slopes(near + small, far), loss.slopes(low_near, far)) / (near + small - low_near)
    along_far = np.subtract(loss.slopes(near, far + small), loss.slopes(near, low_far)) / (far + small - low_far)
    if max(np.abs(along_near).max(), np.abs(along_far).max()) * small > JUMP:
        return *here, 0.0, 0.0, 0.0
    return *here, along_near[0], along_near[1], along_far[1]


@checked
def largest_batch(draws: int, smoothness: float, epsilon: float) -> float:
    """Theorem 2, as printed, speaks of batches smaller than this; below 1, of none. See also :func:`proven_batch`.

    Examples
    --------
    >>> largest_batch(draws=1000, smoothness=1.0, epsilon=1.0) == 1000 / (2 * (1 + 5**0.5))
    True
    """
    positive(smoothness=smoothness, epsilon=epsilon or None)
    if not epsilon > 0:
        return 0.0
    ratio = epsilon / smoothness
    return min(
        draws * ratio**2 / (1 + math.sqrt(1 + 4 * ratio)),
        draws * ratio / (2 * (1 + math.sqrt(1 + 4 / ratio))),
    )


@checked
def proven_batch(draws: int, smoothness: float, epsilon: float) -> float:
    """The largest batch for which the steps of Theorem 2's proof hold.

    The proof needs ``4 m b^2 eta^3 L^3 + 2 b eta^2 L^2 <= 1/m`` for every eta up to 1/(m eps). Its estimate of the
    first term, ``(1/m) 4 (L/eps)^3 (b/m)^2``, has one factor 1/m too many; without it the condition reads
    ``4 (L/eps)^3 b^2 + 2 (L/eps)^2 b <= m``, which is what this function solves for b, together with the second
    condition, ``4 (L/eps)^3 (b/m)^2 + (L/eps) (b/m) <= 1/4``, which the proof has right.

    Examples
    --------
    >>> proven_batch(10_000, 2.0, 0.1) < 1 < largest_batch(10_000, 2.0, 0.1)
    True
    """
    positive(smoothness=smoothness, epsilon=epsilon or None)
    if not epsilon > 0:
        return 0.0
    ratio = smoothness / epsilon
    first = (-(ratio**2) + math.sqrt(ratio**4 + 4 * ratio**3 * draws)) / (4 * ratio**3)
    second = draws * (-ratio + math.sqrt(ratio**2 + 4 * ratio**3)) / (8 * ratio**3)
    return min(first, second)


@checked
def gradient_bound(fall: float, draws: int, epochs: int, batch_size: int, least_step: float) -> float:
    """Theorem 2's bound on the mean of ``|grad f|^2`` at a random iterate: ``4 (f(start) - f*) / (T b eta_min)``.

    T is the total number of steps. The theorem counts m steps in an epoch; :class:`~closerthan.solvers.SVRG` takes
    m/b of them, as the experiments do, so that T b = m S and larger batches do not lower the bound. The proof carries
    over with m/b in place of m: Lemma 1's sum over an epoch has m/b terms, and every Gamma is at least b eta/4
    wherever ``4 (L/eps)^3 + 2 (L/eps)^2 <= m`` and ``4 (L/eps)^3 b/m^2 + (L/eps) b/m <= 1/4``.

    Parameters
    ----------
    fall
        The objective at the start minus its minimum.
    draws
        The number m of comparisons drawn in an epoch.
    epochs
        The number S of epochs.
    batch_size
        The number b of comparisons in a step.
    least_step
        The smallest step size eta of all epochs.

    Examples
    --------
    >>> gradient_bound(fall=1.0, draws=100, epochs=4, batch_size=1, least_step=0.01)
    1.0
    >>> gradient_bound(fall=1.0, draws=100, epochs=4, batch_size=20, least_step=0.01)
    1.0
    """
    return 4 * fall / (epochs * (draws // batch_size) * batch_size * least_step)


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


@checked
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


@checked
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


@checked
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


@checked
def pl_rate(constant: float, draws: int, epochs: int, batch_size: int, least_step: float) -> float:
    """Theorem 3's rho for modules of S epochs: ``2 / (lambda T b eta_min)``; below 1 it promises a linear rate.

    T is the number of steps in a module, ``S m/b`` here (see :func:`gradient_bound`).

    Examples
    --------
    >>> pl_rate(constant=0.5, draws=100, epochs=10, batch_size=1, least_step=0.01)
    0.4
    """
    return gradient_bound(1 / (2 * constant), draws, epochs, batch_size, least_step)
