"""Choosing rows of a table: those whose cells fulfil conditions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import Column, Table, as_number, label

__all__ = ["ChosenRows", "Conditions", "chosen_rows", "column_place", "no_single_column", "where_columns"]

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


def where_columns(table: Table, where: Where | None) -> dict[int, "Conditions"]:
    """The conditions of each column that has some, by the column's position."""
    return {column_place(table, column, "where"): Conditions.of(values) for column, values in (where or {}).items()}


def column_place(table: Table, column: str | int, purpose: str) -> int:
    """The position of the column with a name (or a position); an error if there is none, or several."""
    if isinstance(column, int):
        places = [column] if 0 <= column < len(table.names) else []
    else:
        places = [place for place, name in enumerate(table.names) if name == column] or [
            place for place, name in enumerate(table.names) if name and plain(name) == plain(column)
        ]
    if len(places) != 1:
        raise no_single_column(table, column, purpose, len(places))
    return places[0]


def no_single_column(table: Table, column: str | int, purpose: str, n_columns: int) -> ValueError:
    """Return the error for a name or a position of which a table has no column, or several."""
    problem = "has no column" if not n_columns else f"has {n_columns} columns"
    if isinstance(column, int):
        there = f"it has {len(table.names)}, counted from 0: {table.titles}"
        return ValueError(f"{table.path} {problem} at position {column} (for {purpose}); {there}")
    return ValueError(f"{table.path} {problem} {column!r} (for {purpose}); its columns are {table.titles}")


class Conditions(NamedTuple):
    """Conditions on the cells of a column: one of the ``values``, if there are any, and all of the ``bounds``.

    Examples
    --------
    >>> Conditions.of(["faces", "cars"])
    Conditions(values=['faces', 'cars'], bounds=[])
    >>> Conditions.of([">=300", "<5000"])
    Conditions(values=[], bounds=[('>=', '300'), ('<', '5000')])
    """

    values: list[str]
    bounds: list[tuple[str, str]]

    @classmethod
    def of(cls, conditions: Any) -> "Conditions":
        """From a value or a condition such as ">=300", or from several of them."""
        is_one = isinstance(conditions, str) or not isinstance(conditions, Sequence | set | frozenset)
        several = [conditions] if is_one else conditions
        if not len(several):
            raise ValueError("where has a column without values; name at least one, or leave the column out")
        values, bounds = [], []
        for one in several:
            text = label(one)
            sign = next((sign for sign in OPERATORS if isinstance(one, str) and text.startswith(sign)), "=")
            rest = text.removeprefix(sign) if isinstance(one, str) else text
            if isinstance(one, str) and text.startswith(sign) and rest[:1] and rest[:1] in _SIGNS:
                raise ValueError(f"where has {text!r}; {_EXPECTED}")
            if sign == "=":
                values.append(rest)
            else:
                bounds.append((sign, rest.strip()))
        return cls(values, bounds)

    def hold(self, table: Table, position: int) -> NDArray[np.bool_]:
        """For each row of the table, whether its cell in the column fulfils them."""
        column = table.column(position)
        hits = np.full(len(column.labels), not self.values)
        for value in self.values:
            hits |= _equal(table, position, column, value)
        for sign, bound in self.bounds:
            if sign == "!=":
                hits &= ~_equal(table, position, column, bound)
            else:
                number = _bound(sign, bound)
                hits &= COMPARED[sign](_numbers(table, position, column, sign, bound), number)
        fulfilled: NDArray[np.bool_] = hits[column.codes]
        return fulfilled

    def texts(self, table: Table, position: int) -> list[str]:
        """Return the conditions as they are written on the command line."""
        name = table.names[position] or table.title(position)
        values = [f"{name}={','.join(self.values)}"] if self.values else []
        return values + [f"{name}{sign}{bound}" for sign, bound in self.bounds]


COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip
OPERATORS = ("!=", *COMPARED, "=")
"""How a condition may begin; the longer ones come first."""

_SIGNS = "=<>!~"
_EXPECTED = "a condition is one of =, !=, <, <=, > or >=, and a value"


def chosen_rows(table: Table, conditions: Mapping[int, Conditions]) -> NDArray[np.bool_] | None:
    """Which rows fulfil the conditions of all columns; None: there are no conditions."""
    if not conditions:
        return None
    keep: NDArray[np.bool_] = np.all([one.hold(table, position) for position, one in conditions.items()], axis=0)
    if not keep.any():
        texts = [text for position, one in conditions.items() for text in one.texts(table, position)]
        raise ValueError(f"{table.path}: no row fulfils {' and '.join(texts)}")
    return keep


def _equal(table: Table, position: int, column: Column, value: str) -> NDArray[np.bool_]:
    same = np.array([_same(name, value) for name in column.labels])
    if not same.any():
        there = ", ".join(repr(name) for name in column.labels[:10]) + ", ..." * (len(column.labels) > 10)
        raise ValueError(f"{table.path}: no row has {value!r} in {table.title(position)}; it holds {there}")
    return same


def _numbers(table: Table, position: int, column: Column, sign: str, bound: str) -> NDArray[np.float64]:
    """The numbers in a column; an empty cell is NaN, which is neither below nor above any bound."""
    numbers = np.empty(len(column.labels))
    for code, name in enumerate(column.labels):
        try:
            numbers[code] = as_number(name)
        except ValueError:
            row = int(np.argmax(column.codes == code))
            problem = f"{table.title(position)} is {name!r}, which is not a number; {sign}{bound} does not apply"
            raise table.error(row, problem) from None
    return numbers


def _bound(sign: str, bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        raise ValueError(f"where has '{sign}{bound}'; {sign} takes a number") from None


def _same(cell: str, wanted: str) -> bool:
    if cell.strip().lower() == wanted.strip().lower():
        return True
    try:
        return as_number(cell) == as_number(wanted)
    except ValueError:
        return False
