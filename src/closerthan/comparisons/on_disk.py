"""Rows and columns in memory-mapped files, read block by block so that memory does not grow with the file.

Pages read through a memory map count as memory of this process until the system reclaims them, and a file that is
truncated in the meantime crashes the process. Large files are therefore read with ordinary read calls; the memory map
only identifies the file.
"""

import concurrent.futures
import math
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.rows import same_pair, self_pair
from closerthan.operating_system import open_to_read, read_at, write_at

__all__ = [
    "LARGE",
    "FileRows",
    "Stored",
    "Survey",
    "TemporaryRows",
    "WeightSummary",
    "array_bytes",
    "concatenate",
    "count_numbers",
    "in_blocks",
    "is_large",
    "large_file",
    "renumber",
    "survey_rows",
    "weight_summary",
]

LARGE = 1 << 28  # size in bytes from which a memory-mapped file is never read as a whole
BLOCK = 1 << 20  # rows read at a time
WORKERS = 4  # threads that check blocks; more would wait for the disk

Rows = NDArray[np.int32]
Stored = NDArray[Any]  # rows of int32, or a column of int32 (people, answers, blocks) or float64 (weights)

_DTYPES = {1: (np.int32, np.float64), 2: (np.int32,)}  # types of columns and of rows, by number of dimensions
_TEMPORARY = "a temporary file in "


