"""The base class of all solvers, and the interface of the monitor they report to."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from closerthan.arrays import Array
from closerthan.checks import ParameterError
from closerthan.objective.protocol import Capability, Map, Point, SolverObjective, State

__all__ = ["Solver", "SolverMonitor", "State", "StateKind", "step_rule"]

StateKind = Literal["map", "Gram matrix", "number", "count"]


class SolverMonitor(Protocol):
    """The object that a solver reports each snapshot to; it returns true if the solver must stop."""

    def __call__(
        self,
        now: Point[Map] | Array,
        *,
        step: float = ...,
        gradients: int = ...,
        state: State | Callable[[], State] | None = ...,
    ) -> bool: ...

    def must_end(self) -> bool:
        """Return true if the solver must abandon the current epoch and report its latest map.

        Solvers call this between the chunks of an epoch.
        """


class Solver(abc.ABC):
    """Base class of all solvers; derive from it to add your own.

    ``needs`` names the capabilities that the solver requires of an objective beyond values and gradients (see
    ``closerthan.objective.protocol.CAPABILITIES``); if the objective lacks one, an error is raised before the fit
    starts. ``state_kinds`` declares what each array of the solver's state holds, so that a checkpoint file with
    arrays of another kind is rejected.
    """

    needs: ClassVar[frozenset[Capability]] = frozenset()
    state_kinds: ClassVar[Mapping[str, StateKind]] = {}

    @abc.abstractmethod
    def run(
        self, objective: SolverObjective, start: Array, rng: np.random.Generator, monitor: SolverMonitor
    ) -> Array | None:
        """Improve ``start``, reporting each snapshot to ``monitor`` with its step size and number of term gradients.

        Return a map only if the solver itself defines which one is the result; return None to let the monitor choose
        the best snapshot.

        A solver can resume from a checkpoint if it reports its ``state`` (all the arrays needed to continue, which it
        must not modify afterwards) and accepts a state as an additional argument; its first report is then the
        snapshot that the state belongs to. A solver without a state is run again from its start and, with the same
        seed, arrives at the same result.
        """


def step_rule(rule: Any) -> None:
    """Raise ``ValueError`` unless ``rule`` is a step rule."""
    if not callable(rule) or isinstance(rule, type):
        raise ParameterError("step", rule, "it must be a step rule such as StabilizedBB() or Constant(0.01)")
