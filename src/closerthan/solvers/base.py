"""What all solvers share: how they are called."""

import abc
import operator
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from closerthan.objective.cpu import Array, Point

State = Mapping[str, NDArray[Any]]


class Monitor(Protocol):
    """What a solver reports to; true means stop."""

    def __call__(
        self, now: Point | Array, *, step: float = ..., gradients: int = ..., state: State | None = ...
    ) -> bool: ...


class Solver(abc.ABC):
    """Base of all solvers; derive from it to add your own."""

    def prepare(self, objective: Any, start: Array) -> None:  # noqa: B027 - nothing to do is a fine answer
        """Compile what :meth:`run` will need, before the clock starts."""

    @abc.abstractmethod
    def run(self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor) -> Array | None:
        """Improve ``start``, reporting each snapshot to ``monitor`` with the step and component gradients it took.

        Return a map only if it must be that one; None leaves the choice of the best snapshot to the monitor.

        A solver that reports its ``state`` (arrays that it never changes again: all that it needs to go on from here)
        and accepts one as a further argument can go on from a checkpoint; its first report is then of the snapshot that
        the state is of. One that does neither is run again from its start, to the same end.
        """


def whole(name: str, number: Any, least: int = 1) -> None:
    """Check an option that must be a whole number."""
    try:
        good = operator.index(number) >= least
    except TypeError:
        good = False
    if not good:
        raise ValueError(f"{name} is {number!r}; it must be a whole number of at least {least}")


def step_rule(rule: Any) -> None:
    """Check an option that must be a step rule."""
    if not callable(rule) or isinstance(rule, type):
        raise ValueError(f"step is {rule!r}; it must be a step rule such as StabilizedBB() or Constant(0.01)")
