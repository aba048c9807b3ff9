"""The objective on a GPU: PyTorch holds the arrays, and Triton kernels compute sums and steps.

Thousands of comparisons are processed at once and add to the same rows in no fixed order. Two fits with the same seed
therefore differ in their last bits: on a GPU, the same seed does not guarantee the same result.
"""

import functools
import gc
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons
from closerthan.compiled.kernels.choices import ChoiceRows
from closerthan.geometry import leading_axes
from closerthan.losses import Loss, penalty_weight, without_penalty
from closerthan.objective.gpu import kernels
from closerthan.objective.gpu.blocks import DeviceReader, as_tensor, load
from closerthan.objective.gpu.choices import ChoiceSumsOnGPU
from closerthan.objective.gpu.losses import translated
from closerthan.objective.gpu.rows import DeviceMap, block_and_width, or_placeholder, rows_on, stride_of
from closerthan.objective.inverse_hessian import InverseHessian
from closerthan.objective.processes import Processes, SingleProcess
from closerthan.objective.protocol import UNKNOWN, Capability, Objective, Point, State, StepSchedule
from closerthan.objective.scales import SIZE_SAMPLE, best_scale, sample_places
from closerthan.objective.streaming.blocks import Block, Source
from closerthan.objective.streaming.objective import StreamedObjective
from closerthan.objective.streaming.shuffling import shuffled_if_sorted
from closerthan.objective.visits import SIDE_BY_SIDE, Leg, ShuffledPass, UniformDraws, Visits

__all__ = ["GPU", "GPUObjective"]

WEIGHT_BYTES = 16  # additional memory on the card for each comparison with a weight
ROUNDS = 32  # blocks of comparisons that a program sums
SUMS = 1024  # locations that programs add distances to; with a single one they would wait for each other
START_MULTIPLE = 8  # random starts have a multiple of this many dimensions, as on the CPU


