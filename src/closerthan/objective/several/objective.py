"""One fit by several processes, on one machine or many: a wrapper around the CPU or a GPU, by torch.distributed.

Each process has a part of the comparisons and the whole map. Sums over all comparisons are sums over all processes. In
a Polyak walk each process walks along its own comparisons from the same map; then the moves of all are added. That is
like taking the steps in turn as long as few of them meet: about as many comparisons as there are objects, and more as
steps become shorter.
"""

import atexit
import contextlib
import functools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar, cast

import numpy as np
import torch
import torch.distributed as dist

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import Weighed, weighed
from closerthan.losses import Loss
from closerthan.objective.cpu.walks import DenseWalk
from closerthan.objective.leading import LeadingWalk, LedObjective, LedWalk
from closerthan.objective.protocol import Device, Objective, Point, State, StepSchedule
from closerthan.objective.scales import best_scale
from closerthan.objective.several.part import Part
from closerthan.objective.several.processes import SEVERAL, Launch
from closerthan.objective.visits import Order, Visits

__all__ = ["Distributed", "Group"]

BETWEEN_EXCHANGES = 1.0  # comparisons per object of all processes together, at the first steps' length
GOES_ON = "With --checkpoint, --resume goes on, with any number of processes"
LONGEST_STRETCH = 8  # comparisons per object after which a map enters the average
JOINING = 600.0  # seconds that processes may be apart when they begin
BEAT = 5.0  # seconds between two signs of life
SILENCE = 40.0  # seconds after which a process counts as dead
FOR_EVER = timedelta(days=30)  # processes wait for each other; those that died are noticed by their silence
REASONS = ("", "solver", "epochs", "tolerance", "validation", "time_limit", "diverged", "callback", "interrupted")

Told = TypeVar("Told")


class Group:
    """The processes of a fit, joined: what torch.distributed does for us, in our words.

    Parameters
    ----------
    launch
        How this process was started.
    on_gpu
        Whether maps are exchanged between GPUs.
    """

    def __init__(self, launch: Launch, *, on_gpu: bool = False) -> None:
        self.rank, self.n, self.leads = launch.rank, launch.n, launch.rank == 0
        os.environ |= {"MASTER_ADDR": launch.address, "MASTER_PORT": str(launch.port)}
        with self._or_a_sentence():
            store, _, _ = next(
                iter(dist.rendezvous("env://", launch.rank, launch.n, timeout=timedelta(seconds=JOINING)))
            )
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
                store=dist.PrefixStore("closerthan", store),
                rank=launch.rank,
                world_size=launch.n,
                timeout=FOR_EVER,
            )
        # A connection of its own: one that waits for something would keep the signs of life waiting too.
        own = dist.TCPStore(launch.address, launch.port, is_master=False, wait_for_workers=False)
        self._pulse = Pulse(launch.rank, launch.n, own.set, own.check, own.get)
        self._pulse.start()

    def sum(self, array: Array) -> Array:
        """The sum of what all processes have."""
        total = torch.from_numpy(np.array(array, np.float64))
        self.add(total)
        summed: Array = total.numpy()
        return summed

    def add(self, tensor: torch.Tensor) -> None:
        """Replace a tensor by the sum of all processes' ones."""
        with self._or_a_sentence():
            dist.all_reduce(tensor)

    def highest(self, number: int) -> int:
        """The highest of all processes' numbers."""
        found = torch.tensor([number])
        with self._or_a_sentence():
            dist.all_reduce(found, dist.ReduceOp.MAX)
        return int(found[0])

    def copy_to_all(self, tensor: torch.Tensor) -> None:
        """Replace a tensor by that of the process that leads."""
        with self._or_a_sentence():
            dist.broadcast(tensor, 0)

    def told(self, value: Told) -> Told:
        """What the process that leads says; the others' values are not looked at."""
        said = [value]
        with self._or_a_sentence():
            dist.broadcast_object_list(said, 0, device=torch.device("cpu"))
        return said[0]

    def gathered(self, value: Told) -> list[Told]:
        """What each process says, in their order."""
        said: list[Any] = [None] * self.n
        with self._or_a_sentence():
            dist.all_gather_object(said, value)
        return said

    def leave(self) -> None:
        """All have done their part: from now on a process may end without the others' minding."""
        with self._or_a_sentence():
            dist.barrier()
        self._pulse.stop()
        self.gathered(None)  # nobody closes the store while another still listens to it
        dist.destroy_process_group()

    @contextlib.contextmanager
    def _or_a_sentence(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError, OSError) as error:
            if "ncclInvalidUsage" in str(error):
                raise ValueError(
                    f"process {self.rank + 1} of {self.n} shares its GPU with another one of this fit, which NCCL does "
                    "not allow; start one process for each GPU, or pass --device cpu"
                ) from None
            reason = " ".join(str(error).split())[:160]
            raise ConnectionError(
                f"process {self.rank + 1} of {self.n}: another process of this fit has ended or cannot be reached; the "
                f"fit ends here. {GOES_ON} ({reason})"
            ) from None


