"""Objective: the mean loss over all comparisons, as a function of the map. Threads live here.

A sum over many comparisons is cut into pieces whose size depends on the problem alone. Threads take pieces; the
pieces' sums are added in their order. So the result has the same bits for any number of threads.
"""

import dataclasses
import functools
import itertools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, Singles, inner
from closerthan.comparisons import Comparisons
from closerthan.compiled import compiling, kernels
from closerthan.compiled.simd import is_padded, padded
from closerthan.compiled.threads import Crew
from closerthan.losses import Loss

_Part = tuple[kernels.Triplets | kernels.Quadruplets, Array | None]  # some comparisons, and what they weigh

WORTH_A_PART = 2**14  # comparisons; below it, handing work to a thread costs more than it gains
_MOST_PARTS = 16  # and threads: the order in which parts are added is the same for any number of them
SIZE_SAMPLE = 1024  # comparisons that tell how large a map should be
_UNKNOWN = np.full((1, 1), np.nan)  # a gradient that nobody asked for
_UNKNOWN.flags.writeable = False
_GOLDEN = 0.6180339887498949


@functools.lru_cache(maxsize=8)  # short fits of the same answers need them again and again
def _places(n_terms: int, size: int) -> NDArray[np.int64]:
    """Evenly spread, but by the golden ratio: files may have a period."""
    return np.sort((np.arange(size) * _GOLDEN % 1.0 * n_terms).astype(np.int64))


@dataclasses.dataclass(frozen=True)
class Point:
    """A map and what the objective is there."""

    x: Array
    value: float
    gradient: Array
    error: float = float("nan")


class Walk(Protocol):
    """Variance-reduced steps from a snapshot; see :meth:`FiniteSum.walk`."""

    def take(self, order: NDArray[np.int64], step: float) -> None:
        """Steps of ``step`` along the terms in ``order``, one batch after another."""

    @property
    def x(self) -> Array:
        """Where the walk is now."""


class FiniteSum(Protocol):
    """A mean of many terms: all that the stochastic solvers need to know of a problem."""

    @property
    def n_terms(self) -> int:
        """How many terms there are."""

    def at(self, x: Array) -> Point:
        """Value and gradient of the mean."""

    def walk(self, snapshot: Point, batch_size: int) -> Walk:
        """Start an epoch: each step uses ``mean over the batch of (term(x) - term(snapshot)) + snapshot.gradient``."""


