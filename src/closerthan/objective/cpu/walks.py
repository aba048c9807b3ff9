"""Walks on the CPU: the inner loops of the solvers, which take one step after another along given comparisons."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, Singles, blocks, inner
from closerthan.compiled.kernels import polyak
from closerthan.compiled.simd import padded, padded_zeros
from closerthan.geometry import leading_axes
from closerthan.objective.protocol import Point, State, StepSchedule
from closerthan.objective.visits import SIDE_BY_SIDE, Leg, Order, Visits

if TYPE_CHECKING:
    from closerthan.objective.cpu.objective import CPUObjective

LONGEST_PART = 2**16  # comparisons that a thread of a lock-free walk visits at a time

GradientChanges = Callable[[Order, Array, Array], tuple[Array, ...]]


class LazyWalk:
    """SVRG steps with one comparison each.

    The full gradient is subtracted from a row only when the row is next read, so no step costs O(n_objects).
    """

    def __init__(self, objective: "CPUObjective", snapshot: Point) -> None:
        self._objective = objective
        self._state = np.stack([snapshot.x, snapshot.x, snapshot.gradient], axis=1)
        self._done = 0
        self._step = 0.0

    def take(self, visits: Visits, step: float) -> None:
        from closerthan.compiled.kernels import svrg

        order = self._objective.expand(visits)
        svrg.svrg_steps(self._objective.loss_argument, self._objective.rows, order, step, self._done, self._state)
        self._done += len(order)
        self._step = step

    @property
    def x(self) -> Array:
        x: Array = self._state[:, 0] - (self._done * self._step) * self._state[:, 2]
        return x


class DenseWalk:
    """SVRG steps with one batch of comparisons each; every step moves all rows of the map.

    ``gradient_changes(order, x, anchor)`` returns arrays whose sum is the gradient at ``x`` minus that at ``anchor``,
    over the terms in ``order``.
    """

    def __init__(
        self,
        gradient_changes: GradientChanges,
        snapshot: Point,
        batch_size: int,
        expand: Callable[[Visits], Order] = Visits.indices,
        on_rows: Callable[[Any, Callable[[slice], None]], None] = lambda _, work: work(slice(None)),
    ) -> None:
        self._gradient_changes = gradient_changes
        self._snapshot = snapshot
        self._batch_size = batch_size
        self._expand = expand
        self._on_rows = on_rows
        self.x = snapshot.x.copy()

    def take(self, visits: Visits, step: float) -> None:
        order = self._expand(visits)
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            changes = self._gradient_changes(batch, self.x, self._snapshot.x)
            self._on_rows(self.x, functools.partial(self._move, step, 1.0 / len(batch), changes))

    def _move(self, step: float, factor: float, changes: tuple[Array, ...], rows: slice) -> None:
        from closerthan.compiled.kernels import svrg

        changes = tuple(change[rows] for change in changes)
        svrg.dense_step(self.x[rows], step, changes, factor, self._snapshot.gradient[rows])


class AveragedWalk:
    """Polyak steps with averaging.

    The map that moves has single precision, and its rows are padded to whole vectors: the noise of single steps is far
    larger than the rounding error. The average has double precision.

    Two threads walk half of a long stretch each, from the same map, and both moves are added. An object that both
    threads move may take twice a Polyak step, which is the stability limit, so there are never more than two threads.
    """

    def __init__(
        self, objective: "CPUObjective", x: Array, schedule: StepSchedule, length: int, state: State | None
    ) -> None:
        self._objective = objective
        self._schedule = StepSchedule(*map(float, schedule))
        self._length = length
        self.age, self.n_maps, self.step = 0.0, 0, 0.0
        self._halves: list[Singles] = []
        if state is None:
            self.restart(x)
        else:
            self.mean = state["mean"].copy()
            self.rows = padded(state["x"])
            self.age, self.n_maps = float(state["age"]), int(state["n_maps"])
            self.distance = float(state["distance"])

    def take(self, leg: Leg) -> None:
        objective, length, terms = self._objective, self._length, leg.terms
        if length < 2 * objective.least_part:
            progress = polyak.polyak_stretches(
                objective.shared_argument, objective.rows,
                polyak.PassPart(
                    terms.runs, terms.length, terms.neighbours, SIDE_BY_SIDE, terms.rest, terms.first, terms.size
                ),
                objective.weighting(leg), length, objective.steps_at_once, self._schedule,
                (self.age, self.n_maps, self.distance, self.step), self.rows, self.mean,
            )  # fmt: skip
            self.age, self.n_maps, self.distance, self.step = progress
            return
        for stretch in leg.stretches(length):
            self._take_halves(objective.expand(stretch))

    def _take_halves(self, order: Order) -> None:
        self.advance_age(len(order))
        self.n_maps += 1
        (first, first_distances), (second, second_distances) = self._walk_halves(order, self._length // 2)
        self.distance = (first_distances + second_distances) / (2 * len(order))

        def add(rows: slice) -> None:
            x, mean = self.rows[rows], self.mean[rows]
            polyak.add_walks(x, first[rows], second[rows], mean, self._schedule, self.n_maps)

        self._objective.on_rows(self.rows, add)

    def _walk_halves(self, order: Order, half: int) -> tuple[tuple[Singles, float], tuple[Singles, float]]:
        """Walk both halves of an order from the current map; return each map and its sum of squared distances."""
        objective = self._objective
        # Both maps are kept for the next stretch: with many objects, new arrays cost a tenth of the time of a fit.
        if not self._halves or self._halves[0].shape != self.rows.shape:
            self._halves = [padded_zeros(*self.rows.shape) for _ in range(2)]

        def walk(part: NDArray[np.int64], rows: Singles) -> tuple[Singles, float]:
            rows[:] = self.rows
            return rows, polyak.polyak_steps(
                objective.shared_argument, objective.rows, part, objective.steps_at_once, self.step, rows
            )

        first, second = objective.pool.map(walk, [order[:half], order[half:]], self._halves)
        return first, second

    # ---- the parts of `take`, for walks that wrap this one -----------------------------------------------------------

    def advance_age(self, n_terms: int) -> None:
        """Shorten steps as if ``n_terms`` more terms were visited, by this walk or by others."""
        self.age += n_terms
        self.step = polyak.longest_step(self._objective.shared_argument, self._schedule, self.distance, self.age)

    def move(self, visits: Visits) -> float:
        """Take steps along these terms; return the sum of the squared distances of the pairs visited."""
        objective = self._objective
        order = objective.expand(visits)
        if len(order) < 2 * objective.least_part:
            return float(
                polyak.polyak_steps(
                    objective.shared_argument, objective.rows, order, objective.steps_at_once, self.step, self.rows
                )
            )  # fmt: skip
        (first, first_distances), (second, second_distances) = self._walk_halves(order, len(order) // 2)
        first += second - self.rows
        self.rows[:] = first
        return first_distances + second_distances

    def update_average(self) -> None:
        """Add the current map to the average."""
        self.n_maps += 1
        weight = (self._schedule.lateness + 1.0) / (self._schedule.lateness + self.n_maps)

        def add(rows: slice) -> None:
            x, mean = self.rows[rows], self.mean[rows]
            for block in blocks(len(mean)):
                mean[block] += weight * (x[block, : mean.shape[1]] - mean[block])

        self._objective.on_rows(self.rows, add)

    @property
    def mean_rows(self) -> Array:
        """The average of the maps, whose rows are not padded on the CPU."""
        return self.mean

    def rescale(self, scale: float) -> None:
        if scale == 1.0:
            return

        def multiply(rows: slice) -> None:
            self.rows[rows] *= scale
            self.mean[rows] *= scale

        self._objective.on_rows(self.rows, multiply)
        self.distance *= scale * scale

    def project(self, n_dims: int) -> None:
        # Like principal_axes, but without BLAS, whose threads would occupy cores, and also for maps with infinities.
        n_objects, n_wide = self.mean.shape
        centre = self.mean.mean(axis=0)
        pool, all_blocks = self._objective.pool, list(blocks(n_objects))

        def products(block: slice) -> Array:
            centred = self.mean[block] - centre
            product: Array = np.einsum("oa,ob->ab", centred, centred)
            return product

        axes = leading_axes(sum(pool.map(products, all_blocks), np.zeros((n_wide, n_wide))), n_dims)
        rows, mean = padded_zeros(n_objects, n_dims), np.empty((n_objects, n_dims))

        def rotate(block: slice) -> None:
            np.einsum("oa,ca->oc", self.mean[block] - centre, axes, out=mean[block])
            rows[block, :n_dims] = np.einsum("oa,ca->oc", self.rows[block, :n_wide] - centre, axes)

        pool.map(rotate, all_blocks)
        self.rows, self.mean = rows, mean
        self.distance = _distance(self.rows)

    def restart(self, x: Array) -> None:
        rows, mean = padded_zeros(*x.shape), np.empty(x.shape)

        def fill(part: slice) -> None:
            mean[part] = x[part]
            # Far from the origin, single precision could not distinguish objects.
            with np.errstate(over="ignore", invalid="ignore"):
                rows[part, : x.shape[1]] = x[part] - centre

        with np.errstate(over="ignore", invalid="ignore"):
            centre = x.mean(axis=0)
        self._objective.on_rows(rows, fill)
        self.rows, self.mean = rows, mean
        self.distance = _distance(self.rows)

    def slow_down(self, times: float) -> None:
        self.age *= times

    def state(self) -> State:
        n_dims = self.mean.shape[1]
        numbers = {"age": self.age, "n_maps": self.n_maps, "distance": self.distance}
        arrays = {"x": self.rows[:, :n_dims].astype(np.float64), "mean": self.mean.copy()}
        return arrays | {name: np.array(number) for name, number in numbers.items()}


class LockFreeWalk(AveragedWalk):
    """Polyak steps by ``n_walkers`` threads, which move the same rows without locks (Niu et al. 2011).

    A step may read rows that another thread is moving, and a move may be lost if two threads write to the same row at
    once. Both are rare if there are many more objects than steps in flight.
    """

    def __init__(
        self,
        objective: "CPUObjective",
        x: Array,
        schedule: StepSchedule,
        length: int,
        state: State | None,
        n_walkers: int,
    ) -> None:
        super().__init__(objective, x, schedule, length, state)
        self.n_walkers = n_walkers

    def take(self, leg: Leg) -> None:
        if self._length < 2 * self._objective.least_part:  # one thread walks short stretches faster
            super().take(leg)
            return
        for stretch in leg.stretches(self._length):
            self.advance_age(len(stretch))
            self.distance = self.move(stretch) / (2 * len(stretch))
            self.update_average()

    def move(self, visits: Visits) -> float:
        objective = self._objective
        n_parts = max(1, min(self.n_walkers, 8 * len(visits) // objective.least_part))
        if n_parts == len(objective.pool):  # a thread that is done with its part takes the next one
            n_parts *= max(1, -(-len(visits) // (LONGEST_PART * n_parts)))
        ends = [len(visits) * part // n_parts for part in range(n_parts + 1)]
        if objective.weighted:
            objective.expand(visits[:0])  # prepares the tables of weights, which threads then share

        def walk(begin: int, end: int) -> float:
            order = objective.expand(visits[begin:end])
            return float(
                polyak.polyak_steps(
                    objective.shared_argument, objective.rows, order, objective.steps_at_once, self.step, self.rows
                )
            )

        return float(sum(objective.pool.map(walk, ends[:-1], ends[1:])))


def _distance(x: Singles) -> float:
    """Return the mean squared distance of two objects of a centred map."""
    return 2.0 * inner(x, x) / len(x)
