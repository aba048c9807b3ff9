"""Limited-memory BFGS: descent with full gradients and an estimate of the curvature from the last few steps.

L-BFGS (Nocedal 1980; Liu and Nocedal 1989) multiplies the gradient by an estimate of the inverse Hessian that is built
from the last pairs of moves and changes of the gradient. Each iteration costs one gradient, or a few more where the
line search has to shorten the step. Near a minimum it converges far faster than steps along single comparisons.

References
----------
- J. Nocedal: Updating quasi-Newton matrices with limited storage. Mathematics of Computation 35, 1980.
- D. C. Liu, J. Nocedal: On the limited memory BFGS method for large scale optimization. Mathematical Programming 45,
  1989.
"""

import math
from collections.abc import Callable

from closerthan.arrays import inner
from closerthan.objective.inverse_hessian import InverseHessian
from closerthan.objective.protocol import MeanLoss, Point

__all__ = ["MEMORY", "descend"]

MEMORY = 10  # pairs of differences from which the curvature is estimated
FIRST_MOVE = 0.1  # length of the first move, as a fraction of the size of the map
SUFFICIENT = 1e-4  # fraction of the decrease along the tangent that a step must attain (Armijo's condition)
SHORTEST = 1e-10  # step below which the objective cannot be lowered within its rounding error


def descend(
    objective: MeanLoss,
    start: Point,
    report: Callable[[Point, int], bool],
    must_end: Callable[[], bool],
    memory: int = MEMORY,
) -> Point:
    """Lower the objective until ``report`` returns true, or until no step lowers it any more; return the last point.

    ``report(point, evaluations)`` is called after each iteration with the number of evaluations that it took, and
    ``must_end()`` after each evaluation; if that returns true, the current point is reported and returned.
    """
    now, curvature = start, InverseHessian(start.x.shape, memory)
    while True:
        move, slope = curvature.direction(now.gradient)
        after, evaluations = None, 0
        if -math.inf < slope < 0.0:
            step = 1.0 if curvature.n_pairs else _first_step(now)
            while after is None and step > SHORTEST:
                point = objective.at(now.x + step * move)
                evaluations += 1
                if must_end():
                    now = point if point.value < now.value else now
                    report(now, evaluations)
                    return now
                # Near a minimum, the second term may be lost to rounding.
                if point.value < now.value and point.value <= now.value + SUFFICIENT * step * slope:
                    after = point
                else:  # shorten the step to the minimum of the parabola through both values, within bounds
                    excess = point.value - now.value - step * slope
                    step *= min(max(-0.5 * step * slope / excess, 0.1), 0.5) if excess < math.inf else 0.1
        if after is not None:
            curvature.update(move, step, now.gradient, after.gradient)
            now = after
            if report(now, evaluations):
                return now
        elif curvature.n_pairs:
            curvature.forget()  # and try once more along the gradient
        else:
            return now


def _first_step(now: Point) -> float:
    squared = inner(now.x, now.x) / inner(now.gradient, now.gradient)
    return FIRST_MOVE * math.sqrt(squared) if squared > 0.0 else 1.0
