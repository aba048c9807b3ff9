"""Choosing rows of a table: those with certain values in some columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.tables import Column, Table, as_number, label

__all__ = ["ChosenRows", "chosen_rows", "where_columns"]

Where = Mapping[str | int, Any]


class ChosenRows(Table):
    """Some rows of a table; labels that none of them has are gone."""

    def __init__(self, table: Table, rows: NDArray[np.intp]) -> None:
        super().__init__(table.path, table.format, table.names)
        self._table, self._rows = table, rows
        self.notes, self.settings = table.notes, table.settings
        self._columns: dict[int, Column] = {}

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        self._table.read(objects, labels, numbers)

    @property
    def n_rows(self) -> int:
        """How many rows were chosen."""
        return len(self._rows)

    def column(self, position: int) -> Column:
        """A column of labels."""
        if position not in self._columns:
            self._columns[position] = self._table.column(position).take(self._rows)
        return self._columns[position]

    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers."""
        return self._table.number(position)[self._rows]

    def place(self, row: int) -> str:
        """Where a row is in the file."""
        return self._table.place(int(self._rows[row]))

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """An error if a cell that was read, in one of these rows, is neither a name nor a number."""
        self._table.check_cells(self._rows if rows is None else self._rows[rows])

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """The line of each row."""
        lines = self._table.lines
        return None if lines is None else lines[self._rows]


def where_columns(table: Table, where: Where | None) -> dict[int, Any]:
    """The positions of the columns that are to have certain values, and the values."""
    found: dict[int, Any] = {}
    for column, values in (where or {}).items():
        if isinstance(column, int):
            places = [column] if 0 <= column < len(table.names) else []
        else:
            places = [place for place, name in enumerate(table.names) if name == column] or [
                place for place, name in enumerate(table.names) if name and plain(name) == plain(column)
            ]
        if len(places) != 1:
            problem = "has no column" if not places else f"has {len(places)} columns"
            titles = ", ".join(table.title(position) for position in range(len(table.names)))
            raise ValueError(f"{table.path} {problem} {column!r} (for where); its columns are {titles}")
        found[places[0]] = values
    return found


def chosen_rows(table: Table, wanted: Mapping[int, Any]) -> NDArray[np.bool_] | None:
    """Which rows have one of the wanted values in each of these columns; None: all."""
    keep = None
    for position, values in wanted.items():
        column, title = table.column(position), table.title(position)
        several = [values] if isinstance(values, str) or not isinstance(values, Sequence | set | frozenset) else values
        hits = np.zeros(len(column.labels), dtype=bool)
        for value in several:
            same = np.array([_same(name, label(value)) for name in column.labels])
            if not same.any():
                there = ", ".join(repr(name) for name in column.labels[:10]) + ", ..." * (len(column.labels) > 10)
                raise ValueError(f"{table.path}: no row has {label(value)!r} in {title}; it holds {there}")
            hits |= same
        keep = hits[column.codes] if keep is None else keep & hits[column.codes]
    if keep is not None and not keep.any():
        titles = " and ".join(table.title(position) for position in wanted)
        raise ValueError(f"{table.path}: no row has the wanted values in {titles} together")
    return keep


def _same(cell: str, wanted: str) -> bool:
    if cell.strip().lower() == wanted.strip().lower():
        return True
    try:
        return as_number(cell) == as_number(wanted)
    except ValueError:
        return False
