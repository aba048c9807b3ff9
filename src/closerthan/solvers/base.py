"""What all solvers share: how they are called."""

import abc
import operator
from typing import Any, Protocol

import numpy as np

from closerthan.objective import Array, Point


class Monitor(Protocol):
    """What a solver reports to; true means stop."""

    def __call__(self, now: Point | Array, *, step: float = ..., gradients: int = ...) -> bool: ...


class Solver(abc.ABC):
    """Base of all solvers; derive from it to add your own."""

    @abc.abstractmethod
    def run(self, objective: Any, start: Array, rng: np.random.Generator, monitor: Monitor) -> Array | None:
        """Improve ``start``, reporting each snapshot to ``monitor`` with the step and component gradients it took.

        Return a map only if it must be that one; None leaves the choice of the best snapshot to the monitor.
        """


def whole(name: str, number: Any, least: int = 1) -> None:
    """Check an option that must be a whole number."""
    try:
        good = operator.index(number) >= least
    except TypeError:
        good = False
    if not good:
        raise ValueError(f"{name} is {number!r}; it must be a whole number of at least {least}")
