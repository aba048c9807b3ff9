"""In which order a stochastic solver visits the comparisons: drawn by NumPy's generator, handed to the kernels.

An order comes in chunks whose length is a multiple of the batch size, so that no array grows with the data.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]

RUN = 16  # neighbouring rows visited close in time: a cache line of comparisons is read once, not once a row
SIDE_BY_SIDE = 64  # runs visited in turn, so that a batch never comes from one place of a sorted file


def uniform(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, memory: int) -> Iterator[Order]:
    """Independent uniform draws: the paper's sampling."""
    chunk = max(memory // batch_size, 1) * batch_size
    for start in range(0, draws - batch_size + 1, chunk):
        size = min(chunk, (draws - start) // batch_size * batch_size)
        yield rng.integers(n_terms, size=size)


def shuffled(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, memory: int) -> Iterator[Order]:
    """Passes over the terms in random order, each term once a pass.

    The order is random in runs of neighbouring terms. 64 runs are visited in turn (first their first terms, then their
    second ...), which spreads each batch over the data even if the data is sorted.

    Examples
    --------
    >>> order = np.concatenate(list(shuffled(np.random.default_rng(0), 100, 100, 1, 2048)))
    >>> bool((np.sort(order) == np.arange(100)).all())
    True
    """
    return _batches(_endless_passes(rng, n_terms, memory), draws, batch_size, memory)


def _endless_passes(rng: np.random.Generator, n_terms: int, memory: int) -> Iterator[Order]:
    run = max(RUN, -(-n_terms // memory))
    if n_terms < RUN * SIDE_BY_SIDE:
        run = 1
    n_runs = n_terms // run
    piece = max(memory // SIDE_BY_SIDE, 1)  # of a run, if 64 of them are more than there is memory for
    width = SIDE_BY_SIDE * max(memory // (SIDE_BY_SIDE * run), 1)  # runs worked out at a time, for speed
    while True:
        starts = rng.permutation(n_runs) * run
        for first in range(0, n_runs, width):
            here = starts[first : first + width]
            full = len(here) // SIDE_BY_SIDE * SIDE_BY_SIDE
            for group in (here[:full].reshape(-1, 1, SIDE_BY_SIDE), here[full:].reshape(1, 1, -1)):
                for offset in range(0, run, piece) if group.size else ():
                    yield (group + np.arange(offset, min(offset + piece, run))[:, None]).ravel()
        if n_runs * run < n_terms:
            yield rng.permutation(np.arange(n_runs * run, n_terms))


def _batches(parts: Iterable[Order], draws: int, batch_size: int, memory: int) -> Iterator[Order]:
    """Regroup an endless order into chunks of whole batches, ``draws`` terms in all (rounded down to batches)."""
    left = draws // batch_size * batch_size
    chunk = min(max(memory // batch_size, 1) * batch_size, left)
    waiting: list[Order] = []
    n_waiting = 0
    for part in parts:
        waiting.append(part)
        n_waiting += len(part)
        while n_waiting >= chunk:
            order = np.concatenate(waiting)
            yield order[:chunk]
            left -= chunk
            if left == 0:
                return
            waiting = [order[chunk:]]
            n_waiting = len(order) - chunk
            chunk = min(chunk, left)


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
