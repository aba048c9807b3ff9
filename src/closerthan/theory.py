"""The conditions and bounds of the convergence theory of SVRG-SBB, as functions of its constants.

Ma et al. (Fast stochastic ordinal embedding with variance reduction and adaptive step size, IEEE TKDE) prove that the
solver ``svrg-sbb`` converges: to a stationary point at rate 1/T (Theorem 2), and linearly where the objective satisfies
the Polyak-Lojasiewicz (PL) inequality (Theorem 3). This module computes every quantity in those statements:

- :func:`smoothness` and :func:`pl_constant`: the constants of the objective, L and lambda;
- :func:`step_bounds`: the interval that contains every step size of the stabilised Barzilai-Borwein rule;
- :func:`largest_batch` and :func:`proven_batch`: the batch sizes that Theorem 2 covers, as printed and as proven;
- :func:`gradient_bound` and :func:`pl_rate`: the rates of Theorems 2 and 3;
- :func:`inner_loop` and :func:`largest_step`: the constants of Lemma 1, and the largest step size that it allows.

Notation of the paper: L is the smoothness constant of each term, m the number of draws per epoch, S the number of
epochs, b the batch size, eta the step size returned by a rule (m eta is the Barzilai-Borwein quotient itself), and eps
the constant that stabilises it. ``python -m reproduction theory`` compares these bounds with actual runs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import checked, positive, whole
from closerthan.losses import Loss
from closerthan.metrics import Interval
from closerthan.representation import shows_fields

JUMP = 0.1  # a slope that changes by more than this within a finite difference is treated as discontinuous

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


@checked
def step_bounds(smoothness: float, epsilon: float) -> Interval:
    """Return the bounds on m eta for the stabilised rule: ``1/(L + eps) <= m eta <= 1/eps`` (equation 14).

    Examples
    --------
    >>> step_bounds(smoothness=3.0, epsilon=1.0)
    Interval(low=0.25, high=1.0)
    """
    positive(smoothness=smoothness, epsilon=epsilon or None)
    return Interval(1 / (smoothness + epsilon), math.inf if epsilon == 0 else 1 / epsilon)


@checked
def smoothness(loss: Loss, diameter: float, *, n_grid: int = 41) -> float:
    """Return the Lipschitz constant of a triplet's gradient on maps whose objects are at most ``diameter`` apart.

    With u = x_i - x_j and v = x_i - x_k, a term is a function of ``|u|^2`` and ``|v|^2``, and its Hessian H in (u, v)
    follows from the first and second derivatives of the loss. The nonzero eigenvalues of the Hessian in the three rows
    are those of H K, where K = ((2, 1), (1, 2)) accounts for x_i, which u and v share. The function maximises the
    absolute eigenvalue over a grid of lengths of u and v and of angles between them, with second derivatives by finite
    differences. A loss whose slope jumps, such as GNMDS, has no Lipschitz constant; the jump is then ignored, and the
    result applies to each smooth piece.

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
    orthogonal = np.zeros((len(u), 2, 2))  # the Hessian in directions orthogonal to u and v
    orthogonal[:, 0, 0], orthogonal[:, 1, 1] = 2 * first_near, 2 * first_far
    largest = _largest_eigenvalue(orthogonal, _SHARED)
    shared = np.kron(_SHARED, np.eye(2))
    for angle in np.linspace(0.0, math.pi, 13):
        possible = u**2 + v**2 - 2 * u * v * math.cos(angle) <= diameter**2 * (1 + 1e-9)
        # Coordinates in the plane of u and v, with u along the first axis.
        vectors = np.zeros((len(u), 2, 2))
        vectors[:, 0, 0] = u
        vectors[:, 1, 0], vectors[:, 1, 1] = v * math.cos(angle), v * math.sin(angle)
        second = np.array([[near_near, near_far], [near_far, far_far]])
        hessian = np.einsum("abq,qac,qbd->qacbd", 4 * second, vectors, vectors)
        for axis in range(2):
            hessian[:, 0, axis, 0, axis] += 2 * first_near
            hessian[:, 1, axis, 1, axis] += 2 * first_far
        largest = max(largest, _largest_eigenvalue(hessian.reshape(-1, 4, 4)[possible], shared))
    return largest


_SHARED = np.array([[2.0, 1.0], [1.0, 2.0]])


def _largest_eigenvalue(hessians: Array, shared: Array) -> float:
    """Return the largest absolute eigenvalue of H K, computed from the symmetric matrix R' H R with K = R R'."""
    root = np.linalg.cholesky(shared)
    return float(np.abs(np.linalg.eigvalsh(root.T @ hessians @ root)).max())


