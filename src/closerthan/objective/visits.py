"""Visits: compact descriptions of which terms to visit, in which order; objectives expand them to indices.

A pass over 10^9 comparisons is described by some 16,000 numbers (the beginnings of its runs) instead of 10^9 indices.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_RUNS", "Leg", "ShuffledPass", "UniformDraws", "Visits", "derive_seed", "seed_of"]

Order = NDArray[np.int64]

SIDE_BY_SIDE = 64  # runs that are interleaved, so that a batch never comes from one region of a sorted file
NEIGHBOURS = 16  # adjacent comparisons visited close in time, so that each cache line is read only once
MOST_RUNS = 2**14  # permuting more runs is not worth the time; with more rows, runs are longer


@dataclass(frozen=True)
class ShuffledPass:
    """Positions ``first`` to ``first + size`` of a pass that visits each term once.

    Runs of terms are in random order, and 64 of them are interleaved: the first term of each, then the second term of
    each, and so on. A run visits ``neighbours`` adjacent terms and then jumps ahead by ``neighbours`` times the number
    of runs, wrapping around at the end. The terms in ``rest``, which fill no run, come last.
    """

    runs: Order  # first term of each run
    length: int  # number of terms in a run
    neighbours: int
    rest: Order
    first: int
    size: int

    @classmethod
    def draw(cls, rng: np.random.Generator, n_terms: int, most_runs: int = MOST_RUNS) -> Self:
        """Draw a whole pass.

        Examples
        --------
        >>> order = ShuffledPass.draw(np.random.default_rng(0), 100).indices()
        >>> bool((np.sort(order) == np.arange(100)).all())
        True
        """
        neighbours = NEIGHBOURS if n_terms >= NEIGHBOURS * SIDE_BY_SIDE else 1
        n_leaps = -(-n_terms // (neighbours * min(most_runs, MOST_RUNS))) if neighbours > 1 else 1
        length = neighbours * n_leaps
        n_runs = n_terms // length
        runs = rng.permutation(n_runs) * neighbours
        rest = n_runs * length + rng.permutation(n_terms - n_runs * length)
        if n_leaps > 1:  # interleaved runs must not all start in the same region
            runs += np.arange(n_runs) % n_leaps * (n_runs * neighbours)
        return cls(runs, length, neighbours, rest, 0, n_terms)

    def indices(self) -> Order:
        """Return the indices of the terms, in plain NumPy."""
        place = np.arange(self.first, self.first + self.size)
        n_in_runs = self.length * len(self.runs)
        order = np.empty(self.size, np.int64)
        ended = place >= n_in_runs
        order[ended] = self.rest[place[ended] - n_in_runs]
        place = place[~ended]
        begin = place // (SIDE_BY_SIDE * self.length) * SIDE_BY_SIDE
        width = np.minimum(SIDE_BY_SIDE, len(self.runs) - begin)
        offset, run = np.divmod(place - begin * self.length, width)
        leaps, ahead = np.divmod(offset, self.neighbours)
        order[~ended] = (self.runs[begin + run] + leaps * (self.neighbours * len(self.runs)) + ahead) % n_in_runs
        return order


@dataclass(frozen=True)
class UniformDraws:
    """Draws ``first`` to ``first + size`` of a sequence of independent uniform draws, which a seed determines."""

    seed: int
    n_terms: int
    first: int
    size: int

    def indices(self) -> Order:
        """Return the indices of the terms, in plain NumPy."""
        places = _uniform(self.seed, self.first, self.size) * self.n_terms
        return np.minimum(places.astype(np.int64), self.n_terms - 1)


@dataclass(frozen=True)
class Visits:
    """An order of visits in one or more pieces, which supports ``len`` and slicing.

    With weights (of mean 1), entry q of the order stands for the term whose interval of the cumulative weights contains
    a random position in [q, q + 1). Terms are thus drawn in proportion to their weights, and evenly spread.
    ``weight_seed`` determines these positions.
    """

    pieces: tuple[ShuffledPass | UniformDraws, ...]
    weight_seed: int | None = None
    first: int = 0  # index of the first random offset, see `weight_offsets`

    def __len__(self) -> int:
        return sum(piece.size for piece in self.pieces)

    def __getitem__(self, part: slice) -> Self:
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError(f"visits cannot be sliced with a step of {step}; leave the step out")
        pieces, passed = [], 0
        for piece in self.pieces:
            begin, end = max(start - passed, 0), min(stop - passed, piece.size)
            if begin < end:
                pieces.append(replace(piece, first=piece.first + begin, size=end - begin))
            passed += piece.size
        return replace(self, pieces=tuple(pieces), first=self.first + start)

    def indices(self, cumulative_weights: NDArray[np.float64] | None = None) -> Order:
        """Return the indices of the terms, in plain NumPy.

        Examples
        --------
        >>> pass_ = ShuffledPass(np.array([2, 0, 4]), 2, 1, np.array([6]), 0, 7)
        >>> Visits((pass_,)).indices().tolist()
        [2, 0, 4, 5, 3, 1, 6]
        """
        order = np.concatenate([piece.indices() for piece in self.pieces] or [np.empty(0, np.int64)])
        return order if cumulative_weights is None else self.by_weight(order, cumulative_weights)

    def by_weight(self, order: Order, cumulative_weights: NDArray[np.float64]) -> Order:
        """Return the terms that an order stands for, given the cumulative sum of weights with mean 1.

        Examples
        --------
        >>> weights = np.array([2.0, 0.0, 1.0])
        >>> Visits((), weight_seed=0).by_weight(np.arange(3), np.cumsum(weights)).tolist()
        [0, 0, 2]
        """
        # Rounding may leave the last sum below the number of terms.
        last = int(np.searchsorted(cumulative_weights, cumulative_weights[-1]))
        places = order + self.weight_offsets(len(order))
        return np.minimum(np.searchsorted(cumulative_weights, places, side="right"), last)

    def weight_offsets(self, size: int | None = None) -> NDArray[np.float64]:
        """Return random offsets in [0, 1), by which terms are drawn in proportion to their weights; one per visit."""
        return _uniform(self.required_weight_seed, self.first, len(self) if size is None else size)

    @property
    def required_weight_seed(self) -> int:
        """The weight seed; an error is raised if there is none."""
        if self.weight_seed is None:
            raise ValueError(
                "these visits were drawn for terms of equal weight; draw them for an objective with weights"
            )
        return self.weight_seed


@dataclass(frozen=True)
class Leg:
    """Consecutive terms of a shuffled pass, which a Polyak walk visits in one call.

    With weights, each of the ``weight_seeds`` determines the offsets of the next ``interval`` visits.
    """

    terms: ShuffledPass
    weight_seeds: tuple[int, ...] | None
    interval: int

    def __len__(self) -> int:
        return self.terms.size

    def stretches(self, length: int) -> Iterator[Visits]:
        """Yield the terms in stretches of ``length``, of which ``interval`` is a multiple; the last may be shorter."""
        for begin in range(0, len(self), length):
            piece = replace(self.terms, first=self.terms.first + begin, size=min(length, len(self) - begin))
            number, first = divmod(begin, self.interval)
            yield Visits((piece,), None if self.weight_seeds is None else self.weight_seeds[number], first)


def _uniform(seed: int, first: int, size: int) -> NDArray[np.float64]:
    """Return numbers ``first`` to ``first + size`` of a random stream; any section can be drawn on its own."""
    return np.random.Generator(np.random.PCG64(seed).advance(first)).random(size)


def seed_of(piece: ShuffledPass | UniformDraws) -> int:
    """Return a number that identifies the pass a piece belongs to: the same for all pieces of one pass."""
    if isinstance(piece, UniformDraws):
        return piece.seed
    return zlib.crc32(piece.runs[:1024].tobytes() + piece.rest[:1024].tobytes())


def derive_seed(seed: int, number: int) -> int:
    """Derive the seed of one of several streams from a common seed."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)
