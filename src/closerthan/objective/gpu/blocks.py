"""Blocks on a GPU: copied there by a second stream while the block before is walked.

Copies run at full speed from pinned memory alone. Rows in memory are pinned where they lie; rows in a file are read
into pinned buffers by a thread.
"""

import concurrent.futures
import warnings
from typing import Any

import torch
from numpy.typing import NDArray

from closerthan.comparisons.on_disk import FileRows
from closerthan.objective.streaming.blocks import Block, BlockReader, Blocks, Source

__all__ = ["DeviceReader", "loaded"]


def loaded(source: Source, where: torch.device, size: int) -> Block:
    """All rows and weights on the device; what is in a file is in memory a block (of so many rows) at a time."""
    if not isinstance(source.rows, FileRows):
        weights = source.read_weights(0, len(source))
        on_card = None if weights is None else torch.from_numpy(weights).to(where)
        return Block(_as_tensor(source.rows).to(where), on_card)
    target = _empty(source, len(source), where)
    blocks = Blocks(len(source), min(size, len(source)))
    staging = [_Staging(source, blocks.size, where) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as reader:

        def read(number: int) -> None:
            staging[number % 2].read(*blocks.bounds(number))

        coming = reader.submit(read, 0)
        for number in range(len(blocks)):
            coming.result()
            first, last = blocks.bounds(number)
            staging[number % 2].copy_to(Block(*(None if one is None else one[first:last] for one in target)))
            if number + 1 < len(blocks):
                coming = reader.submit(read, number + 1)
    for one in staging:
        one.wait()
    return target


def _empty(source: Source, n_rows: int, where: torch.device | str, *, pinned: bool = False) -> Block:
    rows = torch.empty(n_rows, source.width, dtype=torch.int32, device=where, pin_memory=pinned)
    if source.weights is None:
        return Block(rows)
    return Block(rows, torch.empty(n_rows, dtype=torch.float64, device=where, pin_memory=pinned))


class _Staging:
    """Pinned memory that rows are read into, and that a copy leaves from."""

    def __init__(self, source: Source, n_rows: int, where: torch.device) -> None:
        self._source = source
        self._on_gpu = where.type == "cuda"
        self._tensors = _empty(source, n_rows, "cpu", pinned=self._on_gpu)
        self._arrays = Block(*(None if tensor is None else tensor.numpy() for tensor in self._tensors))
        self._left: Any = None  # the copy that has to be over before the memory is used again

    def wait(self) -> None:
        if self._left is not None:
            self._left.synchronize()

    def read(self, first: int, last: int) -> None:
        """Read rows, as soon as the memory is free."""
        self.wait()
        self._source.read(first, last, self._arrays)

    def copy_to(self, target: Block) -> None:
        """Copy the first rows, on the current stream."""
        _copy(self._tensors, target)
        if self._on_gpu:
            self._left = torch.cuda.Event()
            self._left.record()


class DeviceReader(BlockReader):
    """Blocks on the device: one that is walked, and one that is copied meanwhile."""

    def __init__(self, source: Source, blocks: Blocks, where: torch.device) -> None:
        super().__init__(blocks)
        self._where = where
        self._on_gpu = where.type == "cuda"
        size = min(blocks.size, len(source))
        self._buffers = [_empty(source, size, where) for _ in range(2)]
        self._pinned = _pinned(source) if self._on_gpu else None
        self._staging = [_Staging(source, size, where) for _ in range(2)] if self._pinned is None else []
        self._copies = torch.cuda.Stream(where) if self._on_gpu else None

    def freed(self) -> Any:
        if not self._on_gpu:
            return None
        freed = torch.cuda.Event()
        # Of the walk, which has no more to do with the buffer afterwards.
        freed.record(torch.cuda.current_stream(self._where))
        return freed

    def bring(self, first: int, last: int, buffer: int, freed: Any) -> tuple[Block, Any]:
        target = self._buffers[buffer].first(last - first)
        staging = self._staging[buffer] if self._pinned is None else None
        if staging is not None:
            staging.read(first, last)
        if self._copies is None:
            assert staging is not None
            staging.copy_to(target)
            return target, None
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(freed)
            if staging is not None:
                staging.copy_to(target)
            else:
                _copy(Block(*(None if one is None else one[first:last] for one in self._pinned or ())), target)
            copied = torch.cuda.Event()
            copied.record(self._copies)
        return target, copied

    def arrived(self, brought: tuple[Block, Any]) -> Block:
        block, copied = brought
        if copied is not None:
            torch.cuda.current_stream(self._where).wait_event(copied)
        return block

    def close(self) -> None:
        super().close()
        if self._on_gpu:
            torch.cuda.synchronize(self._where)
        for tensor in self._pinned or ():
            if tensor is not None:
                torch.cuda.cudart().cudaHostUnregister(tensor.data_ptr())
        self._pinned = None


def _pinned(source: Source) -> Block | None:
    """Rows in memory, pinned where they lie; None for what is in a file or changed on the way, or cannot be pinned."""
    if isinstance(source.rows, FileRows) or source.skipped is not None:
        return None
    if source.weights is not None and FileRows.of(source.weights) is not None:
        return None
    found: list[torch.Tensor] = []
    for array in (source.rows, source.weights):
        if array is None:
            continue
        tensor = _as_tensor(array)
        if int(torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)):
            for other in found:
                torch.cuda.cudart().cudaHostUnregister(other.data_ptr())
            return None
        found.append(tensor)
    return Block(*found)


def _copy(source: Block, target: Block) -> None:
    for one, other in zip(source, target, strict=True):
        if other is not None:
            other.copy_(one[: len(other)], non_blocking=True)


def _as_tensor(rows: NDArray[Any]) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the rows are read-only, and nobody writes to them
        return torch.from_numpy(rows)
