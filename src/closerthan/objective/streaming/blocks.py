"""Blocks: rows that are not all in the device's memory at once, and the order in which they come.

A pass visits blocks in random order, and the rows within each in random order. That is as good as a random
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
from closerthan.comparisons import Comparisons, StoredComparisons
from closerthan.comparisons.on_disk import FileRows, weighed
from closerthan.objective.scales import SIZE_SAMPLE, sample_places
from closerthan.objective.visits import ShuffledPass, UniformDraws, Visits, mixed_seed, seed_of

__all__ = ["Block", "BlockReader", "Blocks", "HostReader", "Source", "Stay"]

Rows = NDArray[np.int32]


class Block(NamedTuple):
    """Rows, and what each weighs; None: all the same."""

    rows: Any  # an array, or a tensor on a device
    weights: Any = None

    def first(self, number: int) -> "Block":
        """The first so many."""
        return Block(self.rows[:number], None if self.weights is None else self.weights[:number])


@dataclass(frozen=True, eq=False)
class Source:
    """Where the rows of a fit, and their weights, lie: in files or in memory.

    Rows that a fit must not see weigh nothing; without weights, others take their places.
    """

    rows: Rows | FileRows
    skipped: NDArray[np.int64] | None = None
    weights: Array | None = None

    @classmethod
    def of(cls, comparisons: Comparisons) -> "Source":
        """The rows of comparisons, and their weights if these differ."""
        weights = comparisons.weights
        if weights is not None:
            found = weighed(weights)
            weights = weights if found.least < found.largest else None
        skipped = comparisons.skipped if isinstance(comparisons, StoredComparisons) else None
        return cls(FileRows.of(comparisons.rows) or comparisons.rows, skipped, weights)

    def is_on_disk(self, least: int) -> bool:
        """Whether the rows are in a file, and of so many bytes at least that it is to be read in blocks."""
        return isinstance(self.rows, FileRows) and (4 * len(self) * self.width >= least or self.skipped is not None)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        """Of all rows and weights."""
        return len(self) * (4 * self.width + (0 if self.weights is None else 8))

    @functools.cached_property
    def _weights(self) -> Array | FileRows | None:
        return None if self.weights is None else FileRows.of(self.weights) or self.weights

    def buffer(self, n_rows: int) -> Block:
        """Memory for so many rows."""
        rows = np.empty((n_rows, self.width), np.int32)
        return Block(rows, None if self.weights is None else np.empty(n_rows))

    def read(self, first: int, last: int, out: Block | None = None) -> Block:
        """Rows ``first`` to ``last``, in memory of their own or at the beginning of ``out``.

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
                read.rows[local] = read.rows[_others(local, local, last - first)]
        return read

    def read_weights(self, first: int, last: int, out: Array | None = None) -> Array | None:
        """The weights of some rows; None if all weigh the same."""
        if self._weights is None:
            return None
        weights: Array = _read(self._weights, first, last, np.empty(last - first) if out is None else out)
        if self.skipped is not None:
            begin, end = np.searchsorted(self.skipped, [first, last])
            weights[self.skipped[begin:end] - first] = 0.0
        return weights

    def at(self, places: NDArray[np.int64]) -> Block:
        """Some rows, one by one."""
        if self.skipped is not None and self.weights is None:
            places = _others(places, self.skipped, len(self))
        whole = Source(self.rows, None if self.weights is None else self.skipped, self.weights)
        found = [whole.read(place, place + 1) for place in places.tolist()]
        rows = np.concatenate([one.rows for one in found])
        return Block(rows, None if self.weights is None else np.concatenate([one.weights for one in found]))

    def sample(self) -> Block:
        """The rows that tell how large a map should be."""
        few = len(self) <= SIZE_SAMPLE
        sample = self.read(0, len(self)) if few else self.at(sample_places(len(self), SIZE_SAMPLE))
        return sample if self.weights is None or sample.weights.any() else Block(sample.rows)

    def in_blocks(self, size: int) -> "Blocks":
        """The rows cut into blocks of so many."""
        blocks = Blocks(len(self), size)
        if self.weights is None:
            return blocks
        weights = (self.read_weights(*blocks.bounds(block)) for block in range(len(blocks)))
        return replace(blocks, totals=tuple(float(block.sum()) for block in weights if block is not None))


