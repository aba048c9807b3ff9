"""What a solver may ask of an objective. Solvers know this file alone; who answers is a matter of the device.

Every objective has :class:`Objective`'s members. What else it can do is in its ``capabilities``; a solver names what it
``needs``, and :func:`require` compares the two before a fit begins.
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss
from closerthan.objective.several.processes import Processes
from closerthan.objective.visits import Visits

__all__ = [
    "CAPABILITIES",
    "UNKNOWN",
    "Device",
    "Objective",
    "Point",
    "PolyakWalk",
    "State",
    "StepSchedule",
    "VarianceReducedWalk",
    "WithGradientSteps",
    "WithGramGradient",
    "WithPolyakWalk",
    "WithWalk",
    "require",
]

UNKNOWN = np.full((1, 1), np.nan)  # a gradient that nobody asked for
UNKNOWN.flags.writeable = False

State = Mapping[str, NDArray[Any]]

CAPABILITIES = {
    "variance-reduced walk": "walk()",
    "gradient steps": "descend()",
    "Polyak walk": "polyak_walk() and best_scale()",
    "Gram gradient": "at_gram()",
}
"""What an objective may be able to do beyond values and gradients, and by which methods."""


@dataclass(frozen=True)
class Point:
    """A map and what the objective is there."""

    x: Array
    value: float
    gradient: Array
    error: float = float("nan")


class Objective(Protocol):
    """A mean of terms, one per comparison, as a function of the map.

    A class that derives from it need only have ``n_terms`` and ``at``; the rest has defaults.
    """

    capabilities: frozenset[str] = frozenset()  # which of CAPABILITIES it has
    device: str = "this device"  # where it is evaluated, for messages
    longest_stretch: int = 2**17  # terms whose order is expanded at a time: a megabyte, which stays in the cache
    weighted: bool = False  # whether terms have different weights, so that visits must be drawn for them
    one_at_a_time: bool = False  # whether a walk must end before another one begins
    evaluation_seconds: float = 0.0  # that the last evaluation took, if it is known
    collapsed_objective: float = float("nan")  # the value with all objects in one place; not finite if there is none

    @property
    @abc.abstractmethod
    def n_terms(self) -> int:
        """How many terms there are."""

    @abc.abstractmethod
    def at(self, x: Array) -> Point:
        """Value, gradient and error."""

    def value(self, x: Array) -> Point:
        """What :meth:`at` says; the gradient may be missing (one row of NaN), which takes less time."""
        return self.at(x)

    def held_out_error(self, x: Array) -> float:  # noqa: ARG002
        """The error on the comparisons that were held out; NaN without any."""
        return float("nan")

    def prepare(self, needs: frozenset[str], n_dims: int) -> None:  # noqa: ARG002
        """Compile what these capabilities need, before the clock starts."""
        return

    def agreed(self, reason: str | None) -> str | None:
        """Why to stop, as the process that decides says. One process decides for itself."""
        return reason

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        """Give back threads and memory."""
        return


class Device(Protocol):
    """Where objectives are evaluated: a frozen dataclass, whose fields decide the bits of a result."""

    @property
    def name(self) -> str:
        """What settings call it."""

    @property
    def threads(self) -> int:
        """How many fits may run at once."""

    @property
    def processes(self) -> Processes:
        """Who makes a fit together."""

    def objective(self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None) -> "Objective":
        """The objective of these comparisons, to be used in a ``with``."""

    def for_all_losses(self) -> "Device":
        """The same for fits with one loss after another."""

    def alone(self) -> "Device":
        """The same for a fit by this process alone."""

    def one_thread(self) -> "Device":
        """The same for one of several fits that run at once."""

    @property
    def kind(self) -> str:
        """What decides the bits of a result, for checkpoints."""


class VarianceReducedWalk(Protocol):
    """SVRG's inner loop: each step uses ``mean over the batch of (term(x) - term(snapshot)) + snapshot.gradient``."""

    def take(self, visits: Visits, step: float) -> None:
        """Steps of length ``step`` along these terms, one batch after another."""

    @property
    def x(self) -> Array:
        """Where the walk is now."""


class StepSchedule(NamedTuple):
    """How long Polyak steps are, and what maps along the walk weigh in their average."""

    share: float  # of 1 / slope, the loss's slope at a tie: what a step is at most
    reach: float  # comparisons after which steps become shorter
    lateness: float  # the weight of the k-th map grows like k to this power

    def length(self, age: float) -> float:
        """How long steps are after so many comparisons, as a share of the first ones."""
        return float(min(1.0, self.reach / age) ** 0.5)


class PolyakWalk(Protocol):
    """Polyak steps along single terms, and a weighted average of the maps along the walk."""

    @property
    def mean(self) -> Array:
        """The average."""

    @property
    def age(self) -> float:
        """Terms visited; the schedule shortens steps with it."""

    @property
    def step(self) -> float:
        """What a step is at most now."""

    def take(self, visits: Visits) -> None:
        """Steps along these terms. A map enters the average after each stretch of them."""

    def rescale(self, scale: float) -> None:
        """Enlarge or shrink the map and its average."""

    def project(self, n_dims: int) -> None:
        """Keep the average's first principal axes, so many of them."""

    def restart(self, x: Array) -> None:
        """Go on from another map."""

    def slow_down(self, times: float) -> None:
        """Go on as if so many times as many terms had been visited: with shorter steps."""

    def state(self) -> State:
        """What it takes to go on from here in another process."""


class WithWalk(Objective, Protocol):
    """An objective with the capability "variance-reduced walk"."""

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        """Start an epoch from a snapshot."""


class WithGradientSteps(Objective, Protocol):
    """An objective with the capability "gradient steps"."""

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        """Plain stochastic gradient steps; ``x`` moves in place."""


class WithPolyakWalk(Objective, Protocol):
    """An objective with the capability "Polyak walk"."""

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> PolyakWalk:
        """Start a walk at a map (or go on from a state), in stretches of so many terms."""

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        """By how much to enlarge or to shrink a map, judged by a sample of the terms.

        One of the scales is 1. A map is enlarged so far that it gains the share ``trust`` of what the best scale does.
        """


class WithGramGradient(Objective, Protocol):
    """An objective with the capability "Gram gradient"."""

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        """Value and gradient as functions of the Gram matrix."""


def require(objective: Objective, solver: str, needs: frozenset[str]) -> None:
    """Raise an error that names what a solver needs and an objective cannot do."""
    missing = sorted(needs - objective.capabilities)
    if missing:
        raise ValueError(
            f"the solver {solver} needs the capability {missing[0]!r} ({CAPABILITIES[missing[0]]}), which the "
            f"objective on {objective.device} does not have; choose another solver or another device"
        )
