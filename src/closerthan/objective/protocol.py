"""The interfaces between devices, objectives and solvers.

An objective is the mean loss over all comparisons as a function of the map. :class:`Objective` is split by its reader:

- :class:`SolverObjective` has values and gradients, for solvers;
- :class:`MonitorObjective` has values, held-out errors and timings, for the monitor;
- :class:`FitObjective` has capabilities, compilation ahead of time and clean-up, for the fit.

Some solvers need more than values and gradients, such as a fast inner loop. Each such ability is a named capability
with its own protocol (:class:`WithWalk` and others). An objective lists its ``capabilities``, a solver lists what
it ``needs``, and :func:`require` compares the two before a fit begins.

The protocols are generic over the type of map that the objective returns: a NumPy array by default. A GPU returns maps
that stay in its memory, so that solvers can pass a large map around without copying it.
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import Loss
from closerthan.objective.processes import Processes
from closerthan.objective.visits import Leg, Order, Visits

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # typing.TypeVar has defaults from Python 3.13 on

    M = TypeVar("M", bound="Map", default=Array)
    M_co = TypeVar("M_co", bound="Map", default=Array, covariant=True)
    M_contra = TypeVar("M_contra", bound="Map", default=Array, contravariant=True)
else:
    from typing import TypeVar

    M = TypeVar("M")
    M_co = TypeVar("M_co", covariant=True)
    M_contra = TypeVar("M_contra", contravariant=True)

__all__ = [
    "CAPABILITIES",
    "STEPS_ALONG_CHOICES",
    "UNKNOWN",
    "Capability",
    "ChoiceTotals",
    "Device",
    "FitObjective",
    "Map",
    "MonitorObjective",
    "Objective",
    "Point",
    "PolyakWalk",
    "SolverObjective",
    "State",
    "StepSchedule",
    "StepsOfChoices",
    "SumsOfChoices",
    "VarianceReducedWalk",
    "WithGradientSteps",
    "WithGramGradient",
    "WithLockFreeWalk",
    "WithPolyakWalk",
    "WithWalk",
    "WithWholeAnswers",
    "require",
]

UNKNOWN = np.full((1, 1), np.nan)  # stands for a gradient that was not computed
UNKNOWN.flags.writeable = False

State = Mapping[str, NDArray[Any]]

Capability = Literal[
    "variance-reduced walk", "gradient steps", "Polyak walk", "lock-free walk", "Gram gradient", "whole answers"
]

CAPABILITIES: dict[Capability, str] = {
    "variance-reduced walk": "walk()",
    "gradient steps": "descend()",
    "Polyak walk": "polyak_walk(), best_scale() and padded_width()",
    "lock-free walk": "lock_free_walk()",
    "Gram gradient": "at_gram()",
    "whole answers": "choice_sums()",
}
"""Abilities beyond values and gradients, with the methods that provide them."""


class Map(Protocol):
    """Coordinates of all objects, one row each: a NumPy array, or an array in the memory of a device."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Number of objects and number of dimensions."""

    def copy(self) -> Self:
        """Return a copy in the same memory."""

    def __array__(self, dtype: Any = None, /) -> NDArray[Any]:
        """Return the map as a NumPy array."""


@dataclass(frozen=True)
class Point(Generic[M_co]):
    """A map, with the value, gradient and error of the objective there."""

    x: M_co
    value: float
    gradient: Array
    error: float = float("nan")


# ---- an objective, split by its reader -------------------------------------------------------------------------------


class MeanLoss(Protocol):
    """Value and gradient, which both solvers and the monitor need."""

    collapsed_objective: float = float("nan")  # value if all objects coincide; not finite where that is undefined

    @abc.abstractmethod
    def at(self, x: Array) -> Point:
        """Return the value, gradient and error at a map."""


class SolverObjective(MeanLoss, Protocol[M]):
    """The part of an objective that every solver can use."""

    weighted: bool = False  # True if terms have different weights; visits must then be drawn with a weight seed
    penalized: bool = False  # True if the loss carries a penalty, so that a map can be fitted to the end
    has_surrogate_walk: bool = False  # True if Polyak steps follow another objective, so that a fit must be finished
    longest_stretch: int = 2**17  # terms whose order is expanded at a time; a megabyte of indices stays in the cache

    @property
    @abc.abstractmethod
    def n_terms(self) -> int:
        """Number of terms, one per comparison."""

    def value(self, x: Array | M) -> Point[Array | M]:
        """Return the same as :meth:`at` but possibly, to save time, without the gradient (a single NaN instead)."""
        return self.at(np.asarray(x))


