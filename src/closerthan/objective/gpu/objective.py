"""The objective on a GPU: PyTorch holds the arrays, Triton kernels do the sums and the steps.

Many comparisons are handled at once and add to the same rows in no fixed order. So two fits with the same seed differ
in their last bits: on a GPU, "same seed, same bits" is not promised.
"""

import functools
import gc
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.geometry import leading_axes
from closerthan.losses import Loss
from closerthan.objective.gpu import kernels as kernels
from closerthan.objective.gpu.blocks import DeviceReader, loaded
from closerthan.objective.gpu.losses import translated
from closerthan.objective.leading import LedObjective
from closerthan.objective.protocol import UNKNOWN, Objective, Point, State, StepSchedule
from closerthan.objective.scales import SIZE_SAMPLE, best_scale, sample_places
from closerthan.objective.several.processes import Alone, Processes
from closerthan.objective.streaming.blocks import Block, Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.objective.streaming.shuffling import arranged
from closerthan.objective.visits import SIDE_BY_SIDE, ShuffledPass, UniformDraws, Visits

__all__ = ["GPU", "GPUObjective"]

TILE = 1024  # numbers of a map that a program handles at a time
WIDE = 64  # of rows so wide and wider, a program's 128 threads cannot hold one comparison each
WEIGHING = 16  # bytes a comparison with a weight needs on the card beside itself
ROUNDS = 32  # blocks of comparisons a program sums
SUMS = 1024  # places that programs add distances to: at a single one they would wait for each other


