"""Plain stochastic gradient descent with a decaying step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError, whole
from closerthan.objective.protocol import Capability, Point, WithGradientSteps
from closerthan.solvers.base import Solver, SolverMonitor, State, StateKind
from closerthan.solvers.steps import Constant, Decay, StepRule
from closerthan.solvers.visiting_order import SAMPLINGS, visits

__all__ = ["SGD"]


@dataclass(frozen=True)
class SGD(Solver):
    """Stochastic gradient descent: ``x <- x - batch_size * eta * mean gradient of the batch``, one pass per epoch.

    No full gradient is computed, so the step rule must be ``Constant`` or ``Decay``.

    Examples
    --------
    >>> SGD(step=Decay(first=5e-4)).batch_size
    1
    """

    needs: ClassVar[frozenset[Capability]] = frozenset({"gradient steps"})
    state_kinds: ClassVar[Mapping[str, StateKind]] = {"x": "map", "epoch": "count"}

    step: StepRule = Decay()
    batch_size: int = 1
    sampling: Literal["shuffled", "uniform"] = "shuffled"

    def __post_init__(self) -> None:
        whole("batch_size", self.batch_size)
        if self.sampling not in SAMPLINGS:
            raise ValueError(f"unknown sampling {self.sampling!r}; choose from: {', '.join(SAMPLINGS)}")
        if not isinstance(self.step, Decay | Constant):
            raise ParameterError("step", self.step, "SGD computes no full gradients: use Constant or Decay")

    def run(  # type: ignore[override]  # requires a capability, see needs
        self,
        objective: WithGradientSteps,
        start: Array,
        rng: np.random.Generator,
        monitor: SolverMonitor,
        state: State | None = None,
    ) -> None:
        draws = objective.n_terms
        if self.batch_size > draws:
            raise ValueError(
                f"batch_size is {self.batch_size}, but there are {draws} comparisons; choose a smaller batch"
            )
        state = state or {"x": start, "epoch": np.array(0)}
        x, epoch = state["x"].copy(), int(state["epoch"])
        here = Point(x, float("nan"), np.zeros_like(x))
        stop = monitor(x)
        while not stop:
            step, n_drawn = self.step(epoch, draws, here, None), 0
            for part in visits(self.sampling, rng, objective, draws, self.batch_size, max(2048, x.size)):
                objective.descend(part, x, self.batch_size, self.batch_size * step)
                n_drawn += len(part)
                if monitor.must_end():
                    break
            epoch += 1
            state = {"x": x.copy(), "epoch": np.array(epoch)}
            stop = monitor(x, step=step, gradients=n_drawn, state=state)