class MonitorObjective(MeanLoss, Protocol[M_contra]):
    """The part of an objective that the monitor uses."""

    evaluation_seconds: float = 0.0  # duration of the last evaluation; 0 if it was not measured

    def held_out_error(self, x: Array | M_contra) -> float:  # noqa: ARG002
        """Return the error on the held-out comparisons; NaN if there are none."""
        return float("nan")


class FitObjective(Protocol):
    """The part of an objective that the fit uses."""

    capabilities: frozenset[Capability] = frozenset()
    device: str = "this device"  # name of the device, for messages

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:  # noqa: ARG002
        """Compile what these capabilities need, before the clock starts."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        """Release threads and memory."""
        return


class Objective(SolverObjective[M], MonitorObjective[M], FitObjective, Protocol[M]):
    """A mean of terms, one per comparison, as a function of the map.

    A subclass must define ``n_terms`` and ``at``; everything else has defaults.
    """


# ---- devices ---------------------------------------------------------------------------------------------------------


@runtime_checkable
class Device(Protocol):
    """A place to evaluate objectives: a frozen dataclass whose fields determine the bits of a result."""

    @property
    def name(self) -> str:
        """Name of the device in the settings."""

    @property
    def kind(self) -> str:
        """Everything about the device that determines the bits of a result, for checkpoints."""

    @property
    def threads(self) -> int:
        """Number of fits that may run at once."""

    @property
    def processes(self) -> Processes:
        """The processes that share a fit."""

    def parallel_starts(self, comparisons: Comparisons) -> int:
        """Return how many starts of one fit of these comparisons may run at once."""

    def objective(self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None) -> Objective[Any]:
        """Return the objective of these comparisons, to be used in a ``with`` statement."""

    def for_all_losses(self) -> "Device":
        """Return the same device, set up to fit several losses one after another."""

    def local(self) -> "Device":
        """Return the device that this process uses on its own."""

    def one_thread(self) -> "Device":
        """Return the same device restricted to one thread, for fits that run in parallel."""


# ---- capabilities ----------------------------------------------------------------------------------------------------


class VarianceReducedWalk(Protocol):
    """SVRG's inner loop: each step uses ``mean over the batch of (term(x) - term(snapshot)) + snapshot.gradient``."""

    def take(self, visits: Visits, step: float) -> None:
        """Take steps of length ``step`` along these terms, one batch after another."""

    @property
    def x(self) -> Array:
        """Current map."""


class StepSchedule(NamedTuple):
    """The lengths of Polyak steps, and the weights that maps along the walk have in the average."""

    share: float  # maximum step as a fraction of 1 / slope, where slope is that of the loss at a tie
    reach: float  # number of comparisons after which steps become shorter
    lateness: float  # the weight of the k-th map grows like k to this power

    def length(self, age: float) -> float:
        """Return the length of a step after ``age`` comparisons, as a fraction of the length of the first step."""
        return float(min(1.0, self.reach / age) ** 0.5)


class PolyakWalk(Protocol[M]):
    """Polyak steps along single terms, and a weighted average of the maps along the walk."""

    @property
    def mean(self) -> M:
        """Average of the maps."""

    @property
    def age(self) -> float:
        """Number of terms visited, which determines how short steps are."""

    @property
    def step(self) -> float:
        """Current maximum step."""

    def take(self, leg: Leg) -> None:
        """Take steps along these terms. A map enters the average after each stretch of them."""

    def rescale(self, scale: float) -> None:
        """Multiply the map and its average by a number."""

    def project(self, n_dims: int) -> None:
        """Project both maps onto the first ``n_dims`` principal axes of the average."""

    def restart(self, x: Array | M) -> None:
        """Continue from another map."""

    def slow_down(self, times: float) -> None:
        """Multiply the age by ``times``, which shortens steps."""

    def state(self) -> State:
        """Return everything that another process needs to continue from here."""


class WithWalk(SolverObjective, Protocol):
    """An objective with the capability "variance-reduced walk"."""

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        """Start an epoch from a snapshot."""