class Pulse:
    """Signs of life, so that a process that died without a word (a machine lost, a cable cut) is noticed.

    Parameters
    ----------
    rank, n
        Which process this is, and of how many.
    write, known, read
        Of a store that all processes share: ``write(key, text)``, ``known(keys)``, ``read(key)``.
    """

    def __init__(
        self,
        rank: int,
        n: int,
        write: Callable[[str, str], None],
        known: Callable[[list[str]], bool],
        read: Callable[[str], bytes],
    ) -> None:
        self._rank, self._n = rank, n
        self._write, self._known, self._read = write, known, read
        self._stopped = threading.Event()
        self._beats = 0
        self._heard: dict[int, tuple[bytes, float]] = {}

    def start(self) -> None:
        """Beat and listen until stopped."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.stop)  # a thread that Python ends inside PyTorch aborts the process

    def stop(self) -> None:
        """Be silent without being missed."""
        self._stopped.set()
        self._thread.join(BEAT)

    def beat(self, now: float) -> int | None:
        """Give a sign of life; returns a process that has given none for too long."""
        self._beats += 1
        self._write(f"alive {self._rank}", str(self._beats))
        for rank in range(self._n):
            if rank == self._rank:
                continue
            key = f"alive {rank}"
            heard = self._read(key) if self._known([key]) else b""
            before, since = self._heard.get(rank, (None, now))
            if heard != before:
                self._heard[rank] = heard, now
            elif now - since > SILENCE:
                return rank
        return None

    def _run(self) -> None:
        while not self._stopped.wait(BEAT):
            try:
                silent = self.beat(time.monotonic())
                what = (
                    None if silent is None else f"process {silent + 1} of {self._n} has been silent for {SILENCE:g} s"
                )
            except (RuntimeError, OSError):
                what = "the first process has ended"
            if what is not None and not self._stopped.is_set():
                sys.stderr.write(f"error: {what}; the fit ends here. {GOES_ON}\n")
                sys.stderr.flush()
                os._exit(2)  # the main thread waits for an answer that will not come


@dataclass(frozen=True)
class Distributed:
    """Several processes as a device: each is given its own part of the comparisons.

    Parameters
    ----------
    inner
        Where each process computes.
    processes
        Who makes a fit together.
    """

    inner: Device
    processes: Group = field(repr=False)
    threads: int = 1  # fits at a time: they exchange in turn

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def kind(self) -> str:
        return f"{self.inner.kind}, {SEVERAL}"

    def for_all_losses(self) -> "Distributed":
        return replace(self, inner=self.inner.for_all_losses())

    def alone(self) -> Device:
        return self.inner

    def one_thread(self) -> "Distributed":
        return self

    def objective(
        self, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None = None
    ) -> "DistributedObjective":
        """The objective of all processes' comparisons."""
        return DistributedObjective(self.inner, self.processes, comparisons, loss, held_out)


