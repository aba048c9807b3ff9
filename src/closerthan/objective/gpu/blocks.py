"""Blocks on a GPU: a second stream copies the next block while the current one is used.

Only copies from pinned memory run at full speed. Rows in memory are pinned in place; rows in a file are read into
pinned buffers by a background thread.
"""

import concurrent.futures
import warnings
from typing import Any

import torch
from numpy.typing import NDArray

from closerthan.comparisons.on_disk import FileRows
from closerthan.objective.streaming.blocks import Block, BlockReader, Blocks, Source

__all__ = ["DeviceReader", "as_tensor", "load"]


def load(source: Source, where: torch.device, size: int) -> Block:
    """Copy all rows and weights to the device; a file is read in blocks of ``size`` rows."""
    if not isinstance(source.rows, FileRows):
        weights = source.read_weights(0, len(source))
        on_card = None if weights is None else torch.from_numpy(weights).to(where)
        return Block(as_tensor(source.rows).to(where), on_card)
    target = _empty(source, len(source), where)
    blocks = Blocks(len(source), min(size, len(source)))
    staging = [_Staging(source, blocks.size, where) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as reader:

        def read(number: int) -> None:
            staging[number % 2].read(*blocks.bounds(number))

        pending = reader.submit(read, 0)
        for number in range(len(blocks)):
            pending.result()
            staging[number % 2].copy_to(_section(target, *blocks.bounds(number)))
            if number + 1 < len(blocks):
                pending = reader.submit(read, number + 1)
    for buffer in staging:
        buffer.wait()
    return target


def _section(block: Block, first: int, last: int) -> Block:
    return Block(block.rows[first:last], None if block.weights is None else block.weights[first:last])


def _empty(source: Source, n_rows: int, where: torch.device | str, *, pinned: bool = False) -> Block:
    rows = torch.empty(n_rows, source.width, dtype=torch.int32, device=where, pin_memory=pinned)
    if source.weights is None:
        return Block(rows)
    return Block(rows, torch.empty(n_rows, dtype=torch.float64, device=where, pin_memory=pinned))


class _Staging:
    """A pinned buffer through which rows are copied to the device."""

    def __init__(self, source: Source, n_rows: int, where: torch.device) -> None:
        self._source = source
        self._on_gpu = where.type == "cuda"
        self._tensors = _empty(source, n_rows, "cpu", pinned=self._on_gpu)
        self._arrays = Block(*(None if tensor is None else tensor.numpy() for tensor in self._tensors))
        self._copied: Any = None  # event after which the memory may be used again

    def wait(self) -> None:
        if self._copied is not None:
            self._copied.synchronize()

    def read(self, first: int, last: int) -> None:
        """Read rows as soon as the memory is free."""
        self.wait()
        self._source.read(first, last, self._arrays)

    def copy_to(self, target: Block) -> None:
        """Copy the first rows, on the current stream."""
        _copy(self._tensors, target)
        if self._on_gpu:
            self._copied = torch.cuda.Event()
            self._copied.record()


class DeviceReader(BlockReader):
    """Copies blocks to the device: one is in use while the next one is copied."""

    def __init__(self, source: Source, blocks: Blocks, where: torch.device) -> None:
        super().__init__(blocks)
        self._where = where
        self._on_gpu = where.type == "cuda"
        size = min(blocks.size, len(source))
        self._buffers = [_empty(source, size, where) for _ in range(2)]
        self._pinned = _pinned(source) if self._on_gpu else None
        self._staging = [_Staging(source, size, where) for _ in range(2)] if self._pinned is None else []
        self._copies = torch.cuda.Stream(where) if self._on_gpu else None

    def buffer_released(self) -> Any:
        if not self._on_gpu:
            return None
        released = torch.cuda.Event()
        # The buffer may be overwritten after all work that has been submitted so far.
        released.record(torch.cuda.current_stream(self._where))
        return released

    def load(self, first: int, last: int, buffer: int, released: Any) -> tuple[Block, Any]:
        target = self._buffers[buffer].head(last - first)
        staging = self._staging[buffer] if self._pinned is None else None
        if staging is not None:
            staging.read(first, last)
        if self._copies is None:
            assert staging is not None
            staging.copy_to(target)
            return target, None
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(released)
            if staging is not None:
                staging.copy_to(target)
            else:
                assert self._pinned is not None
                _copy(_section(self._pinned, first, last), target)
            copied = torch.cuda.Event()
            copied.record(self._copies)
        return target, copied

    def finish(self, loaded: tuple[Block, Any]) -> Block:
        block, copied = loaded
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
    """Pin rows and weights in place; return None if they are in a file, have skipped rows, or cannot be pinned."""
    if isinstance(source.rows, FileRows) or source.skipped is not None:
        return None
    if source.weights is not None and FileRows.of(source.weights) is not None:
        return None
    pinned: list[torch.Tensor] = []
    for array in (source.rows, source.weights):
        if array is None:
            continue
        tensor = as_tensor(array)
        if int(torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)):
            for other in pinned:
                torch.cuda.cudart().cudaHostUnregister(other.data_ptr())
            return None
        pinned.append(tensor)
    return Block(*pinned)


def _copy(source: Block, target: Block) -> None:
    for tensor, out in zip(source, target, strict=True):
        if out is not None:
            out.copy_(tensor[: len(out)], non_blocking=True)


def as_tensor(rows: NDArray[Any]) -> torch.Tensor:
    """Return a tensor that shares the memory of read-only rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows are read-only, and we never write to them
        return torch.from_numpy(rows)
