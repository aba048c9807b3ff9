"""Select the rows of a table whose cells satisfy conditions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import plain
from closerthan.files.formats.tables import Column, Table, TableWrapper, abbreviated, as_number, label_of

__all__ = [
    "Conditions",
    "SelectedRows",
    "columns_called",
    "find_column",
    "matching_rows",
    "no_single_column",
    "parse_conditions",
]


class SelectedRows(TableWrapper):
    """Some rows of a table; labels that no longer occur are removed."""

    def __init__(self, table: Table, rows: NDArray[np.intp]) -> None:
        super().__init__(table, table.names)
        self._rows = rows
        self._columns: dict[int, Column] = {}

    @property
    def n_rows(self) -> int:
        """Number of selected rows."""
        return len(self._rows)

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        if position not in self._columns:
            self._columns[position] = self._table.column(position).take(self._rows)
        return self._columns[position]

    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        return super().number(position)[self._rows]

    def describe_row(self, row: int) -> str:
        """Return the location and the content of a row."""
        return super().describe_row(int(self._rows[row]))

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """Raise an error if a loaded cell in ``rows`` is neither a name nor a number."""
        super().check_cells(self._rows if rows is None else self._rows[rows])

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Line of each row."""
        lines = super().lines
        return None if lines is None else lines[self._rows]

    @property
    def files(self) -> NDArray[np.intp] | None:
        """File of each row."""
        files = super().files
        return None if files is None else files[self._rows]


def parse_conditions(table: Table, where: Mapping[str | int, Any] | None) -> dict[int, "Conditions"]:
    """Return the conditions on each column, by the position of the column."""
    return {find_column(table, column, "where"): Conditions.of(values) for column, values in (where or {}).items()}


def find_column(table: Table, column: str | int, purpose: str) -> int:
    """Return the position of a column; raise an error if there is none, or several."""
    places = columns_called(table, column)
    if len(places) != 1:
        raise no_single_column(table, column, purpose, len(places))
    return places[0]


def columns_called(table: Table, column: str | int) -> list[int]:
    """Return the positions of the columns with this name, preferably exact matches; a position is returned as it is."""
    if isinstance(column, int):
        return [column] if 0 <= column < len(table.names) else []
    return [place for place, name in enumerate(table.names) if name == column] or [
        place for place, name in enumerate(table.names) if name and plain(name) == plain(column)
    ]


def no_single_column(table: Table, column: str | int, purpose: str, n_columns: int) -> ValueError:
    """Return the error for a name or a position that no column, or more than one column, has."""
    problem = "has no column" if not n_columns else f"has {n_columns} columns"
    if isinstance(column, int):
        available = f"it has {len(table.names)}, counted from 0: {table.titles}"
        return ValueError(f"{table.path} {problem} at position {column} (for {purpose}); {available}")
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
        """Parse a value, a condition such as ">=300", or several of them."""
        is_single = isinstance(conditions, str) or not isinstance(conditions, Sequence | set | frozenset)
        several = [conditions] if is_single else conditions
        if not len(several):
            raise ValueError("a column in where has no values; pass at least one, or leave the column out")
        values, bounds = [], []
        for condition in several:
            text = label_of(condition)
            is_text = isinstance(condition, str)
            sign = next((sign for sign in OPERATORS if is_text and text.startswith(sign)), "=")
            rest = text.removeprefix(sign) if is_text else text
            if is_text and text.startswith(sign) and rest[:1] and rest[:1] in _SIGNS:
                raise ValueError(f"{text!r} in where is not a condition; {_EXPECTED}")
            if sign == "=":
                values.append(rest)
            else:
                bounds.append((sign, rest.strip()))
        return cls(values, bounds)

    def mask(self, table: Table, position: int) -> NDArray[np.bool_]:
        """Return a mask of the rows whose cell in a column satisfies the conditions."""
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
        satisfied: NDArray[np.bool_] = hits[column.codes]
        return satisfied

    def texts(self, table: Table, position: int) -> list[str]:
        """Return the conditions as they are written on the command line."""
        name = table.names[position] or table.title(position)
        values = [f"{name}={','.join(self.values)}"] if self.values else []
        return values + [f"{name}{sign}{bound}" for sign, bound in self.bounds]


COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater,
}  # fmt: skip
OPERATORS = ("!=", *COMPARED, "=")
"""Operators at the beginning of a condition, the longer ones first."""

_SIGNS = "=<>!~"
_EXPECTED = "expected an operator (=, !=, <, <=, > or >=) and a value"


def matching_rows(table: Table, conditions: Mapping[int, Conditions]) -> NDArray[np.bool_] | None:
    """Return a mask of the rows that satisfy all conditions; None if there are no conditions."""
    if not conditions:
        return None
    keep: NDArray[np.bool_] = np.all([each.mask(table, position) for position, each in conditions.items()], axis=0)
    if not keep.any():
        texts = [text for position, each in conditions.items() for text in each.texts(table, position)]
        raise ValueError(f"{table.path}: no row satisfies {' and '.join(texts)}")
    return keep


def _equal(table: Table, position: int, column: Column, value: str) -> NDArray[np.bool_]:
    same = np.array([_same(name, value) for name in column.labels])
    if not same.any():
        content = abbreviated([repr(name) for name in column.labels[:11]])
        raise ValueError(f"{table.path}: no row has {value!r} in {table.title(position)}; it holds {content}")
    return same


def _numbers(table: Table, position: int, column: Column, sign: str, bound: str) -> NDArray[np.float64]:
    """Return the labels of a column as numbers; an empty cell is NaN, which satisfies no bound."""
    numbers, bad = column.label_numbers(decimal_commas=table.decimal_commas)
    if bad is not None:
        name = column.labels[bad]
        problem = f"{table.title(position)} is {name!r}, which is not a number; {sign}{bound} does not apply"
        raise table.error(column.first_row(bad), problem)
    return numbers


def _bound(sign: str, bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        raise ValueError(f"'{sign}{bound}' in where is not a condition; {sign} must be followed by a number") from None


def _same(cell: str, value: str) -> bool:
    if cell.strip().lower() == value.strip().lower():
        return True
    try:
        return as_number(cell) == as_number(value)
    except ValueError:
        return False
