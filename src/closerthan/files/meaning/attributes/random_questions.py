"""Random questions: which questions of an adaptive study were drawn at random.

Such a study mostly asks the questions whose answers are hardest to predict. A map is therefore wrong about them more
often than about arbitrary questions, and its error is measured on the random ones.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import MISSING, Table
from closerthan.files.meaning.attributes.catch_trials import KIND_COLUMNS

__all__ = ["WRITTEN_KIND", "RandomQuestions", "kind_columns", "random_questions"]

WRITTEN_KIND = "question_kind"
"""Column with the kind of question in files written by closerthan."""

_COLUMNS = frozenset({*KIND_COLUMNS, "sampler", "sampling"})
_RANDOM = frozenset({"random", "random_sampling", "uniform"})


class RandomQuestions(NamedTuple):
    """A mask of the rows with random questions, and the column that marks them."""

    rows: NDArray[np.bool_]
    column: int


def kind_columns(table: Table, used: Collection[int]) -> list[int]:
    """Return the columns whose names suggest that they hold the kind of question."""
    return [place for place, name in enumerate(table.names) if name and place not in used and plain(name) in _COLUMNS]


def random_questions(table: Table, columns: Sequence[int]) -> RandomQuestions | None:
    """Return the rows that a column marks as random questions; None if no column does.

    A row without a kind of question is not random.
    """
    for position in columns:
        column = table.column(position)
        marked = np.array([cell not in MISSING and plain(cell) in _RANDOM for cell in column.labels], dtype=bool)
        rows = marked[column.codes]
        if rows.any():
            return RandomQuestions(rows, position)
    return None
