"""Find blocks of dependent trials in a file, by a column or as chains of answers that share objects."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.chains import Chains, find_chains
from closerthan.comparisons.column_names import plain
from closerthan.comparisons.labels import number_by_appearance
from closerthan.files.formats.tables import MISSING, Table
from closerthan.messages import Message
from closerthan.wording import percent

__all__ = ["find_blocks"]

# A column with such a name is used only if answers are chained and each chain lies within one of its blocks.
_NAMES = frozenset(
    name + suffix
    for name in (
        "block", "trial_block", "blocks", "screen", "page", "list", "session", "sequence", "series", "chain", "run",
        "round", "trial", "set",
    )
    for suffix in ("", "_id", "_index", "_number", "_nr", "_no", "_name")
)  # fmt: skip
# Two blocks, or one person, for each of five folds; this is a rule of thumb.
ENOUGH = 10  # minimum number of blocks for holding out whole blocks
ENOUGH_PEOPLE = 5  # minimum number of people for holding out all answers of a person
SEVERAL = 2  # minimum mean number of blocks per person for holding out blocks instead of people


def find_blocks(
    comparisons: Comparisons, table: Table, used: Sequence[int], source: NDArray[np.intp]
) -> tuple[Comparisons, int | None, list[str]]:
    """Assign blocks to chained answers.

    Parameters
    ----------
    comparisons
        Comparisons of the table.
    table
        The table; columns that were read before the call may no longer be available after it.
    used
        Columns that already have a role.
    source
        Row of the table that each comparison comes from.

    Returns
    -------
    tuple
        The comparisons with blocks, the column that defines the blocks or None, and remarks for the summary.
    """
    chains = find_chains(comparisons)
    if chains is None:
        return comparisons, None, []
    before = "the previous answer" if comparisons.people is None else "the same person's previous answer"
    observation = f"{percent(chains.fraction, 0)} of the answers share at least half of their objects with {before}"
    observation += f" ({percent(chains.by_chance, 0)} in random order)"
    column, blocks = _block_column(comparisons, table, used, source, chains)
    if column is not None:
        consequence = f"whole blocks are held out ({table.title(column)}: {int(blocks.max()) + 1:,} blocks)"
    elif _are_enough(chains.n_chains, comparisons.n_people):
        blocks = chains.chain
        consequence = f"whole chains of such answers are held out ({chains.n_chains:,} blocks)"
    elif (comparisons.n_people or 0) >= ENOUGH_PEOPLE:
        assert comparisons.people is not None
        blocks = comparisons.people
        consequence = f"all answers of a person are held out together ({comparisons.n_people:,} people)"
    else:
        warning = Message(
            f"{observation}; there are too few separate chains ({chains.n_chains:,}) to hold them out, so held-out "
            "errors will be too low",
            "if a column identifies independent blocks, pass {columns}",
            columns={"block": ...},
        )
        return comparisons, None, [warning]
    way_out = "pass {columns} to hold out single answers"
    note = Message(f"{observation}, so {consequence}", way_out, columns={"block": None})
    return comparisons.replace(blocks=frozen(blocks)), column, [note]


def _block_column(
    comparisons: Comparisons, table: Table, used: Sequence[int], source: NDArray[np.intp], chains: Chains
) -> tuple[int | None, NDArray[np.int32]]:
    """Return the column with the most blocks that contain whole chains, and the block of each comparison."""
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
        keys = column.codes[source].astype(np.int64)
        if comparisons.people is not None:  # the blocks of each person may be numbered from 1
            keys = keys * (int(comparisons.people.max()) + 1) + comparisons.people
        blocks = number_by_appearance(keys)
        n_blocks = int(blocks.max()) + 1
        is_finer = best is None or n_blocks > int(best_blocks.max()) + 1
        if is_finer and _are_enough(n_blocks, comparisons.n_people) and chains.are_within(blocks):
            best, best_blocks = place, blocks
    return best, best_blocks


def _are_enough(n_blocks: int, n_people: int | None) -> bool:
    return n_blocks >= max(ENOUGH, SEVERAL * (n_people or 0))
