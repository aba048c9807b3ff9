"""L-BFGS on the whole objective: a widely used method to compare with."""

from dataclasses import dataclass

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.objective.protocol import Point, SolverObjective
from closerthan.solvers.base import Solver, SolverMonitor
from closerthan.solvers.quasi_newton import MEMORY, descend

__all__ = ["LBFGS"]


@dataclass(frozen=True)
class LBFGS(Solver):
    """Limited-memory BFGS (see :mod:`closerthan.solvers.quasi_newton`); an epoch is one of its iterations.

    Examples
    --------
    >>> LBFGS(memory=20).memory
    20
    """

    memory: int = MEMORY

    def __post_init__(self) -> None:
        whole("memory", self.memory)

    def run(self, objective: SolverObjective, start: Array, rng: np.random.Generator, monitor: SolverMonitor) -> None:
        def report(point: Point, evaluations: int) -> bool:
            return monitor(point, gradients=evaluations * objective.n_terms)

        first = objective.at(start)
        if not monitor(first):
            descend(objective, first, report, monitor.must_end, self.memory)
