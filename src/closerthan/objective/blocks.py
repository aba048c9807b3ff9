"""Blocks: rows that are not all in the device's memory at once, and the order in which they come.

A pass visits blocks in random order, and the rows within each in random order. That is as good as a random
order of all rows if each block is a random sample of them; see :mod:`closerthan.objective.shuffling`.
"""

import concurrent.futures
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import FileRows
from closerthan.objective.scales import SIZE_SAMPLE, sample_places
from closerthan.objective.visits import ShuffledPass, UniformDraws, Visits, mixed_seed, seed_of

__all__ = ["BlockReader", "Blocks", "HostReader", "Source", "Stay"]

Rows = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Source:
    """Where the rows of a fit lie: in a file or in memory. Those that a fit must not see are replaced by others."""

    rows: Rows | FileRows
    skipped: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, comparisons: Comparisons) -> "Source":
        """The rows of comparisons."""
        return cls(FileRows.of(comparisons.rows) or comparisons.rows, comparisons.skipped)

    def is_on_disk(self, least: int) -> bool:
        """Whether the rows are in a file, and of so many bytes at least that it is to be read in blocks."""
        return isinstance(self.rows, FileRows) and (self.nbytes >= least or self.skipped is not None)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        """Of all rows."""
        return 4 * len(self) * self.width

    def read(self, first: int, last: int, out: Rows | None = None) -> Rows:
        """Rows ``first`` to ``last``, in an array of their own or at the beginning of ``out``.

        Examples
        --------
        >>> rows = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]], np.int32)
        >>> Source(rows, np.array([0, 2])).read(0, 3).tolist()
        [[1, 0, 2], [1, 0, 2], [1, 0, 2]]
        """
        read = self._stored(first, last, out)
        if self.skipped is not None:
            begin, end = np.searchsorted(self.skipped, [first, last])
            if begin < end:
                local = self.skipped[begin:end] - first
                read[local] = read[_others(local, local, last - first)]
        return read

    def at(self, places: NDArray[np.int64]) -> Rows:
        """Some rows, one by one."""
        if self.skipped is not None:
            places = _others(places, self.skipped, len(self))
        return np.concatenate([self._stored(place, place + 1) for place in places.tolist()])

    def sample(self) -> Rows:
        """The rows that tell how large a map should be."""
        return self.read(0, len(self)) if len(self) <= SIZE_SAMPLE else self.at(sample_places(len(self), SIZE_SAMPLE))

    def _stored(self, first: int, last: int, out: Rows | None = None) -> Rows:
        if isinstance(self.rows, FileRows):
            return self.rows.read(first, last, out)
        read = np.empty((last - first, self.width), np.int32) if out is None else out[: last - first]
        read[:] = self.rows[first:last]
        return read


