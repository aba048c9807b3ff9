"""SciPy's L-BFGS on the same objective: a widely used method to compare with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import whole
from closerthan.objective.protocol import Point, SolverObjective
from closerthan.solvers.base import Monitor, Solver

__all__ = ["LBFGS"]


@dataclass(frozen=True)
class LBFGS(Solver):
    """SciPy's limited-memory BFGS; an epoch is one of its iterations.

    Examples
    --------
    >>> LBFGS(memory=20).memory
    20
    """

    memory: int = 10

    def __post_init__(self) -> None:
        whole("memory", self.memory)

    def run(self, objective: SolverObjective, start: Array, rng: np.random.Generator, monitor: Monitor) -> None:
        from scipy.optimize import minimize

        latest: dict[str, Any] = {"evaluations": 0}

        class EndedError(Exception):
            pass

        def evaluate(flat: Array) -> tuple[float, Array]:
            # SciPy reuses its array, so the point gets a copy.
            latest["point"] = objective.at(flat.reshape(start.shape).copy())
            latest["evaluations"] += 1
            if monitor.must_end():
                raise EndedError
            return latest["point"].value, latest["point"].gradient.ravel()

        def report(intermediate_result: Any) -> None:
            point: Point = latest["point"]
            if not np.array_equal(point.x.ravel(), intermediate_result.x):
                point = objective.at(intermediate_result.x.reshape(start.shape).copy())
            gradients = latest["evaluations"] * objective.n_terms
            latest["evaluations"] = 0
            if monitor(point, gradients=gradients):
                raise StopIteration

        if monitor(objective.at(start)):
            return
        no_limit = {"maxiter": 2**31 - 1, "maxfun": 2**31 - 1, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        try:
            minimize(evaluate, start.ravel(), jac=True, method="L-BFGS-B", callback=report, options=no_limit)
        except EndedError:
            monitor(latest["point"], gradients=latest["evaluations"] * objective.n_terms)
