"""Interpret answers in batches of rows, with the rules of :class:`Interpretation`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.binary.parquet import cells_of
from closerthan.files.formats.extras import extra
from closerthan.files.formats.tables import LoadedTable
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.interpretation import Interpretation

__all__ = ["BatchInterpreter"]


class BatchInterpreter:
    """Comparisons from batches of a large Parquet file in which every answer gives the same number of comparisons.

    Parameters
    ----------
    path
        The file.
    layout
        Meaning of its columns.
    names
        Column names.
    """

    def __init__(self, path: Path, layout: Layout, names: tuple[str | None, ...]) -> None:
        self._path = path
        used = {role: places for role, places in layout.columns.items() if role in (*layout.form.roles, "label")}
        self.columns = [str(names[place]) for places in used.values() for place in places]
        positions = iter(range(len(self.columns)))
        by_role = {role: tuple(next(positions) for _ in places) for role, places in used.items()}
        self._layout = Layout(layout.form, by_role)
        self._notes: list[str] | None = None
        self._per_answer = 0  # comparisons per answer
        self.codes: dict[str, int] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the interpretation of the answers."""
        return tuple(self._notes or ())

    def comparisons(self, batch: Any) -> NDArray[np.int64] | None:
        """Return comparisons as rows of label codes; None if they cannot be derived from a batch alone."""
        arrow = extra("pyarrow", "reading a Parquet file")
        cells = [
            (name, cells_of(arrow.chunked_array([batch.column(batch.schema.get_field_index(name))])))
            for name in self.columns
        ]
        try:
            interpretation = Interpretation(LoadedTable(self._path, "Parquet", cells), self._layout)
        except ValueError:  # the reader of the whole file reports the problem and its location
            return None
        if self._notes is None:
            self._notes = interpretation.notes
        if interpretation.problems or interpretation.notes != self._notes:
            return None
        rows, source = interpretation.comparisons(None)
        self._per_answer = self._per_answer or len(rows) // len(batch)
        if not np.array_equal(source, np.repeat(np.arange(len(batch)), self._per_answer)):
            return None
        codes = [self.codes.setdefault(label, len(self.codes)) for label in interpretation.labels]
        return np.array(codes, np.int64)[rows]
