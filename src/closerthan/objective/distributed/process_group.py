"""ProcessGroup: the processes of a fit, connected by torch.distributed, and the heartbeat that detects lost ones."""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
import torch.distributed as dist

from closerthan.arrays import Array
from closerthan.objective.distributed.launch import Launch

__all__ = ["ProcessGroup"]

HOW_TO_RESUME = "If you passed --checkpoint, --resume continues, with any number of processes"
JOIN_TIMEOUT = timedelta(seconds=600)  # limit on the time between the starts of two processes
NO_TIMEOUT = timedelta(days=30)  # once connected, processes wait indefinitely; the heartbeat detects dead ones
BEAT = 5.0  # seconds between two heartbeats
SILENCE = 40.0  # seconds without a heartbeat after which a process counts as dead
# Reasons to stop. Processes agree on the last one that any of them passes, so an interruption overrides all others.
REASONS = ("", "solver", "epochs", "tolerance", "validation", "time_limit", "diverged", "callback", "interrupted")

T = TypeVar("T")


class ProcessGroup:
    """The connected processes of a fit; implements :class:`closerthan.objective.processes.Processes`.

    Parameters
    ----------
    launch
        How this process was started.
    on_gpu
        Whether maps are exchanged between GPUs.
    """

    def __init__(self, launch: Launch, *, on_gpu: bool = False) -> None:
        self.rank, self.n = launch.rank, launch.n
        os.environ |= {"MASTER_ADDR": launch.address, "MASTER_PORT": str(launch.port)}
        with connection_errors(self.rank, self.n):
            store, _, _ = next(iter(dist.rendezvous("env://", launch.rank, launch.n, timeout=JOIN_TIMEOUT)))
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
                store=dist.PrefixStore("closerthan", store),
                rank=launch.rank,
                world_size=launch.n,
                timeout=NO_TIMEOUT,
            )
        # The heartbeat has its own connection: on a shared one, a pending wait would delay it.
        own = dist.TCPStore(launch.address, launch.port, is_master=False, wait_for_workers=False)
        self._heartbeat = Heartbeat(launch.rank, launch.n, own)
        self._heartbeat.start()

    def sum(self, array: Array) -> Array:
        """Return the sum of the arrays of all processes."""
        total = torch.from_numpy(np.array(array, np.float64))
        self.add(total)
        summed: Array = total.numpy()
        return summed

    def add(self, tensor: torch.Tensor) -> None:
        """Replace a tensor by the sum over all processes, in place."""
        with connection_errors(self.rank, self.n):
            dist.all_reduce(tensor)

    def max(self, number: int) -> int:
        """Return the maximum over all processes."""
        maximum = torch.tensor([number])
        with connection_errors(self.rank, self.n):
            dist.all_reduce(maximum, dist.ReduceOp.MAX)
        return int(maximum[0])

    def broadcast_tensor(self, tensor: torch.Tensor) -> None:
        """Replace a tensor by that of rank 0, in place."""
        with connection_errors(self.rank, self.n):
            dist.broadcast(tensor, 0)

    def broadcast(self, value: T) -> T:
        """Return the value that rank 0 passes; the values of other processes are ignored."""
        values = [value]
        with connection_errors(self.rank, self.n):
            dist.broadcast_object_list(values, 0, device=torch.device("cpu"))
        return values[0]

    def all_gather(self, value: T) -> list[T]:
        """Return the values of all processes, in the order of their ranks."""
        values: list[Any] = [None] * self.n
        with connection_errors(self.rank, self.n):
            dist.all_gather_object(values, value)
        return values

    def agree_to_stop(self, reason: str | None) -> str | None:
        """Return the reason of rank 0, unless another process was interrupted."""
        counts = self.rank == 0 or reason == "interrupted"
        return REASONS[self.max(REASONS.index(reason) if counts and reason else 0)] or None

    def leave(self) -> None:
        """Disconnect after all processes have finished; from then on each may end on its own."""
        with connection_errors(self.rank, self.n):
            dist.barrier()
        self._heartbeat.stop()
        self.all_gather(None)  # rank 0 must not close the store while another process still reads it
        dist.destroy_process_group()


@contextlib.contextmanager
def connection_errors(rank: int, n: int) -> Iterator[None]:
    """Replace errors of torch.distributed by messages that a user can act on."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        if "ncclInvalidUsage" in str(error):
            raise ValueError(
                f"process {rank + 1} of {n} shares its GPU with another process of this fit, which NCCL does not "
                "allow; start one process for each GPU, or pass --device cpu"
            ) from None
        reason = " ".join(str(error).split())[:160]
        raise ConnectionError(
            f"process {rank + 1} of {n}: another process of this fit has ended or cannot be reached; the fit ends "
            f"here. {HOW_TO_RESUME} ({reason})"
        ) from None


class KeyValueStore(Protocol):
    """A store that all processes share; torch.distributed provides one."""

    def set(self, key: str, value: str) -> None: ...

    def check(self, keys: list[str]) -> bool: ...

    def get(self, key: str) -> bytes: ...


class Heartbeat:
    """Regular signals by which processes detect that another one was lost without an error, as in a power failure.

    Parameters
    ----------
    rank, n
        Rank of this process, and number of processes.
    store
        A key-value store that all processes share.
    """

    def __init__(self, rank: int, n: int, store: KeyValueStore) -> None:
        self._rank, self._n = rank, n
        self._store = store
        self._stopped = threading.Event()
        self._beats = 0
        self._last_beats: dict[int, tuple[bytes, float]] = {}  # last heartbeat of each rank, and when it was read

    def start(self) -> None:
        """Send and check heartbeats in the background until stopped."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.stop)  # a thread that Python ends inside PyTorch aborts the process

    def stop(self) -> None:
        """End the heartbeat without being reported as lost."""
        self._stopped.set()
        self._thread.join(BEAT)

    def beat(self, now: float) -> int | None:
        """Send one heartbeat; return the rank of a process that has been silent for too long, if any."""
        self._beats += 1
        self._store.set(f"alive {self._rank}", str(self._beats))
        for rank in range(self._n):
            if rank == self._rank:
                continue
            key = f"alive {rank}"
            beat = self._store.get(key) if self._store.check([key]) else b""
            previous, since = self._last_beats.get(rank, (None, now))
            if beat != previous:
                self._last_beats[rank] = beat, now
            elif now - since > SILENCE:
                return rank
        return None

    def _run(self) -> None:
        while not self._stopped.wait(BEAT):
            try:
                silent = self.beat(time.monotonic())
                problem = (
                    None if silent is None else f"process {silent + 1} of {self._n} has been silent for {SILENCE:g} s"
                )
            except (RuntimeError, OSError):
                problem = "the first process has ended"
            if problem is not None and not self._stopped.is_set():
                sys.stderr.write(f"error: {problem}; the fit ends here. {HOW_TO_RESUME}\n")
                sys.stderr.flush()
                os._exit(2)  # the main thread is blocked in a wait that will never end
