"""Rows that are marked as excluded: answers of people whom the researcher left out of the analysis."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import Table
from closerthan.files.meaning.attributes.catch_trials import NO, YES

__all__ = ["excluded_rows", "exclusion_column"]


def exclusion_column(table: Table) -> int | None:
    """Return the position of the column called excluded, or None if there is none, or more than one."""
    places = [place for place, name in enumerate(table.names) if name and plain(name) == "excluded"]
    return places[0] if len(places) == 1 else None


def excluded_rows(table: Table, position: int) -> NDArray[np.bool_] | None:
    """Return a mask of the rows that are marked by yes, true or 1; None if there are none, or a cell is neither."""
    column = table.column(position)
    cells = [cell.strip().lower() for cell in column.labels]
    if not all(cell in YES | NO for cell in cells):
        return None
    rows: NDArray[np.bool_] = np.array([cell in YES for cell in cells], dtype=bool)[column.codes]
    return rows if rows.any() else None
