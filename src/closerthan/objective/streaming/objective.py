"""The objective of rows that come in blocks: another device's objective, which holds one block at a time.

Solvers do not know. Values and gradients are summed block by block; a walk goes along one block after another.
"""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.leading import LeadingWalk, LedObjective, LedWalk
from closerthan.objective.protocol import UNKNOWN, Objective, Point, State, StepSchedule, VarianceReducedWalk
from closerthan.objective.scales import best_scale
from closerthan.objective.streaming.blocks import BlockReader, Blocks
from closerthan.objective.visits import Order, Visits

__all__ = ["StreamedObjective"]


class StreamedObjective(Objective):
    """The mean loss over all blocks.

    Parameters
    ----------
    inner
        The device's objective; ``hold`` gives it another block.
    blocks
        How the rows are cut.
    reader
        What brings the blocks.
    sample
        An objective of the comparisons that tell how large a map should be.
    """

    one_at_a_time = True  # two walks would take the block away from each other

    def __init__(self, inner: LedObjective, blocks: Blocks, reader: BlockReader, sample: LedObjective) -> None:
        self.inner = inner
        self.blocks = blocks
        self._reader = reader
        self._sample = sample
        self.capabilities = inner.capabilities
        self.device = inner.device
        self.weighted = blocks.totals is not None
        self.longest_stretch = min(inner.longest_stretch, blocks.n_rows)
        self.collapsed_objective = inner.collapsed_objective

    def __exit__(self, *problem: object) -> None:
        self._reader.close()
        self._sample.__exit__(*problem)
        self.inner.__exit__(*problem)

    @property
    def n_terms(self) -> int:
        return self.blocks.n_rows

    def hold(self, block: int, then: int | None) -> None:
        """Let the device have this block, and send for the next one."""
        self.inner.hold(self._reader.get(block, then))

    def at(self, x: Array) -> Point:
        began = time.monotonic()
        total = self.inner.gradient_sum(x)
        value = error = 0.0
        for share in self._held_in_turn():
            mean, wrong = total.add(share)
            value, error = value + share * mean, error + share * wrong
        self.evaluation_seconds = time.monotonic() - began
        return Point(x, value, total.gradient, error)

    def value(self, x: Array) -> Point:
        began = time.monotonic()
        value = error = 0.0
        for share in self._held_in_turn():
            point = self.inner.value(x)
            value, error = value + share * point.value, error + share * point.error
        self.evaluation_seconds = time.monotonic() - began
        return Point(x, value, UNKNOWN, error)

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        total, out = 0.0, np.zeros_like(gram)
        for share in self._held_in_turn():
            value, gradient = self.inner.at_gram(gram)
            total += share * value
            out += share * gradient
        return total, out

    def _held_in_turn(self) -> Iterator[float]:
        """Hold one block after another; what each weighs of all."""
        heavy = [block for block in range(len(self.blocks)) if self.blocks.share(block) > 0.0]
        for block, then in itertools.pairwise([*heavy, None]):
            assert block is not None
            self.hold(block, then)
            yield self.blocks.share(block)

    def held_out_error(self, x: Array) -> float:
        return float(self.inner.held_out_error(x))

    def scaled_losses(self, x: Array, scales: Array) -> Array:
        """The mean loss of a sample with the map scaled by each of these."""
        return self._sample.scaled_losses(x, scales)

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def walk(self, snapshot: Point, batch_size: int) -> "BlockSteps":
        return BlockSteps(self, self.inner.walk(snapshot, batch_size))

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        for stay in self.blocks.stays(visits):
            self.hold(stay.block, stay.then)
            self.inner.descend(stay.visits, x, batch_size, step)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> "BlockWalk":
        return BlockWalk(self, self.inner.polyak_walk(x, schedule, length, state), length)

    def prepare(self, needs: frozenset[str], n_dims: int) -> None:
        self.hold(0, None)
        self.inner.prepare(needs, n_dims)
        if "Polyak walk" in needs:
            walk = self.inner.polyak_walk(np.zeros((self.inner.n_objects, n_dims)), StepSchedule(0.1, 1.0, 4.0), 1)
            walk.grow_older(1)
            walk.move(Visits((), 0))

    # ---- for several processes, each of which has blocks -------------------------------------------------------------

    def unweighted(self, visits: Visits) -> Order:
        """The numbers that visits stand for."""
        return self.inner.unweighted(visits)

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:  # noqa: ARG002
        """Rows from all over cannot be had of blocks."""
        raise ValueError(
            "several processes whose answers come in blocks cannot take SVRG's steps; fit with the solver polyak, or "
            "with so many processes that each can hold its part"
        )


class BlockSteps:
    """SVRG's inner loop along one block after another; a batch ends where a block does."""

    def __init__(self, objective: StreamedObjective, walk: VarianceReducedWalk) -> None:
        self._objective = objective
        self._walk = walk

    def take(self, visits: Visits, step: float) -> None:
        for stay in self._objective.blocks.stays(visits):
            self._objective.hold(stay.block, stay.then)
            self._walk.take(stay.visits, step)

    @property
    def x(self) -> Array:
        return self._walk.x


class BlockWalk(LeadingWalk):
    """Polyak steps along one block after another; maps enter the average as they do without blocks."""

    def __init__(self, objective: StreamedObjective, walk: LedWalk, length: int) -> None:
        super().__init__(walk)
        self._objective = objective
        self._length = length

    def take(self, visits: Visits) -> None:
        for begin in range(0, len(visits), self._length):
            for stay in self._objective.blocks.stays(visits[begin : begin + self._length]):
                self._objective.hold(stay.block, stay.then)
                self._walk.grow_older(len(stay.visits))
                self._walk.distance = self._walk.move(stay.visits) / (2 * len(stay.visits))
            self._walk.enter_average()

    # ---- for several processes, which lead this walk in turn ---------------------------------------------------------

    def move(self, visits: Visits) -> float:
        met = 0.0
        for stay in self._objective.blocks.stays(visits):
            self._objective.hold(stay.block, stay.then)
            met += self._walk.move(stay.visits)
        return met

    def grow_older(self, n_terms: int) -> None:
        self._walk.grow_older(n_terms)

    def enter_average(self) -> None:
        self._walk.enter_average()

    @property
    def rows(self) -> Any:
        return self._walk.rows

    @property
    def distance(self) -> float:
        return float(self._walk.distance)

    @distance.setter
    def distance(self, distance: float) -> None:
        self._walk.distance = distance
