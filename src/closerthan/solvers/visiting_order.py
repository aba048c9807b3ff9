"""In which order a stochastic solver visits the terms: drawn by NumPy's generator, as descriptions.

An order comes in chunks whose length is a multiple of the batch size, so that what a device expands at a time is small.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from closerthan.objective.protocol import SolverObjective
from closerthan.objective.visits import ShuffledPass, UniformDraws, Visits


def uniform(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, chunk: int) -> Iterator[Visits]:
    """Independent uniform draws: the paper's sampling."""
    seed = int(rng.integers(2**63))
    size = max(chunk // batch_size, 1) * batch_size
    total = draws // batch_size * batch_size
    for first in range(0, total, size):
        yield Visits((UniformDraws(seed, n_terms, first, min(size, total - first)),))


def shuffled(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, chunk: int) -> Iterator[Visits]:
    """Passes over the terms in random order, each term once per pass.

    The order is random in runs of terms; 64 runs are visited in turn, which spreads each batch over the data even if
    the data is sorted. A run goes through 16 neighbours at a time, and is all over the data if it has more.

    Examples
    --------
    >>> order = next(shuffled(np.random.default_rng(0), 100, 100, 1, 2048))
    >>> bool((np.sort(order.indices()) == np.arange(100)).all())
    True
    """
    left = draws // batch_size * batch_size
    size = max(chunk // batch_size, 1) * batch_size
    pieces: list[ShuffledPass] = []
    place = n_terms  # in a pass: at its end, so that the first one begins
    while left:
        wanted = min(size, left)
        while (missing := wanted - sum(piece.size for piece in pieces)) > 0:
            if place == n_terms:
                whole, place = ShuffledPass.drawn(rng, n_terms, chunk), 0
            piece = replace(whole, first=place, size=min(missing, n_terms - place))
            pieces.append(piece)
            place += piece.size
        left -= wanted
        yield Visits(tuple(pieces))
        pieces = []


SAMPLINGS: dict[str, Callable[..., Iterator[Visits]]] = {"uniform": uniform, "shuffled": shuffled}


def visits(
    sampling: str, rng: np.random.Generator, objective: SolverObjective[Any], draws: int, batch_size: int, chunk: int
) -> Iterator[Visits]:
    """Which terms of an objective to visit in an epoch, chunk by chunk."""
    for part in SAMPLINGS[sampling](rng, objective.n_terms, draws, batch_size, chunk):
        yield Visits(part.pieces, int(rng.integers(2**63))) if objective.weighted else part
