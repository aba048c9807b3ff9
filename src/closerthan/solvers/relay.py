"""Two solvers, one after the other: the default."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closerthan.objective.cpu import Array, Point
from closerthan.solvers.base import Monitor, Solver, State
from closerthan.solvers.polyak import Polyak
from closerthan.solvers.quasi_newton import QuasiNewton
from closerthan.solvers.steps import positive

__all__ = ["Relay"]

HARDLY = 0.01  # better, as a share of the loss of a map that knows nothing


@dataclass(frozen=True)
class Relay(Solver):
    """One solver until it no longer pays, then another from the best map so far.

    Steps along single comparisons find the way in a few passes but never come to rest; a quasi-Newton method does, but
    needs many passes to come from a random start to where the others are after two.

    Parameters
    ----------
    first, then
        The solvers.
    least
        The first solver goes on as long as an epoch lowers the best objective by this share, or while the map is hardly
        better than none: from a small start the first epochs may gain little.
    plenty
        The same, where there are plenty of answers; the larger of the two counts. There the second solver is sooner at
        the same end, while few answers it would learn by heart.
    enough
        Comparisons a coordinate at which they begin to be plenty; with ten times as many, nine tenths of the share of
        ``plenty`` are asked for.

    Examples
    --------
    >>> Relay(then=QuasiNewton(memory=10)).least
    0.001
    """

    first: Solver = Polyak()
    then: Solver = QuasiNewton()
    least: float = 0.001
    plenty: float = 0.007
    enough: float = 11.0

    def __post_init__(self) -> None:
        for name in ("first", "then"):
            if not isinstance(getattr(self, name), Solver):
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be a solver such as Polyak()")
        positive(least=self.least, plenty=self.plenty, enough=self.enough)

    def prepare(self, objective: Any, start: Array) -> None:
        self.first.prepare(objective, start)
        self.then.prepare(objective, start)

    def run(
        self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor, state: State | None = None
    ) -> Array | None:
        self.then.prepare(objective, start)  # before the clock starts; the first one prepares itself
        first: Any = self.first.run
        then: Any = self.then.run
        output: Array | None
        if state is None or _BEST in state:
            trust = 1.0 - self.enough * start.size / objective.n_terms
            leg = _FirstLeg(objective, monitor, max(self.least, self.plenty * trust), state)
            output = first(objective, start, rng, leg, **leg.resumed)
            if leg.over:
                return output
            start, state = leg.best, None
        second = _SecondLeg(monitor, begun=state is not None)
        output = then(objective, start, rng, second, **_resumed(state, _THEN))
        return output


# Names in a state. The solvers' own come after a prefix: those of a relay in a relay must not be mistaken for these.
_BEST, _VALUE, _PAYS, _FIRST, _THEN = "best", "value", "pays", "first.", "then."


def _resumed(state: State | None, prefix: str) -> dict[str, State]:
    own = {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)} if state else {}
    return {"state": own} if own else {}


class _FirstLeg:
    """Hands on what the first solver reports, keeps its best map, and stops it when an epoch no longer pays."""

    def __init__(self, objective: Any, monitor: Monitor, least: float, state: State | None) -> None:
        self._objective = objective
        self._monitor = monitor
        self._least = least
        nothing = getattr(objective, "ignorance", np.inf)
        self._hardly_better = nothing - HARDLY * abs(nothing)
        self._begun = self._sampled = False
        self._pays = state is None or bool(state[_PAYS])
        self._value = np.inf if state is None else float(state[_VALUE])
        self.best: Any = None if state is None else state[_BEST]
        self.over = False  # the fit is, not only the leg
        self.resumed = _resumed(state, _FIRST)

    def __call__(
        self, now: Point | Array, *, step: float = np.nan, gradients: int = 0, state: State | None = None
    ) -> bool:
        point: Point = now if isinstance(now, Point) else self._objective.at(now)
        # A solver that turns from a sample to all comparisons goes on from its best map: values begin anew.
        turned = self._begun and self._sampled != (point.sample > 0)
        if self._begun:  # an epoch, not the start or where a fit goes on
            asked = 0.0 if point.value > self._hardly_better else self._least
            self._pays = turned or point.value < self._value - asked * abs(self._value)
            gradients += 0 if isinstance(now, Point) else self._objective.n_terms
        self._begun, self._sampled = True, point.sample > 0
        if self.best is None or turned or point.value < self._value:
            self.best, self._value = point.x.copy(), point.value
        both: State | None = None
        if state is not None:
            baton = {_BEST: self.best, _VALUE: np.array(self._value), _PAYS: np.array(int(self._pays))}
            both = {_FIRST + name: state[name] for name in state} | baton
        self.over = self._monitor(point, step=step, gradients=gradients, state=both)
        return self.over or not self._pays


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
        own = None if state is None else {_THEN + name: state[name] for name in state}
        return self._monitor(now, step=step, gradients=gradients, state=own)