class Objective:
    """Comparisons and a loss: value, gradient and error at a map.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> objective = Objective(Comparisons.from_triplets([[0, 1, 2]]), STE())
    >>> point = objective.at(np.array([[0.0], [1.0], [2.0]]))
    >>> round(point.value, 4), point.error
    (0.0486, 0.0)
    """

    def __init__(self, comparisons: Comparisons, loss: Loss, n_threads: int = 1) -> None:
        if not len(comparisons):
            raise ValueError("there are no comparisons to fit")
        self.comparisons = comparisons
        self.loss = loss.in_kernels()
        self._rows = kernel_rows(comparisons)
        uneven = comparisons.weights is not None and np.ptp(comparisons.weights) > 0
        self._weights = comparisons.weights if uneven else None
        self.cumulative_weights: Array | None = None
        if self._weights is not None:
            self._weights = self._weights * (len(comparisons) / comparisons.total_weight)
            self.cumulative_weights = np.cumsum(self._weights)
        self._loss = compiling.argument(self.loss)
        try:
            nothing = np.zeros((comparisons.n_objects, 1))
            one = type(self._rows)(self._rows.table[:1])
            first_weight = None if self._weights is None else np.ones(1)
            # All objects in one place. NaN or infinite for a loss that is not defined there.
            self.collapsed_objective = float(kernels.loss_sum(self._loss, one, first_weight, nothing)[0])
        except (*compiling.COMPILE_ERRORS, KeyError) as error:  # the latter: a name that is no parameter
            raise TypeError(
                f"the loss {type(loss).__name__} cannot be compiled: value(near, far) must return a number and "
                "slopes(near, far) two, by arithmetic, math and NumPy functions of numbers and of annotated parameters "
                f"alone. numba says: {compiling.reason(error)}"
            ) from error
        # Polyak steps settled at a time: of few objects the same ones would move again and again. From 16 on it is a
        # multiple of 8, for which losses are worked out in whole vectors: 15 take as long as 24.
        quarter = max(comparisons.n_objects // 4, 1)
        self.together = quarter if quarter < 4 else 8 if quarter <= 8 else 16
        worth_sharing = self.n_terms >= 2 * WORTH_A_PART
        self._crew = Crew(min(n_threads, _MOST_PARTS) - 1 if worth_sharing else 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.disband()

    @property
    def n_terms(self) -> int:
        return len(self.comparisons)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What kernels are compiled for: objectives of a kind need that only once."""
        return type(self._loss), type(self._rows), self._rows.table.flags.writeable, self._weights is None

    def at(self, x: Array) -> Point:
        """Mean loss, its gradient, and the share of comparisons that the map gets wrong."""
        x = _in_order(x)

        def piece(part: _Part, out: Array) -> Any:
            return kernels.gradient(self._loss, *part, x, out)

        sums, (gradient, *rest) = self._summed(piece, self._parts, x.shape)
        for other in rest:
            gradient += other
        gradient /= self.n_terms
        return _point(x, sums, self.n_terms, gradient)

    def value(self, x: Array) -> Point:
        """What :meth:`at` says, in half its time, but for the gradient: that is not a number."""
        x = _in_order(x)

        def piece(*part: Any) -> Any:
            return kernels.loss_sum(self._loss, *part, x)

        return _point(x, self._crew.share(piece, *zip(*self._parts, strict=True)), self.n_terms, _UNKNOWN)

    def best_scale(self, x: Array, scales: Array, as_it_is: int, inertia: Array, trust: float) -> float:
        """By how much to enlarge or to shrink a map, judged by a sample of the comparisons."""
        scale = kernels.best_scale(
            self._loss, *self._measures, _in_order(x), scales, as_it_is, inertia, trust, self.collapsed_objective
        )
        return float(scale)

    @functools.cached_property
    def _measures(self) -> _Part:
        """The comparisons that tell how large a map should be."""
        return self._sample(SIZE_SAMPLE)

    def _sample(self, size: int) -> _Part:
        """So many comparisons from all over."""
        if size >= self.n_terms:
            return self._rows, self._weights
        places = _places(self.n_terms, size)
        table = self._rows.table[places]
        table.flags.writeable = self._rows.table.flags.writeable  # what differs is compiled again
        return type(self._rows)(table), None if self._weights is None else self._weights[places]

    def gradient_changes(self, order: NDArray[np.int64], x: Array, anchor: Array) -> tuple[Array, ...]:
        """Arrays whose sum is, over the comparisons in ``order``, their gradient at ``x`` minus that at ``anchor``."""
        x, anchor = _in_order(x), _in_order(anchor)

        def piece(part: NDArray[np.int64], out: Array) -> None:
            kernels.gradient_change(self._loss, self._rows, part, x, anchor, out)

        parts = [order[start:stop] for start, stop in self._cut(len(order), WORTH_A_PART)]
        return self._summed(piece, parts, x.shape)[1]

    def walk(self, snapshot: Point, batch_size: int) -> Walk:
        return LazyWalk(self, snapshot) if batch_size == 1 else DenseWalk(self, snapshot, batch_size, self._crew)

    def descend(self, order: NDArray[np.int64], x: Array, batch_size: int, step: float) -> None:
        """Plain stochastic gradient steps along ``order``; ``x`` moves in place."""
        _require_in_order(x)
        kernels.sgd_steps(self._loss, self._rows, order, batch_size, step, x)

    def descend_by_polyak(
        self,
        order: NDArray[np.int64],
        length: int,
        schedule: kernels.StepSchedule,
        progress: kernels.Progress,
        x: Singles,
        mean: Array,
    ) -> kernels.Progress:
        """Stochastic Polyak steps along ``order``, in stretches of some length; ``x`` and ``mean`` move in place.

        Two threads walk half of a long stretch each, from the same place, and both moves are added. That can double a
        Polyak step, the stability limit, so there are never more than two.
        """
        _require_padded(x)
        _require_in_order(mean)
        half = length // 2
        if not self.shares(length):
            rows, together = self._rows, self.together
            reached = kernels.polyak_stretches(self._loss, rows, order, length, together, schedule, progress, x, mean)
            return kernels.Progress(*reached)

        def walked(part: NDArray[np.int64]) -> tuple[Singles, float]:
            place = padded(x)
            return place, kernels.polyak_steps(self._loss, self._rows, part, self.together, step, place)

        for begin in range(0, len(order), length):
            part = order[begin : begin + length]
            age, n_maps = progress.age + len(part), progress.n_maps + 1
            step = kernels.longest_step(self._loss, schedule, progress.distance, age)
            (here, met), (there, met_too) = self._crew.share(walked, [part[:half], part[half:]])
            add = functools.partial(_add_walks, x, here, there, mean, schedule, n_maps)
            _on_rows(x, add, self._crew)
            progress = kernels.Progress(age, n_maps, (met + met_too) / (2 * len(part)), step)
        return progress

    def shares(self, length: int) -> bool:
        """Whether a stretch is so long that two threads walk half of it each."""
        return length >= 2 * WORTH_A_PART

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        """Mean loss and its gradient as functions of the Gram matrix."""
        out = np.zeros_like(gram)
        total = kernels.gram_gradient(self._loss, self._rows, self._weights, gram, out)
        out /= self.n_terms
        return total / self.n_terms, out

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        """All comparisons, in pieces for threads to share."""
        return self._in_parts(self._rows, self._weights, WORTH_A_PART)

    def _in_parts(self, rows: Any, weights: Array | None, worth: int) -> list[_Part]:
        return [
            (type(rows)(rows.table[first:last]), None if weights is None else weights[first:last])
            for first, last in self._cut(len(rows.table), worth)
        ]

    def _cut(self, n_rows: int, worth: int) -> list[tuple[int, int]]:
        """1, 2, 4, 8 or 16 equal parts: as many as are each worth an array of their own to sum in."""
        worth = max(worth, self.comparisons.n_objects)
        n_parts = min(2 ** int(math.log2(max(n_rows / worth, 1))), _MOST_PARTS)
        places = [n_rows * part // n_parts for part in range(n_parts + 1)]
        return list(itertools.pairwise(places))

    def _summed(
        self, piece: Callable[[Any, Array], Any], parts: Sequence[Any], shape: tuple[int, ...]
    ) -> tuple[list[Any], tuple[Array, ...]]:
        """Run ``piece`` on all parts; add what they leave in their arrays, in the order of the parts.

        The last addition is left to the caller, who has more to do in the same pass over memory.
        """
        width = min(len(self._crew), len(parts))
        rooms = [np.empty(shape) for _ in range(min(width + 1, len(parts)))]  # the first one becomes the total

        def cleared(part: Any, room: Array) -> Any:
            room[:] = 0.0
            return piece(part, room)

        results = []
        done, full = 0, rooms[1:1]
        while done < len(parts):
            wave = parts[done : done + width]
            for room in full:
                rooms[0] += room
            first = 1 if done else 0
            results += self._crew.share(cleared, wave, rooms[first : first + len(wave)])
            full = rooms[1 : first + len(wave)]
            done += len(wave)
        for room in full[:-1]:
            rooms[0] += room
        return results, (rooms[0], *full[-1:])


def _on_rows(x: Array | Singles, work: Callable[[slice], None], crew: Crew) -> None:
    """Do what moves all rows of a map: in parts, by all threads, where the map is large."""
    if x.size >= 4 * WORTH_A_PART:  # numbers: to move four of them takes as long as a comparison
        crew.share_rows(work, len(x))
    else:
        work(slice(None))


def _add_walks(
    x: Singles, here: Singles, there: Singles, mean: Array, schedule: kernels.StepSchedule, n_maps: int, rows: slice
) -> None:
    kernels.add_walks(x[rows], here[rows], there[rows], mean[rows], schedule, n_maps)


def _point(x: Array, sums: list[tuple[float, float]], n_terms: int, gradient: Array) -> Point:
    total, right = (sum(column) for column in zip(*sums, strict=True))
    # Where squared distances overflow, a loss with a maximum in it may call the map perfect.
    measurable = math.isfinite(4.0 * inner(x, x))
    return Point(x, total / n_terms if measurable else math.nan, gradient, 1.0 - right / n_terms)


def _in_order(x: Array) -> Array:
    """The map as kernels read it: a copy only if it is not so already."""
    return np.ascontiguousarray(x, np.float64)


def _require_in_order(x: NDArray[Any]) -> None:
    if not (x.dtype == np.float64 and _is_movable(x)):
        raise ValueError(f"{_described(x)} cannot be moved in place; begin with np.array(x, np.float64, order='C')")


def _require_padded(x: NDArray[Any]) -> None:
    if not (is_padded(x) and _is_movable(x)):
        raise ValueError(f"{_described(x)} cannot be moved in place; begin with lanes.padded(x)")


def _is_movable(x: NDArray[Any]) -> bool:
    return x.flags.c_contiguous and x.flags.writeable


def _described(x: NDArray[Any]) -> str:
    flags = x.flags
    return f"the map ({x.dtype} {x.shape}, C order: {flags.c_contiguous}, writable: {flags.writeable})"


class LazyWalk:
    """Steps of one comparison; a row pays the full gradient's share when it is read, so no step costs O(n_objects)."""

    def __init__(self, objective: Objective, snapshot: Point) -> None:
        self._objective = objective
        self._state = np.stack([snapshot.x, snapshot.x, snapshot.gradient], axis=1)
        self._done = 0
        self._step = 0.0

    def take(self, order: NDArray[np.int64], step: float) -> None:
        objective = self._objective
        kernels.svrg_steps(objective._loss, objective._rows, order, step, self._done, self._state)
        self._done += len(order)
        self._step = step

    @property
    def x(self) -> Array:
        x: Array = self._state[:, 0] - (self._done * self._step) * self._state[:, 2]
        return x


class DenseWalk:
    """Steps of a batch: all rows move in each, and the batch's gradients are summed by all threads."""

    def __init__(self, objective: FiniteSum, snapshot: Point, batch_size: int, crew: Crew | None = None) -> None:
        self._objective: Any = objective
        self._snapshot = snapshot
        self._batch_size = batch_size
        self._crew = crew or Crew(0)
        self.x = snapshot.x.copy()

    def take(self, order: NDArray[np.int64], step: float) -> None:
        for start in range(0, max(len(order), 1), self._batch_size):
            batch = order[start : start + self._batch_size]
            changes = self._objective.gradient_changes(batch, self.x, self._snapshot.x)
            move = functools.partial(self._move, step, 1.0 / max(len(batch), 1), changes)
            _on_rows(self.x, move, self._crew)

    def _move(self, step: float, share: float, changes: tuple[Array, ...], rows: slice) -> None:
        here = tuple(change[rows] for change in changes)
        kernels.dense_step(self.x[rows], step, here, share, self._snapshot.gradient[rows])


def kernel_rows(comparisons: Comparisons) -> kernels.Triplets | kernels.Quadruplets:
    """The rows in the form that tells the compiler their kind."""
    kind = kernels.Triplets if comparisons.rows.shape[1] == 3 else kernels.Quadruplets
    return kind(comparisons.rows)


def available_threads(wanted: int | None) -> int:
    """The number of threads to use: as asked, or one a core that this process may run on."""
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if wanted < 1:
        raise ValueError(f"n_threads is {wanted}; it must be at least 1, or None for all cores")
    return wanted
