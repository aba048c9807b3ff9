"""Rows that are no part of the analysis: of excluded people, and practice and unanswered questions of a study."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.formats.study import marks_ties
from closerthan.files.formats.tables import Table
from closerthan.files.meaning.attributes.catch_trials import NO, YES

__all__ = ["excluded_rows", "exclusion_column", "kind_and_reply", "unanswered_rows"]


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


def kind_and_reply(table: Table) -> tuple[int, int] | None:
    """Return the positions of the columns kind and said in a study's table of all answers; None in other tables."""
    if not {"kind", "said", "repeats_place", "excluded"} <= {*table.names}:
        return None
    return table.names.index("kind"), table.names.index("said")


def unanswered_rows(table: Table, kind: int, said: int) -> NDArray[np.bool_]:
    """Return a mask of the practice questions, and of the questions that were answered without a choice.

    A tie is an answer if the table has labels, by which ties are read, unless it answers a check.
    """
    kinds, replies = table.column(kind), table.column(said)
    is_practice = np.array([label == "practice" for label in kinds.labels], dtype=bool)
    is_check = np.array([label == "check" for label in kinds.labels], dtype=bool)
    has_choice = np.array([label == "choice" for label in replies.labels], dtype=bool)
    is_tie = np.array([label == "tie" and marks_ties(table.names) for label in replies.labels], dtype=bool)
    has_answer = has_choice[replies.codes] | (is_tie[replies.codes] & ~is_check[kinds.codes])
    rows: NDArray[np.bool_] = is_practice[kinds.codes] | ~has_answer
    return rows