class FileRows:
    """Rows of int32 in a file, or a column with one number per row.

    Parameters
    ----------
    path
        Name of the file, for messages.
    descriptor
        Descriptor of the open file; it is closed when this object is garbage-collected.
    offset
        Position of the first row in the file, in bytes.
    shape
        Shape of the array: the number of rows and, unless it is a column, of numbers per row.
    cache
        Facts about the file that were computed before; the cache lives as long as the memory map.
    dtype
        Type of the numbers.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.array([[0, 1, 2], [1, 0, 2]], np.int32))
    ...     mapped = np.load(f"{folder}/a.npy", mmap_mode="r")
    ...     FileRows.of(mapped[1:]).read(0, 1).tolist()
    [[1, 0, 2]]
    """

    def __init__(
        self,
        path: str,
        descriptor: int,
        offset: int,
        shape: tuple[int, ...],
        cache: dict[Any, Any],
        dtype: Any = np.int32,
    ) -> None:
        self.path = path
        self.shape = shape
        self.cache = cache
        self.dtype = np.dtype(dtype)
        self._descriptor = descriptor
        self._offset = offset
        weakref.finalize(self, os.close, descriptor)

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self | None:
        """Return the file that rows are mapped from; None for rows in memory."""
        root = _root(rows)
        if root is None or rows.dtype not in _DTYPES.get(rows.ndim, ()) or not rows.flags.c_contiguous:
            return None
        # The descriptor of a temporary file, which no other process can change.
        own: int | None = getattr(root, "descriptor", None)
        if own is None and root.filename is None:
            return None
        path = str(root.filename) if own is None else f"{_TEMPORARY}{root.folder}"  # type: ignore[attr-defined]
        offset = int(root.offset) + rows.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        try:
            descriptor = open_to_read(path) if own is None else os.dup(own)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}; restore it and start again") from None
        file = cls(path, descriptor, offset, rows.shape, _cache_of(root), rows.dtype)
        if own is None:
            file.cache.setdefault("written", os.fstat(descriptor).st_mtime_ns)
        return file

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def folder(self) -> Path:
        """The folder of the file, to which a temporary copy should be written."""
        return Path(self.path.removeprefix(_TEMPORARY) if self.path.startswith(_TEMPORARY) else Path(self.path).parent)

    @property
    def block_rows(self) -> int:
        """Number of rows to read at a time."""
        return int(self.cache.get("block_rows", BLOCK))

    @property
    def range(self) -> tuple[int, int]:
        """Positions in the file where the rows begin and end, in bytes."""
        return self._offset, self._offset + len(self) * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Size of a row in bytes."""
        return int(self.dtype.itemsize) * math.prod(self.shape[1:])

    def read(self, first: int, last: int, out: Stored | None = None) -> Stored:
        """Return rows ``first`` to ``last`` (exclusive), in a new array or at the beginning of ``out``."""
        rows = np.empty((last - first, *self.shape[1:]), self.dtype) if out is None else out[: last - first]
        if not len(rows):
            return rows
        buffer, n_read = rows.data.cast("B"), 0
        while n_read < len(buffer):
            try:
                n_bytes = read_at(self._descriptor, buffer[n_read:], self._offset + first * self.row_bytes + n_read)
            except OSError as error:
                raise ValueError(f"{self.path} can no longer be read: {error.strerror}; start again") from None
            if not n_bytes:
                raise ValueError(
                    f"{self.path} ends at row {first + n_read // self.row_bytes:,}, but had {len(self):,} when it was "
                    "opened: it was truncated while it was being read; write it again and start again"
                )
            n_read += n_bytes
        if self.cache.get("written", written := os.fstat(self._descriptor).st_mtime_ns) != written:
            raise ValueError(
                f"{self.path} was changed while it was being read; do not modify it until the fit has ended, and start "
                "again"
            )
        return rows


class TemporaryRows(np.memmap):
    """Rows (or a column) in a file without a name, which is deleted when it is no longer used or the process dies.

    Parameters
    ----------
    shape
        Shape of the array.
    folder
        Folder of the file. The folder for temporary files is used if it is None, not writable or too full.
    dtype
        Type of the numbers.
    block_rows
        Number of rows to read at a time.
    """

    descriptor: int
    folder: str

    def __new__(
        cls,
        shape: tuple[int, ...],
        folder: str | os.PathLike[str] | None = None,
        dtype: Any = np.int32,
        block_rows: int = BLOCK,
    ) -> Self:
        size = np.dtype(dtype).itemsize * math.prod(shape)
        place = _folder_for(size, folder)
        with tempfile.TemporaryFile(dir=place) as file:
            try:
                file.truncate(size)
            except OSError as error:  # such as a limit on the size of files
                raise _no_room(size, place, error) from None
            rows: Any = super().__new__(cls, file, dtype, "r+", shape=shape)
            rows.descriptor = os.dup(file.fileno())
        weakref.finalize(rows, os.close, rows.descriptor)
        rows.folder = place
        _cache_of(rows)["block_rows"] = block_rows
        return rows  # type: ignore[no-any-return]

    def write(self, first: int, rows: Stored) -> None:
        """Write rows, the first of them at row number ``first``."""
        rows = np.ascontiguousarray(rows, self.dtype)
        if not len(rows):
            return
        data, n_written = rows.data.cast("B"), 0
        offset = self.itemsize * math.prod(self.shape[1:]) * first
        while n_written < len(data):
            try:
                n_written += write_at(self.descriptor, data[n_written:], offset + n_written)
            except OSError as error:
                raise _no_room(self.nbytes, self.folder, error) from None


def _folder_for(size: int, folder: str | os.PathLike[str] | None) -> str:
    """Return a folder with room for a temporary file: ``folder`` or, failing that, the one for temporary files."""
    problems: list[str] = []
    tried: set[str] = set()
    for candidate in (folder, None):
        try:
            place = str(candidate or tempfile.gettempdir())
        except OSError:  # Python found no writable folder for temporary files
            place = os.environ.get("TMPDIR", "the folder for temporary files")
        if os.path.abspath(place) in tried:
            continue
        tried.add(os.path.abspath(place))
        if not (os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)):
            problems.append(f"{place} is not writable")
        elif shutil.disk_usage(place).free < size:
            problems.append(f"{place} has {shutil.disk_usage(place).free / 1e9:.3g} GB free")
        else:
            return place
    raise ValueError(
        f"a copy of the answers of {size / 1e9:.3g} GB is needed, but {', and '.join(problems)}; make room, or set "
        "TMPDIR to a folder with room"
    )


def _no_room(size: int, folder: str, error: OSError) -> ValueError:
    return ValueError(
        f"a copy of the answers of {size / 1e9:.3g} GB in {folder} could not be written: {error.strerror}; make room, "
        "or set TMPDIR to a folder with room"
    )


def _root(rows: NDArray[Any]) -> np.memmap[Any, Any] | None:
    """Return the memory map that an array is a view of; None if there is none."""
    base: Any = rows
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap):
            return base
        base = base.base
    return None


def _cache_of(root: np.memmap[Any, Any]) -> dict[Any, Any]:
    cache: dict[Any, Any] = root.__dict__.setdefault("cache", {})
    return cache


def is_large(n_bytes: int) -> bool:
    """Return whether a file of this size is read in blocks."""
    return n_bytes >= LARGE


def large_file(rows: Stored) -> FileRows | None:
    """Return the file that rows are mapped from if it is read in blocks: a large or temporary file; otherwise None."""
    return FileRows.of(rows) if is_large(rows.nbytes) or isinstance(_root(rows), TemporaryRows) else None


def in_blocks(rows: Stored | FileRows, size: int | None = None) -> Iterator[tuple[int, Stored]]:
    """Yield blocks of rows with the number of their first row.

    The next block of a file is read in the background, and a block is overwritten when the one after it is requested.
    """
    file = FileRows.of(rows) if isinstance(rows, np.ndarray) else rows
    size = size or (BLOCK if file is None else file.block_rows)
    if file is None:
        assert isinstance(rows, np.ndarray)
        for first in range(0, len(rows), size):
            yield first, rows[first : first + size]
        return
    ends = [(first, min(first + size, len(file))) for first in range(0, len(file), size)]
    buffers = [np.empty((min(size, len(file)), *file.shape[1:]), file.dtype) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        next_block = reader.submit(file.read, *ends[0], buffers[0])
        for number, (first, _) in enumerate(ends):
            block = next_block.result()
            if number + 1 < len(ends):
                next_block = reader.submit(file.read, *ends[number + 1], buffers[(number + 1) % 2])
            yield first, block


def count_numbers(numbers: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count how often each number from 0 occurs, like :func:`numpy.bincount`, one block at a time.

    Examples
    --------
    >>> count_numbers(np.array([0, 2, 2], np.int32)).tolist()
    [1, 0, 2]
    """
    counts = np.zeros(1, np.int64)
    for _, block in in_blocks(numbers):
        block_counts = np.bincount(block, minlength=len(counts))
        block_counts[: len(counts)] += counts
        counts = block_counts
    return counts


