"""Gradient descent with the full gradient."""

from dataclasses import dataclass

import numpy as np

from closerthan.objective import Array, FiniteSum
from closerthan.solvers.base import Monitor, Solver
from closerthan.steps import Constant, StepRule

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch(Solver):
    """Full-gradient descent: ``x <- x - eta * grad f(x)``, one step an epoch.

    Examples
    --------
    >>> Batch(step=Constant(10.0)).step
    Constant(step=10.0)
    """

    step: StepRule = Constant()

    def run(self, objective: FiniteSum, start: Array, rng: np.random.Generator, monitor: Monitor) -> None:
        now, before = objective.at(start), None
        epoch = 0
        stop = monitor(now)
        while not stop:
            step = self.step(epoch, 1, now, before)
            before, now = now, objective.at(now.x - step * now.gradient)
            epoch += 1
            stop = monitor(now, step=step, gradients=objective.n_terms)
