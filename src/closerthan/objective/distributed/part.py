"""Part: the comparisons of one process, and their position among those of all processes."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.visits import Order, ShuffledPass, Visits, derive_seed, seed_of

__all__ = ["Part"]


@dataclass(frozen=True, eq=False)
class Part:
    """One process's comparisons, numbered consecutively over all processes.

    Parameters
    ----------
    rank
        Rank of the process.
    sizes
        Number of comparisons of each process.
    totals
        Total weight of each process, scaled such that the mean weight of all comparisons is 1.
    weights
        Weights of this process's comparisons, on any scale; None if all comparisons of all processes weigh the same.

    Examples
    --------
    >>> part = Part(1, (2, 3), (2.0, 3.0))
    >>> part.fraction, part.own(np.array([4, 0, 2])).tolist()
    (0.6, [2, 0])
    """

    rank: int
    sizes: Sequence[int]
    totals: Sequence[float]
    weights: Array | None = None

    @property
    def n_terms(self) -> int:
        """Number of comparisons of all processes."""
        return sum(self.sizes)

    @property
    def size(self) -> int:
        """Number of comparisons of this process."""
        return self.sizes[self.rank]

    @property
    def fraction(self) -> float:
        """Fraction of the total weight that this process has."""
        return float(self.totals[self.rank] / sum(self.totals))

    # ---- an order that is the same for any number of processes -------------------------------------------------------

    def positions(self, visits: Visits, order: Order) -> Order | Array:
        """Return positions among all comparisons: indices or, with weights, positions in the cumulative weights."""
        if self.weights is None:
            return order
        return order + visits.weight_offsets(len(order))

    def own(self, positions: Order | Array) -> Order:
        """Return the positions that belong to this process, as indices of its own comparisons."""
        first, last = self._range
        inside = positions[(positions >= first) & (positions < last)]
        if self.weights is None:
            return (inside - first).astype(np.int64)
        # Rounding may leave the last cumulative weight below the beginning of the next process.
        return np.minimum(np.searchsorted(self._cumulative, inside - first, side="right"), self._last)

    @functools.cached_property
    def _range(self) -> tuple[float, float]:
        ends = np.cumsum(self.sizes if self.weights is None else self.totals)
        first = ends[self.rank - 1] if self.rank else 0
        is_last = self.size and not any(self.sizes[self.rank + 1 :])
        return first, np.inf if is_last else ends[self.rank]

    @functools.cached_property
    def _cumulative(self) -> Array:
        assert self.weights is not None
        sums: Array = np.cumsum(self.weights)
        return sums * (self.totals[self.rank] / sums[-1]) if self.size and sums[-1] > 0 else sums

    @functools.cached_property
    def _last(self) -> int:
        return int(np.searchsorted(self._cumulative, self._cumulative[-1])) if self.size else 0

    # ---- visits of this process alone --------------------------------------------------------------------------------

    def visits(self, visits: Visits) -> Visits:
        """Return the section of this process's own pass that corresponds to ``visits`` of a pass over everything.

        In total, all processes visit as many comparisons as ``visits`` has, up to rounding.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> whole = Visits((ShuffledPass.draw(rng, 100),))
        >>> part = Part(0, (40, 60), (40.0, 60.0))
        >>> [len(part.visits(whole[:50])), len(part.visits(whole[50:]))]
        [20, 20]
        """
        pieces: list[ShuffledPass] = []
        for piece in visits.pieces if self.size else ():
            seed = seed_of(piece)
            first, last = (self._own_position(position) for position in (piece.first, piece.first + piece.size))
            while first < last:  # with weights, a pass over everything may be several passes over this part
                number, begin = divmod(first, self.size)
                size = min(last - first, self.size - begin)
                pieces.append(replace(self._pass(seed, number), first=begin, size=size))
                first += size
        seed_for_weights = None if visits.weight_seed is None else derive_seed(visits.weight_seed, self.rank)
        return Visits(tuple(pieces), seed_for_weights, self._own_position(visits.first))

    def _own_position(self, position: int) -> int:
        if self.weights is None:
            return position * self.size // self.n_terms
        return int(position * self.fraction)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - a part lives as long as its fit
    def _pass(self, seed: int, number: int) -> ShuffledPass:
        return ShuffledPass.draw(np.random.default_rng([seed, self.rank, number]), self.size)