@dataclass(frozen=True)
class GPU:
    """A GPU as a device.

    Parameters
    ----------
    name
        PyTorch's name of the device, such as "cuda" or "cuda:1". "cpu" is for tests, with Triton's interpreter.
    memory
        Size in bytes of the answers that may be stored on the card; more answers are copied to it in blocks during each
        pass. By default nine tenths of the free memory.
    block_bytes
        Size of such a block in bytes.
    """

    name: str = "cuda"
    memory: int | None = None
    block_bytes: int = 1 << 28

    @property
    def threads(self) -> int:
        return 1

    def parallel_starts(self, comparisons: Comparisons) -> int:  # noqa: ARG002
        return 1

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "GPUObjective | StreamedObjective[DeviceMap]":
        """Return the objective of these comparisons."""
        where = self.checked()
        source, n_objects = Source.of(comparisons), comparisons.n_objects
        held_out_answers = None if held_out is None else ComparisonsOnGPU.of(held_out.rows, held_out.weights, where)
        # With weights, the card also holds their cumulative sums and the order of an eighth of a pass.
        needed = source.nbytes + (0 if source.weights is None else WEIGHT_BYTES * len(source))
        if not self._has_room(where, needed):
            return self.streamed(source, n_objects, loss, held_out_answers)
        answers = ComparisonsOnGPU.of_block(load(source, where, self._block_rows(source)))
        return GPUObjective(answers, n_objects, loss, held_out_answers)

    def streamed(
        self, source: Source, n_objects: int, loss: Loss, held_out: "ComparisonsOnGPU | None" = None
    ) -> "StreamedObjective[DeviceMap]":
        """Return the objective of rows that are copied to the card in blocks."""
        where = self.checked()
        source = shuffled_if_sorted(source, self._block_rows(source))
        blocks, sample = source.in_blocks(self._block_rows(source)), source.sample()
        reader = DeviceReader(source, blocks, where)
        return StreamedObjective(
            GPUObjective(ComparisonsOnGPU.of_block(reader.get(0, None)), n_objects, loss, held_out),
            blocks,
            reader,
            GPUObjective(ComparisonsOnGPU.of(sample.rows, sample.weights, where), n_objects, loss),
        )

    def _block_rows(self, source: Source) -> int:
        return max(self.block_bytes // (4 * source.width), 1)

    def _has_room(self, where: torch.device, n_bytes: int) -> bool:
        """Return whether answers of this size fit into the memory of the device."""
        if self.memory is not None:
            return n_bytes <= self.memory
        if where.type != "cuda" or n_bytes <= 0.9 * torch.cuda.mem_get_info(where)[0]:
            return True
        gc.collect()  # PyTorch keeps the memory of an earlier fit for later use
        torch.cuda.empty_cache()
        return bool(n_bytes <= 0.9 * torch.cuda.mem_get_info(where)[0])

    @property
    def kind(self) -> str:
        return "GPU"

    @property
    def processes(self) -> Processes:
        return SingleProcess()

    def for_all_losses(self) -> "GPU":
        return self

    def local(self) -> "GPU":
        return self

    def one_thread(self) -> "GPU":
        return self

    def checked(self) -> torch.device:
        """Return PyTorch's device; raise an error if there is none."""
        where = torch.device(self.name)
        if where.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device is {self.name!r}, but PyTorch finds no GPU here; fit with device='cpu'")
        return where


@dataclass(frozen=True)
class ComparisonsOnGPU:
    """Comparisons on the device."""

    rows: torch.Tensor  # int32, three or four columns
    weights: torch.Tensor | None = None  # float64, with a mean of 1

    @classmethod
    def of(cls, rows: NDArray[np.int32], weights: Array | None, where: torch.device) -> Self:
        """Copy rows and weights to the device."""
        return cls(as_tensor(rows).to(where), None if weights is None else torch.tensor(weights, device=where))

    @classmethod
    def of_block(cls, block: Block) -> Self:
        """Return the comparisons of a block on the device, with weights rescaled to a mean of 1."""
        if block.weights is None:
            return cls(block.rows)
        return cls(block.rows, block.weights * (len(block.weights) / block.weights.sum().clamp(min=1e-300)))

    def __len__(self) -> int:
        return len(self.rows)

    def sample(self, size: int) -> "ComparisonsOnGPU":
        """Return ``size`` of the comparisons, evenly spread."""
        if len(self) <= size:
            return self
        places = torch.from_numpy(sample_places(len(self), size))
        places = places.to(self.rows.device)
        return ComparisonsOnGPU(self.rows[places], None if self.weights is None else self.weights[places])


class GPUObjective(Objective[DeviceMap]):
    """The mean loss of comparisons on a GPU: its value, gradient and error at a map, and walks along comparisons."""

    capabilities: frozenset[Capability] = frozenset(
        {"variance-reduced walk", "gradient steps", "Polyak walk", "lock-free walk", "whole answers"}
    )
    device = "the GPU"
    longest_stretch = 2**62  # the solver alone decides how many maps of a pass enter the average

    def __init__(
        self, answers: ComparisonsOnGPU, n_objects: int, loss: Loss, held_out: ComparisonsOnGPU | None = None
    ) -> None:
        if not len(answers):
            raise ValueError("there are no comparisons to fit")
        self.answers = answers
        self.n_objects = n_objects
        self.loss = loss
        self.weighted = answers.weights is not None
        self.where = answers.rows.device
        self.in_triton = translated(without_penalty(loss))
        self.penalty_weight = penalty_weight(loss)
        self.penalized = self.penalty_weight > 0.0
        self._held_out = held_out
        self._block: Block | None = None  # the current block, if comparisons are read in blocks
        self.collapsed_objective = _collapsed_loss(loss)

    @property
    def n_terms(self) -> int:
        return len(self.answers)

    def use_block(self, block: Block) -> None:
        """Replace the comparisons by those of another block, about the same objects."""
        if block is not self._block:
            self._block = block
            self.answers = ComparisonsOnGPU.of_block(block)
            self.__dict__.pop("_cumulative_weights", None)

    def gradient_sum(self, x: Array) -> "GradientSum":
        """Return an empty sum of gradients at a map, to which blocks are added."""
        return GradientSum(self, x)

    def rows_of(self, x: Array | DeviceMap, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Return a map as kernels read it, with padded rows."""
        return rows_on(self.where, x, dtype)

    def at(self, x: Array) -> Point:
        """Return the mean loss, its gradient, and the fraction of comparisons that the map contradicts."""
        rows = self.rows_of(x).double()
        out = torch.zeros_like(rows)
        total, right = self.add_gradient(rows, out, 1.0 / self.n_terms)
        value, error = self.mean_loss_and_error(rows, total, right)
        return Point(x, value, out[:, : x.shape[1]].cpu().numpy(), error)

    def value(self, x: Array | DeviceMap) -> Point[Array | DeviceMap]:
        """Return the same as :meth:`at`, without the gradient."""
        rows = self.rows_of(x)
        value, error = self.mean_loss_and_error(rows, *self._sums(self.answers, rows))
        return Point(x, value, UNKNOWN, error)

    def held_out_error(self, x: Array | DeviceMap) -> float:
        if self._held_out is None:
            return math.nan
        weights = self._held_out.weights
        total = len(self._held_out) if weights is None else float(weights.sum())
        return 1.0 - self._sums(self._held_out, self.rows_of(x))[1] / total

    def best_scale(self, x: Array | DeviceMap, scales: Array, trust: float) -> float:
        return best_scale(self.scaled_losses(x, scales), scales, self.collapsed_objective, trust)

    def padded_width(self, n_dims: int) -> int:
        return -(-n_dims // START_MULTIPLE) * START_MULTIPLE

    def scaled_losses(self, x: Array | DeviceMap, scales: Array) -> Array:
        """Return the mean loss of a sample with the map multiplied by each of the scales."""
        rows, sample = self.rows_of(x), self._sample
        total = len(sample) if sample.weights is None else float(sample.weights.sum())
        return np.array([self._sums(sample, rows, float(scale))[0] / total for scale in scales])

    def walk(self, snapshot: Point, batch_size: int) -> "BatchWalk":
        return BatchWalk(self, snapshot, batch_size)

    def gradient_changes(self, order: NDArray[np.int64], x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return an array: the gradient at ``x`` minus that at ``anchor``, summed over these comparisons."""
        rows, anchor_rows = self.rows_of(x), self.rows_of(anchor)
        change = torch.zeros_like(rows)
        if len(order):
            batch = torch.from_numpy(order).to(self.where)
            self.add_gradient(rows, change, 1.0, batch)
            self.add_gradient(anchor_rows, change, -1.0, batch)
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

    lock_free_walk = polyak_walk

    def choice_sums(self, choices: Choices, loss: Loss) -> ChoiceSumsOnGPU:
        return ChoiceSumsOnGPU(ChoiceRows.of(choices), loss, choices.choice_weights, self.where)

    def at_gram(self, gram: Array) -> tuple[float, Array]:  # noqa: ARG002
        """Raise an error: the GPU lacks the capability "Gram gradient", but wrappers need the method."""
        raise ValueError("the objective on the GPU has no Gram gradient; fit on the CPU")

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:
        # Kernels are compiled by running them on a single comparison of four objects.
        x = np.zeros((4, n_dims))
        row = torch.arange(self.answers.rows.shape[1], dtype=torch.int32, device=self.where)[None]
        weights = None if self.answers.weights is None else self.answers.weights[:1] * 0.0 + 1.0
        tiny = GPUObjective(ComparisonsOnGPU(row, weights), 4, self.loss)
        tiny.value(x)
        if self.penalized or "Polyak walk" not in needs:
            tiny.at(x)
            InverseHessian.prepare()
        if "Polyak walk" not in needs:
            return
        for n_wide in (n_dims, self.padded_width(n_dims + 1)):  # the solver adds dimensions to random starts
            walk = tiny.polyak_walk(np.zeros((len(x), n_wide)), StepSchedule(0.1, 1.0, 4.0), 1)
            one = ShuffledPass(np.zeros(1, np.int64), 1, 1, np.empty(0, np.int64), 0, 1)
            walk.take(Leg(one, (0,), 1))
            tiny.value(walk.mean)
        # At full size, since PyTorch chooses its kernels for products and sums by the size of the arrays.
        wide = tiny.polyak_walk(np.zeros((self.n_objects, n_wide)), StepSchedule(0.1, 1.0, 4.0), 1)
        wide.project(n_dims)
        self.value(wide.mean)

    # ---- sums --------------------------------------------------------------------------------------------------------

    def _sums(self, answers: ComparisonsOnGPU, rows: torch.Tensor, scale: float = 1.0) -> tuple[float, float]:
        """Return the sum of the losses, and the total weight of the comparisons that the map agrees with."""
        block, width = block_and_width(rows.shape[1], one_per_thread=True)
        rounds = ROUNDS if len(answers) > ROUNDS * block else 1
        programs = -(-len(answers) // (block * rounds))
        totals, rights = torch.empty(2, programs, dtype=torch.float64, device=self.where)
        kernels.loss_sums[(programs,)](
            answers.rows, or_placeholder(answers.weights, answers.rows), rows, len(answers), scale,
            self.penalty_weight, totals, rights,
            value=self.in_triton.value, COLUMNS=answers.rows.shape[1], STRIDE=rows.shape[1], WIDTH=width, BLOCK=block,
            WEIGHTED=answers.weights is not None, ROUNDS=rounds,
        )  # fmt: skip
        total, right = torch.stack([totals.sum(), rights.sum()]).tolist()
        return total, right

    def add_gradient(
        self, rows: torch.Tensor, out: torch.Tensor, factor: float, order: torch.Tensor | None = None
    ) -> tuple[float, float]:
        """Add ``factor`` times the sum of the gradients to ``out``; return the same sums as :meth:`_sums`.

        An ``order`` has been drawn by weight, so its comparisons count equally; no sums are returned for it.
        """
        block, width = block_and_width(rows.shape[1])
        answers, n_terms = self.answers, self.n_terms if order is None else len(order)
        programs = -(-n_terms // block)
        totals, rights = torch.empty(2, programs, dtype=torch.float64, device=self.where)
        weighted = answers.weights is not None and order is None
        kernels.gradient[(programs,)](
            answers.rows, or_placeholder(answers.weights, answers.rows), rows, n_terms,
            or_placeholder(order, answers.rows), factor, self.penalty_weight, out, totals, rights,
            value=self.in_triton.value, slopes=self.in_triton.slopes, COLUMNS=answers.rows.shape[1],
            STRIDE=rows.shape[1], WIDTH=width, BLOCK=block, WEIGHTED=weighted, ORDERED=order is not None,
        )  # fmt: skip
        if order is not None:
            return math.nan, math.nan
        total, right = torch.stack([totals.sum(), rights.sum()]).tolist()
        return total, right

    def mean_loss_and_error(self, rows: torch.Tensor, total: float, right: float) -> tuple[float, float]:
        """Return the mean loss and the error of a map, given sums over all comparisons."""
        # If squared distances overflow, max(0, inf - inf) in a hinge loss may be 0, as if the map were perfect.
        measurable = math.isfinite(4.0 * float((rows * rows).sum(dtype=torch.float64)))
        return total / self.n_terms if measurable else math.nan, 1.0 - right / self.n_terms

    @functools.cached_property
    def _sample(self) -> ComparisonsOnGPU:
        return self.answers.sample(SIZE_SAMPLE)

    # ---- orders ------------------------------------------------------------------------------------------------------

    def expand(self, visits: Visits) -> torch.Tensor:
        """Return the indices of the comparisons that visits stand for."""
        order = self._unweighted(visits)
        if self.answers.weights is None:
            return order
        sums = self._cumulative_weights
        draws = self._uniform(visits.required_weight_seed + visits.first, len(order))
        last = int(torch.searchsorted(sums, sums[-1:]))
        return torch.searchsorted(sums, order + draws, right=True).clamp(max=last)

    def _unweighted(self, visits: Visits) -> torch.Tensor:
        empty = torch.empty(0, dtype=torch.int64, device=self.where)
        return torch.cat([empty, *(self._expand_piece(piece) for piece in visits.pieces)])

    def unweighted(self, visits: Visits) -> NDArray[np.int64]:
        """Return the indices that visits stand for if all weights are equal.

        Visits may be drawn for the comparisons of several processes, so indices may exceed the number of these.
        """
        indices: NDArray[np.int64] = self._unweighted(visits).cpu().numpy()
        return indices

    def _expand_piece(self, piece: ShuffledPass | UniformDraws) -> torch.Tensor:
        """Return the same indices as ``piece.indices()``, except that uniform draws use PyTorch's generator."""
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
        """Return an array of indices on the device; copies for the current pass are cached."""
        cached = self._cached.get(id(array))
        if cached is None or cached[0] is not array:
            if len(self._cached) > 3:
                self._cached.clear()
            cached = self._cached[id(array)] = array, torch.from_numpy(array).to(self.where)
        return cached[1]

    @functools.cached_property
    def _cached(self) -> dict[int, tuple[NDArray[np.int64], torch.Tensor]]:
        return {}

    @functools.cached_property
    def _cumulative_weights(self) -> torch.Tensor:
        assert self.answers.weights is not None
        return torch.cumsum(self.answers.weights, 0)

    def _uniform(self, seed: int, size: int) -> torch.Tensor:
        generator = torch.Generator(self.where).manual_seed(seed % 2**63)
        return torch.rand(size, generator=generator, dtype=torch.float64, device=self.where)


class GradientSum:
    """The gradient at a map, summed on the device over the blocks that an objective uses one after another."""

    def __init__(self, objective: GPUObjective, x: Array) -> None:
        self._objective = objective
        self._n_dims = x.shape[1]
        self._rows = objective.rows_of(x).double()
        self._sum = torch.zeros_like(self._rows)

    def add(self, fraction: float) -> tuple[float, float]:
        """Add the current block, which has this fraction of the total weight; return its mean loss and error."""
        objective = self._objective
        total, right = objective.add_gradient(self._rows, self._sum, fraction / objective.n_terms)
        return objective.mean_loss_and_error(self._rows, total, right)

    @property
    def gradient(self) -> Array:
        gradient: Array = self._sum[:, : self._n_dims].cpu().numpy()
        return gradient


class BatchWalk:
    """SVRG steps with one batch of comparisons each; every step moves all rows of the map."""

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
    """Polyak steps by all threads of the device at once, without locks, with averaging.

    Both the map that moves and the average have single precision.
    """

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

    def take(self, leg: Leg) -> None:
        for stretch in leg.stretches(self._length):
            self.advance_age(len(stretch))
            self.distance = self.move(stretch) / (2 * len(stretch))
            self.update_average()

    def advance_age(self, n_terms: int) -> None:
        """Shorten steps as if ``n_terms`` more terms were visited, by this walk or by others."""
        self.age += n_terms
        self.step = longest_step(self._objective.loss, self._schedule, self.distance, self.age)

    @property
    def mean_rows(self) -> torch.Tensor:
        """The average of the maps, with padded rows."""
        return self._mean

    def update_average(self) -> None:
        """Add the current map to the average."""
        self.n_maps += 1
        self._mean.lerp_(self.rows, (self._schedule.lateness + 1.0) / (self._schedule.lateness + self.n_maps))

    def move(self, visits: Visits) -> float:
        """Take steps along these terms; return the sum of the squared distances of the pairs visited."""
        objective = self._objective
        squared_distances = torch.zeros(SUMS, dtype=torch.float64, device=objective.where)
        for first, size, order, runs in self._pieces(visits):
            block, width = block_and_width(self.rows.shape[1], one_per_thread=True)
            n_runs = 0 if runs is None else len(runs.runs)
            kernels.polyak_steps[(-(-size // block),)](
                objective.answers.rows, self.rows, first, size, order,
                order if runs is None else objective.on_device(runs.runs), n_runs,
                1 if runs is None else runs.length, 1 if runs is None else runs.neighbours,
                1 if runs is None else runs.length * n_runs, self.step, objective.penalty_weight, squared_distances,
                value=objective.in_triton.value, slopes=objective.in_triton.slopes,
                COLUMNS=objective.answers.rows.shape[1], STRIDE=self.rows.shape[1], WIDTH=width, BLOCK=block,
                IN_RUNS=runs is not None, SUMS=SUMS,
            )  # fmt: skip
        return float(squared_distances.sum())

    def _pieces(self, visits: Visits) -> Iterator[tuple[int, int, torch.Tensor, ShuffledPass | None]]:
        """Yield each piece's first position, size and indices, and the pass whose runs the kernel expands or None."""
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
        # A contiguous copy, because a product with a transposed view may be rounded differently.
        axes = torch.from_numpy(np.ascontiguousarray(leading_axes(covariance, n_dims).T)).to(self._objective.where)
        for name in ("rows", "_mean"):
            old = getattr(self, name)[:, : self._n_dims].double()
            new = torch.zeros(len(old), stride_of(n_dims), dtype=torch.float32, device=old.device)
            new[:, :n_dims] = (old - centre) @ axes
            setattr(self, name, new)
        self._n_dims = n_dims
        self.distance = self._mean_distance()

    def restart(self, x: Array | DeviceMap) -> None:
        self._mean = self._objective.rows_of(x, torch.float32).clone()
        self._centre(self._mean)

    def slow_down(self, times: float) -> None:
        self.age *= times

    def state(self) -> State:
        numbers = {"age": self.age, "n_maps": self.n_maps, "distance": self.distance}
        arrays = {"x": np.asarray(DeviceMap(self.rows, self._n_dims)), "mean": np.asarray(self.mean)}
        return arrays | {name: np.array(number) for name, number in numbers.items()}

    def _centre(self, rows: torch.Tensor) -> None:
        """Begin at this map, moved to the origin; far from it, single precision could not distinguish objects."""
        self.rows = rows - rows.mean(0)
        self.distance = self._mean_distance()

    def _mean_distance(self) -> float:
        """Return the mean squared distance of two objects of the centred map."""
        return 2.0 * float((self.rows * self.rows).sum(dtype=torch.float64)) / len(self.rows)


def longest_step(loss: Loss, schedule: StepSchedule, distance: float, age: float) -> float:
    """Return the maximum step after ``age`` comparisons, if the mean squared distance of pairs is ``distance``."""
    with np.errstate(all="ignore"):
        try:
            slope = max(abs(float(number)) for number in loss.slopes(distance, distance))
        except (ArithmeticError, ValueError):  # Python raises an error where compiled code returns infinity
            slope = 0.0
    bound = schedule.share / slope if slope > 0.0 else math.inf
    return float(min(bound * schedule.length(age), 1e300))


def _collapsed_loss(loss: Loss) -> float:
    """Return the loss if all objects coincide; NaN if it is undefined."""
    with np.errstate(all="ignore"):
        try:
            return float(loss.value(0.0, 0.0))
        except (ArithmeticError, ValueError):
            return math.nan
