"""What the objective of blocks, and that of several processes, ask of a device's objective, which they lead.

Solvers know nothing of this: see ``protocol``.
"""

from typing import Any, Protocol

from closerthan.arrays import Array
from closerthan.objective.protocol import (
    PolyakWalk,
    State,
    StepSchedule,
    WithGradientSteps,
    WithGramGradient,
    WithPolyakWalk,
    WithWalk,
)
from closerthan.objective.streaming.blocks import Block
from closerthan.objective.visits import Order, Visits

__all__ = ["GradientSum", "LeadingWalk", "LedObjective", "LedWalk"]


class GradientSum(Protocol):
    """The gradient at a map, summed over the blocks that an objective holds in turn."""

    gradient: Array

    def add(self, share: float) -> tuple[float, float]:
        """Add the block that is held now, which weighs such a share of all; returns its mean loss and error."""


class LedWalk(PolyakWalk, Protocol):
    """A Polyak walk in steps: who leads it says when it gets older, when it moves and when a map enters the average."""

    rows: Any  # of the map that moves, in the memory of the device
    distance: float  # the mean squared distance of the pairs met last

    def grow_older(self, n_terms: int) -> None:
        """So many terms will be visited, by this walk or by others: steps become shorter."""

    def move(self, visits: Visits) -> float:
        """Steps along these terms; returns the sum of the squared distances met."""

    def enter_average(self) -> None:
        """Let the map as it is now enter the average."""


class LedObjective(WithWalk, WithGradientSteps, WithPolyakWalk, WithGramGradient, Protocol):
    """A device's own objective, of the block that it holds."""

    @property
    def n_objects(self) -> int:
        """How many objects the map has."""

    def hold(self, block: Block) -> None:
        """Have other comparisons, of the same objects."""

    def gradient_sum(self, x: Array) -> GradientSum:
        """The gradient at a map, over blocks to come."""

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Arrays whose sum is, over these comparisons, their gradient at ``x`` minus that at ``anchor``."""

    def scaled_losses(self, x: Array, scales: Array) -> Array:
        """The mean loss of a sample with the map scaled by each of these."""

    def unweighted(self, visits: Visits) -> Order:
        """The numbers that visits stand for."""

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> LedWalk:
        """Start a walk at a map (or go on from a state), in stretches of so many terms."""


class LeadingWalk:
    """A Polyak walk that leads another one: whatever has nothing to do with visits is that one's."""

    def __init__(self, walk: LedWalk) -> None:
        self._walk = walk

    @property
    def mean(self) -> Array:
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

    def restart(self, x: Array) -> None:
        self._walk.restart(x)

    def slow_down(self, times: float) -> None:
        self._walk.slow_down(times)

    def state(self) -> State:
        return self._walk.state()
