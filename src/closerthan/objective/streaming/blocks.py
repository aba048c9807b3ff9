"""Blocks: rows that do not fit into the memory of a device, and the order in which they are read.

A pass visits blocks in random order, and the rows within each block in random order. That is as good as a random
order of all rows if each block is a random sample of them; see :mod:`closerthan.objective.streaming.shuffling`.
"""

import abc
import concurrent.futures
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array, frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import FileRows, weight_summary
from closerthan.comparisons.stored import StoredComparisons
from closerthan.objective.scales import SIZE_SAMPLE, sample_places
from closerthan.objective.visits import ShuffledPass, UniformDraws, Visits, derive_seed, seed_of

__all__ = ["Block", "BlockReader", "BlockVisits", "Blocks", "HostReader", "Source", "is_streamed"]

Rows = NDArray[np.int32]


class Block(NamedTuple):
    """Rows and their weights; weights of None are all equal."""

    rows: Any  # an array, or a tensor on a device
    weights: Any = None

    def head(self, n_rows: int) -> "Block":
        """Return the first ``n_rows`` rows."""
        return Block(self.rows[:n_rows], None if self.weights is None else self.weights[:n_rows])


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of a fit and their weights, in files or in memory.

    Rows that are held out (``skipped``) get a weight of 0; where there are no weights, other rows replace them.
    """

    rows: Rows | FileRows
    skipped: NDArray[np.int64] | None = None
    weights: Array | None = None

    @classmethod
    def of(cls, comparisons: Comparisons) -> "Source":
        """Return the rows of comparisons, and their weights unless these are all equal."""
        weights = comparisons.weights
        if weights is not None:
            summary = weight_summary(weights)
            weights = weights if summary.least < summary.largest else None
        return cls(FileRows.of(comparisons.rows) or comparisons.rows, _skipped(comparisons), weights)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        """Size of all rows and weights in bytes."""
        return len(self) * (4 * self.width + (0 if self.weights is None else 8))

    @functools.cached_property
    def _weights(self) -> Array | FileRows | None:
        return None if self.weights is None else FileRows.of(self.weights) or self.weights

    def buffer(self, n_rows: int) -> Block:
        """Allocate memory for ``n_rows`` rows."""
        rows = np.empty((n_rows, self.width), np.int32)
        return Block(rows, None if self.weights is None else np.empty(n_rows))

    def read(self, first: int, last: int, out: Block | None = None) -> Block:
        """Return rows ``first`` to ``last``, in new memory or at the beginning of ``out``.

        Examples
        --------
        >>> rows = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]], np.int32)
        >>> Source(rows, np.array([0, 2])).read(0, 3).rows.tolist()
        [[1, 0, 2], [1, 0, 2], [1, 0, 2]]
        >>> Source(rows, np.array([0, 2]), np.array([2.0, 3.0, 1.0])).read(0, 3).weights.tolist()
        [0.0, 3.0, 0.0]
        """
        out = self.buffer(last - first) if out is None else out
        read = Block(_read(self.rows, first, last, out.rows), self.read_weights(first, last, out.weights))
        if self.skipped is not None and read.weights is None:
            begin, end = np.searchsorted(self.skipped, [first, last])
            if begin < end:
                local = self.skipped[begin:end] - first
                read.rows[local] = read.rows[_next_not_skipped(local, local, last - first)]
        return read

    def read_weights(self, first: int, last: int, out: Array | None = None) -> Array | None:
        """Return the weights of rows ``first`` to ``last``; None if all weights are equal."""
        if self._weights is None:
            return None
        weights: Array = _read(self._weights, first, last, np.empty(last - first) if out is None else out)
        if self.skipped is not None:
            begin, end = np.searchsorted(self.skipped, [first, last])
            weights[self.skipped[begin:end] - first] = 0.0
        return weights

    def at(self, places: NDArray[np.int64]) -> Block:
        """Return the rows with these indices, read one by one."""
        if self.skipped is not None and self.weights is None:
            places = _next_not_skipped(places, self.skipped, len(self))
        source = Source(self.rows, None if self.weights is None else self.skipped, self.weights)
        single_rows = [source.read(place, place + 1) for place in places.tolist()]
        rows = np.concatenate([row.rows for row in single_rows])
        return Block(rows, None if self.weights is None else np.concatenate([row.weights for row in single_rows]))

    def sample(self) -> Block:
        """Return the rows from which the best size of a map is estimated."""
        few = len(self) <= SIZE_SAMPLE
        sample = self.read(0, len(self)) if few else self.at(sample_places(len(self), SIZE_SAMPLE))
        return sample if self.weights is None or sample.weights.any() else Block(sample.rows)

    def in_blocks(self, size: int) -> "Blocks":
        """Cut the rows into blocks of ``size`` rows."""
        blocks = Blocks(len(self), size)
        if self.weights is None:
            return blocks
        weights = (self.read_weights(*blocks.bounds(block)) for block in range(len(blocks)))
        return replace(blocks, totals=tuple(float(block.sum()) for block in weights if block is not None))


def is_streamed(comparisons: Comparisons, least: int) -> bool:
    """Return whether comparisons in a file take at least ``least`` bytes, or some of their rows are skipped."""
    return comparisons.rows.nbytes >= least or _skipped(comparisons) is not None


def _skipped(comparisons: Comparisons) -> NDArray[np.int64] | None:
    return comparisons.skipped if isinstance(comparisons, StoredComparisons) else None


def _read(stored: Any, first: int, last: int, out: Any) -> Any:
    if isinstance(stored, FileRows):
        return stored.read(first, last, out)
    read = out[: last - first]
    read[:] = stored[first:last]
    return read


def _next_not_skipped(places: NDArray[np.int64], skipped: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Replace each skipped index by the next one that is not skipped."""
    if len(skipped) >= n_rows:
        raise ValueError(f"all rows of a block of {n_rows} are held out; hold out fewer")
    places = places.copy()
    while (to_replace := np.isin(places, skipped)).any():
        places[to_replace] = (places[to_replace] + 1) % n_rows
    return places


