"""The random order in which a stochastic solver visits the terms of an objective.

An order is drawn by NumPy's generator and represented by a compact description (:class:`Visits`), which the device
expands. It comes in chunks, whose length is a multiple of the batch size, so that little has to be expanded at a time.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from closerthan.objective.protocol import SolverObjective
from closerthan.objective.visits import Leg, ShuffledPass, UniformDraws, Visits

LONGEST_LEG = 2**16  # comparisons after which a solver tests for Ctrl-C and the time limit, rounded up to whole chunks


def uniform(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, chunk: int) -> Iterator[Visits]:
    """Draw terms independently and uniformly, as in the paper."""
    seed = int(rng.integers(2**63))
    size = max(chunk // batch_size, 1) * batch_size
    total = draws // batch_size * batch_size
    for first in range(0, total, size):
        yield Visits((UniformDraws(seed, n_terms, first, min(size, total - first)),))


def shuffled(rng: np.random.Generator, n_terms: int, draws: int, batch_size: int, chunk: int) -> Iterator[Visits]:
    """Make passes over the terms in random order, visiting each term once per pass.

    Terms are grouped into runs, and the order of the runs is random. Visits alternate between 64 runs, which spreads
    each batch over the data even if the data are sorted. A run consists of groups of 16 neighbouring terms; if it has
    several groups, they are spread over the data.

    Examples
    --------
    >>> order = next(shuffled(np.random.default_rng(0), 100, 100, 1, 2048))
    >>> bool((np.sort(order.indices()) == np.arange(100)).all())
    True
    """
    remaining = draws // batch_size * batch_size
    size = max(chunk // batch_size, 1) * batch_size
    position = n_terms  # the end of a pass, so that a new one starts at once
    while remaining:
        chunk_size = min(size, remaining)
        pieces: list[ShuffledPass] = []
        while (missing := chunk_size - sum(piece.size for piece in pieces)) > 0:
            if position == n_terms:
                whole_pass, position = ShuffledPass.draw(rng, n_terms, chunk), 0
            piece = replace(whole_pass, first=position, size=min(missing, n_terms - position))
            pieces.append(piece)
            position += piece.size
        remaining -= chunk_size
        yield Visits(tuple(pieces))


SAMPLINGS: dict[str, Callable[..., Iterator[Visits]]] = {"uniform": uniform, "shuffled": shuffled}


def visits(
    sampling: str, rng: np.random.Generator, objective: SolverObjective[Any], draws: int, batch_size: int, chunk: int
) -> Iterator[Visits]:
    """Draw the terms of an objective to visit in one epoch, chunk by chunk."""
    for part in SAMPLINGS[sampling](rng, objective.n_terms, draws, batch_size, chunk):
        yield Visits(part.pieces, int(rng.integers(2**63))) if objective.weighted else part


def legs(
    rng: np.random.Generator, objective: SolverObjective[Any], chunk: int, stop: float = math.inf
) -> Iterator[Leg]:
    """Divide one pass over the terms of an objective, in random order as by :func:`shuffled`, into legs.

    A leg consists of whole chunks, and one of them ends with the chunk that contains position ``stop`` of the pass.
    """
    n_terms, position = objective.n_terms, 0
    whole_pass = ShuffledPass.draw(rng, n_terms, chunk)
    while position < n_terms:
        longest = min(LONGEST_LEG, n_terms - position, stop - position if stop > position else math.inf)
        n_chunks = math.ceil(longest / chunk)
        size = min(n_chunks * chunk, n_terms - position)
        seeds = tuple(int(rng.integers(2**63)) for _ in range(n_chunks)) if objective.weighted else None
        terms = whole_pass if size == n_terms else replace(whole_pass, first=position, size=size)
        yield Leg(terms, seeds, chunk)
        position += size