def array_bytes(array: Stored | None) -> Iterator[Any]:
    """Yield the shape, type and contents of an array (or None) as bytes, one block at a time.

    Examples
    --------
    >>> b"".join(array_bytes(np.array([1], np.int8)))
    b"((1,), '|i1')\\x01"
    """
    yield repr(None if array is None else (array.shape, array.dtype.str)).encode()
    if array is not None:
        for _, block in in_blocks(array):
            yield np.ascontiguousarray(block).data


def renumber(rows: Rows, number: Rows) -> Rows:
    """Replace each object in the rows by ``number[object]``; the result of rows in a large file is a temporary file."""
    file = large_file(rows)
    if file is None:
        return number[rows]
    copy = TemporaryRows(rows.shape, file.folder)
    for first, block in in_blocks(file):
        copy.write(first, number[block])
    return copy


def concatenate(parts: Sequence[Stored], offsets: Sequence[int] | None = None) -> Stored:
    """Concatenate arrays, adding an offset to each; the result is a temporary file if one of them is in a large file.

    Examples
    --------
    >>> concatenate([np.array([0, 0, 1]), np.array([0, 1])], offsets=[0, 2]).tolist()
    [0, 0, 1, 2, 3]
    """
    offsets = [0] * len(parts) if offsets is None else offsets
    files = [file for part in parts if (file := large_file(part)) is not None]
    if not files:
        return np.concatenate([part + offset for part, offset in zip(parts, offsets, strict=True)])
    copy = TemporaryRows((sum(map(len, parts)), *parts[0].shape[1:]), files[0].folder, parts[0].dtype)
    begin = 0
    for part, offset in zip(parts, offsets, strict=True):
        for first, block in in_blocks(part):
            copy.write(begin + first, block + np.int64(offset))  # wraps around beyond 2^31
        begin += len(part)
    return copy


