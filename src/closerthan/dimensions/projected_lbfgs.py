"""Minimise a smooth function of non-negative variables by projected L-BFGS.

Variables that are zero and whose derivative is positive are fixed; the others take a quasi-Newton step, whose result is
projected onto the non-negative numbers (two-metric projection; Bertsekas 1982). With non-negative variables an L1
penalty is linear, so it needs no special method.

References
----------
D. P. Bertsekas: Projected Newton methods for optimization problems with simple constraints. SIAM Journal on Control and
Optimization 1982.
M. Schmidt, D. Kim, S. Sra: Projected Newton-type methods in machine learning. In: Optimization for Machine Learning.
MIT Press 2012.
"""

import collections
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, inner

__all__ = ["Minimum", "minimise"]

PAIRS = 10  # steps from which the curvature is estimated
WINDOW = 5  # iterations over which progress is judged
SUFFICIENT = 1e-4  # fraction of the linear decrease that a step must attain (Armijo)
SHRINK = 0.4  # factor by which a step that is too long is shortened
MOST_SHRINKS = 12
FIRST_STEP = 0.1  # mean length of the first step, relative to the mean variable

Function = Callable[[Array], tuple[float, Array]]


class Minimum(NamedTuple):
    """The last point of a minimisation."""

    x: Array
    value: float
    n_iterations: int


def minimise(
    function: Function,
    start: Array,
    *,
    tolerance: float = 1e-5,
    most_iterations: int = 200,
    must_end: Callable[[], bool] = lambda: False,
) -> Minimum:
    """Minimise a function of non-negative variables.

    Parameters
    ----------
    function
        Returns the value and the gradient.
    start
        Non-negative start.
    tolerance
        Stop when the mean decrease of the last iterations is below this fraction of the value.
    most_iterations
        Maximum number of iterations.
    must_end
        Called before each iteration; if it returns True, the minimisation ends with the best point so far.

    Examples
    --------
    >>> target = np.array([1.0, -1.0])
    >>> minimise(lambda x: (((x - target) ** 2).sum() + 1.0, 2 * (x - target)), np.ones(2)).x.round(6)
    array([1., 0.])
    """
    x = start
    value, gradient = function(x)
    history = collections.deque([value], maxlen=WINDOW + 1)
    steps: collections.deque[tuple[Array, Array, float]] = collections.deque(maxlen=PAIRS)
    iteration = 0
    while iteration < most_iterations and not must_end():
        is_free = (x > 0) | (gradient < 0)
        direction = _direction(steps, np.where(is_free, gradient, 0.0), is_free)
        if not steps or _dot(direction, gradient) >= 0:
            steps.clear()
            direction = -np.where(is_free, gradient, 0.0)
            size = float(np.abs(direction).mean())
            if size == 0.0:
                break
            direction *= FIRST_STEP * (float(x.mean()) or 1.0) / size
        length = 1.0
        for _ in range(MOST_SHRINKS):
            proposed = np.maximum(x + length * direction, 0.0)
            step = proposed - x
            new_value, new_gradient = function(proposed)
            if new_value <= value + SUFFICIENT * _dot(gradient, step):
                break
            length *= SHRINK
        else:
            if not steps:
                break  # no decrease even along the gradient: the limit of the precision
            steps.clear()
            continue
        change = new_gradient - gradient
        curvature = _dot(step, change)
        if curvature > 1e-10 * _dot(change, change):
            steps.append((step, change, 1.0 / curvature))
        x, value, gradient = proposed, new_value, new_gradient
        iteration += 1
        history.append(value)
        if len(history) > WINDOW and history[0] - value < WINDOW * tolerance * abs(value):
            break
    return Minimum(x, value, iteration)


def _direction(
    steps: "collections.deque[tuple[Array, Array, float]]", gradient: Array, is_free: NDArray[np.bool_]
) -> Array:
    """Return minus the product of the L-BFGS approximation of the inverse Hessian and a gradient."""
    q = gradient.copy()
    factors = []
    for step, change, inverse in reversed(steps):
        factors.append(inverse * _dot(step, q))
        q -= factors[-1] * change
    if steps:
        _, change, inverse = steps[-1]
        q /= inverse * _dot(change, change)
    for (step, change, inverse), factor in zip(steps, reversed(factors), strict=True):
        q += (factor - inverse * _dot(change, q)) * step
    return np.where(is_free, -q, 0.0)


def _dot(a: Array, b: Array) -> float:
    return inner(a.reshape(1, -1), b.reshape(1, -1))