def _derivatives(loss: Loss, near: float, far: float) -> tuple[float, float, float, float, float]:
    """Return the two first and three second derivatives of a loss; the second derivatives are 0 across a jump."""
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
    """Return the upper bound on the batch size in Theorem 2 as printed; if it is below 1, no batch size is covered.

    See :func:`proven_batch` for the bound that the proof supports.

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
    """Return the largest batch size for which the proof of Theorem 2 holds.

    The proof needs ``4 m b^2 eta^3 L^3 + 2 b eta^2 L^2 <= 1/m`` for every eta up to 1/(m eps). Its estimate of the
    first term, ``(1/m) 4 (L/eps)^3 (b/m)^2``, has one factor 1/m too many; without it the condition reads
    ``4 (L/eps)^3 b^2 + 2 (L/eps)^2 b <= m``. This function solves that condition for b, together with the second one,
    ``4 (L/eps)^3 (b/m)^2 + (L/eps) (b/m) <= 1/4``, which is correct in the proof.

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
    """Return Theorem 2's bound on the expected ``|grad f|^2`` at a random iterate: ``4 (f(x_0) - f*) / (T b eta_min)``.

    T is the total number of steps. The theorem counts m steps per epoch; :class:`~closerthan.solvers.SVRG` makes
    m/b steps, as the paper's experiments do, so that T b = m S and larger batches do not lower the bound. The proof
    carries over with m/b in place of m: Lemma 1's sum over an epoch has m/b terms, and every Gamma is at least
    b eta/4 if ``4 (L/eps)^3 + 2 (L/eps)^2 <= m`` and ``4 (L/eps)^3 b/m^2 + (L/eps) b/m <= 1/4``.

    Parameters
    ----------
    fall
        The objective at the start minus its minimum.
    draws
        The number m of comparisons drawn per epoch.
    epochs
        The number S of epochs.
    batch_size
        The number b of comparisons per step.
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


@shows_fields
class InnerLoop(NamedTuple):
    """Lemma 1's constants for one epoch; its condition is that every Gamma is positive."""

    beta: float
    rho: float
    c: Array  # c_0 .. c_m
    gamma: Array  # Gamma_0 .. Gamma_(m-1)

    @property
    def holds(self) -> bool:
        """True if the condition of the lemma is satisfied."""
        return bool(np.all(self.gamma > 0))


@checked
def inner_loop(step: float, smoothness: float, draws: int, batch_size: int = 1) -> InnerLoop:
    """Return the constants of Lemma 1, with the paper's ``beta = 4 m b eta^2 L^3``.

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
    # The recursion c_t = rho c_(t+1) + addend with c_m = 0 and rho = 1 + growth is a geometric sum.
    with np.errstate(over="ignore", invalid="ignore"):
        c = addend * np.expm1(np.arange(draws, -1, -1) * math.log1p(growth)) / growth
        after = c[1:]
        gamma = batch_size * step * (1 - after / beta - batch_size * step * (smoothness + 2 * after))
    return InnerLoop(beta, 1 + growth, c, gamma)


@checked
def largest_step(smoothness: float, draws: int, batch_size: int = 1) -> float:
    """Return the largest eta that satisfies the condition of Lemma 1, by bisection.

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
    """Return the largest lambda such that ``slope^2 / 2 >= lambda (value - minimum)`` at all points.

    This is the constant of the Polyak-Lojasiewicz inequality of a function of one variable.

    Examples
    --------
    >>> pl_constant(lambda x: x**2, lambda x: 2 * x, np.linspace(1, 2, 5), 0.0)
    2.0
    """
    excess = value(points) - minimum
    positive_excess = excess > 1e-12 * np.abs(excess).max()
    return float(np.min(slope(points[positive_excess]) ** 2 / 2 / excess[positive_excess]))


@checked
def pl_rate(constant: float, draws: int, epochs: int, batch_size: int, least_step: float) -> float:
    """Return Theorem 3's rho for modules of S epochs, ``2 / (lambda T b eta_min)``; below 1, convergence is linear.

    T is the number of steps per module, here ``S m/b`` (see :func:`gradient_bound`).

    Examples
    --------
    >>> pl_rate(constant=0.5, draws=100, epochs=10, batch_size=1, least_step=0.01)
    0.4
    """
    return gradient_bound(1 / (2 * constant), draws, epochs, batch_size, least_step)