class BlockVisits(NamedTuple):
    """Visits within one block, and the block that comes next."""

    block: int
    visits: Visits
    next_block: int | None


@dataclass(frozen=True)
class Blocks:
    """Rows cut into blocks of equal size, except that the last may be smaller.

    Where rows have weights, ``totals`` are the total weights of the blocks, and a pass visits blocks in proportion.

    Examples
    --------
    >>> blocks = Blocks(10, 4)
    >>> [blocks.bounds(number) for number in range(len(blocks))]
    [(0, 4), (4, 8), (8, 10)]
    >>> Blocks(10, 4, totals=(6.0, 3.0, 1.0)).fraction(1)
    0.3
    """

    n_rows: int
    size: int
    totals: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return -(-self.n_rows // self.size)

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the index of the first row of a block and the index after its last."""
        return block * self.size, min((block + 1) * self.size, self.n_rows)

    def fraction(self, block: int) -> float:
        """Return the fraction of the total weight that a block has."""
        first, last = self.bounds(block)
        return (last - first) / self.n_rows if self.totals is None else self.totals[block] / sum(self.totals)

    def by_block(self, visits: Visits) -> Iterator[BlockVisits]:
        """Split visits to all rows into visits to one block after another.

        The order of the blocks is drawn from the seed of the pass, so it is the same for all pieces of a pass.

        Examples
        --------
        >>> blocks, order = Blocks(10, 4), ShuffledPass.draw(np.random.default_rng(0), 10)
        >>> rows = [blocks.size * block + visits.indices() for block, visits, _ in blocks.by_block(Visits((order,)))]
        >>> bool((np.sort(np.concatenate(rows)) == np.arange(10)).all())
        True
        """
        for piece in visits.pieces:
            order = _order(seed_of(piece), len(self))
            ends = self._ends(order)
            place, last = piece.first, piece.first + piece.size
            while place < last:
                turn = int(np.searchsorted(ends, place, side="right"))
                block, begin = int(order[turn]), int(ends[turn - 1]) if turn else 0
                size = min(last, int(ends[turn])) - place
                following = int(order[turn + 1]) if turn + 1 < len(order) else None
                yield BlockVisits(block, self._within(piece, block, place - begin, size, visits.weight_seed), following)
                place += size

    def _ends(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of visits by the end of each block, in a pass that reads the blocks in this order."""
        if self.totals is None:
            return np.cumsum(np.minimum((order + 1) * self.size, self.n_rows) - order * self.size)
        shares = np.cumsum(np.array(self.totals)[order])
        ends: NDArray[np.int64] = np.rint(shares * (self.n_rows / shares[-1])).astype(np.int64)
        return ends

    def _within(
        self, piece: ShuffledPass | UniformDraws, block: int, first: int, size: int, weight_seed: int | None
    ) -> Visits:
        """Return visits ``first`` to ``first + size`` of a block, as part of the pass that the piece belongs to."""
        begin, end = self.bounds(block)
        n_rows, last = end - begin, first + size
        seed = None if weight_seed is None else derive_seed(weight_seed, block)
        if isinstance(piece, UniformDraws):  # as many draws from each block as it has rows
            return Visits((UniformDraws(derive_seed(piece.seed, block), n_rows, first, size),), seed, first)
        pieces, place = [], first
        while place < last:  # a heavy block is visited in several passes
            repetition, inside = divmod(place, n_rows)
            piece_size = min(last - place, n_rows - inside)
            pieces.append(replace(_pass(seed_of(piece), n_rows, repetition), first=inside, size=piece_size))
            place += piece_size
        return Visits(tuple(pieces), seed, first)


@functools.lru_cache(maxsize=8)  # all pieces of a pass need the same order
def _order(seed: int, n_blocks: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, n_blocks]).permutation(n_blocks)


