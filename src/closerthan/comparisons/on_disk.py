"""Rows, and what belongs to each, in memory-mapped files: read block by block, so that memory does not grow with them.

What is read through a memory map stays in this process's memory until the system wants it back, and a file that becomes
shorter meanwhile ends the process without a word. So large files are read by plain reads, and the map only tells which
file it is.
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
    "Weighed",
    "array_bytes",
    "count_numbers",
    "in_blocks",
    "is_large",
    "large_file",
    "renumbered",
    "surveyed",
    "together",
    "weighed",
]

LARGE = 1 << 28  # bytes from which on a memory-mapped file is never read as a whole
BLOCK = 1 << 20  # rows read at a time
WORKERS = 4  # threads that check blocks: as many as one that reads can feed

Rows = NDArray[np.int32]
Stored = NDArray[Any]  # rows of int32, or a column of int32 (who, which answer) or float64 (weights)

_KINDS = {1: (np.int32, np.float64), 2: (np.int32,)}  # of numbers, in columns and in rows
_TEMPORARY = "a temporary file in "


class FileRows:
    """Rows of int32 in a file, or a column that has a number for each row.

    Parameters
    ----------
    path
        What the file is called, for messages.
    descriptor
        Of the open file; it is closed when nobody uses the rows any longer.
    offset
        Where the first row begins, in bytes.
    shape
        How many rows there are, of how many numbers.
    kept
        What was found out about the file, to be looked up again; it lives as long as the memory map.
    dtype
        Of a number.

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
        kept: dict[Any, Any],
        dtype: Any = np.int32,
    ) -> None:
        self.path = path
        self.shape = shape
        self.kept = kept
        self.dtype = np.dtype(dtype)
        self._descriptor = descriptor
        self._offset = offset
        weakref.finalize(self, os.close, descriptor)

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Self | None:
        """The file that rows are mapped from; None for others."""
        root = _root(rows)
        if root is None or rows.dtype not in _KINDS.get(rows.ndim, ()) or not rows.flags.c_contiguous:
            return None
        own: int | None = getattr(root, "descriptor", None)  # of a temporary file, which nobody else can change
        if own is None and root.filename is None:
            return None
        path = str(root.filename) if own is None else f"{_TEMPORARY}{root.folder}"  # type: ignore[attr-defined]
        offset = int(root.offset) + rows.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        try:
            descriptor = open_to_read(path) if own is None else os.dup(own)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}; put it back, and begin again") from None
        file = cls(path, descriptor, offset, rows.shape, _kept(root), rows.dtype)
        if own is None:
            file.kept.setdefault("written", os.fstat(descriptor).st_mtime_ns)
        return file

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def folder(self) -> Path:
        """Where the file is, and so a copy of it may be."""
        return Path(self.path.removeprefix(_TEMPORARY) if self.path.startswith(_TEMPORARY) else Path(self.path).parent)

    @property
    def range(self) -> tuple[int, int]:
        """Where the rows begin and end in the file, in bytes."""
        return self._offset, self._offset + len(self) * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return int(self.dtype.itemsize) * math.prod(self.shape[1:])

    def read(self, first: int, last: int, out: Stored | None = None) -> Stored:
        """Rows ``first`` to ``last``, in an array of their own or at the beginning of ``out``."""
        rows = np.empty((last - first, *self.shape[1:]), self.dtype) if out is None else out[: last - first]
        if not len(rows):
            return rows
        left, done = rows.data.cast("B"), 0
        while done < len(left):
            try:
                read = read_at(self._descriptor, left[done:], self._offset + first * self.row_bytes + done)
            except OSError as error:
                raise ValueError(f"{self.path} can no longer be read: {error.strerror}; begin again") from None
            if not read:
                raise ValueError(
                    f"{self.path} ends at row {first + done // self.row_bytes:,}, but had {len(self):,} when it was "
                    "opened: it became shorter while it was read; write it again, and begin again"
                )
            done += read
        if self.kept.get("written", written := os.fstat(self._descriptor).st_mtime_ns) != written:
            raise ValueError(
                f"{self.path} was changed while it was read; leave it alone until the fit has ended, and begin again"
            )
        return rows


