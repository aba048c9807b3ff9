"""The objective of comparisons that are read in blocks: it wraps a device's objective, which has one block at a time.

Values and gradients are summed block by block, and a walk visits one block after another. Solvers need not know about
blocks.
"""

import itertools
import time
from collections.abc import Iterator
from typing import Any, Generic

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Choices
from closerthan.losses import Loss
from closerthan.objective.protocol import (
    UNKNOWN,
    Capability,
    M,
    Objective,
    Point,
    State,
    StepSchedule,
    SumsOfChoices,
    VarianceReducedWalk,
)
from closerthan.objective.scales import best_scale
from closerthan.objective.streaming.blocks import BlockReader, Blocks
from closerthan.objective.visits import Leg, Order, Visits
from closerthan.objective.wrapped import BlockObjective, WalkWrapper, WrappedWalk, compile_walk

__all__ = ["StreamedObjective"]


class StreamedObjective(Objective[M], Generic[M]):
    """The mean loss over all blocks. Only one walk may run at a time, since all share the current block.

    Parameters
    ----------
    inner
        The device's objective of the current block.
    blocks
        The division of the rows into blocks.
    reader
        Reads the blocks.
    sample
        The objective of a sample of the comparisons, from which the best size of a map is estimated.
    """

    def __init__(
        self, inner: BlockObjective[M], blocks: Blocks, reader: BlockReader, sample: BlockObjective[M]
    ) -> None:
        self.inner = inner
        self.blocks = blocks
        self._reader = reader
        self._sample = sample
        self.capabilities = inner.capabilities - {"whole answers"}  # an answer may be in two blocks
        self.device = inner.device
        self.weighted = blocks.totals is not None
        self.penalized = inner.penalized
        self.longest_stretch = min(inner.longest_stretch, blocks.n_rows)
        self.collapsed_objective = inner.collapsed_objective

    def __exit__(self, *problem: object) -> None:
        self._reader.close()
        self._sample.__exit__(*problem)
        self.inner.__exit__(*problem)

    @property
    def n_terms(self) -> int:
        return self.blocks.n_rows

    def use_block(self, block: int, next_block: int | None) -> None:
        """Make a block the current one, and begin to read the next one."""
        self.inner.use_block(self._reader.get(block, next_block))

    def at(self, x: Array) -> Point:
        began = time.monotonic()
        total = self.inner.gradient_sum(x)
        value = error = 0.0
        for fraction in self._all_blocks():
            mean, wrong = total.add(fraction)
            value, error = value + fraction * mean, error + fraction * wrong
        self.evaluation_seconds = time.monotonic() - began
        return Point(x, value, total.gradient, error)

    def value(self, x: Array | M) -> Point[Array | M]:
        began = time.monotonic()
        value = error = 0.0
        for fraction in self._all_blocks():
            point = self.inner.value(x)
            value, error = value + fraction * point.value, error + fraction * point.error
        self.evaluation_seconds = time.monotonic() - began
        return Point(x, value, UNKNOWN, error)

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        total, out = 0.0, np.zeros_like(gram)
        for fraction in self._all_blocks():
            value, gradient = self.inner.at_gram(gram)
            total += fraction * value
            out += fraction * gradient
        return total, out

    def _all_blocks(self) -> Iterator[float]:
        """Use one block after another; yield the fraction of the total weight that each has."""
        with_weight = [block for block in range(len(self.blocks)) if self.blocks.fraction(block) > 0.0]
        for block, next_block in itertools.pairwise([*with_weight, None]):
            assert block is not None
            self.use_block(block, next_block)
            yield self.blocks.fraction(block)

    def held_out_error(self, x: Array | M) -> float:
        return float(self.inner.held_out_error(x))

    def scaled_losses(self, x: Array | M, scales: Array) -> Array:
        """Return the mean loss of a sample with the map multiplied by each of the scales."""
        return self._sample.scaled_losses(x, scales)

    def best_scale(self, x: Array | M, scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def padded_width(self, n_dims: int) -> int:
        return self.inner.padded_width(n_dims)

    def walk(self, snapshot: Point, batch_size: int) -> "BlockSteps":
        return BlockSteps(self, self.inner.walk(snapshot, batch_size))

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        for block, within, next_block in self.blocks.by_block(visits):
            self.use_block(block, next_block)
            self.inner.descend(within, x, batch_size, step)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> "BlockWalk[M]":
        return BlockWalk(self, self.inner.polyak_walk(x, schedule, length, state), length)

    def lock_free_walk(
        self, x: Array, schedule: StepSchedule, length: int, state: State | None = None
    ) -> "BlockWalk[M]":
        return BlockWalk(self, self.inner.lock_free_walk(x, schedule, length, state), length)

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:
        self.use_block(0, None)
        self.inner.prepare(needs, n_dims)
        if "Polyak walk" in needs:
            compile_walk(self.inner, self.inner.n_objects, n_dims)

    # ---- for several processes, each of which has blocks -------------------------------------------------------------

    def unweighted(self, visits: Visits) -> Order:
        """Return the indices that visits stand for if all weights are equal."""
        return self.inner.unweighted(visits)

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:  # noqa: ARG002
        """Raise an error: a batch of SVRG has rows from all blocks, of which only one is in memory."""
        raise ValueError(
            "several processes that read their answers in blocks cannot use SVRG; fit with the solver polyak, or with "
            "enough processes that each can hold its part in memory"
        )

    def choice_sums(self, choices: Choices, loss: Loss) -> SumsOfChoices:  # noqa: ARG002
        """Raise an error: the rows of an answer may be in different blocks, but wrappers need the method."""
        raise ValueError("answers that are read in blocks can only be fitted as comparisons")


class BlockSteps:
    """SVRG's inner loop along one block after another; a batch ends where a block does."""

    def __init__(self, objective: StreamedObjective[Any], walk: VarianceReducedWalk) -> None:
        self._objective = objective
        self._walk = walk

    def take(self, visits: Visits, step: float) -> None:
        for block, within, next_block in self._objective.blocks.by_block(visits):
            self._objective.use_block(block, next_block)
            self._walk.take(within, step)

    @property
    def x(self) -> Array:
        return self._walk.x


class BlockWalk(WalkWrapper[M]):
    """Polyak steps along one block after another; the average is updated as often as without blocks."""

    def __init__(self, objective: StreamedObjective[M], walk: WrappedWalk[M], length: int) -> None:
        super().__init__(walk)
        self._objective = objective
        self._length = length

    def take(self, leg: Leg) -> None:
        for stretch in leg.stretches(self._length):
            for block, within, next_block in self._objective.blocks.by_block(stretch):
                self._objective.use_block(block, next_block)
                self._walk.advance_age(len(within))
                self._walk.distance = self._walk.move(within) / (2 * len(within))
            self._walk.update_average()

    # ---- for several processes, whose walk wraps this one ------------------------------------------------------------

    def move(self, visits: Visits) -> float:
        squared_distances = 0.0
        for block, within, next_block in self._objective.blocks.by_block(visits):
            self._objective.use_block(block, next_block)
            squared_distances += self._walk.move(within)
        return squared_distances

    def advance_age(self, n_terms: int) -> None:
        self._walk.advance_age(n_terms)

    def update_average(self) -> None:
        self._walk.update_average()

    @property
    def rows(self) -> Any:
        return self._walk.rows

    @property
    def mean_rows(self) -> Any:
        return self._walk.mean_rows

    @property
    def distance(self) -> float:
        return float(self._walk.distance)

    @distance.setter
    def distance(self, distance: float) -> None:
        self._walk.distance = distance
