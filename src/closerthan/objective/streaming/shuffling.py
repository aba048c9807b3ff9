"""Shuffling: blocks of a file are random samples of its rows unless it is sorted; then it is shuffled once.

In a file that is sorted by objects, a block is about few of them, and a walk along it would throw these about while all
others stand still.
"""

import os
import warnings

import numpy as np

from closerthan.comparisons.on_disk import FileRows, TemporaryRows
from closerthan.objective.streaming.blocks import Rows, Source

__all__ = ["arranged", "is_sorted", "shuffled"]

WINDOWS = 16  # places that are looked at
NEIGHBOURS = 1024  # rows at each
FEWER = 0.25  # of the different objects of a random sample: fewer in neighbouring rows are a sign of order
BINS = 64  # ranges of object numbers
UNEVEN = 8.0  # times what chance makes of their counts; the two rows of an odd-one-out answer make 2


def arranged(source: Source, size: int) -> Source:
    """The same rows in an order in which each block of so many is a random sample: as they are, or shuffled.

    A copy is used again by later fits of the same rows.
    """
    rows = source.rows
    if not isinstance(rows, FileRows):
        return shuffled(source, size, None) if is_sorted(source) else source
    asked, before, weights, copy = rows.kept.get("shuffled", (None, None, None, None))
    if asked != (*rows.range, size) or before is not source.skipped or weights is not source.weights:
        copy = shuffled(source, size, rows.folder) if is_sorted(source) else source
        kept = None if copy is source else copy
        rows.kept["shuffled"] = (*rows.range, size), source.skipped, source.weights, kept
    return copy or source


def is_sorted(source: Source) -> bool:
    """Whether neighbouring rows are about fewer objects than rows from all over, or about others than rows elsewhere.

    Examples
    --------
    >>> rows = np.random.default_rng(0).integers(1000, size=(100_000, 3)).astype(np.int32)
    >>> is_sorted(Source(rows)), is_sorted(Source(rows[np.argsort(rows[:, 0])]))
    (False, True)
    """
    n_rows = len(source)
    if n_rows < 2 * WINDOWS * NEIGHBOURS:
        return False
    firsts = np.linspace(0, n_rows - NEIGHBOURS, WINDOWS).astype(np.int64)
    windows = [source.read(first, first + NEIGHBOURS).rows for first in firsts.tolist()]
    spread = source.at(np.linspace(0, n_rows - 1, NEIGHBOURS).astype(np.int64)).rows
    for column in range(source.width):
        different = np.median([len(np.unique(window[:, column])) for window in windows])
        if different < FEWER * len(np.unique(spread[:, column])):
            return True
    largest = max(int(window.max()) for window in windows) + 1
    counts = np.stack(
        [np.bincount(window.ravel().astype(np.int64) * BINS // largest, minlength=BINS) for window in windows]
    )
    expected = counts.mean(axis=0)
    known = expected > 0
    chi_square = ((counts - expected)[:, known] ** 2 / expected[known]).sum()
    return bool(chi_square > UNEVEN * max(WINDOWS - 1, 1) * max(int(known.sum()) - 1, 1))


def shuffled(source: Source, size: int, folder: str | os.PathLike[str] | None) -> Source:
    """The same rows in an order in which each block of so many is a random sample, in a file that vanishes afterwards.

    Blocks of the source are shuffled in memory and dealt to all blocks of the copy, so that the file is read and
    written once, in long stretches.
    """
    n_blocks = -(-len(source) // size)
    copy = TemporaryRows((len(source), source.width), folder)
    weights = None if source.weights is None else TemporaryRows((len(source),), folder, np.float64)
    warnings.warn(
        f"the answers{f' in {source.rows.path}' if isinstance(source.rows, FileRows) else ''} are sorted by objects, "
        f"and too many to be held at once: a shuffled copy of {source.nbytes / 1e9:.3g} GB is made in {copy.folder}, "
        "and goes when the fit ends",
        stacklevel=2,
    )
    rng = np.random.default_rng(0)
    place = np.arange(n_blocks) * size  # where the next row of each block of the copy goes
    ends = np.minimum(place + size, len(source))
    for first in range(0, len(source), size):
        read = source.read(first, min(first + size, len(source)))
        order = rng.permutation(len(read.rows))
        rows: Rows = read.rows.take(order, axis=0)
        if weights is not None:
            read.weights[:] = read.weights.take(order)
        # Each block of the copy takes its share of what is left.
        left = ends - place
        shares = np.diff(np.concatenate([[0], np.cumsum(left) * len(rows) // left.sum()]))
        begin = 0
        for block, share in enumerate(shares.tolist()):
            if share:
                copy.write(int(place[block]), rows[begin : begin + share])
                if weights is not None:
                    weights.write(int(place[block]), read.weights[begin : begin + share])
                place[block] += share
                begin += share
    kept = FileRows.of(copy)
    assert kept is not None
    return Source(kept, weights=weights)
