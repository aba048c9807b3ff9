"""The objective on the CPU: the mean loss over all comparisons, summed by several threads.

Arithmetic is done by the compiled kernels of :mod:`closerthan.compiled`; this module divides the work among threads. A
sum over many comparisons is cut into parts whose sizes depend only on the problem, and the sums of the parts are added
in a fixed order. The result therefore has the same bits for any number of threads.
"""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from closerthan.arrays import Array, Singles, frozen, inner
from closerthan.checks import whole
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.on_disk import LARGE, FileRows
from closerthan.compiled import compiling
from closerthan.compiled.kernels import order, polyak, sums
from closerthan.compiled.kernels.rows import BLOCK, Quadruplets, Triplets, rows_of
from closerthan.compiled.simd import padded, padded_length
from closerthan.compiled.threads import WorkerPool
from closerthan.losses import Loss, penalty_weight, without_penalty
from closerthan.objective.agreement import wrong_fraction
from closerthan.objective.cpu.parts import LEAST_PART, MOST_PARTS, cut, summed
from closerthan.objective.cpu.walks import AveragedWalk, DenseWalk, LazyWalk, LockFreeWalk
from closerthan.objective.inverse_hessian import InverseHessian
from closerthan.objective.processes import Processes, SingleProcess
from closerthan.objective.protocol import (
    CAPABILITIES,
    UNKNOWN,
    Capability,
    Objective,
    Point,
    State,
    StepSchedule,
    VarianceReducedWalk,
)
from closerthan.objective.scales import SIZE_SAMPLE, best_scale, sample_places
from closerthan.objective.visits import SIDE_BY_SIDE, Leg, Order, ShuffledPass, Visits
from closerthan.operating_system import n_cores

if TYPE_CHECKING:
    from closerthan.objective.cpu.choices import ChoiceSums
    from closerthan.objective.streaming.blocks import Block, Source
    from closerthan.objective.streaming.objective import StreamedObjective

__all__ = ["CPU", "CPUObjective"]

_Part = tuple[Triplets | Quadruplets, Array | None]  # some comparisons and their weights

OBJECTS_PER_WALKER = 8 * BLOCK  # with fewer objects for each thread of a lock-free walk, conflicts are frequent
_ONE_SCALE = np.ones(1)

_PREPARED: set[Any] = set()  # kinds of kernels that have been compiled; asking numba again would take 0.1 ms


