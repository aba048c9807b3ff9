"""Blocks on a GPU: copied there by a second stream while the block before is walked.

Copies run at full speed from pinned memory alone. Rows in memory are pinned where they lie; rows in a file are read
into pinned buffers by a thread.
"""

import concurrent.futures
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from closerthan.comparisons.on_disk import FileRows
from closerthan.objective.blocks import Blocks, Source

__all__ = ["DeviceReader", "loaded"]


def loaded(source: Source, where: torch.device, block: int) -> torch.Tensor:
    """All rows on the device; those of a file are in memory a block (of so many rows) at a time."""
    if not isinstance(source.rows, FileRows):
        return _as_tensor(source.rows).to(where)
    rows = torch.empty(len(source), source.width, dtype=torch.int32, device=where)
    staging = [_Staging(min(block, len(source)), source.width, where) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as reader:

        def read(number: int) -> NDArray[np.int32]:
            staging[number % 2].wait()
            first = number * block
            return source.read(first, min(first + block, len(source)), staging[number % 2].array)

        n_blocks = -(-len(source) // block)
        coming = reader.submit(read, 0)
        for number in range(n_blocks):
            n_rows = len(coming.result())
            staging[number % 2].copy_to(rows[number * block : number * block + n_rows])
            if number + 1 < n_blocks:
                coming = reader.submit(read, number + 1)
    for one in staging:
        one.wait()
    return rows


class _Staging:
    """Pinned memory that a copy leaves from."""

    def __init__(self, n_rows: int, width: int, where: torch.device) -> None:
        self._on_gpu = where.type == "cuda"
        self._rows = torch.empty(n_rows, width, dtype=torch.int32, pin_memory=self._on_gpu)
        self.array: NDArray[np.int32] = self._rows.numpy()
        self._left: Any = None  # the copy that has to be over before the memory is used again

    def wait(self) -> None:
        if self._left is not None:
            self._left.synchronize()

    def copy_to(self, target: torch.Tensor) -> None:
        """Copy the first rows, on the current stream."""
        target.copy_(self._rows[: len(target)], non_blocking=True)
        if self._on_gpu:
            self._left = torch.cuda.Event()
            self._left.record()


class DeviceReader:
    """Blocks on the device: one that is walked, and one that is copied meanwhile."""

    def __init__(self, source: Source, blocks: Blocks, where: torch.device) -> None:
        self._source = source
        self._blocks = blocks
        self._where = where
        self._on_gpu = where.type == "cuda"
        size = min(blocks.size, len(source))
        self._buffers = [torch.empty(size, source.width, dtype=torch.int32, device=where) for _ in range(2)]
        self._held: tuple[int, torch.Tensor] | None = None
        self._coming: tuple[int, concurrent.futures.Future[tuple[torch.Tensor, Any]]] | None = None
        self._pinned = self._pin(source) if self._on_gpu else None
        self._staging: list[_Staging] = []
        if self._pinned is None:
            self._staging = [_Staging(size, source.width, where) for _ in range(2)]
        self._copies = torch.cuda.Stream(where) if self._on_gpu else None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="closerthan reads")

    def _pin(self, source: Source) -> torch.Tensor | None:
        """Rows in memory, pinned where they lie; None for those of a file, or if the system refuses."""
        if isinstance(source.rows, FileRows):
            return None
        rows = _as_tensor(source.rows)
        refused = int(torch.cuda.cudart().cudaHostRegister(rows.data_ptr(), source.nbytes, 0))
        return None if refused else rows

    def get(self, block: int, then: int | None) -> torch.Tensor:
        if self._held is None or self._held[0] != block:
            if self._coming is None or self._coming[0] != block:
                self._ask_for(block)
            assert self._coming is not None
            _, coming = self._coming
            self._coming = None
            rows, copied = coming.result()
            if copied is not None:
                torch.cuda.current_stream(self._where).wait_event(copied)
            self._held = block, rows
            self._buffers.reverse()  # what was held is free, as soon as what reads it is done
        if then is not None and self._coming is None and then != block:
            self._ask_for(then)
        return self._held[1]

    def _ask_for(self, block: int) -> None:
        if self._coming is not None:  # it is copied into the buffer that is needed now
            concurrent.futures.wait([self._coming[1]])
        free = None
        if self._on_gpu:
            free = torch.cuda.Event()
            free.record(
                torch.cuda.current_stream(self._where)
            )  # of the walk, which has no more to do with the buffer afterwards
        self._coming = block, self._thread.submit(self._bring, block, self._buffers[1], free)

    def _bring(self, block: int, buffer: torch.Tensor, free: Any) -> tuple[torch.Tensor, Any]:
        first, last = self._blocks.bounds(block)
        target = buffer[: last - first]
        if self._copies is None:
            staging = self._staging[0]
            self._source.read(first, last, staging.array)
            staging.copy_to(target)
            return target, None
        if self._pinned is None:
            staging = self._staging[0]
            self._staging.reverse()
            staging.wait()
            self._source.read(first, last, staging.array)
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(free)
            if self._pinned is None:
                staging.copy_to(target)
            else:
                target.copy_(self._pinned[first:last], non_blocking=True)
            copied = torch.cuda.Event()
            copied.record(self._copies)
        return target, copied

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._coming = None
        if self._on_gpu:
            torch.cuda.synchronize(self._where)
        if self._pinned is not None:
            torch.cuda.cudart().cudaHostUnregister(self._pinned.data_ptr())
            self._pinned = None


def _as_tensor(rows: NDArray[np.int32]) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows are read-only, and nobody writes to them
        return torch.from_numpy(rows)
