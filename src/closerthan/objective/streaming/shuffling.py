"""Shuffling: a file that is sorted by objects is shuffled once, so that its blocks are random samples of its rows.

A block of a sorted file is about few objects, and a walk along it would move these far while all others stand still.
"""

import os
import warnings

import numpy as np

from closerthan.comparisons.on_disk import FileRows, TemporaryRows
from closerthan.objective.streaming.blocks import Rows, Source

__all__ = ["is_sorted", "shuffled", "shuffled_if_sorted"]

WINDOWS = 16  # windows of neighbouring rows that are examined
NEIGHBOURS = 1024  # rows in a window
FEWER = 0.25  # a file is sorted if a window has fewer distinct objects than this fraction of those in a spread sample
BINS = 64  # ranges of object numbers that are counted in each window
UNEVEN = 8.0  # a file is sorted if chi-square exceeds this multiple of its expectation; odd-one-out answers reach 2


def shuffled_if_sorted(source: Source, size: int) -> Source:
    """Return the same rows in an order in which each block of ``size`` rows is a random sample.

    Later fits of the same rows use the same copy.
    """
    rows = source.rows
    if not isinstance(rows, FileRows):
        return shuffled(source, size, None) if is_sorted(source) else source
    key, skipped, weights, copy = rows.cache.get("shuffled", (None, None, None, None))
    if key != (*rows.range, size) or skipped is not source.skipped or weights is not source.weights:
        copy = shuffled(source, size, rows.folder) if is_sorted(source) else None
        rows.cache["shuffled"] = (*rows.range, size), source.skipped, source.weights, copy
    return copy or source


def is_sorted(source: Source) -> bool:
    """Return whether neighbouring rows are about fewer objects, or about other objects, than rows elsewhere.

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
    occupied = expected > 0
    chi_square = ((counts - expected)[:, occupied] ** 2 / expected[occupied]).sum()
    return bool(chi_square > UNEVEN * max(WINDOWS - 1, 1) * max(int(occupied.sum()) - 1, 1))


def shuffled(source: Source, size: int, folder: str | os.PathLike[str] | None) -> Source:
    """Copy the rows to a temporary file, in an order in which each block of ``size`` rows is a random sample.

    Blocks of the source are shuffled in memory and dealt to all blocks of the copy, so that the file is read and
    written once, in long stretches.
    """
    n_blocks = -(-len(source) // size)
    copy = TemporaryRows((len(source), source.width), folder)
    weights = None if source.weights is None else TemporaryRows((len(source),), folder, np.float64)
    warnings.warn(
        f"the answers{f' in {source.rows.path}' if isinstance(source.rows, FileRows) else ''} are sorted by objects, "
        f"and too many to fit in memory: a shuffled copy of {source.nbytes / 1e9:.3g} GB is made in {copy.folder} and "
        "removed when the fit ends",
        stacklevel=2,
    )
    rng = np.random.default_rng(0)
    place = np.arange(n_blocks) * size  # position of the next row of each block of the copy
    ends = np.minimum(place + size, len(source))
    for first in range(0, len(source), size):
        block_read = source.read(first, min(first + size, len(source)))
        order = rng.permutation(len(block_read.rows))
        rows: Rows = block_read.rows.take(order, axis=0)
        if weights is not None:
            block_read.weights[:] = block_read.weights.take(order)
        # Each block of the copy receives rows in proportion to its free space.
        free = ends - place
        sizes = np.diff(np.concatenate([[0], np.cumsum(free) * len(rows) // free.sum()]))
        begin = 0
        for block, n_rows in enumerate(sizes.tolist()):
            if n_rows:
                copy.write(int(place[block]), rows[begin : begin + n_rows])
                if weights is not None:
                    weights.write(int(place[block]), block_read.weights[begin : begin + n_rows])
                place[block] += n_rows
                begin += n_rows
    file_rows = FileRows.of(copy)
    assert file_rows is not None
    return Source(file_rows, weights=weights)
