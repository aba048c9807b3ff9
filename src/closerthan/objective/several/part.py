"""Part: the comparisons that one of several processes has, and their place among all."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from closerthan.arrays import Array
from closerthan.objective.visits import Order, ShuffledPass, Visits, mixed_seed, seed_of

__all__ = ["Part"]


@dataclass(frozen=True, eq=False)
class Part:
    """Comparisons of one process among those of all, which are numbered process by process.

    Parameters
    ----------
    rank
        Of the process.
    sizes
        How many comparisons each process has.
    totals
        What they weigh, process by process, where the mean weight of all is 1.
    weights
        Of this process's comparisons, of any mean; None: all comparisons of all processes weigh the same.

    Examples
    --------
    >>> part = Part(1, (2, 3), (2.0, 3.0))
    >>> part.share, part.own(np.array([4, 0, 2])).tolist()
    (0.6, [2, 0])
    """

    rank: int
    sizes: Sequence[int]
    totals: Sequence[float]
    weights: Array | None = None

    @property
    def n_terms(self) -> int:
        """Of all processes."""
        return sum(self.sizes)

    @property
    def size(self) -> int:
        """Of this one."""
        return self.sizes[self.rank]

    @property
    def share(self) -> float:
        """What this process's comparisons weigh of all."""
        return float(self.totals[self.rank] / sum(self.totals))

    # ---- an order that is the same for any number of processes -------------------------------------------------------

    def places(self, visits: Visits, order: Order) -> Order | Array:
        """Places among all comparisons: their numbers or, with weights, where they are in the sum of all weights."""
        if self.weights is None:
            return order
        return order + visits.places_by_weight(len(order))

    def own(self, places: Order | Array) -> Order:
        """Those of this process, as its own numbers."""
        first, last = self._range
        mine = places[(places >= first) & (places < last)]
        if self.weights is None:
            return (mine - first).astype(np.int64)
        # Rounding may leave the last sum below what the next process begins with.
        return np.minimum(np.searchsorted(self._cumulative, mine - first, side="right"), self._last)

    @functools.cached_property
    def _range(self) -> tuple[float, float]:
        ends = np.cumsum(self.sizes if self.weights is None else self.totals)
        first = ends[self.rank - 1] if self.rank else 0
        at_the_end = self.size and not any(self.sizes[self.rank + 1 :])
        return first, np.inf if at_the_end else ends[self.rank]

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
        """As much of this process's own pass as ``visits`` are of a pass over all comparisons.

        All processes together visit as many comparisons as there are in ``visits``, but for rounding.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> whole = Visits((ShuffledPass.drawn(rng, 100),))
        >>> part = Part(0, (40, 60), (40.0, 60.0))
        >>> [len(part.visits(whole[:50])), len(part.visits(whole[50:]))]
        [20, 20]
        """
        pieces: list[ShuffledPass] = []
        for piece in visits.pieces if self.size else ():
            seed = seed_of(piece)
            first, last = (self._own_place(place) for place in (piece.first, piece.first + piece.size))
            while first < last:  # with weights, a pass over all may be several of this part
                number, place = divmod(first, self.size)
                until = min(last - first, self.size - place)
                pieces.append(replace(self._pass(seed, number), first=place, size=until))
                first += until
        seeds = visits.weight_seed
        return Visits(
            tuple(pieces), None if seeds is None else mixed_seed(seeds, self.rank), self._own_place(visits.first)
        )

    def _own_place(self, place: int) -> int:
        if self.weights is None:
            return place * self.size // self.n_terms
        return int(place * self.share)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - a part lives as long as its fit
    def _pass(self, seed: int, number: int) -> ShuffledPass:
        return ShuffledPass.drawn(np.random.default_rng([seed, self.rank, number]), self.size)