class TemporaryRows(np.memmap):
    """Rows (or a column) in a file without a name, which is gone as soon as nobody uses it, even if this process dies.

    Parameters
    ----------
    shape
        How many rows, of how many numbers.
    folder
        Where the file is; None, or one that cannot be written to or is too full: where temporary files go.
    dtype
        Of a number.
    """

    descriptor: int
    folder: str

    def __new__(
        cls, shape: tuple[int, ...], folder: str | os.PathLike[str] | None = None, dtype: Any = np.int32
    ) -> Self:
        size = np.dtype(dtype).itemsize * math.prod(shape)
        chosen = _folder_for(size, folder)
        with tempfile.TemporaryFile(dir=chosen) as file:
            try:
                file.truncate(size)
            except OSError as error:  # a limit on the size of files
                raise _no_room(size, chosen, error) from None
            rows: Any = super().__new__(cls, file, dtype, "r+", shape=shape)
            rows.descriptor = os.dup(file.fileno())
        weakref.finalize(rows, os.close, rows.descriptor)
        rows.folder = chosen
        return rows  # type: ignore[no-any-return]

    def write(self, first: int, rows: Stored) -> None:
        """Put rows where ``first`` is."""
        given = np.ascontiguousarray(rows, self.dtype)
        if not len(given):
            return
        left, done = given.data.cast("B"), 0
        place = self.itemsize * math.prod(self.shape[1:]) * first
        while done < len(left):
            try:
                done += write_at(self.descriptor, left[done:], place + done)
            except OSError as error:
                raise _no_room(self.nbytes, self.folder, error) from None


def _folder_for(size: int, folder: str | os.PathLike[str] | None) -> str:
    """Where a temporary file of so many bytes can be: in this folder, or where temporary files go."""
    refused: list[str] = []
    tried: set[str] = set()
    for given in (folder, None):
        try:
            place = str(given or tempfile.gettempdir())
        except OSError:  # Python found none that it could write to
            place = os.environ.get("TMPDIR", "the folder for temporary files")
        if os.path.abspath(place) in tried:
            continue
        tried.add(os.path.abspath(place))
        if not (os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)):
            refused.append(f"{place} cannot be written to")
        elif shutil.disk_usage(place).free < size:
            refused.append(f"{place} has {shutil.disk_usage(place).free / 1e9:.3g} GB free")
        else:
            return place
    raise ValueError(
        f"a copy of the answers of {size / 1e9:.3g} GB is needed, but {', and '.join(refused)}; make room, or set "
        "TMPDIR to a folder with room"
    )


def _no_room(size: int, folder: str, error: OSError) -> ValueError:
    return ValueError(
        f"a copy of the answers of {size / 1e9:.3g} GB in {folder} could not be written: {error.strerror}; make room, "
        "or set TMPDIR to a folder with room"
    )


def _root(rows: NDArray[Any]) -> np.memmap[Any, Any] | None:
    """The memory map that an array is a view of."""
    base: Any = rows
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap):
            return base
        base = base.base
    return None


def _kept(root: np.memmap[Any, Any]) -> dict[Any, Any]:
    kept: dict[Any, Any] = root.__dict__.setdefault("kept", {})
    return kept


def is_large(n_bytes: int) -> bool:
    """Whether rows are so many that a file of them is read in blocks."""
    return n_bytes >= LARGE


def large_file(rows: Stored) -> FileRows | None:
    """The file that rows are mapped from, if it is to be read in blocks: a temporary file always is."""
    return FileRows.of(rows) if is_large(rows.nbytes) or isinstance(_root(rows), TemporaryRows) else None