class DistributedObjective(Objective):
    """The mean loss over the comparisons of all processes."""

    def __init__(
        self, inner: Device, group: Group, comparisons: Comparisons, loss: Loss, held_out: Comparisons | None
    ) -> None:
        self.group = group
        weights = comparisons.weights
        own = Weighed(float(len(comparisons)), 1.0, 1.0) if weights is None else weighed(weights)
        about = (comparisons.n_objects, len(comparisons), *own)
        parts = group.gathered(about)
        counts, sizes, totals, lowest, highest = zip(*parts, strict=True)
        if len(set(counts)) > 1:
            raise ValueError(f"processes know {' and '.join(map(str, counts))} objects; all must know the same")
        if not sum(sizes):
            raise ValueError("there are no comparisons to fit")
        known = [(low, high) for low, high, size in zip(lowest, highest, sizes, strict=True) if size]
        self.weighted = min(low for low, _ in known) < max(high for _, high in known)
        mean = sum(totals) / sum(sizes)
        if self.weighted and weights is None:
            weights = np.broadcast_to(1.0, len(comparisons))
        self.part = Part(
            group.rank, sizes, [total / mean for total in totals], weights if self.weighted else None
        )  # fmt: skip
        # A process without comparisons has one that is never visited, and counts for nothing.
        self.is_empty = not len(comparisons)
        some = _any_comparison(comparisons.n_objects) if self.is_empty else comparisons
        aside = held_out if held_out is not None and len(held_out) else None
        self.inner = cast(LedObjective, inner.objective(some, loss, aside))
        self._n_held_out = 0.0 if held_out is None else held_out.total_weight
        self.n_objects = comparisons.n_objects
        self.capabilities = self.inner.capabilities & {"variance-reduced walk", "Polyak walk", "Gram gradient"}
        self.device = f"{group.n} processes on {self.inner.device}"
        self.longest_stretch = max(self.inner.longest_stretch, LONGEST_STRETCH * self.n_objects)
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
        gradient = self.group.sum(self._counted(here.gradient))
        self.evaluation_seconds = time.monotonic() - began
        return Point(here.x, value, gradient, error)

    def value(self, x: Array) -> Point:
        began = time.monotonic()
        here = self.inner.value(x)
        value, error = self._means(here.value, here.error)
        self.evaluation_seconds = time.monotonic() - began
        return Point(here.x, value, here.gradient, error)

    def _counted(self, mean: Any) -> Any:
        """What a mean over this process's comparisons adds to that over all."""
        return np.zeros_like(mean) if self.is_empty else self.part.share * np.asarray(mean)

    def _means(self, *means: float) -> list[float]:
        return [float(mean) for mean in self.group.sum(self._counted(np.array(means)))]

    @functools.cached_property
    def _held_out_by_all(self) -> float:
        return float(self.group.sum(np.array([self._n_held_out]))[0])

    def held_out_error(self, x: Array) -> float:
        if not self._held_out_by_all:
            return math.nan
        wrong = self.inner.held_out_error(x) * self._n_held_out if self._n_held_out else 0.0
        return float(self.group.sum(np.array([wrong]))[0]) / self._held_out_by_all

    def best_scale(self, x: Array, scales: Array, trust: float) -> float:
        means = self.group.sum(self._counted(self.inner.scaled_losses(x, scales)))
        return best_scale(means, scales, self.collapsed_objective, trust)

    def at_gram(self, gram: Array) -> tuple[float, Array]:
        value, gradient = self.inner.at_gram(gram)
        return self._means(value)[0], self.group.sum(self._counted(gradient))

    def walk(self, snapshot: Point, batch_size: int) -> DenseWalk:
        """The same steps as one process takes, but for rounding."""
        if batch_size == 1:
            raise ValueError(
                f"{self.group.n} processes exchange gradients after each batch, and batches are of one comparison; "
                "pass SVRG(batch_size=1000), or fit with one process"
            )
        return DenseWalk(self.gradient_changes, snapshot, batch_size, self.expand)

    def expand(self, visits: Visits) -> Order:
        """Places among the comparisons of all processes."""
        return self.part.places(visits, self.inner.unweighted(visits))  # type: ignore[return-value]

    def gradient_changes(self, order: Order, x: Array, anchor: Array) -> tuple[Array, ...]:
        """Over these comparisons of all processes, their gradient at ``x`` minus that at ``anchor``, summed."""
        total = np.zeros(x.shape)
        own = self.part.own(order)
        if len(own):
            for change in self.inner.gradient_changes(own, x, anchor):
                total += change
        return (self.group.sum(total),)

    def polyak_walk(self, x: Array, schedule: StepSchedule, length: int, state: State | None = None) -> "SharedWalk":
        return SharedWalk(self, self.inner.polyak_walk(x, schedule, length, state), schedule, length)

    def prepare(self, needs: frozenset[str], n_dims: int) -> None:
        self.inner.prepare(needs, n_dims)
        if "Polyak walk" in needs:
            walk = self.inner.polyak_walk(np.zeros((self.n_objects, n_dims)), StepSchedule(0.1, 1.0, 4.0), 1)
            walk.grow_older(1)
            walk.move(Visits((), 0))
        self.group.gathered(None)  # the clock starts when all are ready

    def agreed(self, reason: str | None) -> str | None:
        """What the first process says; but Ctrl-C may be pressed anywhere."""
        counts = self.group.leads or reason == "interrupted"
        return REASONS[self.group.highest(REASONS.index(reason) if counts and reason else 0)] or None