@dataclass(frozen=True)
class CPU:
    """The cores of the processor as a device.

    Parameters
    ----------
    n_threads
        Number of threads; by default one per core that this process may run on.
    least_part
        Number of comparisons that are worth handing to another thread. Results depend on it (sums are added part by
        part), but not on the number of threads.
    share_kernels
        Whether all built-in losses share the kernels of Polyak steps. Compiling these takes 1.5 times as long as for a
        single loss, but is done only once.
    stream_from
        Size in bytes from which answers in a memory-mapped file are read in blocks during each pass, instead of being
        loaded into memory.
    block_bytes
        Size of such a block in bytes.
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
        """Number of threads."""
        return n_cores() if self.n_threads is None else self.n_threads

    @property
    def name(self) -> str:
        return "cpu"

    @property
    def processes(self) -> Processes:
        return SingleProcess()

    @property
    def kind(self) -> str:
        blocks = (self.stream_from, self.block_bytes)
        return (
            f"CPU, parts of {self.least_part}"
            + ", shared kernels" * self.share_kernels
            + f", blocks of {self.block_bytes} from {self.stream_from}" * (blocks != (CPU.stream_from, CPU.block_bytes))
        )

    def for_all_losses(self) -> "CPU":
        """Return the same device with one kernel for all losses, which compiles faster than one for each."""
        return replace(self, share_kernels=True)

    def local(self) -> "CPU":
        return self

    def one_thread(self) -> "CPU":
        return replace(self, n_threads=1)

    def parallel_starts(self, comparisons: Comparisons) -> int:
        return 1 if self._streams(comparisons) else self.threads

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "CPUObjective | StreamedObjective":
        """Return the objective of these comparisons."""
        if self._streams(comparisons):
            from closerthan.objective.streaming.blocks import Source

            return self._streamed(Source.of(comparisons), comparisons.n_objects, loss, held_out)
        return self._in_memory(comparisons, loss, held_out)

    def _streams(self, comparisons: Comparisons) -> bool:
        """Return whether comparisons are read in blocks; modules for blocks are imported only if they may be needed."""
        if FileRows.of(comparisons.rows) is None:
            return False
        from closerthan.objective.streaming.blocks import is_streamed

        return is_streamed(comparisons, self.stream_from)

    def _streamed(
        self, source: "Source", n_objects: int, loss: Loss, held_out: Comparisons | None
    ) -> "StreamedObjective":
        from closerthan.objective.streaming.blocks import HostReader
        from closerthan.objective.streaming.objective import StreamedObjective
        from closerthan.objective.streaming.shuffling import shuffled_if_sorted

        size = max(self.block_bytes // (4 * source.width), 1)
        source = shuffled_if_sorted(source, size)
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
    """The mean loss of comparisons in memory: its value, gradient and error at a map, and walks along the comparisons.

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
        self.penalized = penalty_weight(loss) > 0.0
        self.least_part = least_part
        self._held_out = held_out
        self.rows = rows_of(comparisons)
        weights = comparisons.weights
        self._weights = _of_mean_1(weights) if weights is not None and np.ptp(weights) > 0 else None
        self.weighted = self._weights is not None
        self._block: Block | None = None  # the current block, if comparisons are read in blocks
        self.loss_argument = compiling.argument(self.loss)
        own = self.loss_argument
        self.shared_argument = compiling.shared_argument(self.loss, own) if share_kernels else own
        if compiling.is_built_in(self.loss):
            self.collapsed_objective = float(self.loss.value(0.0, 0.0))
        else:
            # The loss is compiled now, so that a loss that cannot be compiled raises an error here. If it is undefined
            # where all objects coincide, compiled code returns NaN, while Python would raise an error.
            total = np.empty(1)
            self._compile(
                "value", lambda tiny: sums.loss_sums(self.shared_argument, *tiny, _tiny_map(1), _ONE_SCALE, total)
            )
            sums.loss_sums(self.shared_argument, *self._tiny, _tiny_map(1), _ONE_SCALE, total)
            self.collapsed_objective = float(total[0])
        # Number of Polyak steps that are computed from the same map. It is small if there are few objects, each of
        # which would otherwise move several times; if not, it is half a block or a block, which fills vectors.
        quarter = max(comparisons.n_objects // 4, 1)
        self.steps_at_once = quarter if quarter < 4 else BLOCK // 2 if quarter <= BLOCK // 2 else BLOCK
        worth_sharing = self.n_terms >= 2 * least_part
        self.pool = WorkerPool(min(n_threads, MOST_PARTS) - 1 if worth_sharing else 0)

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    @property
    def n_terms(self) -> int:
        return len(self.rows.table)

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.comparisons.n_objects

    def use_block(self, block: "Block") -> None:
        """Replace the comparisons by those of another block, about the same objects."""
        if block is not self._block:
            self._block = block
            self.rows = type(self.rows)(block.rows)
            self._weights = None if block.weights is None else _of_mean_1(block.weights)
            self.weighted = block.weights is not None
            for name in ("_parts", "_cumulative_weights", "_guide_table"):
                self.__dict__.pop(name, None)

    def gradient_sum(self, x: Array) -> "GradientSum":
        """Return an empty sum of gradients at a map, to which blocks are added."""
        return GradientSum(self, x)

    def at(self, x: Array) -> Point:
        """Return the mean loss, its gradient, and the fraction of comparisons that the map contradicts."""
        began, x = time.monotonic(), self._checked(x)

        def piece(part: _Part, out: Array) -> Any:
            return sums.gradient(self.shared_argument, *part, x, out)

        totals, (gradient, *rest) = summed(self.pool, piece, self._parts, x.shape)
        for other in rest:
            gradient += other
        gradient /= self.n_terms
        self.evaluation_seconds = time.monotonic() - began
        return _point(x, totals, self.n_terms, gradient)

    def value(self, x: Array) -> Point:
        """Return the same as :meth:`at` without the gradient, in half the time."""
        began, x = time.monotonic(), self._checked(x)

        def piece(*part: Any) -> tuple[float, float]:
            total = np.empty(1)
            right = sums.loss_sums(self.shared_argument, *part, x, _ONE_SCALE, total)
            return float(total[0]), right

        totals = self.pool.map(piece, *zip(*self._parts, strict=True))
        self.evaluation_seconds = time.monotonic() - began
        return _point(x, totals, self.n_terms, UNKNOWN)

    def _checked(self, x: Array) -> Array:
        """Check that a map has all objects, since kernels would read beyond the end of a shorter one."""
        if x.ndim != 2 or len(x) != self.comparisons.n_objects:
            raise ValueError(
                f"the map has shape {x.shape}; expected one row for each of {self.comparisons.n_objects} objects"
            )
        return _contiguous(x)

    def held_out_error(self, x: Array) -> float:
        return math.nan if self._held_out is None else wrong_fraction(self._held_out, _contiguous(x))

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def scaled_losses(self, x: Array, scales: Array) -> Array:
        """Return the mean loss of a sample with the map multiplied by each of the scales."""
        means = np.empty(len(scales))
        sums.loss_sums(self.shared_argument, *self._sample, _contiguous(x), scales, means)
        means /= self._weight_of_sample
        return means

    @functools.cached_property
    def _weight_of_sample(self) -> float:
        rows, weights = self._sample
        return len(rows.table) if weights is None else float(weights.sum())

    @functools.cached_property
    def _sample(self) -> _Part:
        """Sample of the comparisons from which the best size of a map is estimated."""
        if self.n_terms <= SIZE_SAMPLE:
            return self.rows, self._weights
        places = sample_places(self.n_terms, SIZE_SAMPLE)
        table = self.rows.table[places]
        table.flags.writeable = self.rows.table.flags.writeable  # kernels are compiled separately for read-only tables
        return type(self.rows)(table), None if self._weights is None else self._weights[places]

    def expand(self, visits: Visits) -> Order:
        """Return the indices of the comparisons that visits stand for."""
        indices = self.unweighted(visits)
        if self.weighted:
            seed = visits.required_weight_seed
            order.fill_order_by_weight(self._cumulative_weights, *self._guide_table, seed, visits.first, indices)
        return indices

    def unweighted(self, visits: Visits) -> Order:
        """Return the indices that visits stand for if all weights are equal.

        Visits may be drawn for the comparisons of several processes, so indices may exceed the number of these.
        """
        indices, place = np.empty(len(visits), np.int64), 0
        for piece in visits.pieces:
            part = indices[place : place + piece.size]
            if isinstance(piece, ShuffledPass):
                order.fill_order(
                    piece.runs, piece.length, piece.neighbours, SIDE_BY_SIDE, piece.rest, piece.first, part
                )
            else:
                part[:] = piece.indices()
            place += piece.size
        return indices

    def weighting(self, leg: Leg) -> polyak.Weighting | None:
        """Return what a kernel needs to draw the terms of a leg by their weights; None if all are equal."""
        if leg.weight_seeds is None:
            return None
        seeds = np.array(leg.weight_seeds, np.uint64)
        return polyak.Weighting(self._cumulative_weights, *self._guide_table, seeds, leg.interval)

    @functools.cached_property
    def _cumulative_weights(self) -> Array:
        assert self._weights is not None
        sums: Array = np.cumsum(self._weights)
        return sums

    @functools.cached_property
    def _guide_table(self) -> tuple[int, Order]:
        """The last term with a positive weight, and the term at which the search for each cumulative weight begins."""
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
        """Return arrays whose sum is the gradient at ``x`` minus that at ``anchor``, over these comparisons."""
        from closerthan.compiled.kernels import svrg

        x, anchor = _contiguous(x), _contiguous(anchor)

        def piece(part: Order, out: Array) -> None:
            svrg.gradient_change(self.loss_argument, self.rows, part, x, anchor, out)

        parts = [order[start:stop] for start, stop in self._cut(len(order))]
        return summed(self.pool, piece, parts, x.shape)[1]

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        if not (x.dtype == np.float64 and x.flags.c_contiguous and x.flags.writeable):
            raise ValueError(
                f"the map ({x.dtype} {x.shape}, C order: {x.flags.c_contiguous}, writable: {x.flags.writeable}) cannot "
                "be modified in place; pass np.array(x, np.float64, order='C')"
            )
        from closerthan.compiled.kernels.sgd import sgd_steps

        sgd_steps(self.loss_argument, self.rows, self.expand(visits), batch_size, step, x)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> AveragedWalk:
        return AveragedWalk(self, x, schedule, length, state)

    def lock_free_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> LockFreeWalk:
        n_walkers = max(1, min(len(self.pool), self.n_objects // OBJECTS_PER_WALKER))
        return LockFreeWalk(self, x, schedule, length, state, n_walkers)

    def padded_width(self, n_dims: int) -> int:
        return padded_length(n_dims)

    def choice_sums(self, choices: Choices, loss: Loss) -> "ChoiceSums":
        from closerthan.objective.cpu.choices import ChoiceRows, ChoiceSums

        return ChoiceSums(
            ChoiceRows.of(choices), loss, choices.choice_weights, least_part=self.least_part, pool=self.pool
        )

    def at_gram(self, gram_matrix: Array) -> tuple[float, Array]:
        out = np.zeros_like(gram_matrix)
        total = sums.gram_gradient(self.loss_argument, self.rows, self._weights, gram_matrix, out)
        out /= self.n_terms
        return total / self.n_terms, out

    def on_rows(self, x: Array | Singles, work: Callable[[slice], None]) -> None:
        """Apply ``work`` to all rows of a map; if the map is large, threads share it."""
        if x.size >= 4 * self.least_part:  # moving four coordinates takes as long as visiting one comparison
            self.pool.map_rows(work, len(x))
        else:
            work(slice(None))

    # ---- compiling ahead of the clock --------------------------------------------------------------------------------

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:
        x, one = _tiny_map(n_dims), np.zeros(1, np.int64)
        nothing = np.empty(0, np.int64)
        if self.weighted:
            order.fill_first_terms(np.empty(0), 0, nothing)
        in_halves = "Polyak walk" in needs and self.n_terms >= 2 * self.least_part
        if in_halves or needs & {"variance-reduced walk", "gradient steps"}:
            order.fill_order(nothing, 1, 1, 1, nothing, 0, nothing)
            if self.weighted:
                order.fill_order_by_weight(np.empty(0), 0, nothing, 0, 0, nothing)
        if "Polyak walk" in needs:
            schedule, progress = StepSchedule(0.1, 1.0, 4.0), (0.0, 0, 1.0, 0.0)

            def walk(tiny: _Part) -> None:
                single = padded(x)
                sums.loss_sums(self.shared_argument, *tiny, x, _ONE_SCALE, np.empty(1))
                terms = polyak.PassPart(one, 1, 1, 1, nothing, 0, 1)
                weighting = None
                if self.weighted:
                    weighting = polyak.Weighting(np.ones(1), 0, one, np.zeros(1, np.uint64), 1)
                polyak.polyak_stretches(
                    self.shared_argument, tiny[0], terms, weighting, 1, 1, schedule, progress, single, x.copy()
                )
                if in_halves:
                    polyak.longest_step(self.shared_argument, schedule, 1.0, 1.0)
                    polyak.polyak_steps(self.shared_argument, tiny[0], one, 1, 0.0, single)
                    polyak.add_walks(single, single, single, x.copy(), schedule, 1)

            name = "Polyak walk in halves" if in_halves else "Polyak walk"
            self._compile(name, walk, shared=self.shared_argument is not self.loss_argument)
            if not self.penalized:
                return
        self._compile(
            "gradient",
            lambda tiny: sums.gradient(self.shared_argument, *tiny, x, np.zeros_like(x)),
            shared=self.shared_argument is not self.loss_argument,
        )
        InverseHessian.prepare()
        if "variance-reduced walk" in needs:
            from closerthan.compiled.kernels import svrg

            def steps(tiny: _Part) -> None:
                state = np.stack([x, x, x], axis=1)
                svrg.svrg_steps(self.loss_argument, tiny[0], one, 0.0, 0, state)
                svrg.gradient_change(self.loss_argument, tiny[0], one, x, x, np.zeros_like(x))
                for changes in ((x,), (x, x)):
                    svrg.dense_step(x.copy(), 0.0, changes, 1.0, x)

            self._compile("variance-reduced walk", steps)
        if "gradient steps" in needs:
            from closerthan.compiled.kernels.sgd import sgd_steps

            self._compile("gradient steps", lambda tiny: sgd_steps(self.loss_argument, tiny[0], one, 1, 0.0, x.copy()))
        if "Gram gradient" in needs:
            square = np.zeros((4, 4))
            self._compile(
                "Gram gradient", lambda tiny: sums.gram_gradient(self.loss_argument, *tiny, square, square.copy())
            )

    @property
    def _tiny(self) -> _Part:
        """A single comparison of the same kind, with which kernels are compiled."""
        table = np.arange(self.rows.table.shape[1], dtype=np.int32)[np.newaxis]
        table.flags.writeable = self.rows.table.flags.writeable
        return type(self.rows)(table), None if self._weights is None else np.ones(1)

    def _compile(self, name: str, run: Callable[[_Part], Any], *, shared: bool = False) -> None:
        """Compile kernels by running them on a single comparison, once for each kind of objective."""
        loss = None if shared else type(self.loss_argument)
        kind = name, loss, type(self.rows), self.rows.table.flags.writeable, self._weights is None
        if kind in _PREPARED:
            return
        try:
            run(self._tiny)
        except (*compiling.COMPILE_ERRORS, KeyError) as error:  # KeyError: a name that is not a parameter
            name = type(without_penalty(self.loss)).__name__
            raise TypeError(
                f"the loss {name} cannot be compiled: value(near, far) must return a number and "
                "slopes(near, far) two, computed only by arithmetic, math and NumPy functions from numbers and "
                f"annotated parameters. numba says: {compiling.reason(error)}"
            ) from error
        _PREPARED.add(kind)

    # ---- sums in parts -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        """All comparisons, cut into the parts that threads work on."""
        return [
            (type(self.rows)(self.rows.table[first:last]), None if self._weights is None else self._weights[first:last])
            for first, last in self._cut(self.n_terms)
        ]

    def _cut(self, n_rows: int) -> list[tuple[int, int]]:
        """Cut rows into parts, each large enough to justify a separate array for its sum."""
        return cut(n_rows, max(self.least_part, self.comparisons.n_objects))


class GradientSum:
    """The gradient at a map, summed over the blocks that an objective uses one after another."""

    def __init__(self, objective: CPUObjective, x: Array) -> None:
        self._objective = objective
        self._x = x
        self.gradient: Array = np.zeros(x.shape)

    def add(self, fraction: float) -> tuple[float, float]:
        """Add the current block, which has this fraction of the total weight; return its mean loss and error."""
        point = self._objective.at(self._x)
        self.gradient += fraction * point.gradient
        return point.value, point.error


def _of_mean_1(weights: Array) -> Array:
    total = weights.sum()
    return weights * (len(weights) / total) if total > 0.0 else np.zeros(len(weights))


def _point(x: Array, totals: list[tuple[float, float]], n_terms: int, gradient: Array) -> Point:
    total, right = (sum(column) for column in zip(*totals, strict=True))
    # If squared distances overflow, max(0, inf - inf) in a hinge loss may be 0, as if the map were perfect.
    measurable = math.isfinite(4.0 * inner(x, x))
    return Point(x, total / n_terms if measurable else math.nan, gradient, 1.0 - right / n_terms)


def _contiguous(x: Array) -> Array:
    """Return the map as kernels read it, copied only if necessary."""
    return np.ascontiguousarray(x, np.float64)


def _tiny_map(n_dims: int) -> Array:
    return np.zeros((4, n_dims))