def _others(places: NDArray[np.int64], skipped: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """For each place, itself or the next one that is not skipped."""
    if len(skipped) >= n_rows:
        raise ValueError(f"all of {n_rows} neighbouring rows are to be left out; leave out fewer")
    places = places.copy()
    while (again := np.isin(places, skipped)).any():
        places[again] = (places[again] + 1) % n_rows
    return places


class Stay(NamedTuple):
    """What to visit in a block, and which block comes next."""

    block: int
    visits: Visits
    then: int | None


@dataclass(frozen=True)
class Blocks:
    """Rows cut into blocks of one size, of which the last may be smaller.

    Examples
    --------
    >>> blocks = Blocks(10, 4)
    >>> [blocks.bounds(number) for number in range(len(blocks))]
    [(0, 4), (4, 8), (8, 10)]
    """

    n_rows: int
    size: int

    def __len__(self) -> int:
        return -(-self.n_rows // self.size)

    def bounds(self, block: int) -> tuple[int, int]:
        """The first row of a block, and the one behind its last."""
        return block * self.size, min((block + 1) * self.size, self.n_rows)

    def stays(self, visits: Visits) -> Iterator[Stay]:
        """Visits of all rows as visits of one block after another.

        All pieces of a pass have the same order of blocks, which is drawn from what is random about the pass.

        Examples
        --------
        >>> blocks, order = Blocks(10, 4), ShuffledPass.drawn(np.random.default_rng(0), 10)
        >>> seen = [blocks.size * stay.block + stay.visits.indices() for stay in blocks.stays(Visits((order,)))]
        >>> bool((np.sort(np.concatenate(seen)) == np.arange(10)).all())
        True
        """
        for piece in visits.pieces:
            order = _order(seed_of(piece), len(self))
            sizes = np.minimum((order + 1) * self.size, self.n_rows) - order * self.size
            ends = np.cumsum(sizes)
            place, last = piece.first, piece.first + piece.size
            while place < last:
                turn = int(np.searchsorted(ends, place, side="right"))
                block, size = int(order[turn]), int(sizes[turn])
                first = place - int(ends[turn] - size)
                number = min(last - place, size - first)
                then = int(order[turn + 1]) if turn + 1 < len(order) else None
                yield Stay(block, Visits((self._within(piece, block, first, number),)), then)
                place += number

    def _within(
        self, piece: ShuffledPass | UniformDraws, block: int, first: int, number: int
    ) -> ShuffledPass | UniformDraws:
        begin, end = self.bounds(block)
        if isinstance(piece, UniformDraws):  # as many from each block as it has rows
            return UniformDraws(mixed_seed(piece.seed, block), end - begin, first, number)
        return replace(_pass(seed_of(piece), end - begin), first=first, size=number)


@functools.lru_cache(maxsize=8)  # a pass comes in many pieces
def _order(seed: int, n_blocks: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, n_blocks]).permutation(n_blocks)


@functools.lru_cache(maxsize=8)
def _pass(seed: int, size: int) -> ShuffledPass:
    """The order within a block, the same for all blocks of a pass, whose rows differ.

    So a GPU has it from the first one on. Sent for each block, it would have to wait for the copy of the next block:
    copies to a GPU go one after the other.
    """
    return ShuffledPass.drawn(np.random.default_rng([seed, size]), size)


class BlockReader(Protocol):
    """What brings blocks to a device."""

    def get(self, block: int, then: int | None) -> Any:
        """A block, as its objective holds it, until the next one is asked for; ``then`` comes on its way meanwhile."""

    def close(self) -> None:
        """End what runs in the background."""


class HostReader:
    """Blocks in memory: one that is walked, and one that is read meanwhile."""

    def __init__(self, source: Source, blocks: Blocks) -> None:
        self._source = source
        self._blocks = blocks
        size = min(blocks.size, len(source))
        self._buffers = [np.empty((size, source.width), np.int32) for _ in range(2)]
        self._held: tuple[int, Rows] | None = None
        self._coming: tuple[int, concurrent.futures.Future[Rows]] | None = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="closerthan reads")

    def get(self, block: int, then: int | None) -> Rows:
        if self._held is None or self._held[0] != block:
            if self._coming is None or self._coming[0] != block:
                self._ask_for(block)
            assert self._coming is not None
            _, coming = self._coming
            self._coming = None
            self._held = block, coming.result()
            self._buffers.reverse()  # what was held is free
        if then is not None and self._coming is None and then != block:
            self._ask_for(then)
        return self._held[1]

    def _ask_for(self, block: int) -> None:
        if self._coming is not None:  # it is read into the buffer that is needed now
            concurrent.futures.wait([self._coming[1]])
        first, last = self._blocks.bounds(block)
        self._coming = block, self._thread.submit(self._read, first, last, self._buffers[1])

    def _read(self, first: int, last: int, out: Rows) -> Rows:
        rows = self._source.read(first, last, out).view()
        rows.flags.writeable = False  # what differs is compiled again
        return rows

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._coming = None