def _read(stored: Any, first: int, last: int, out: Any) -> Any:
    if isinstance(stored, FileRows):
        return stored.read(first, last, out)
    read = out[: last - first]
    read[:] = stored[first:last]
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

    Where rows have weights, ``totals`` is what each block weighs, and a pass visits it in proportion.

    Examples
    --------
    >>> blocks = Blocks(10, 4)
    >>> [blocks.bounds(number) for number in range(len(blocks))]
    [(0, 4), (4, 8), (8, 10)]
    >>> Blocks(10, 4, totals=(6.0, 3.0, 1.0)).share(1)
    0.3
    """

    n_rows: int
    size: int
    totals: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return -(-self.n_rows // self.size)

    def bounds(self, block: int) -> tuple[int, int]:
        """The first row of a block, and the one behind its last."""
        return block * self.size, min((block + 1) * self.size, self.n_rows)

    def share(self, block: int) -> float:
        """What a block weighs of all."""
        first, last = self.bounds(block)
        return (last - first) / self.n_rows if self.totals is None else self.totals[block] / sum(self.totals)

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
            ends = self._ends(order)
            place, last = piece.first, piece.first + piece.size
            while place < last:
                turn = int(np.searchsorted(ends, place, side="right"))
                block, begin = int(order[turn]), int(ends[turn - 1]) if turn else 0
                number = min(last, int(ends[turn])) - place
                then = int(order[turn + 1]) if turn + 1 < len(order) else None
                yield Stay(block, self._within(piece, block, place - begin, number, visits.weight_seed), then)
                place += number

    def _ends(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The visit of a pass with which each block ends, in this order."""
        if self.totals is None:
            return np.cumsum(np.minimum((order + 1) * self.size, self.n_rows) - order * self.size)
        shares = np.cumsum(np.array(self.totals)[order])
        ends: NDArray[np.int64] = np.rint(shares * (self.n_rows / shares[-1])).astype(np.int64)
        return ends

    def _within(
        self, piece: ShuffledPass | UniformDraws, block: int, first: int, number: int, weight_seed: int | None
    ) -> Visits:
        begin, end = self.bounds(block)
        n_rows, last = end - begin, first + number
        seed = None if weight_seed is None else mixed_seed(weight_seed, block)
        if isinstance(piece, UniformDraws):  # as many from each block as it has rows
            return Visits((UniformDraws(mixed_seed(piece.seed, block), n_rows, first, number),), seed, first)
        pieces, place = [], first
        while place < last:  # a heavy block is passed several times
            again, inside = divmod(place, n_rows)
            size = min(last - place, n_rows - inside)
            pieces.append(replace(_pass(seed_of(piece), n_rows, again), first=inside, size=size))
            place += size
        return Visits(tuple(pieces), seed, first)


@functools.lru_cache(maxsize=8)  # a pass comes in many pieces
def _order(seed: int, n_blocks: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, n_blocks]).permutation(n_blocks)


@functools.lru_cache(maxsize=8)
def _pass(seed: int, size: int, again: int) -> ShuffledPass:
    """The order within a block, the same for all blocks of a pass, whose rows differ.

    So a GPU has it from the first one on. Sent for each block, it would have to wait for the copy of the next block:
    copies to a GPU go one after the other.
    """
    return ShuffledPass.drawn(np.random.default_rng([seed, size, again] if again else [seed, size]), size)


class BlockReader(abc.ABC):
    """What brings blocks to a device: one that is walked, and one that comes meanwhile."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._free = 1  # the buffer that nobody reads; the other is the one held
        self._held: tuple[int, Any] | None = None
        self._coming: tuple[int, concurrent.futures.Future[Any]] | None = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="closerthan reads")

    def get(self, block: int, then: int | None) -> Any:
        """A block, as its objective holds it, until the next one is asked for; ``then`` comes on its way meanwhile."""
        if self._held is None or self._held[0] != block:
            if self._coming is None or self._coming[0] != block:
                self._ask_for(block)
            assert self._coming is not None
            _, coming = self._coming
            self._coming = None
            self._held = block, self.arrived(coming.result())
            self._free = 1 - self._free
        if then is not None and self._coming is None and then != block:
            self._ask_for(then)
        return self._held[1]

    def _ask_for(self, block: int) -> None:
        if self._coming is not None:  # it is brought to the buffer that is needed now
            concurrent.futures.wait([self._coming[1]])
        first, last = self._blocks.bounds(block)
        self._coming = block, self._thread.submit(self.bring, first, last, self._free, self.freed())

    def freed(self) -> Any:
        """From when on the buffer may be overwritten; None: from now on."""
        return None

    @abc.abstractmethod
    def bring(self, first: int, last: int, buffer: int, freed: Any) -> Any:
        """Bring rows ``first`` to ``last`` to a buffer, number 0 or 1; another thread does this."""

    def arrived(self, brought: Any) -> Any:
        """What was brought, once it is there."""
        return brought

    def close(self) -> None:
        """End what runs in the background."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._coming = None


class HostReader(BlockReader):
    """Blocks in memory."""

    def __init__(self, source: Source, blocks: Blocks) -> None:
        super().__init__(blocks)
        self._source = source
        self._buffers = [source.buffer(min(blocks.size, len(source))) for _ in range(2)]

    def bring(self, first: int, last: int, buffer: int, freed: Any) -> Block:  # noqa: ARG002
        read = self._source.read(first, last, self._buffers[buffer])
        return Block(frozen(read.rows), frozen(read.weights))  # what differs in that is compiled again
