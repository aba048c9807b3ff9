"""The objective on the CPU: the mean loss over all comparisons, summed by threads.

A sum over many comparisons is cut into pieces whose size depends on the problem alone. Threads take pieces; the
pieces' sums are added in their order. So the result has the same bits for any number of threads.
"""

import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from closerthan.arrays import Array, Singles, frozen, inner
from closerthan.checks import whole
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import LARGE
from closerthan.compiled import compiling, gram, order, polyak, sgd, sums, svrg
from closerthan.compiled.rows import BLOCK, Quadruplets, Triplets, rows_of
from closerthan.compiled.simd import padded
from closerthan.compiled.threads import WorkerPool
from closerthan.losses import Loss
from closerthan.objective.agreement import wrong_share
from closerthan.objective.cpu.walks import AveragedWalk, DenseWalk, LazyWalk
from closerthan.objective.protocol import (
    CAPABILITIES,
    UNKNOWN,
    Objective,
    Point,
    State,
    StepSchedule,
    VarianceReducedWalk,
)
from closerthan.objective.scales import SIZE_SAMPLE, best_scale, sample_places
from closerthan.objective.several.processes import Alone, Processes
from closerthan.objective.streaming.blocks import Block, HostReader, Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.objective.streaming.shuffling import arranged
from closerthan.objective.visits import SIDE_BY_SIDE, Order, ShuffledPass, Visits
from closerthan.operating_system import n_cores

__all__ = ["CPU", "CPUObjective"]

_Part = tuple[Triplets | Quadruplets, Array | None]  # some comparisons, and what they weigh

LEAST_PART = 2**14  # comparisons: below it, handing work to a thread costs more than it gains
MOST_PARTS = 16  # and threads: the order in which parts are added is the same for any number of them
_AS_IT_IS = np.ones(1)

_PREPARED: set[Any] = set()  # what is compiled already: to ask numba again takes 0.1 ms