class SharedWalk(LeadingWalk):
    """Polyak steps by all processes, each along its own comparisons; their moves are added.

    Up to as many comparisons as there are objects between two exchanges cost nothing; as steps become shorter,
    stretches become longer in proportion. To average moves, or to exchange far less often, is much worse: see
    docs/large-data.md.
    """

    def __init__(self, objective: DistributedObjective, walk: LedWalk, schedule: StepSchedule, length: int) -> None:
        super().__init__(walk)
        self._objective = objective
        self._reach = schedule.reach
        self._length = length

    def take(self, visits: Visits) -> None:
        for begin in range(0, len(visits), self._length):
            stretch = visits[begin : begin + self._length]
            while len(stretch):
                size = self._between_exchanges(len(stretch))
                self._take_together(stretch[:size])
                stretch = stretch[size:]
            self._walk.enter_average()

    def _between_exchanges(self, at_most: int) -> int:
        # Than at first; steps are as much shorter. Restarts may have made the age infinite.
        longer = math.sqrt(max(1.0, self._walk.age / self._reach))
        return max(1, int(min(at_most, BETWEEN_EXCHANGES * self._objective.n_objects * longer)))

    def _take_together(self, visits: Visits) -> None:
        walk, objective = self._walk, self._objective
        n_dims = walk.mean.shape[1]
        own = objective.part.visits(visits)
        walk.grow_older(len(visits))
        rows = _tensor(walk.rows)[:, :n_dims]
        before = rows.clone()
        met = walk.move(own)
        moves = torch.empty(before.numel() + 2, dtype=rows.dtype, device=rows.device)
        torch.sub(rows, before, out=moves[:-2].view_as(before))
        moves[-2], moves[-1] = met, float(len(own))
        objective.group.add(moves)
        torch.add(before, moves[:-2].view_as(before), out=before)
        rows.copy_(before)
        met, visited = moves[-2:].tolist()
        if visited:
            walk.distance = met / (2 * visited)

    def project(self, n_dims: int) -> None:
        super().project(n_dims)
        self._as_the_first_has_it()  # processors differ in the sign of an axis

    def _as_the_first_has_it(self) -> None:
        walk, group = self._walk, self._objective.group
        mean = walk.mean if isinstance(walk.mean, np.ndarray) else walk.mean.rows
        for array in (walk.rows, mean):
            tensor = _tensor(array).contiguous()
            group.copy_to_all(tensor)
            _tensor(array).copy_(tensor)
        walk.distance = group.told(walk.distance)


def _tensor(array: Any) -> torch.Tensor:
    """An array as a tensor in the same memory."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else array


def _any_comparison(n_objects: int) -> Comparisons:
    return Comparisons(np.array([[0, 1, 2]], np.int32), n_objects)
