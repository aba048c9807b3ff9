"""Two solvers, one after the other: the default."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan.objective import Array, Point
from closerthan.solvers.base import Monitor, Solver, State, positive
from closerthan.solvers.polyak import Polyak
from closerthan.solvers.svrg import SVRG
from closerthan.steps import StabilizedBB

__all__ = ["Relay"]


@dataclass(frozen=True)
class Relay(Solver):
    """One solver until it no longer pays, then another from the best map so far.

    Steps along single comparisons find the way in a few passes but never come to rest; variance-reduced steps do, but
    need many epochs to come from a random start to where the others are after two.

    Parameters
    ----------
    first, then
        The solvers.
    least
        The first solver goes on as long as an epoch lowers the best objective by this share.

    Examples
    --------
    >>> Relay(then=SVRG(batch_size=20)).least
    0.005
    """

    first: Solver = Polyak()
    then: Solver = SVRG(step=StabilizedBB(per_object=0.02, longest=1.0), guarded=True)
    least: float = 0.005

    def __post_init__(self) -> None:
        positive("least", self.least)

    def prepare(self, objective: Any, start: Array) -> None:
        self.first.prepare(objective, start)
        self.then.prepare(objective, start)

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> Array | None:
        self.prepare(objective, start)  # the second one too, before the clock starts
        resumed = state is not None
        first: Any = self.first.run
        then: Any = self.then.run
        output: Array | None
        if state is None or "best" in state:
            leg = _FirstLeg(objective, monitor, self.least, state)
            output = first(objective, start, rng, leg, **leg.resumed)
            if leg.over:
                return output
            start, state, resumed = leg.best, None, False
        output = then(objective, start, rng, _SecondLeg(monitor, resumed), **({"state": state} if resumed else {}))
        return output


class _FirstLeg:
    """Hands on what the first solver reports, keeps its best map, and stops it when an epoch no longer pays."""

    def __init__(self, objective: Any, monitor: Monitor, least: float, state: State | None) -> None:
        self._objective = objective
        self._monitor = monitor
        self._least = least
        self._pays = state is None or bool(state["pays"])
        self._value = np.inf if state is None else float(state["value"])
        self.best: Any = None if state is None else state["best"]
        self.over = False  # the fit is, not only the leg
        own = {} if state is None else {name: state[name] for name in state if name not in _BATON}
        self.resumed = {"state": own} if own else {}

    def __call__(
        self, now: Point | Array, *, step: float = np.nan, gradients: int = 0, state: State | None = None
    ) -> bool:
        point = now if isinstance(now, Point) else self._objective.at(now)
        if gradients:  # an epoch, not the start
            self._pays = point.value < self._value - self._least * abs(self._value)
        if self.best is None or point.value < self._value:
            self.best, self._value = point.x, point.value
        baton = {"best": self.best, "value": np.array(self._value), "pays": np.array(int(self._pays))}
        both = None if state is None else {**state, **baton}
        self.over = self._monitor(point, step=step, gradients=gradients, state=both)
        return self.over or not self._pays


_BATON = ("best", "value", "pays")  # what a first leg's state has beside the solver's own


class _SecondLeg:
    """Leaves out the second solver's first report: the map that it starts from was reported by the first solver."""

    def __init__(self, monitor: Monitor, begun: bool) -> None:
        self._monitor = monitor
        self._begun = begun

    def __call__(
        self, now: Point | Array, *, step: float = np.nan, gradients: int = 0, state: State | None = None
    ) -> bool:
        if not self._begun:
            self._begun = True
            return False
        return self._monitor(now, step=step, gradients=gradients, state=state)
