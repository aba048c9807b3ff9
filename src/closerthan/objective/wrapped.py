"""The interfaces that StreamedObjective and DistributedObjective need from the objective that they wrap.

Solvers do not use them: see :mod:`closerthan.objective.protocol`.
"""

from typing import Any, Generic, Protocol

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons
from closerthan.losses import Loss
from closerthan.objective.protocol import (
    Device,
    M,
    Objective,
    PolyakWalk,
    State,
    StepSchedule,
    SumsOfChoices,
    WithGradientSteps,
    WithGramGradient,
    WithLockFreeWalk,
    WithWalk,
)
from closerthan.objective.streaming.blocks import Block
from closerthan.objective.visits import Order, Visits

__all__ = [
    "BlockObjective",
    "GradientSum",
    "LocalDevice",
    "PartObjective",
    "WalkWrapper",
    "WrappedWalk",
    "compile_walk",
]


class WrappedWalk(PolyakWalk[M], Protocol[M]):
    """A Polyak walk whose wrapper decides when its age advances, when it moves and when its average is updated."""

    distance: float  # mean squared distance of the pairs that were visited last

    @property
    def rows(self) -> Any:
        """The map that moves: a padded array or tensor in the memory of the device."""

    @property
    def mean_rows(self) -> Any:
        """The average, in the same form as ``rows``."""

    def advance_age(self, n_terms: int) -> None:
        """Shorten steps as if ``n_terms`` more terms were visited, by this walk or by others."""

    def move(self, visits: Visits) -> float:
        """Take steps along these terms; return the sum of the squared distances of the pairs visited."""

    def update_average(self) -> None:
        """Add the current map to the average."""


class PartObjective(Objective[M], WithLockFreeWalk[M], WithGramGradient, Protocol[M]):
    """The interface that DistributedObjective needs from the objective of its own process."""

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> WrappedWalk[M]:
        """Start a walk at a map (or continue from a state), in stretches of ``length`` terms."""

    def lock_free_walk(
        self, x: Array, schedule: StepSchedule, length: int, state: State | None = None
    ) -> WrappedWalk[M]:
        """Start a Polyak walk whose threads move the same map without locks."""

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return arrays whose sum is the gradient at ``x`` minus that at ``anchor``, over these comparisons."""

    def scaled_losses(self, x: Array | M, scales: Array) -> Array:
        """Return the mean loss of a sample with the map multiplied by each of the scales."""

    def unweighted(self, visits: Visits) -> Order:
        """Return the indices that visits stand for if all weights are equal."""

    def choice_sums(self, choices: Choices, loss: Loss) -> SumsOfChoices:
        """Return the losses of whole answers, to be summed on the device that sums those of comparisons."""


def compile_walk(objective: PartObjective[Any], n_objects: int, n_dims: int) -> None:
    """Compile the methods of a Polyak walk that only wrappers call, by moving along no terms."""
    walk = objective.polyak_walk(np.zeros((n_objects, n_dims)), StepSchedule(0.1, 1.0, 4.0), 1)
    walk.advance_age(1)
    walk.move(Visits((), 0))


class LocalDevice(Device, Protocol):
    """A device whose objectives DistributedObjective can wrap."""

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> PartObjective[Any]:
        """Return the objective of these comparisons."""

    def for_all_losses(self) -> "LocalDevice":
        """Return the same device, set up to fit several losses one after another."""


class GradientSum(Protocol):
    """The gradient at a map, summed over the blocks that an objective uses one after another."""

    @property
    def gradient(self) -> Array:
        """The sum so far."""

    def add(self, fraction: float) -> tuple[float, float]:
        """Add the current block, which has this fraction of the total weight; return its mean loss and error."""


class BlockObjective(PartObjective[M], WithWalk, WithGradientSteps, Protocol[M]):
    """The interface that StreamedObjective needs from the objective of a single block."""

    @property
    def n_objects(self) -> int:
        """Number of objects."""

    def use_block(self, block: Block) -> None:
        """Replace the comparisons by those of another block, about the same objects."""

    def gradient_sum(self, x: Array) -> GradientSum:
        """Return an empty sum of gradients at a map, to which blocks are added."""


class WalkWrapper(Generic[M]):
    """Base of Polyak walks that wrap another one and differ from it only in how they visit terms."""

    def __init__(self, walk: WrappedWalk[M]) -> None:
        self._walk = walk

    @property
    def mean(self) -> M:
        return self._walk.mean

    @property
    def age(self) -> float:
        return float(self._walk.age)

    @property
    def step(self) -> float:
        return float(self._walk.step)

    def rescale(self, scale: float) -> None:
        self._walk.rescale(scale)

    def project(self, n_dims: int) -> None:
        self._walk.project(n_dims)

    def restart(self, x: Array | M) -> None:
        self._walk.restart(x)

    def slow_down(self, times: float) -> None:
        self._walk.slow_down(times)

    def state(self) -> State:
        return self._walk.state()
