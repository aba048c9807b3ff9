"""The last phase of a fit with a penalty: from a good map to a minimum of the objective.

Without a penalty, the minimum of the objective overfits answers that are few or contradict each other, and a fit is
better ended early. With a penalty, the minimum is the maximum a posteriori estimate, and it is worth finding: two fits
that end in the same valley then agree in all digits that matter.
"""

from closerthan.arrays import Array
from closerthan.objective.protocol import MeanLoss, Point
from closerthan.solvers.base import SolverMonitor
from closerthan.solvers.quasi_newton import descend

__all__ = ["finish"]

PER_EPOCH = 10  # iterations of L-BFGS that count as an epoch


def finish(objective: MeanLoss, n_terms: int, x: Array, monitor: SolverMonitor) -> None:
    """Descend from a map to a minimum by L-BFGS."""
    iterations, gradients = 0, 0

    def report(point: Point, evaluations: int) -> bool:
        nonlocal iterations, gradients
        iterations += 1
        gradients += evaluations * n_terms
        if iterations % PER_EPOCH and not monitor.must_end():
            return False
        reported, gradients = gradients, 0
        return monitor(point, gradients=reported)

    last = descend(objective, objective.at(x), report, monitor.must_end)
    if gradients:
        monitor(last, gradients=gradients)