@functools.lru_cache(maxsize=8)
def _pass(seed: int, size: int, repetition: int) -> ShuffledPass:
    """Return the order within a block: the same for all blocks of a pass, which is harmless as their rows differ.

    A GPU then needs only one copy of the order. If each block had its own, that order could be copied only after the
    next block, since copies to a GPU are made one after another.
    """
    return ShuffledPass.draw(np.random.default_rng([seed, size, repetition] if repetition else [seed, size]), size)


class BlockReader(abc.ABC):
    """Reads blocks into the memory of a device: one is in use while the next one is read in the background."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._free = 1  # the buffer that is not in use
        self._current: tuple[int, Any] | None = None
        self._pending: tuple[int, concurrent.futures.Future[Any]] | None = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="closerthan reads")

    def get(self, block: int, next_block: int | None) -> Any:
        """Return a block, valid until the next call, and begin to read the next one in the background."""
        if self._current is None or self._current[0] != block:
            if self._pending is None or self._pending[0] != block:
                self._request(block)
            assert self._pending is not None
            _, pending = self._pending
            self._pending = None
            self._current = block, self.finish(pending.result())
            self._free = 1 - self._free
        if next_block is not None and self._pending is None and next_block != block:
            self._request(next_block)
        return self._current[1]

    def _request(self, block: int) -> None:
        if self._pending is not None:  # another block is being read into the buffer that is needed now
            concurrent.futures.wait([self._pending[1]])
        first, last = self._blocks.bounds(block)
        self._pending = block, self._thread.submit(self.load, first, last, self._free, self.buffer_released())

    def buffer_released(self) -> Any:
        """Return an event after which the free buffer may be overwritten; None if that is now."""
        return None

    @abc.abstractmethod
    def load(self, first: int, last: int, buffer: int, released: Any) -> Any:
        """Read rows ``first`` to ``last`` into buffer 0 or 1; called in a background thread."""

    def finish(self, loaded: Any) -> Any:
        """Return the block that :meth:`load` returned, once it is ready to be used."""
        return loaded

    def close(self) -> None:
        """End the background thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._pending = None


class HostReader(BlockReader):
    """Reads blocks into main memory."""

    def __init__(self, source: Source, blocks: Blocks) -> None:
        super().__init__(blocks)
        self._source = source
        self._buffers = [source.buffer(min(blocks.size, len(source))) for _ in range(2)]

    def load(self, first: int, last: int, buffer: int, released: Any) -> Block:  # noqa: ARG002
        block = self._source.read(first, last, self._buffers[buffer])
        # Read-only, as rows in memory are: kernels would be compiled again for writable arrays.
        return Block(frozen(block.rows), frozen(block.weights))
