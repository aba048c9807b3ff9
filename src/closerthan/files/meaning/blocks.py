"""Blocks of dependent trials in a file: found by a column, or as chains of answers that share their objects."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.chains import Chains, find_chains
from closerthan.comparisons.column_names import plain
from closerthan.comparisons.labels import in_order_of_appearance
from closerthan.files.formats.tables import MISSING, Table
from closerthan.wording import percent

__all__ = ["with_blocks"]

# Such a column is used only where answers are chained and its blocks hold the chains together.
_NAMES = frozenset(
    name + suffix
    for name in (
        "block", "trial_block", "blocks", "screen", "page", "list", "session", "sequence", "series", "chain", "run",
        "round", "trial", "set",
    )
    for suffix in ("", "_id", "_index", "_number", "_nr", "_no", "_name")
)  # fmt: skip
# By judgement: two blocks, or one person, for each of five folds.
ENOUGH = 10  # blocks from which on some can be held out
ENOUGH_PEOPLE = 5  # people from which on some can be held out
SEVERAL = 2  # blocks per person, on average, from which on blocks are held out and not people


def with_blocks(
    comparisons: Comparisons, table: Table, used: Sequence[int], source: NDArray[np.intp]
) -> tuple[Comparisons, int | None, list[str]]:
    """Give chained answers their blocks; return them, the column that the blocks are from, and what to say about it.

    Parameters
    ----------
    comparisons
        Those of the table.
    table
        Where they are from; columns that were read before may be gone afterwards.
    used
        The columns that already have a role.
    source
        The row of the table that each comparison is from.
    """
    chains = find_chains(comparisons)
    if chains is None:
        return comparisons, None, []
    before = "the previous answer" if comparisons.people is None else "the same person's previous answer"
    share = f"{percent(chains.fraction, 0)} of the answers share at least half of their objects with {before}"
    share += f" ({percent(chains.by_chance, 0)} in random order)"
    column, blocks = _block_column(comparisons, table, used, source, chains)
    if column is not None:
        what = f"whole blocks are held out ({table.title(column)}: {int(blocks.max()) + 1:,} blocks)"
    elif _are_enough(chains.n_chains, comparisons.n_people):
        blocks = chains.chain
        what = f"whole chains of such answers are held out ({chains.n_chains:,} blocks)"
    elif (comparisons.n_people or 0) >= ENOUGH_PEOPLE:
        assert comparisons.people is not None
        blocks = comparisons.people
        what = f"all answers of a person are held out together ({comparisons.n_people:,} people)"
    else:
        warning = (
            f"{share}; there are too few separate chains ({chains.n_chains:,}) to hold them out, so held-out errors "
            'will be too low; if a column tells independent blocks apart, pass columns={"block": ...}'
        )
        return comparisons, None, [warning]
    note = f'{share}, so {what}; pass columns={{"block": None}} to hold out single answers'
    return comparisons.replace(blocks=frozen(blocks)), column, [note]


def _block_column(
    comparisons: Comparisons, table: Table, used: Sequence[int], source: NDArray[np.intp], chains: Chains
) -> tuple[int | None, NDArray[np.int32]]:
    """The column with the most blocks that hold the chains together, and the block of each comparison."""
    places = [
        place for place, name in enumerate(table.names) if name and place not in used and plain(name) in _NAMES
    ]  # fmt: skip
    best, best_blocks = None, np.empty(0, np.int32)
    if places:
        table.read((), places, ())
    for place in places:
        column = table.column(place)
        if any(label in MISSING for label in column.labels):
            continue
        label = column.codes[source].astype(np.int64)
        if comparisons.people is not None:  # each person's blocks may be numbered from 1
            label = label * (int(comparisons.people.max()) + 1) + comparisons.people
        blocks = in_order_of_appearance(label)
        n_blocks = int(blocks.max()) + 1
        more = best is None or n_blocks > int(best_blocks.max()) + 1
        if more and _are_enough(n_blocks, comparisons.n_people) and chains.are_within(blocks):
            best, best_blocks = place, blocks
    return best, best_blocks


def _are_enough(n_blocks: int, n_people: int | None) -> bool:
    return n_blocks >= max(ENOUGH, SEVERAL * (n_people or 0))
