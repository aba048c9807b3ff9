"""Answers to questions of any kind, batch by batch: the rules of :class:`Question`, of some rows at a time."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.extras import extra
from closerthan.files.formats.parquet import cells_of
from closerthan.files.formats.tables import LoadedTable
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.questions import Question

__all__ = ["BatchQuestions"]


class BatchQuestions:
    """What batches of a large Parquet file say, as long as each answer makes as many comparisons as the first.

    Parameters
    ----------
    path
        The file.
    layout
        What its columns mean.
    names
        The columns' names.
    """

    def __init__(self, path: Path, layout: Layout, names: tuple[str | None, ...]) -> None:
        self._path = path
        asked = {role: places for role, places in layout.columns.items() if role in (*layout.form.roles, "label")}
        self.columns = [str(names[place]) for places in asked.values() for place in places]
        ahead = iter(range(len(self.columns)))
        self._layout = Layout(layout.form, {role: tuple(next(ahead) for _ in places) for role, places in asked.items()})
        self._notes: list[str] | None = None
        self.several = 0
        self.codes: dict[str, int] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """How the answers were understood."""
        return tuple(self._notes or ())

    def comparisons(self, batch: Any) -> NDArray[np.int64] | None:
        """Rows of codes; None if that takes a look at the whole file."""
        arrow = extra("pyarrow", "reading a Parquet file")
        cells = [
            (name, cells_of(arrow.chunked_array([batch.column(batch.schema.get_field_index(name))])))
            for name in self.columns
        ]
        try:
            question = Question(LoadedTable(self._path, "Parquet", cells), self._layout)
        except ValueError:  # who reads the whole file says what is wrong, and where
            return None
        if self._notes is None:
            self._notes = question.notes
        if question.problems or question.notes != self._notes:
            return None
        rows, source = question.comparisons(None)
        self.several = self.several or len(rows) // len(batch)
        if not np.array_equal(source, np.repeat(np.arange(len(batch)), self.several)):
            return None
        number = np.array([self.codes.setdefault(label, len(self.codes)) for label in question.labels], np.int64)
        return number[rows]