@dataclass(frozen=True)
class GPU:
    """A graphics processor as a device.

    Parameters
    ----------
    name
        As PyTorch calls it: "cuda", "cuda:1". "cpu" is for tests, with Triton's interpreter.
    memory
        Bytes of answers that may lie on the card; more are streamed to it in blocks, again and again. None: nine tenths
        of what is free.
    block_bytes
        Bytes of such a block.
    """

    name: str = "cuda"
    threads: int = 1  # fits at a time
    memory: int | None = None
    block_bytes: int = 1 << 28

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "GPUObjective | StreamedObjective":
        """The objective of these comparisons."""
        where = self.checked()
        source, n_objects = Source.of(comparisons), comparisons.n_objects
        aside = None if held_out is None else Answers.of(held_out.rows, held_out.weights, where)
        # With weights their sums lie there too, and the order of an eighth of a pass.
        needed = source.nbytes + (0 if source.weights is None else WEIGHING * len(source))
        if not self._has_room(where, needed):
            return self.streamed(source, n_objects, loss, aside)
        held = Answers.held(loaded(source, where, self._block_rows(source)))
        return GPUObjective(held, n_objects, loss, aside)

    def streamed(
        self, source: Source, n_objects: int, loss: Loss, held_out: "Answers | None" = None
    ) -> StreamedObjective:
        """The objective of rows that stay where they are, and come to the card in blocks."""
        where = self.checked()
        source = arranged(source, self._block_rows(source))
        blocks, sample = source.in_blocks(self._block_rows(source)), source.sample()
        reader = DeviceReader(source, blocks, where)
        return StreamedObjective(
            _led(GPUObjective(Answers.held(reader.get(0, None)), n_objects, loss, held_out)),
            blocks,
            reader,
            _led(GPUObjective(Answers.of(sample.rows, sample.weights, where), n_objects, loss)),
        )

    def _block_rows(self, source: Source) -> int:
        return max(self.block_bytes // (4 * source.width), 1)

    def _has_room(self, where: torch.device, n_bytes: int) -> bool:
        """Whether so many bytes of answers may lie on the device."""
        if self.memory is not None:
            return n_bytes <= self.memory
        if where.type != "cuda" or n_bytes <= 0.9 * torch.cuda.mem_get_info(where)[0]:
            return True
        gc.collect()  # an earlier fit's answers, which PyTorch keeps for later use
        torch.cuda.empty_cache()
        return bool(n_bytes <= 0.9 * torch.cuda.mem_get_info(where)[0])

    @property
    def kind(self) -> str:
        return "GPU"

    @property
    def processes(self) -> Processes:
        return Alone()

    def for_all_losses(self) -> "GPU":
        return self

    def alone(self) -> "GPU":
        return self

    def one_thread(self) -> "GPU":
        return self

    def checked(self) -> torch.device:
        """The device; one that is not there is an error."""
        where = torch.device(self.name)
        if where.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device is {self.name!r}, but PyTorch finds no GPU here; fit with device='cpu'")
        return where


@dataclass(frozen=True)
class Answers:
    """Comparisons on the device."""

    rows: torch.Tensor  # int32, three or four columns
    weights: torch.Tensor | None = None  # float64, with a mean of 1

    @classmethod
    def of(cls, rows: NDArray[np.int32], weights: Array | None, where: torch.device) -> Self:
        """Copied to the device."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the rows are read-only, and nobody writes to them
            on_device = torch.from_numpy(rows).to(where)
        return cls(on_device, None if weights is None else torch.tensor(weights, device=where))

    @classmethod
    def held(cls, block: Block) -> Self:
        """Of a block on the device; its weights may have any mean."""
        if block.weights is None:
            return cls(block.rows)
        return cls(block.rows, block.weights * (len(block.weights) / block.weights.sum().clamp(min=1e-300)))

    def __len__(self) -> int:
        return len(self.rows)

    def sample(self, size: int) -> "Answers":
        """So many of them, evenly spread."""
        if len(self) <= size:
            return self
        places = torch.from_numpy(sample_places(len(self), size))
        places = places.to(self.rows.device)
        return Answers(self.rows[places], None if self.weights is None else self.weights[places])


class DeviceMap:
    """A map on the device, its rows padded; NumPy makes it a plain array.

    Solvers hand it on without looking into it, so that a large map does not travel.
    """

    def __init__(self, rows: torch.Tensor, n_dims: int) -> None:
        self.rows = rows
        self.shape = len(rows), n_dims

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def copy(self) -> "DeviceMap":
        return DeviceMap(self.rows.clone(), self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        plain: NDArray[Any] = self.rows[:, : self.shape[1]].double().cpu().numpy().astype(dtype or np.float64)
        return plain


class GPUObjective(Objective):
    """Comparisons and a loss on a GPU: value, gradient and error at a map, and walks along the comparisons."""

    capabilities = frozenset({"variance-reduced walk", "gradient steps", "Polyak walk"})
    device = "the GPU"
    longest_stretch = 2**62  # a pass has as few maps in its average as the solver asks for

    def __init__(self, answers: Answers, n_objects: int, loss: Loss, held_out: Answers | None = None) -> None:
        if not len(answers):
            raise ValueError("there are no comparisons to fit")
        self.answers = answers
        self.n_objects = n_objects
        self.loss = loss
        self.weighted = answers.weights is not None
        self.where = answers.rows.device
        self.in_triton = translated(loss)
        self._held_out = held_out
        self._block: Block | None = None  # what is held, if that may change
        self.collapsed_objective = _in_one_place(loss)

    @property
    def n_terms(self) -> int:
        return len(self.answers)

    def hold(self, block: Block) -> None:
        """Have other comparisons, of the same objects."""
        if block is not self._block:
            self._block = block
            self.answers = Answers.held(block)
            self.__dict__.pop("_cumulative_weights", None)

    def gradient_sum(self, x: "Array | DeviceMap") -> "GradientSum":
        """A sum over blocks that are held one after the other."""
        return GradientSum(self, x)

    def rows_of(self, x: "Array | DeviceMap", dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """A map as kernels read it: padded rows."""
        if isinstance(x, DeviceMap):
            return x.rows
        given = np.ascontiguousarray(x, np.float64)
        padded = torch.zeros(len(given), _stride(given.shape[1]), dtype=dtype, device=self.where)
        padded[:, : given.shape[1]] = torch.from_numpy(given.copy()).to(self.where)
        return padded

    def at(self, x: "Array | DeviceMap") -> Point:
        """Mean loss, its gradient, and the share of comparisons that the map gets wrong."""
        rows = self.rows_of(x).double()
        out = torch.zeros_like(rows)
        total, right = self.add_gradient(rows, out, 1.0 / self.n_terms)
        return self.point(x, rows, total, right, out[:, : x.shape[1]].cpu().numpy())

    def value(self, x: "Array | DeviceMap") -> Point:
        """What :meth:`at` says, but for the gradient: that is not a number."""
        rows = self.rows_of(x)
        return self.point(x, rows, *self._sums(self.answers, rows), UNKNOWN)

    def held_out_error(self, x: "Array | DeviceMap") -> float:
        if self._held_out is None:
            return math.nan
        weights = self._held_out.weights
        whole = len(self._held_out) if weights is None else float(weights.sum())
        return 1.0 - self._sums(self._held_out, self.rows_of(x))[1] / whole

    def best_scale(self, x: "Array | DeviceMap", scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def scaled_losses(self, x: "Array | DeviceMap", scales: Array) -> Array:
        """The mean loss of a sample with the map scaled by each of these."""
        rows, sample = self.rows_of(x), self._sample
        whole = len(sample) if sample.weights is None else float(sample.weights.sum())
        return np.array([self._sums(sample, rows, float(scale))[0] / whole for scale in scales])

    def walk(self, snapshot: Point, batch_size: int) -> "BatchWalk":
        return BatchWalk(self, snapshot, batch_size)

    def gradient_changes(self, order: NDArray[np.int64], x: Array, anchor: Array) -> tuple[Array, ...]:
        """An array: over the comparisons in ``order``, their gradient at ``x`` minus that at ``anchor``, summed."""
        here, there = self.rows_of(x), self.rows_of(anchor)
        change = torch.zeros_like(here)
        if len(order):
            batch = torch.from_numpy(order).to(self.where)
            self.add_gradient(here, change, 1.0, batch)
            self.add_gradient(there, change, -1.0, batch)
        return (change[:, : x.shape[1]].cpu().numpy(),)

    def descend(self, visits: Visits, x: Array, batch_size: int, step: float) -> None:
        rows = self.rows_of(x)
        order = self.expand(visits)
        for begin in range(0, len(order), batch_size):
            batch = order[begin : begin + batch_size]
            out = torch.zeros_like(rows)
            self.add_gradient(rows, out, step / len(batch), batch)
            rows -= out
        x[:] = rows[:, : x.shape[1]].cpu().numpy()

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> "LockFreeWalk":
        return LockFreeWalk(self, x, schedule, length, state)

    def prepare(self, needs: frozenset[str], n_dims: int) -> None:
        x = np.zeros((4, n_dims))
        row = torch.arange(self.answers.rows.shape[1], dtype=torch.int32, device=self.where)[None]
        weights = None if self.answers.weights is None else self.answers.weights[:1] * 0.0 + 1.0
        few = GPUObjective(Answers(row, weights), 4, self.loss)
        few.value(x)
        if "Polyak walk" not in needs:
            few.at(x)
            return
        for n_wide in (n_dims, -(-(n_dims + 1) // 8) * 8):  # the latter is what solvers widen a start to
            walk = few.polyak_walk(np.zeros((len(x), n_wide)), StepSchedule(0.1, 1.0, 4.0), 1)
            walk.take(Visits((ShuffledPass(np.zeros(1, np.int64), 1, 1, np.empty(0, np.int64), 0, 1),), 0))
            few.value(walk.mean)
        # As large as they will be: what PyTorch loads for a product or a sum depends on its size.
        wide = few.polyak_walk(np.zeros((self.n_objects, n_wide)), StepSchedule(0.1, 1.0, 4.0), 1)
        wide.project(n_dims)
        self.value(wide.mean)

    # ---- sums --------------------------------------------------------------------------------------------------------

    def _sums(self, answers: Answers, rows: torch.Tensor, scale: float = 1.0) -> tuple[float, float]:
        block, width = _block(rows.shape[1], one_per_thread=True)
        rounds = ROUNDS if len(answers) > ROUNDS * block else 1
        programs = -(-len(answers) // (block * rounds))
        totals, rights = torch.empty(2, programs, dtype=torch.float64, device=self.where)
        kernels.loss_sums[(programs,)](
            answers.rows, _or(answers.weights, answers.rows), rows, len(answers), scale, totals, rights,
            value=self.in_triton.value, COLUMNS=answers.rows.shape[1], STRIDE=rows.shape[1], WIDTH=width, BLOCK=block,
            WEIGHTED=answers.weights is not None, ROUNDS=rounds,
        )  # fmt: skip
        total, right = torch.stack([totals.sum(), rights.sum()]).tolist()
        return total, right

    def add_gradient(
        self, rows: torch.Tensor, out: torch.Tensor, factor: float, order: torch.Tensor | None = None
    ) -> tuple[float, float]:
        """Add the sum of the gradients, times ``factor``; weights count only where all comparisons are summed."""
        block, width = _block(rows.shape[1])
        answers, n_terms = self.answers, self.n_terms if order is None else len(order)
        programs = -(-n_terms // block)
        totals, rights = torch.empty(2, programs, dtype=torch.float64, device=self.where)
        weighted = answers.weights is not None and order is None
        kernels.gradient[(programs,)](
            answers.rows, _or(answers.weights, answers.rows), rows, n_terms, _or(order, answers.rows), factor, out,
            totals, rights, value=self.in_triton.value, slopes=self.in_triton.slopes, COLUMNS=answers.rows.shape[1],
            STRIDE=rows.shape[1], WIDTH=width, BLOCK=block, WEIGHTED=weighted, ORDERED=order is not None,
        )  # fmt: skip
        if order is not None:
            return math.nan, math.nan
        total, right = torch.stack([totals.sum(), rights.sum()]).tolist()
        return total, right

    def point(self, x: "Array | DeviceMap", rows: torch.Tensor, total: float, right: float, gradient: Array) -> Point:
        """What sums over all comparisons say of a map."""
        # Where squared distances overflow, a loss with a maximum in it may call the map perfect.
        measurable = math.isfinite(4.0 * float((rows * rows).sum(dtype=torch.float64)))
        value = total / self.n_terms if measurable else math.nan
        return Point(x, value, gradient, 1.0 - right / self.n_terms)  # type: ignore[arg-type]

    @functools.cached_property
    def _sample(self) -> Answers:
        return self.answers.sample(SIZE_SAMPLE)

    # ---- orders ------------------------------------------------------------------------------------------------------

    def expand(self, visits: Visits) -> torch.Tensor:
        """The numbers of the comparisons that visits stand for."""
        order = self._unweighted(visits)
        if self.answers.weights is None:
            return order
        if visits.weight_seed is None:
            raise ValueError(
                "these visits were drawn for terms of equal weight; draw them for an objective with weights"
            )
        sums = self._cumulative_weights
        draws = self._uniform(visits.weight_seed + visits.first, len(order))
        last = int(torch.searchsorted(sums, sums[-1:]))
        return torch.searchsorted(sums, order + draws, right=True).clamp(max=last)

    def _unweighted(self, visits: Visits) -> torch.Tensor:
        none = torch.empty(0, dtype=torch.int64, device=self.where)
        return torch.cat([none, *(self._expanded(piece) for piece in visits.pieces)])

    def unweighted(self, visits: Visits) -> NDArray[np.int64]:
        """The numbers that visits stand for were all weights the same; they may be of more comparisons than these."""
        numbers: NDArray[np.int64] = self._unweighted(visits).cpu().numpy()
        return numbers

    def _expanded(self, piece: ShuffledPass | UniformDraws) -> torch.Tensor:
        if isinstance(piece, UniformDraws):
            draws = self._uniform(piece.seed + piece.first, piece.size)
            return (draws * piece.n_terms).long().clamp(max=piece.n_terms - 1)
        place = torch.arange(piece.first, piece.first + piece.size, device=self.where)
        runs, rest = self.on_device(piece.runs), self.on_device(piece.rest)
        n_runs, n_in_runs = len(runs), piece.length * len(runs)
        begin = place // (SIDE_BY_SIDE * piece.length) * SIDE_BY_SIDE
        width = (n_runs - begin).clamp(min=1, max=SIDE_BY_SIDE)
        offset = (place - begin * piece.length) // width
        run = (place - begin * piece.length) % width
        leaps, ahead = offset // piece.neighbours, offset % piece.neighbours
        first = runs[(begin + run).clamp(max=n_runs - 1)]
        order = (first + leaps * (piece.neighbours * n_runs) + ahead) % n_in_runs
        if len(rest):
            order = torch.where(place >= n_in_runs, rest[(place - n_in_runs).clamp(min=0)], order)
        return order

    def on_device(self, array: NDArray[np.int64]) -> torch.Tensor:
        """A part of an order on the device; that of the present pass is kept."""
        known = self._known.get(id(array))
        if known is None or known[0] is not array:
            if len(self._known) > 3:
                self._known.clear()
            known = self._known[id(array)] = array, torch.from_numpy(array).to(self.where)
        return known[1]

    @functools.cached_property
    def _known(self) -> dict[int, tuple[NDArray[np.int64], torch.Tensor]]:
        return {}

    @functools.cached_property
    def _cumulative_weights(self) -> torch.Tensor:
        assert self.answers.weights is not None
        return torch.cumsum(self.answers.weights, 0)

    def _uniform(self, seed: int, size: int) -> torch.Tensor:
        generator = torch.Generator(self.where).manual_seed(seed % 2**63)
        return torch.rand(size, generator=generator, dtype=torch.float64, device=self.where)


class GradientSum:
    """The gradient at a map, summed on the device over the blocks that an objective holds in turn."""

    def __init__(self, objective: GPUObjective, x: "Array | DeviceMap") -> None:
        self._objective = objective
        self._x = x
        self._rows = objective.rows_of(x).double()
        self._sum = torch.zeros_like(self._rows)

    def add(self, share: float) -> tuple[float, float]:
        """Add the block that is held now, which weighs such a share of all; returns its mean loss and error."""
        objective = self._objective
        total, right = objective.add_gradient(self._rows, self._sum, share / objective.n_terms)
        point = objective.point(self._x, self._rows, total, right, UNKNOWN)
        return point.value, point.error

    @property
    def gradient(self) -> Array:
        gradient: Array = self._sum[:, : self._x.shape[1]].cpu().numpy()
        return gradient


class BatchWalk:
    """SVRG steps of a batch: all rows move in each step."""

    def __init__(self, objective: GPUObjective, snapshot: Point, batch_size: int) -> None:
        self._objective = objective
        self._batch_size = batch_size
        self._n_dims = snapshot.x.shape[1]
        self._anchor = objective.rows_of(snapshot.x).double()
        self._rows = self._anchor.clone()
        self._gradient = objective.rows_of(snapshot.gradient)

    def take(self, visits: Visits, step: float) -> None:
        order = self._objective.expand(visits)
        for begin in range(0, len(order), self._batch_size):
            batch = order[begin : begin + self._batch_size]
            change = torch.zeros_like(self._rows)
            self._objective.add_gradient(self._rows, change, 1.0 / len(batch), batch)
            self._objective.add_gradient(self._anchor, change, -1.0 / len(batch), batch)
            self._rows -= step * (change + self._gradient)

    @property
    def x(self) -> Array:
        x: Array = self._rows[:, : self._n_dims].cpu().numpy().copy()
        return x


class LockFreeWalk:
    """Polyak steps by all threads of the device at once, averaged; both maps are of single precision."""

    def __init__(
        self, objective: GPUObjective, x: Array, schedule: StepSchedule, length: int, state: State | None
    ) -> None:
        self._objective = objective
        self._schedule = StepSchedule(*map(float, schedule))
        self._length = length
        self.age, self.n_maps, self.step = 0.0, 0, 0.0
        self._n_dims = x.shape[1]
        if state is None:
            self._mean = objective.rows_of(x, torch.float32)
            self._centre(self._mean)
        else:
            self._n_dims = state["mean"].shape[1]
            self._mean = objective.rows_of(state["mean"], torch.float32)
            self.rows = objective.rows_of(state["x"], torch.float32)
            self.age, self.n_maps = float(state["age"]), int(state["n_maps"])
            self.distance = float(state["distance"])

    @property
    def mean(self) -> DeviceMap:
        return DeviceMap(self._mean, self._n_dims)

    def take(self, visits: Visits) -> None:
        for begin in range(0, len(visits), self._length):
            part = visits[begin : begin + self._length]
            self.grow_older(len(part))
            self.distance = self.move(part) / (2 * len(part))
            self.enter_average()

    def grow_older(self, n_terms: int) -> None:
        """So many terms more are about to be visited: how long may steps be?"""
        self.age += n_terms
        self.step = longest_step(self._objective.loss, self._schedule, self.distance, self.age)

    def enter_average(self) -> None:
        """Let the map where the walk is now be the last one in the average."""
        self.n_maps += 1
        self._mean.lerp_(self.rows, (self._schedule.lateness + 1.0) / (self._schedule.lateness + self.n_maps))

    def move(self, visits: Visits) -> float:
        """Steps along these terms; returns the sum of the squared distances met."""
        objective = self._objective
        met = torch.zeros(SUMS, dtype=torch.float64, device=objective.where)
        for first, size, order, runs in self._pieces(visits):
            block, width = _block(self.rows.shape[1], one_per_thread=True)
            n_runs = 0 if runs is None else len(runs.runs)
            kernels.polyak_steps[(-(-size // block),)](
                objective.answers.rows, self.rows, first, size, order,
                order if runs is None else objective.on_device(runs.runs), n_runs,
                1 if runs is None else runs.length, 1 if runs is None else runs.neighbours,
                1 if runs is None else runs.length * n_runs, self.step, met,
                value=objective.in_triton.value, slopes=objective.in_triton.slopes,
                COLUMNS=objective.answers.rows.shape[1], STRIDE=self.rows.shape[1], WIDTH=width, BLOCK=block,
                IN_RUNS=runs is not None, SUMS=SUMS,
            )  # fmt: skip
        return float(met.sum())

    def _pieces(self, visits: Visits) -> Iterator[tuple[int, int, torch.Tensor, ShuffledPass | None]]:
        """First place, number of places, an order or the end of it, and the runs that the kernel works out."""
        objective = self._objective
        if objective.weighted or not all(isinstance(piece, ShuffledPass) for piece in visits.pieces):
            yield 0, len(visits), objective.expand(visits), None
            return
        for piece in visits.pieces:
            assert isinstance(piece, ShuffledPass)
            rest = objective.on_device(piece.rest)
            yield piece.first, piece.size, rest if len(rest) else objective.on_device(piece.runs), piece

    def rescale(self, scale: float) -> None:
        self.rows *= scale
        self._mean *= scale
        self.distance *= scale * scale

    def project(self, n_dims: int) -> None:
        mean = self._mean[:, : self._n_dims].double()
        centre = mean.mean(0)
        covariance = ((mean - centre).T @ (mean - centre)).cpu().numpy()
        # A copy: a product with a transposed view may be rounded otherwise.
        axes = torch.from_numpy(np.ascontiguousarray(leading_axes(covariance, n_dims).T)).to(self._objective.where)
        for name in ("rows", "_mean"):
            old = getattr(self, name)[:, : self._n_dims].double()
            new = torch.zeros(len(old), _stride(n_dims), dtype=torch.float32, device=old.device)
            new[:, :n_dims] = (old - centre) @ axes
            setattr(self, name, new)
        self._n_dims = n_dims
        self.distance = self._mean_distance()

    def restart(self, x: "Array | DeviceMap") -> None:
        self._mean = self._objective.rows_of(x, torch.float32).clone()
        self._centre(self._mean)

    def slow_down(self, times: float) -> None:
        self.age *= times

    def state(self) -> State:
        numbers = {"age": self.age, "n_maps": self.n_maps, "distance": self.distance}
        arrays = {"x": np.asarray(DeviceMap(self.rows, self._n_dims)), "mean": np.asarray(self.mean)}
        return arrays | {name: np.array(number) for name, number in numbers.items()}

    def _centre(self, rows: torch.Tensor) -> None:
        """Begin at this map, moved to 0: far from it single precision could not tell objects apart."""
        self.rows = rows - rows.mean(0)
        self.distance = self._mean_distance()

    def _mean_distance(self) -> float:
        """The mean squared distance of two objects of a map around 0."""
        return 2.0 * float((self.rows * self.rows).sum(dtype=torch.float64)) / len(self.rows)


def longest_step(loss: Loss, schedule: StepSchedule, distance: float, age: float) -> float:
    """What a step is at most after ``age`` comparisons, with pairs of objects this far apart."""
    with np.errstate(all="ignore"):
        try:
            slope = max(abs(float(number)) for number in loss.slopes(distance, distance))
        except (ArithmeticError, ValueError):  # Python raises an error where compiled code has infinity
            slope = 0.0
    bound = schedule.share / slope if slope > 0.0 else math.inf
    return float(min(bound * schedule.length(age), 1e300))


def _led(objective: GPUObjective) -> LedObjective:
    """The same for mypy: maps that stay on the device stand for arrays."""
    return cast(LedObjective, objective)


def _in_one_place(loss: Loss) -> float:
    with np.errstate(all="ignore"):
        try:
            return float(loss.value(0.0, 0.0))
        except (ArithmeticError, ValueError):
            return math.nan


def _stride(n_dims: int) -> int:
    """Numbers of a row: whole vectors of four."""
    return -(-n_dims // 4) * 4


def _block(stride: int, *, one_per_thread: bool = False) -> tuple[int, int]:
    """Comparisons a program handles at a time, and the power of two that its rows fit in."""
    width = 1 << (stride - 1).bit_length()
    return kernels.THREADS.value if one_per_thread and width < WIDE else max(TILE // width, 4), width


def _or(tensor: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """Kernels want an array even where they read none."""
    return other if tensor is None else tensor