@dataclass(frozen=True)
class CPU:
    """The processor's cores as a device.

    Parameters
    ----------
    n_threads
        Threads to use; None: one per core that this process may run on.
    least_part
        Comparisons that are worth handing to another thread. Results depend on it (sums are added part by part), but
        not on the number of threads.
    share_kernels
        Whether all built-in losses share the kernels of Polyak steps. To compile these takes half as long again as for
        one loss, but only once for all.
    stream_from
        Bytes of answers in a memory-mapped file from which on they are read in blocks, again and again, and are never
        all in memory.
    block_bytes
        Bytes of such a block.
    """

    n_threads: int | None = None
    least_part: int = LEAST_PART
    share_kernels: bool = False
    stream_from: int = LARGE
    block_bytes: int = 1 << 26

    def __post_init__(self) -> None:
        if self.n_threads is not None:
            whole("n_threads", self.n_threads)
        for name in ("least_part", "stream_from", "block_bytes"):
            whole(name, getattr(self, name))

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return n_cores() if self.n_threads is None else self.n_threads

    @property
    def name(self) -> str:
        return "cpu"

    @property
    def processes(self) -> Processes:
        return Alone()

    @property
    def kind(self) -> str:
        blocks = (self.stream_from, self.block_bytes)
        return (
            f"CPU, parts of {self.least_part}"
            + ", shared kernels" * self.share_kernels
            + f", blocks of {self.block_bytes} from {self.stream_from}" * (blocks != (CPU.stream_from, CPU.block_bytes))
        )

    def for_all_losses(self) -> "CPU":
        """One kernel for all losses is compiled sooner than five."""
        return replace(self, share_kernels=True)

    def alone(self) -> "CPU":
        return self

    def one_thread(self) -> "CPU":
        return replace(self, n_threads=1)

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "CPUObjective | StreamedObjective":
        """The objective of these comparisons."""
        source = Source.of(comparisons)
        if source.is_on_disk(self.stream_from):
            return self._streamed(source, comparisons.n_objects, loss, held_out)
        return self._in_memory(comparisons, loss, held_out)

    def _streamed(
        self, source: Source, n_objects: int, loss: Loss, held_out: Comparisons | None
    ) -> "StreamedObjective":
        size = max(self.block_bytes // (4 * source.width), 1)
        source = arranged(source, size)
        blocks, sample = source.in_blocks(size), source.sample()
        reader = HostReader(source, blocks)
        return StreamedObjective(
            self._in_memory(Comparisons(reader.get(0, None).rows, n_objects), loss, held_out),
            blocks,
            reader,
            replace(self, n_threads=1)._in_memory(
                Comparisons(frozen(sample.rows), n_objects, weights=sample.weights), loss
            ),
        )

    def _in_memory(self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None) -> "CPUObjective":
        return CPUObjective(
            comparisons,
            loss,
            held_out,
            n_threads=self.threads,
            least_part=self.least_part,
            share_kernels=self.share_kernels,
        )


class CPUObjective(Objective):
    """Comparisons and a loss: value, gradient and error at a map, and walks along the comparisons.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> objective = CPUObjective(Comparisons.from_triplets([[0, 1, 2]]), STE())
    >>> point = objective.at(np.array([[0.0], [1.0], [2.0]]))
    >>> round(point.value, 4), point.error
    (0.0486, 0.0)
    """

    capabilities = frozenset(CAPABILITIES)
    device = "the CPU"

    def __init__(
        self,
        comparisons: Comparisons,
        loss: Loss,
        held_out: Comparisons | None = None,
        *,
        n_threads: int = 1,
        least_part: int = LEAST_PART,
        share_kernels: bool = False,
    ) -> None:
        if not len(comparisons):
            raise ValueError("there are no comparisons to fit")
        self.comparisons = comparisons
        self.loss = loss.in_kernels()
        self.least_part = least_part
        self._held_out = held_out
        self.rows = rows_of(comparisons)
        weights = comparisons.weights
        self._weights = _of_mean_1(weights) if weights is not None and np.ptp(weights) > 0 else None
        self.weighted = self._weights is not None
        self._block: Block | None = None  # what is held, if that may change
        self.loss_argument = compiling.argument(self.loss)
        own = self.loss_argument
        self.family = compiling.shared_argument(self.loss, own) if share_kernels else own
        if compiling.is_built_in(self.loss):
            self.collapsed_objective = float(self.loss.value(0.0, 0.0))
        else:
            # Compiled now, so that a loss that cannot be is an error here; in compiled code one without a value with
            # all objects in one place has NaN there, while Python would raise an error.
            total = np.empty(1)
            self._compiled("value", lambda tiny: sums.loss_sums(self.family, *tiny, _tiny_map(1), _AS_IT_IS, total))
            sums.loss_sums(self.family, *self._tiny, _tiny_map(1), _AS_IT_IS, total)
            self.collapsed_objective = float(total[0])
        # Polyak steps worked out together: of few objects the same ones would move again and again. Half a block or a
        # whole one: losses are evaluated in whole vectors.
        quarter = max(comparisons.n_objects // 4, 1)
        self.together = quarter if quarter < 4 else BLOCK // 2 if quarter <= BLOCK // 2 else BLOCK
        worth_sharing = self.n_terms >= 2 * least_part
        self.pool = WorkerPool(min(n_threads, MOST_PARTS) - 1 if worth_sharing else 0)

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    @property
    def n_terms(self) -> int:
        return len(self.rows.table)

    @property
    def n_objects(self) -> int:
        """How many objects the map has."""
        return self.comparisons.n_objects

    def hold(self, block: Block) -> None:
        """Have other comparisons, of the same objects."""
        if block is not self._block:
            self._block = block
            self.rows = type(self.rows)(block.rows)
            self._weights = None if block.weights is None else _of_mean_1(block.weights)
            self.weighted = block.weights is not None
            for name in ("_parts", "_cumulative_weights", "_guide_table"):
                self.__dict__.pop(name, None)

    def gradient_sum(self, x: Array) -> "GradientSum":
        """A sum over blocks that are held one after the other."""
        return GradientSum(self, x)

    def at(self, x: Array) -> Point:
        """Mean loss, its gradient, and the share of comparisons that the map gets wrong."""
        began, x = time.monotonic(), self._checked(x)

        def piece(part: _Part, out: Array) -> Any:
            return sums.gradient(self.loss_argument, *part, x, out)

        totals, (gradient, *rest) = self._summed(piece, self._parts, x.shape)
        for other in rest:
            gradient += other
        gradient /= self.n_terms
        self.evaluation_seconds = time.monotonic() - began
        return _point(x, totals, self.n_terms, gradient)

    def value(self, x: Array) -> Point:
        """What :meth:`at` says, in half its time, but for the gradient: that is not a number."""
        began, x = time.monotonic(), self._checked(x)

        def piece(*part: Any) -> tuple[float, float]:
            total = np.empty(1)
            right = sums.loss_sums(self.family, *part, x, _AS_IT_IS, total)
            return float(total[0]), right

        totals = self.pool.map(piece, *zip(*self._parts, strict=True))
        self.evaluation_seconds = time.monotonic() - began
        return _point(x, totals, self.n_terms, UNKNOWN)

    def _checked(self, x: Array) -> Array:
        """A map of all objects: kernels would read beyond the end of another one."""
        if x.ndim != 2 or len(x) != self.comparisons.n_objects:
            raise ValueError(
                f"the map has shape {x.shape}; expected one row for each of {self.comparisons.n_objects} objects"
            )
        return _in_order(x)

    def held_out_error(self, x: Array) -> float:
        return math.nan if self._held_out is None else wrong_share(self._held_out, _in_order(x))

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def scaled_losses(self, x: Array, scales: Array) -> Array:
        """The mean loss of a sample with the map scaled by each of these."""
        rows, weights = self._sample
        means = np.empty(len(scales))
        sums.loss_sums(self.family, rows, weights, _in_order(x), scales, means)
        means /= len(rows.table) if weights is None else weights.sum()
        return means

    @functools.cached_property
    def _sample(self) -> _Part:
        """The comparisons that tell how large a map should be."""
        if self.n_terms <= SIZE_SAMPLE:
            return self.rows, self._weights
        places = sample_places(self.n_terms, SIZE_SAMPLE)
        table = self.rows.table[places]
        table.flags.writeable = self.rows.table.flags.writeable  # what differs is compiled again
        return type(self.rows)(table), None if self._weights is None else self._weights[places]

    def expand(self, visits: Visits) -> Order:
        """The numbers of the comparisons that visits stand for."""
        filled = self.unweighted(visits)
        if self.weighted:
            last, first_terms = self._guide_table
            places = visits.places_by_weight()
            order.fill_order_by_weight(self._cumulative_weights, last, first_terms, places, filled)
        return filled

    def unweighted(self, visits: Visits) -> Order:
        """The numbers that visits stand for were all weights the same; they may be of more comparisons than these."""
        filled, place = np.empty(len(visits), np.int64), 0
        for piece in visits.pieces:
            part = filled[place : place + piece.size]
            if isinstance(piece, ShuffledPass):
                order.fill_order(
                    piece.runs, piece.length, piece.neighbours, SIDE_BY_SIDE, piece.rest, piece.first, part
                )
            else:
                part[:] = piece.indices()
            place += piece.size
        return filled

    @functools.cached_property
    def _cumulative_weights(self) -> Array:
        assert self._weights is not None
        sums: Array = np.cumsum(self._weights)
        return sums

    @functools.cached_property
    def _guide_table(self) -> tuple[int, Order]:
        """The last term with a weight, and where a search among the weights begins."""
        # Rounding may leave the last sum below the number of terms.
        last = int(np.searchsorted(self._cumulative_weights, self._cumulative_weights[-1]))
        first_terms = np.empty(self.n_terms, np.int64)
        order.fill_first_terms(self._cumulative_weights, last, first_terms)
        return last, first_terms

    def walk(self, snapshot: Point, batch_size: int) -> VarianceReducedWalk:
        if batch_size == 1:
            return LazyWalk(self, snapshot)
        return DenseWalk(self.gradient_changes, snapshot, batch_size, self.expand, self.on_rows)

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Arrays whose sum is, over the comparisons in ``order``, their gradient at ``x`` minus that at ``anchor``."""
        x, anchor = _in_order(x), _in_order(anchor)

        def piece(part: Order, out: Array) -> None:
            svrg.gradient_change(self.loss_argument, self.rows, part, x, anchor, out)

        parts = [order[start:stop] for start, stop in self._cut(len(order), self.least_part)]
        return self._summed(piece, parts, x.shape)[1]

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        if not (x.dtype == np.float64 and x.flags.c_contiguous and x.flags.writeable):
            raise ValueError(
                f"the map ({x.dtype} {x.shape}, C order: {x.flags.c_contiguous}, writable: {x.flags.writeable}) cannot "
                "be moved in place; begin with np.array(x, np.float64, order='C')"
            )
        sgd.sgd_steps(self.loss_argument, self.rows, self.expand(visits), batch_size, step, x)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> AveragedWalk:
        return AveragedWalk(self, x, schedule, length, state)

    def at_gram(self, gram_matrix: Array) -> tuple[float, Array]:
        out = np.zeros_like(gram_matrix)
        total = gram.gram_gradient(self.loss_argument, self.rows, self._weights, gram_matrix, out)
        out /= self.n_terms
        return total / self.n_terms, out

    def on_rows(self, x: Array | Singles, work: Callable[[slice], None]) -> None:
        """Do what moves all rows of a map: in parts, by all threads, where the map is large."""
        if x.size >= 4 * self.least_part:  # numbers: to move four of them takes as long as a comparison
            self.pool.map_rows(work, len(x))
        else:
            work(slice(None))

    # ---- compiling ahead of the clock --------------------------------------------------------------------------------

    def prepare(self, needs: frozenset[str], n_dims: int) -> None:
        x, one = _tiny_map(n_dims), np.zeros(1, np.int64)
        nothing = np.empty(0, np.int64)
        order.fill_order(nothing, 1, 1, 1, nothing, 0, nothing)
        if self.weighted:
            order.fill_first_terms(np.empty(0), 0, nothing)
            order.fill_order_by_weight(np.empty(0), 0, nothing, np.empty(0), nothing)
        if "Polyak walk" in needs:
            schedule, progress = StepSchedule(0.1, 1.0, 4.0), (0.0, 0, 1.0, 0.0)

            def walk(tiny: _Part) -> None:
                single = padded(x)
                sums.loss_sums(self.family, *tiny, x, _AS_IT_IS, np.empty(1))
                polyak.polyak_stretches(self.family, tiny[0], one, 1, 1, schedule, progress, single, x.copy())
                if self.n_terms >= 2 * self.least_part:
                    polyak.longest_step(self.family, schedule, 1.0, 1.0)
                    polyak.polyak_steps(self.family, tiny[0], one, 1, 0.0, single)
                    polyak.add_walks(single, single, single, x.copy(), schedule, 1)

            what = "Polyak walk in halves" if self.n_terms >= 2 * self.least_part else "Polyak walk"
            self._compiled(what, walk, shared=self.family is not self.loss_argument)
            return
        self._compiled("gradient", lambda tiny: sums.gradient(self.loss_argument, *tiny, x, np.zeros_like(x)))
        if "variance-reduced walk" in needs:

            def steps(tiny: _Part) -> None:
                state = np.stack([x, x, x], axis=1)
                svrg.svrg_steps(self.loss_argument, tiny[0], one, 0.0, 0, state)
                svrg.gradient_change(self.loss_argument, tiny[0], one, x, x, np.zeros_like(x))
                for changes in ((x,), (x, x)):
                    svrg.dense_step(x.copy(), 0.0, changes, 1.0, x)

            self._compiled("variance-reduced walk", steps)
        if "gradient steps" in needs:
            self._compiled(
                "gradient steps", lambda tiny: sgd.sgd_steps(self.loss_argument, tiny[0], one, 1, 0.0, x.copy())
            )
        if "Gram gradient" in needs:
            square = np.zeros((4, 4))
            self._compiled(
                "Gram gradient", lambda tiny: gram.gram_gradient(self.loss_argument, *tiny, square, square.copy())
            )

    @property
    def _tiny(self) -> _Part:
        """A single comparison of the same kind."""
        table = np.arange(self.rows.table.shape[1], dtype=np.int32)[np.newaxis]
        table.flags.writeable = self.rows.table.flags.writeable
        return type(self.rows)(table), None if self._weights is None else np.ones(1)

    def _compiled(self, what: str, run: Callable[[_Part], Any], *, shared: bool = False) -> None:
        """Run something once for each kind of objective, on a single comparison."""
        loss = None if shared else type(self.loss_argument)
        kind = what, loss, type(self.rows), self.rows.table.flags.writeable, self._weights is None
        if kind in _PREPARED:
            return
        try:
            run(self._tiny)
        except (*compiling.COMPILE_ERRORS, KeyError) as error:  # the latter: a name that is no parameter
            raise TypeError(
                f"the loss {type(self.loss).__name__} cannot be compiled: value(near, far) must return a number and "
                "slopes(near, far) two, by arithmetic, math and NumPy functions of numbers and of annotated parameters "
                f"alone. numba says: {compiling.reason(error)}"
            ) from error
        _PREPARED.add(kind)

    # ---- sums in parts -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        """All comparisons, in pieces for threads to share."""
        return [
            (type(self.rows)(self.rows.table[first:last]), None if self._weights is None else self._weights[first:last])
            for first, last in self._cut(self.n_terms, self.least_part)
        ]

    def _cut(self, n_rows: int, worth: int) -> list[tuple[int, int]]:
        """1, 2, 4, 8 or 16 equal parts: as many as are each worth an array of their own to sum in."""
        worth = max(worth, self.comparisons.n_objects)
        n_parts = min(2 ** int(math.log2(max(n_rows / worth, 1))), MOST_PARTS)
        places = [n_rows * part // n_parts for part in range(n_parts + 1)]
        return list(itertools.pairwise(places))

    def _summed(
        self, piece: Callable[[Any, Array], Any], parts: Sequence[Any], shape: tuple[int, ...]
    ) -> tuple[list[Any], tuple[Array, ...]]:
        """Run ``piece`` on all parts; add what they leave in their arrays, in the order of the parts.

        The last addition is left to the caller, who has more to do in the same pass over memory.
        """
        width = min(len(self.pool), len(parts))
        arrays = [np.empty(shape) for _ in range(min(width + 1, len(parts)))]  # the first one becomes the total

        def cleared(part: Any, array: Array) -> Any:
            array[:] = 0.0
            return piece(part, array)

        results = []
        done, full = 0, arrays[1:1]
        while done < len(parts):
            wave = parts[done : done + width]
            for array in full:
                arrays[0] += array
            first = 1 if done else 0
            results += self.pool.map(cleared, wave, arrays[first : first + len(wave)])
            full = arrays[1 : first + len(wave)]
            done += len(wave)
        for array in full[:-1]:
            arrays[0] += array
        return results, (arrays[0], *full[-1:])


class GradientSum:
    """The gradient at a map, summed over the blocks that an objective holds in turn."""

    def __init__(self, objective: CPUObjective, x: Array) -> None:
        self._objective = objective
        self._x = x
        self.gradient: Array = np.zeros(x.shape)

    def add(self, share: float) -> tuple[float, float]:
        """Add the block that is held now, which weighs such a share of all; returns its mean loss and error."""
        point = self._objective.at(self._x)
        self.gradient += share * point.gradient
        return point.value, point.error


def _of_mean_1(weights: Array) -> Array:
    total = weights.sum()
    return weights * (len(weights) / total) if total > 0.0 else np.zeros(len(weights))


def _point(x: Array, totals: list[tuple[float, float]], n_terms: int, gradient: Array) -> Point:
    total, right = (sum(column) for column in zip(*totals, strict=True))
    # Where squared distances overflow, a loss with a maximum in it may call the map perfect.
    measurable = math.isfinite(4.0 * inner(x, x))
    return Point(x, total / n_terms if measurable else math.nan, gradient, 1.0 - right / n_terms)


def _in_order(x: Array) -> Array:
    """The map as kernels read it: a copy only if it is not so already."""
    return np.ascontiguousarray(x, np.float64)


def _tiny_map(n_dims: int) -> Array:
    return np.zeros((4, n_dims))
