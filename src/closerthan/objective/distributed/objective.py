"""The objective of a fit that several processes share: a wrapper around that of the CPU or a GPU.

Each process has a part of the comparisons and the whole map. Sums over all comparisons are all-reduced. In a Polyak
walk, each process walks along its own comparisons from the same map, and then the moves of all processes are added.
That is close to taking the steps one after another as long as few of them involve the same objects: for about as many
comparisons as there are objects, and for more as steps become shorter.
"""

import functools
import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import numpy as np
import torch

from closerthan.arrays import Array, frozen
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.on_disk import WeightSummary, weight_summary
from closerthan.losses import Loss
from closerthan.objective.cpu.walks import DenseWalk
from closerthan.objective.distributed.choices import SharedChoiceSums
from closerthan.objective.distributed.part import Part
from closerthan.objective.distributed.process_group import ProcessGroup
from closerthan.objective.processes import SEVERAL
from closerthan.objective.protocol import Capability, M, Objective, Point, State, StepSchedule
from closerthan.objective.scales import best_scale
from closerthan.objective.visits import Leg, Order, Visits
from closerthan.objective.wrapped import LocalDevice, PartObjective, WalkWrapper, WrappedWalk, compile_walk

__all__ = ["Distributed", "DistributedObjective", "SharedWalk"]

CAPABILITIES: frozenset[Capability] = frozenset(
    {"variance-reduced walk", "Polyak walk", "lock-free walk", "Gram gradient", "whole answers"}
)
PLACEHOLDER = frozen(np.array([[0, 1, 2]], np.int32))  # for a process that has no comparisons
BETWEEN_EXCHANGES = 1.0  # comparisons per object that all processes visit between exchanges, while steps are longest
LONGEST_STRETCH = 8  # comparisons per object after which a map enters the average


@dataclass(frozen=True)
class Distributed:
    """Several processes as a device: each provides its own part of the comparisons.

    Parameters
    ----------
    inner
        The device that each process computes on.
    processes
        The processes that share a fit.
    """

    inner: LocalDevice
    processes: ProcessGroup = field(repr=False)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def kind(self) -> str:
        return f"{self.inner.kind}, {SEVERAL}"

    @property
    def threads(self) -> int:
        return 1  # concurrent fits would exchange their moves in different orders

    def parallel_starts(self, comparisons: Comparisons) -> int:  # noqa: ARG002
        return 1

    def for_all_losses(self) -> "Distributed":
        return replace(self, inner=self.inner.for_all_losses())

    def local(self) -> LocalDevice:
        return self.inner

    def one_thread(self) -> "Distributed":
        return self

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "DistributedObjective[Any]":
        """Return the objective of the comparisons of all processes."""
        return DistributedObjective(self.inner, self.processes, comparisons, loss, held_out)


