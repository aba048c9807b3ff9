"""In which order a stochastic solver visits the comparisons: drawn by NumPy's generator, handed to the kernels.

An order comes in chunks whose length is a multiple of the batch size, so that no array grows with the data. Each may
take the place in memory of the one before (the system's new memory costs more than filling it does).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.compiled import kernels

Order = NDArray[np.int64]

MOST_RUNS = 2**14  # drawing the order of more takes longer than it is worth; where there are more rows, runs are longer
SIDE_BY_SIDE = 64  # runs visited in turn, so that a batch never comes from one place of a sorted file


def uniform(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, memory: int) -> Iterator[Order]:
    """Independent uniform draws: the paper's sampling."""
    chunk = max(memory // batch_size, 1) * batch_size
    for start in range(0, draws - batch_size + 1, chunk):
        size = min(chunk, (draws - start) // batch_size * batch_size)
        yield rng.integers(n_terms, size=size)


def shuffled(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, memory: int) -> Iterator[Order]:
    """Passes over the terms in random order, each term once a pass.

    The order is random in runs of terms. 64 runs are visited in turn (first their first terms, then their second ...),
    which spreads each batch over the data even if the data is sorted. A run goes through 16 neighbours at a time, and
    is all over the data if it has more.

    Examples
    --------
    >>> order = next(shuffled(np.random.default_rng(0), 100, 100, 1, 2048))
    >>> bool((np.sort(order) == np.arange(100)).all())
    True
    """
    neighbours = kernels.NEIGHBOURS if n_terms >= kernels.NEIGHBOURS * SIDE_BY_SIDE else 1
    n_leaps = -(-n_terms // (neighbours * min(memory, MOST_RUNS))) if neighbours > 1 else 1
    run = neighbours * n_leaps
    n_runs = n_terms // run
    left = draws // batch_size * batch_size
    chunk = max(memory // batch_size, 1) * batch_size
    room = np.empty(min(chunk, left), np.int64)
    place = n_terms  # in a pass: at its end, so that the first one begins
    while left:
        order = room[:left]
        filled = 0
        while filled < len(order):
            if place == n_terms:
                runs = rng.permutation(n_runs) * neighbours
                rest = n_runs * run + rng.permutation(n_terms - n_runs * run)
                if n_leaps > 1:  # side by side, they are not at one end
                    runs += np.arange(n_runs) % n_leaps * (n_runs * neighbours)
                place = 0
            part = order[filled : filled + n_terms - place]
            kernels.in_turn(runs, run, neighbours, SIDE_BY_SIDE, rest, place, part)
            filled += len(part)
            place += len(part)
        left -= len(order)
        yield order


def compile_visits() -> None:
    """Compile what :func:`visits` will need, before the clock starts."""
    nothing = np.empty(0, np.int64)
    kernels.in_turn(nothing, 1, 1, 1, nothing, 0, nothing)


def by_weight(orders: Iterable[Order], cumulative: NDArray[np.float64], rng: np.random.Generator) -> Iterator[Order]:
    """Visit each term as often as its weight says.

    ``cumulative`` are the running sums of weights whose mean is 1. Term number q of an order becomes the term whose
    share of the weights holds a random place within [q, q + 1): a draw in proportion to weight, evenly spread.

    Examples
    --------
    >>> weights = np.array([2.0, 0.0, 1.0])
    >>> order = next(by_weight([np.arange(3)], np.cumsum(weights), np.random.default_rng(0)))
    >>> order.tolist()
    [0, 0, 2]
    """
    last = int(np.searchsorted(cumulative, cumulative[-1]))  # rounding may leave the last sum below the number of terms
    for order in orders:
        places = order + rng.random(len(order))
        yield np.minimum(np.searchsorted(cumulative, places, side="right"), last)


SAMPLINGS = {"uniform": uniform, "shuffled": shuffled}


def visits(
    sampling: str, rng: np.random.Generator, objective: Any, draws: int, batch_size: int, memory: int
) -> Iterator[Order]:
    """Which terms of an objective to visit in an epoch, chunk by chunk."""
    order = SAMPLINGS[sampling](rng, objective.n_terms, draws, batch_size, memory)
    cumulative = getattr(objective, "cumulative_weights", None)
    return order if cumulative is None else by_weight(order, cumulative, rng)
