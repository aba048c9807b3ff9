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

from closerthan.comparisons import Comparisons
from closerthan.compiled import compiling, kernels
from closerthan.compiled.simd import is_padded, padded
from closerthan.compiled.threads import Crew
from closerthan.losses import Loss

Array = NDArray[np.float64]
Singles = NDArray[np.float32]
_Part = tuple[kernels.Triplets | kernels.Quadruplets, Array | None]  # some comparisons, and what they weigh

WORTH_A_PART = 12_000  # comparisons; below it, handing work to a thread costs more than it gains
_MOST_PARTS = 16
_FEWER_PARTS = 4  # in sums over all comparisons, whose parts each need an array of the map's size
_WORTH_ROWS = 2**16  # numbers of a map: to do the same with fewer, one thread is done before another has begun
_WORTH_A_HALF = 16_384  # the same for a walk, which also has a map of its own to begin with
FEWEST_JUDGED, MOST_JUDGED = 2**14, 2**17  # comparisons that tell whether a map has become better
MANY = 8  # so many times as many comparisons there must be for a sample of them to do that
_FEWEST_SAMPLED, _MOST_SAMPLED = 512, 2048  # comparisons that tell how large a map should be
FEWEST_TELL = 2**15  # comparisons that tell how the objective bends for each object by itself
TELLING = 16  # of them a coordinate; or as many as there are dimensions, since matrices have more numbers then
MOST_DIMS_TOLD = 64  # larger matrices would take long, and several threads
_ASKED = 3  # comparisons a coordinate in the sample that is asked
_SOLVED, _UNSOLVED = 0.2, 0.95  # shares of the loss of a map that knows nothing
_HARDLY_WRONG = 0.1  # of the mean loss: a lower loss counts as that
_A_BIT = 0.05  # larger or smaller
_UNKNOWN = np.full((1, 1), np.nan)  # a gradient that nobody asked for
_UNKNOWN.flags.writeable = False
_GOLDEN = 0.6180339887498949


