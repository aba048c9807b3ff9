"""What all solvers share: how they are called."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.protocol import Capability, Map, Point, SolverObjective, State

__all__ = ["Monitor", "Solver", "State", "StateKind", "step_rule"]

StateKind = Literal["map", "Gram matrix", "number", "count"]


class Monitor(Protocol):
    """What a solver reports to; true means stop."""

    def __call__(
        self,
        now: Point[Map] | Array,
        *,
        step: float = ...,
        gradients: int = ...,
        state: State | Callable[[], State] | None = ...,
    ) -> bool: ...

    def must_end(self) -> bool:
        """Whether to end this epoch before it is complete, and report the map that there is; ask between pieces."""


class Solver(abc.ABC):
    """Base of all solvers; derive from it to add your own.

    ``needs`` names what the solver asks of an objective beyond values and gradients (see
    ``closerthan.objective.protocol.CAPABILITIES``); an objective that cannot do it is an error before the fit begins.
    ``state_kinds`` says what the arrays of its state are: what a file has in their place is refused.
    """

    needs: ClassVar[frozenset[Capability]] = frozenset()
    state_kinds: ClassVar[Mapping[str, StateKind]] = {}

    @abc.abstractmethod
    def run(self, objective: SolverObjective, start: Array, rng: np.random.Generator, monitor: Monitor) -> Array | None:
        """Improve ``start``, reporting each snapshot to ``monitor`` with the step and component gradients it took.

        Return a map only if it must be that one; None leaves the choice of the best snapshot to the monitor.

        A solver that reports its ``state`` (arrays that it never changes again: all that it needs to go on from here)
        and accepts one as a further argument can go on from a checkpoint; its first report is then of the snapshot that
        the state is of. One that does neither is run again from its start, to the same end.
        """


def step_rule(rule: Any) -> None:
    """Check an option that must be a step rule."""
    if not callable(rule) or isinstance(rule, type):
        raise ValueError(f"step is {rule!r}; it must be a step rule such as StabilizedBB() or Constant(0.01)")