class WithGradientSteps(SolverObjective, Protocol):
    """An objective with the capability "gradient steps"."""

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        """Take plain stochastic gradient steps; ``x`` is modified in place."""


class WithPolyakWalk(SolverObjective[M], Protocol[M]):
    """An objective with the capability "Polyak walk"."""

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> PolyakWalk[M]:
        """Start a walk at a map (or continue from a state), in stretches of ``length`` terms."""

    def best_scale(self, x: Array | M, scales: Array, trust: float) -> float:
        """Return the factor by which to enlarge or shrink a map, estimated from a sample of the terms.

        One of the scales is 1. A map is enlarged until it gains the fraction ``trust`` of what the best scale gains.
        """

    def padded_width(self, n_dims: int) -> int:
        """Return the width to which a walk pads rows of ``n_dims``; up to this width, dimensions cost no extra time."""


class WithLockFreeWalk(WithPolyakWalk[M], Protocol[M]):
    """An objective with the capability "lock-free walk"."""

    def lock_free_walk(
        self, x: Array, schedule: StepSchedule, length: int, state: State | None = None
    ) -> PolyakWalk[M]:
        """Start a Polyak walk whose threads move one map without locks, so that the result depends on their timing."""


class WithGramGradient(SolverObjective, Protocol):
    """An objective with the capability "Gram gradient"."""

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        """Return the value and gradient as functions of the Gram matrix."""


class WithWholeAnswers(WithPolyakWalk[M], Protocol[M]):
    """An objective with the capability "whole answers"."""

    def choice_sums(self, choices: Choices, loss: Loss) -> "SumsOfChoices":
        """Return the losses of whole answers, to be summed on the device that sums those of comparisons."""


class ChoiceTotals(NamedTuple):
    """Sums over choices that do not depend on the map."""

    weight: float  # total weight of the choices
    comparisons: float  # weight of the comparisons of each chosen pair with the others
    log_sizes: float  # sum of the losses if all objects coincide, so that each pair is equally likely to be chosen

    @classmethod
    def of(cls, sizes: Order, weights: Array | None) -> Self:
        """Return the totals, given the number of pairs and the weight of each choice (None if all are 1)."""
        weights = np.ones(len(sizes)) if weights is None else weights
        return cls(*(float(np.sum(weights * terms)) for terms in (1.0, sizes - 1, np.log(sizes))))


class SumsOfChoices(Protocol):
    """The losses of choices at a map: sums, gradients and weights of correct comparisons, on some device."""

    capabilities: frozenset[Capability]  # empty, or STEPS_ALONG_CHOICES

    @property
    def totals(self) -> ChoiceTotals:
        """The weights of the choices and of their comparisons."""

    def counted_comparisons(self, x: Array) -> tuple[float, Array, float]:
        """Return the sum of the losses, its gradient, and the weight of the comparisons that agree with the map."""

    def sums(self, x: Array, scales: Array) -> tuple[Array, float]:
        """Return the sum of the losses of each map ``scale * x``, and the weight of comparisons that x agrees with."""

    def sample(self, n_choices: int) -> "SumsOfChoices":
        """Return the sums over this number of choices, evenly spread; all of them if there are fewer."""


STEPS_ALONG_CHOICES: frozenset[Capability] = frozenset({"variance-reduced walk", "gradient steps"})


class StepsOfChoices(SumsOfChoices, Protocol):
    """Sums over choices that also allow gradient steps along some of them (STEPS_ALONG_CHOICES)."""

    def reweighted(self, weights: Array) -> "StepsOfChoices":
        """Return the same sums with other weights of the choices."""

    def gradient(self, x: Array, order: Order) -> tuple[float, Array, float]:
        """Return the sum of the losses of these choices, its gradient, and the weight of those that the map makes."""

    def descend(self, order: Order, x: Array, batch_size: int, step: float) -> None:
        """Take stochastic gradient steps along batches of choices; ``x`` is modified in place."""


def require(objective: FitObjective, solver: str, needs: frozenset[Capability]) -> None:
    """Raise an error that names the capability that a solver needs and an objective lacks."""
    missing = sorted(needs - objective.capabilities)
    if missing:
        raise ValueError(
            f"the solver {solver} needs the capability {missing[0]!r} ({CAPABILITIES[missing[0]]}), which the "
            f"objective on {objective.device} does not have; choose another solver or another device"
        )