def _places(n_terms: int, size: int, run: int) -> NDArray[np.int64]:
    """Evenly spread, but by the golden ratio: files may have a period."""
    firsts = np.sort((np.arange(size // run) * _GOLDEN % 1.0 * (n_terms // run)).astype(np.int64)) * run
    return (firsts[:, np.newaxis] + np.arange(run)).ravel()


_places_again = functools.lru_cache(maxsize=8)(_places)  # short fits of the same answers need them again and again


def inner(a: Array | Singles, b: Array | Singles) -> float:
    """The inner product of two maps, without BLAS: its threads go on spinning, on cores that a fit has a use for.

    Examples
    --------
    >>> inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(kernels.inner(a.ravel(), b.ravel()))


@dataclasses.dataclass(frozen=True)
class Point:
    """A map and what the objective is there."""

    x: Array
    value: float
    gradient: Array
    error: float = float("nan")
    sample: int = 0  # comparisons that value and error are of; 0: all


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
            # The loss of a map that knows nothing: all objects in one place. NaN or infinite if it is not defined.
            self.ignorance = float(kernels.gradient(self._loss, one, first_weight, nothing, np.zeros_like(nothing))[0])
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
        worth_sharing = self.n_terms >= 2 * min(WORTH_A_PART, _WORTH_A_HALF)
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

    def glance(self, x: Array) -> Point:
        """What :meth:`at` says, sooner, but for the gradient: that is not a number."""
        return self._judged(x, self._parts)

    def estimate(self, x: Array) -> Point:
        """What :meth:`glance` says; of a sample where comparisons are many, always the same one."""
        return self._judged(x, self._judges)

    def best_scale(self, x: Array, scales: Array, as_it_is: int, inertia: Array, trust: float) -> float:
        """By how much to enlarge or to shrink a map, judged by a sample of the comparisons."""
        scale = kernels.best_scale(
            self._loss, *self._measures, _in_order(x), scales, as_it_is, inertia, trust, self.ignorance
        )
        return float(scale)

    def tells_curvature(self, now: Point) -> bool:
        """Whether comparisons can tell how the objective bends at a map.

        Not where they are few, or weigh differently (the few that decide could be missed); nor where the map knows
        nothing yet, or where hardly any of them has a loss left.
        """
        halfway = _SOLVED * self.ignorance < now.value < _UNSOLVED * self.ignorance
        return halfway and self.may_tell_curvature(now.x)

    def may_tell_curvature(self, x: Array) -> bool:
        """Whether they could tell it at some map like ``x``."""
        plenty = self.n_terms >= max(FEWEST_TELL, x.size * max(TELLING, x.shape[1]))
        return plenty and self._weights is None and x.shape[1] <= MOST_DIMS_TOLD

    @functools.cached_property
    def is_smooth(self) -> bool:
        """Whether the loss bends where two pairs are equally far apart; a hinge does not."""
        return self.loss.slopes(1.0, 1.0) != self.loss.slopes(1.01, 1.0)

    def own_curvatures(self, now: Point) -> tuple[Singles, int]:
        """How the objective bends for each object by itself, roughly: a matrix of (dimensions, dimensions) for each.

        A comparison with the loss f and the gradient g counts as ``g g^T / 2 f``, which is right where the loss is the
        square of something linear. A sample says enough; with the matrices comes its size.
        """
        n_objects, n_dims = now.x.shape
        rows, _ = self._spread(max(_FEWEST_SAMPLED, _ASKED * now.x.size), kernels.NEIGHBOURS)
        x = padded(now.x - now.x.mean(axis=0))
        curvatures = np.zeros((n_objects, n_dims, x.shape[1]), np.float32)
        kernels.squares(self._loss, rows, x, _HARDLY_WRONG * abs(now.value), curvatures)
        curvatures /= len(rows.table)
        return curvatures[:, :, :n_dims], len(rows.table)

    def curvature_in_size(self, x: Array) -> float:
        """How the objective bends as the map grows or shrinks around 0, by a sample."""
        rows, weights = self._measures
        heights = np.empty(3)
        scales = 1.0 + _A_BIT * np.arange(-1.0, 2.0)
        kernels.heights_scaled(self._loss, rows, weights, _in_order(x), scales, heights)
        heights /= len(rows.table) if weights is None else weights.sum()
        return float(heights[0] - 2.0 * heights[1] + heights[2]) / _A_BIT**2

    def compile_curvature(self) -> None:
        """Compile what the last two will need."""
        one, nowhere = type(self._rows)(self._rows.table[:1]), np.zeros((self.comparisons.n_objects, 1))
        matrices = np.zeros((len(nowhere), 1, padded(nowhere).shape[1]), np.float32)
        kernels.squares(self._loss, one, padded(nowhere), 1.0, matrices)
        self.curvature_in_size(nowhere)

    @functools.cached_property
    def _measures(self) -> _Part:
        """The comparisons that tell how large a map should be."""
        return self._spread(max(_FEWEST_SAMPLED, min(self.n_terms // 16, _MOST_SAMPLED)), 1)

    def _judged(self, x: Array, parts: Sequence[_Part]) -> Point:
        """Value and error by the comparisons in some parts."""
        x = _in_order(x)

        def piece(*part: Any) -> Any:
            return kernels.heights(self._loss, *part, x)

        rows, weights = zip(*parts, strict=True)
        size = sum(len(part.table) for part in rows)
        point = _point(x, self._crew.share(piece, rows, weights), size, _UNKNOWN)
        return point if size == self.n_terms else dataclasses.replace(point, sample=size)

    @functools.cached_property
    def _judges(self) -> list[_Part]:
        """The comparisons that tell whether a map has become better."""
        size = max(FEWEST_JUDGED, min(self.n_terms // 32, MOST_JUDGED))
        # Where weights differ, the few that decide could be missed.
        if self.n_terms < MANY * size or self._weights is not None:
            return self._parts
        return self._in_parts(*self._spread(size, kernels.NEIGHBOURS), WORTH_A_PART)

    def _spread(self, size: int, run: int) -> _Part:
        """So many comparisons from all over, in runs of neighbours."""
        if size >= self.n_terms:
            return self._rows, self._weights
        places = (_places_again if size <= _MOST_SAMPLED else _places)(self.n_terms, size, run)
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
        # Touching all rows once a step is cheap beside a batch that touches as many.
        dense = batch_size >= max(256, self.comparisons.n_objects)
        return DenseWalk(self, snapshot, batch_size, self._crew) if dense else LazyWalk(self, snapshot, batch_size)

    def descend(self, order: NDArray[np.int64], x: Array, batch_size: int, step: float) -> None:
        """Plain stochastic gradient steps along ``order``; ``x`` moves in place."""
        _require_in_order(x)
        kernels.sgd_steps(self._loss, self._rows, order, batch_size, step, x)

    def descend_by_polyak(
        self, order: NDArray[np.int64], length: int, pace: kernels.Pace, way: kernels.Way, x: Singles, mean: Array
    ) -> kernels.Way:
        """Stochastic Polyak steps along ``order``, in stretches of some length; ``x`` and ``mean`` move in place.

        Two threads walk half of a long stretch each, from the same place, and both moves count. What both have done may
        go twice as far as Polyak's step, which is as far as it can go and not diverge: two are as many as there can be.
        """
        _require_padded(x)
        _require_in_order(mean)
        half = length // 2
        if not self.shares(length):
            reached = kernels.polyak_stretches(self._loss, self._rows, order, length, self.together, pace, way, x, mean)
            return kernels.Way(*reached)

        def walked(part: NDArray[np.int64]) -> tuple[Singles, float]:
            place = padded(x)
            return place, kernels.polyak_steps(self._loss, self._rows, part, self.together, step, place)

        for begin in range(0, len(order), length):
            part = order[begin : begin + length]
            age, n_maps = way.age + len(part), way.n_maps + 1
            step = kernels.longest_step(self._loss, pace, way.distance, age)
            (here, met), (there, met_too) = self._crew.share(walked, [part[:half], part[half:]])
            join = functools.partial(_join, x, here, there, mean, pace, n_maps)
            _on_rows(x, join, self._crew)
            way = kernels.Way(age, n_maps, (met + met_too) / (2 * len(part)), step)
        return way

    def shares(self, length: int) -> bool:
        """Whether a stretch is so long that two threads walk half of it each."""
        return length >= 2 * _WORTH_A_HALF

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        """Mean loss and its gradient as functions of the Gram matrix."""
        out = np.zeros_like(gram)
        total = kernels.gram_gradient(self._loss, self._rows, self._weights, gram, out)
        out /= self.n_terms
        return total / self.n_terms, out

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        """All comparisons, in pieces for threads to share."""
        return self._in_parts(self._rows, self._weights, _FEWER_PARTS * WORTH_A_PART)

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
    if x.size >= _WORTH_ROWS:
        crew.share_rows(work, len(x))
    else:
        work(slice(None))


def _join(x: Singles, here: Singles, there: Singles, mean: Array, pace: kernels.Pace, n_maps: int, rows: slice) -> None:
    kernels.join(x[rows], here[rows], there[rows], mean[rows], pace, n_maps)


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
    """Rows pay the full gradient's share only when they are read: a step's cost does not grow with the objects."""

    def __init__(self, objective: Objective, snapshot: Point, batch_size: int) -> None:
        self._objective = objective
        self._batch_size = batch_size
        self._state = np.stack([snapshot.x, snapshot.x, snapshot.gradient], axis=1)
        self._done = 0
        self._step = 0.0

    def take(self, order: NDArray[np.int64], step: float) -> None:
        objective = self._objective
        kernels.svrg_steps(objective._loss, objective._rows, order, self._batch_size, step, self._done, self._state)
        self._done += len(order) // self._batch_size
        self._step = step

    @property
    def x(self) -> Array:
        x: Array = self._state[:, 0] - (self._done * self._step) * self._state[:, 2]
        return x


class DenseWalk:
    """All rows move in each step; the batch's gradients are summed by all threads."""

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