def in_blocks(rows: Stored | FileRows, size: int | None = None) -> Iterator[tuple[int, Stored]]:
    """Blocks of rows and where they begin; the next one is read meanwhile, so a block is valid until the next."""
    size = size or BLOCK
    file = FileRows.of(rows) if isinstance(rows, np.ndarray) else rows
    if file is None:
        assert isinstance(rows, np.ndarray)
        for first in range(0, len(rows), size):
            yield first, rows[first : first + size]
        return
    ends = [(first, min(first + size, len(file))) for first in range(0, len(file), size)]
    buffers = [np.empty((min(size, len(file)), *file.shape[1:]), file.dtype) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(1) as reader:
        coming = reader.submit(file.read, *ends[0], buffers[0])
        for number, (first, _) in enumerate(ends):
            block = coming.result()
            if number + 1 < len(ends):
                coming = reader.submit(file.read, *ends[number + 1], buffers[(number + 1) % 2])
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
        more = np.bincount(block, minlength=len(counts))
        more[: len(counts)] += counts
        counts = more
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


def renumbered(rows: Rows, number: Rows) -> Rows:
    """The same rows of objects that are called ``number[object]``; those of a large file in a temporary one."""
    file = large_file(rows)
    if file is None:
        return number[rows]
    copy = TemporaryRows(rows.shape, file.folder)
    for first, block in in_blocks(file):
        copy.write(first, number[block])
    return copy


def together(parts: Sequence[Stored], added: Sequence[int] | None = None) -> Stored:
    """One array after the other, something added to each; in a temporary file if one of them is in a large file.

    Examples
    --------
    >>> together([np.array([0, 0, 1]), np.array([0, 1])], added=[0, 2]).tolist()
    [0, 0, 1, 2, 3]
    """
    added = [0] * len(parts) if added is None else added
    files = [file for part in parts if (file := large_file(part)) is not None]
    if not files:
        return np.concatenate([part + more for part, more in zip(parts, added, strict=True)])
    copy = TemporaryRows((sum(map(len, parts)), *parts[0].shape[1:]), files[0].folder, parts[0].dtype)
    begin = 0
    for part, more in zip(parts, added, strict=True):
        for first, block in in_blocks(part):
            copy.write(begin + first, block + np.int64(more))  # beyond 2^31 it wraps around
        begin += len(part)
    return copy


class Survey(NamedTuple):
    """What one pass over all rows finds."""

    least: int
    largest: int
    self_pair: int | None  # the first row that compares an object with itself
    same_pair: int | None  # the first row whose pairs are one
    mentioned: NDArray[np.bool_]  # for each object up to the largest


def surveyed(rows: NDArray[Any], *, exactly: bool = False) -> Survey | None:
    """What one pass over the rows of a large file finds, kept with its map; None for other rows.

    For a part of what was surveyed before that survey will do, whose range is no smaller, unless ``exactly`` this part
    is asked for.
    """
    file = large_file(rows)
    if file is None or not len(file):
        return None
    known: dict[tuple[int, int], Survey] = file.kept.setdefault("surveys", {})
    begin, end = file.range
    for (first, last), survey in known.items():
        if (first, last) == (begin, end) or (first <= begin and end <= last and not exactly):
            return survey
    found = known[begin, end] = _survey(file)
    return found


def _survey(file: FileRows) -> Survey:
    least, largest, mentioned = 1 << 31, -1, np.zeros(1, bool)
    bad: dict[str, int | None] = {"self": None, "same": None}
    growing = threading.Lock()

    def scan(first: int, last: int) -> None:
        nonlocal least, largest, mentioned
        block = file.read(first, last)
        low, high = int(block.min()), int(block.max())
        with growing:
            least, largest = min(least, low), max(largest, high)
            if low >= 0 and high >= len(mentioned) and high < 1 << 31:
                mentioned = np.concatenate([mentioned, np.zeros(2 * high + 1 - len(mentioned), bool)])
            seen = mentioned
        if low >= 0:
            seen[block.ravel()] = True
            with growing:
                if seen is not mentioned:  # it grew meanwhile, perhaps before this block was in it
                    mentioned[: len(seen)] |= seen
        for name, is_bad in (("self", self_pair), ("same", same_pair)):
            hits = is_bad(block)
            if hits.any():
                row = first + int(np.argmax(hits))
                with growing:
                    known = bad[name]
                    bad[name] = row if known is None else min(known, row)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        parts = [workers.submit(scan, first, min(first + BLOCK, len(file))) for first in range(0, len(file), BLOCK)]
        try:
            for part in parts:
                part.result()
        finally:
            workers.shutdown(cancel_futures=True)
    return Survey(least, largest, bad["self"], bad["same"], mentioned[: largest + 1])


class Weighed(NamedTuple):
    """What one pass over the weights of all rows finds."""

    total: float
    least: float
    largest: float


def weighed(weights: NDArray[np.float64]) -> Weighed:
    """What rows weigh; of a file it is found once, and kept with its map.

    Examples
    --------
    >>> weighed(np.array([1.0, 3.0]))
    Weighed(total=4.0, least=1.0, largest=3.0)
    """
    file = large_file(weights)
    if file is None:
        return Weighed(float(weights.sum()), float(weights.min(initial=np.inf)), float(weights.max(initial=0.0)))
    known: dict[tuple[int, int], Weighed] = file.kept.setdefault("weighed", {})
    if file.range not in known:
        parts = [(float(block.sum()), float(block.min()), float(block.max())) for _, block in in_blocks(file)]
        totals, least, largest = zip(*parts, strict=True)
        known[file.range] = Weighed(math.fsum(totals), min(least), max(largest))
    return known[file.range]