class Survey(NamedTuple):
    """Facts about all rows of a file, collected in one pass."""

    least: int  # smallest object number
    largest: int  # largest object number
    self_pair: int | None  # number of the first row that compares an object with itself
    same_pair: int | None  # number of the first row whose two pairs are the same
    mentioned: NDArray[np.bool_]  # mask of the objects, up to the largest one, that occur


def survey_rows(rows: NDArray[Any], *, exactly: bool = False) -> Survey | None:
    """Return facts about the rows of a large file; None for other rows.

    A survey is cached with the memory map. The survey of a larger part of the file is used where one exists, since its
    range is no smaller, unless ``exactly`` is true: then the survey must be of just these rows.
    """
    file = large_file(rows)
    if file is None or not len(file):
        return None
    surveys: dict[tuple[int, int], Survey] = file.cache.setdefault("surveys", {})
    begin, end = file.range
    for (first, last), survey in surveys.items():
        if (first, last) == (begin, end) or (first <= begin and end <= last and not exactly):
            return survey
    surveys[begin, end] = _survey(file)
    return surveys[begin, end]


def _survey(file: FileRows) -> Survey:
    """Scan all rows of a file in several threads."""
    least, largest, mentioned = 1 << 31, -1, np.zeros(1, bool)
    degenerate: dict[str, int | None] = {"self": None, "same": None}
    lock = threading.Lock()

    def scan(first: int, last: int) -> None:
        nonlocal least, largest, mentioned
        block = file.read(first, last)
        low, high = int(block.min()), int(block.max())
        with lock:
            least, largest = min(least, low), max(largest, high)
            if low >= 0 and high >= len(mentioned) and high < 1 << 31:
                mentioned = np.concatenate([mentioned, np.zeros(2 * high + 1 - len(mentioned), bool)])
            mask = mentioned
        if low >= 0:
            mask[block.ravel()] = True
            with lock:
                if mask is not mentioned:  # another thread replaced it by a longer one, which may lack this block
                    mentioned[: len(mask)] |= mask
        for name, is_degenerate in (("self", self_pair), ("same", same_pair)):
            hits = is_degenerate(block)
            if hits.any():
                row = first + int(np.argmax(hits))
                with lock:
                    earlier = degenerate[name]
                    degenerate[name] = row if earlier is None else min(earlier, row)

    size = file.block_rows
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        parts = [workers.submit(scan, first, min(first + size, len(file))) for first in range(0, len(file), size)]
        try:
            for part in parts:
                part.result()
        finally:
            workers.shutdown(cancel_futures=True)
    return Survey(least, largest, degenerate["self"], degenerate["same"], mentioned[: largest + 1])


class WeightSummary(NamedTuple):
    """The sum, minimum and maximum of weights."""

    total: float
    least: float
    largest: float


def weight_summary(weights: NDArray[np.float64]) -> WeightSummary:
    """Return the sum, minimum and maximum of weights; those of a file are cached with its memory map.

    Examples
    --------
    >>> weight_summary(np.array([1.0, 3.0]))
    WeightSummary(total=4.0, least=1.0, largest=3.0)
    """
    file = large_file(weights)
    if file is None:
        return WeightSummary(float(weights.sum()), float(weights.min(initial=np.inf)), float(weights.max(initial=0.0)))
    cache: dict[tuple[int, int], WeightSummary] = file.cache.setdefault("weight_summary", {})
    if file.range not in cache:
        parts = [(float(block.sum()), float(block.min()), float(block.max())) for _, block in in_blocks(file)]
        totals, least, largest = zip(*parts, strict=True)
        cache[file.range] = WeightSummary(math.fsum(totals), min(least), max(largest))
    return cache[file.range]