class DistributedObjective(Objective[M], Generic[M]):
    """The mean loss over the comparisons of all processes."""

    def __init__(
        self,
        inner: LocalDevice,
        group: ProcessGroup,
        comparisons: Comparisons,
        loss: Loss,
        held_out: Comparisons | None,
    ) -> None:
        self.group = group
        weights = comparisons.weights
        summary = WeightSummary(float(len(comparisons)), 1.0, 1.0) if weights is None else weight_summary(weights)
        summaries = group.all_gather((comparisons.n_objects, len(comparisons), *summary))
        counts, sizes, totals, lowest, highest = zip(*summaries, strict=True)
        if len(set(counts)) > 1:
            raise ValueError(
                f"processes have {' and '.join(map(str, counts))} objects; pass the same n_objects or names in all"
            )
        if not sum(sizes):
            raise ValueError("there are no comparisons to fit")
        ranges = [(low, high) for low, high, size in zip(lowest, highest, sizes, strict=True) if size]
        self.weighted = min(low for low, _ in ranges) < max(high for _, high in ranges)
        mean = sum(totals) / sum(sizes)
        if self.weighted and weights is None:
            weights = np.broadcast_to(1.0, len(comparisons))
        self.part = Part(
            group.rank, sizes, [total / mean for total in totals], weights if self.weighted else None
        )  # fmt: skip
        # A process without comparisons gets an arbitrary one that is never visited and has no weight.
        self.is_empty = not len(comparisons)
        own = Comparisons(PLACEHOLDER, comparisons.n_objects) if self.is_empty else comparisons
        own_held_out = held_out if held_out is not None and len(held_out) else None
        self.inner: PartObjective[M] = inner.objective(own, loss, own_held_out)
        self._held_out_weight = 0.0 if held_out is None else held_out.total_weight
        self.n_objects = comparisons.n_objects
        self.capabilities = self.inner.capabilities & CAPABILITIES
        self.device = f"{group.n} processes on {self.inner.device}"
        self.longest_stretch = max(self.inner.longest_stretch, LONGEST_STRETCH * self.n_objects)
        # The weight of a penalty is derived from the number of comparisons of all processes, so it is the same in all.
        self.penalized = self.inner.penalized
        self.collapsed_objective = self.inner.collapsed_objective

    def __exit__(self, *problem: object) -> None:
        self.inner.__exit__(*problem)

    @property
    def n_terms(self) -> int:
        return self.part.n_terms

    def at(self, x: Array) -> Point:
        began = time.monotonic()
        here = self.inner.at(x)
        value, error = self._means(here.value, here.error)
        gradient = self.group.sum(self._contribution(here.gradient))
        self.evaluation_seconds = time.monotonic() - began
        return Point(here.x, value, gradient, error)

    def value(self, x: Array | M) -> Point[Array | M]:
        began = time.monotonic()
        here = self.inner.value(x)
        value, error = self._means(here.value, here.error)
        self.evaluation_seconds = time.monotonic() - began
        return Point(here.x, value, here.gradient, error)

    def _contribution(self, mean: Array) -> Array:
        """Return what a mean over this process's comparisons contributes to the mean over all."""
        return np.zeros_like(mean) if self.is_empty else self.part.fraction * np.asarray(mean)

    def _means(self, *means: float) -> list[float]:
        return [float(mean) for mean in self.group.sum(self._contribution(np.array(means)))]

    @functools.cached_property
    def _total_held_out_weight(self) -> float:
        return float(self.group.sum(np.array([self._held_out_weight]))[0])

    def held_out_error(self, x: Array | M) -> float:
        if not self._total_held_out_weight:
            return math.nan
        wrong = self.inner.held_out_error(x) * self._held_out_weight if self._held_out_weight else 0.0
        return float(self.group.sum(np.array([wrong]))[0]) / self._total_held_out_weight

    def best_scale(self, x: Array | M, scales: Array, trust: float) -> float:
        means = self.group.sum(self._contribution(self.inner.scaled_losses(x, scales)))
        return best_scale(means, scales, self.collapsed_objective, trust)

    def padded_width(self, n_dims: int) -> int:
        return self.inner.padded_width(n_dims)

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        value, gradient = self.inner.at_gram(gram)
        return self._means(value)[0], self.group.sum(self._contribution(gradient))

    def walk(self, snapshot: Point, batch_size: int) -> DenseWalk:
        """Return a walk that takes the same steps as a single process would, up to rounding."""
        if batch_size == 1:
            raise ValueError(
                f"batch_size is 1, but {self.group.n} processes exchange gradients after each batch; pass "
                "SVRG(batch_size=1000), or fit with one process"
            )

        def expand(visits: Visits) -> Any:
            return self.part.positions(visits, self.inner.unweighted(visits))

        return DenseWalk(self.gradient_changes, snapshot, batch_size, expand)

    def gradient_changes(self, positions: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Return the gradient at ``x`` minus that at ``anchor``, summed over these comparisons of all processes."""
        total = np.zeros(x.shape)
        own = self.part.own(positions)
        if len(own):
            for change in self.inner.gradient_changes(own, x, anchor):
                total += change
        return (self.group.sum(total),)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> "SharedWalk[M]":
        return SharedWalk(self, self.inner.polyak_walk(x, schedule, length, state), schedule, length)

    def lock_free_walk(
        self, x: Array, schedule: StepSchedule, length: int, state: State | None = None
    ) -> "SharedWalk[M]":
        return SharedWalk(self, self.inner.lock_free_walk(x, schedule, length, state), schedule, length)

    def choice_sums(self, choices: Choices, loss: Loss) -> SharedChoiceSums:
        """Return the losses of the whole answers of all processes; each passes its own answers."""
        weight = choices.mean_weight
        if self.is_empty:
            choices, weight = Choices.of(Comparisons(PLACEHOLDER, self.n_objects)), 0.0
        return SharedChoiceSums(self.group, self.inner.choice_sums(choices, loss), weight)

    def prepare(self, needs: frozenset[Capability], n_dims: int) -> None:
        self.inner.prepare(needs, n_dims)
        if "Polyak walk" in needs:
            compile_walk(self.inner, self.n_objects, n_dims)
        self.group.all_gather(None)  # the clock starts when all processes are ready


class SharedWalk(WalkWrapper[M]):
    """Polyak steps by all processes, each along its own comparisons; their moves are added.

    Exchanging moves after as many comparisons as there are objects costs no accuracy; as steps become shorter, the
    stretches between exchanges become longer in proportion. Averaging moves, or exchanging them far less often, is much
    worse: see docs/several-processes.md.
    """

    def __init__(
        self, objective: DistributedObjective[M], walk: WrappedWalk[M], schedule: StepSchedule, length: int
    ) -> None:
        super().__init__(walk)
        self._objective = objective
        self._reach = schedule.reach
        self._length = length

    def take(self, leg: Leg) -> None:
        for stretch in leg.stretches(self._length):
            while len(stretch):
                size = min(len(stretch), exchange_interval(self._objective.n_objects, self._walk.age, self._reach))
                self._take_and_exchange(stretch[:size])
                stretch = stretch[size:]
            self._walk.update_average()

    def _take_and_exchange(self, visits: Visits) -> None:
        walk, objective = self._walk, self._objective
        n_dims = walk.mean.shape[1]
        own = objective.part.visits(visits)
        walk.advance_age(len(visits))
        rows = _tensor(walk.rows)[:, :n_dims]
        before = rows.clone()
        squared_distances = walk.move(own)
        # Moves, squared distances and counts travel in one message.
        message = torch.empty(before.numel() + 2, dtype=rows.dtype, device=rows.device)
        torch.sub(rows, before, out=message[:-2].view_as(before))
        message[-2], message[-1] = squared_distances, float(len(own))
        objective.group.add(message)
        torch.add(before, message[:-2].view_as(before), out=before)
        rows.copy_(before)
        squared_distances, n_visited = message[-2:].tolist()
        if n_visited:
            walk.distance = squared_distances / (2 * n_visited)

    def project(self, n_dims: int) -> None:
        super().project(n_dims)
        # Principal axes have no sign, and processors may choose different ones: all continue with those of rank 0.
        for array in (self._walk.rows, self._walk.mean_rows):
            tensor = _tensor(array).contiguous()
            self._objective.group.broadcast_tensor(tensor)
            _tensor(array).copy_(tensor)
        self._walk.distance = self._objective.group.broadcast(self._walk.distance)


def exchange_interval(n_objects: int, age: float, reach: float) -> int:
    """Return how many comparisons all processes visit between two exchanges, at most.

    Steps become shorter with the square root of their age; the interval grows in proportion.

    Examples
    --------
    >>> exchange_interval(100, age=50.0, reach=1000.0), exchange_interval(100, age=4000.0, reach=1000.0)
    (100, 200)
    """
    growth = math.sqrt(max(1.0, age / reach))  # restarts may have made the age infinite
    return max(1, int(min(2.0**62, BETWEEN_EXCHANGES * n_objects * growth)))


def _tensor(array: Any) -> torch.Tensor:
    """Return an array as a tensor in the same memory."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else array
