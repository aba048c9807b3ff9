"""Gradient descent with the full gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.protocol import SolverObjective
from closerthan.solvers.base import Solver, SolverMonitor, State, StateKind, step_rule
from closerthan.solvers.steps import Constant, StepRule

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch(Solver):
    """Full-gradient descent: ``x <- x - eta * grad f(x)``, one step per epoch.

    Examples
    --------
    >>> Batch(step=Constant(10.0)).step
    Constant(step=10.0)
    """

    state_kinds: ClassVar[Mapping[str, StateKind]] = {"x": "map", "before": "map", "epoch": "count"}

    step: StepRule = Constant()

    def __post_init__(self) -> None:
        step_rule(self.step)

    def run(
        self,
        objective: SolverObjective,
        start: Array,
        rng: np.random.Generator,
        monitor: SolverMonitor,
        state: State | None = None,
    ) -> None:
        state = state or {"x": start, "epoch": np.array(0)}
        now, before = objective.at(state["x"]), objective.at(state["before"]) if "before" in state else None
        epoch = int(state["epoch"])
        stop = monitor(now)
        while not stop:
            step = self.step(epoch, 1, now, before)
            before, now = now, objective.at(now.x - step * now.gradient)
            epoch += 1
            state = {"x": now.x, "before": before.x, "epoch": np.array(epoch)}
            stop = monitor(now, step=step, gradients=objective.n_terms, state=state)
