"""Tables: what files of all formats are read into.

A column of labels keeps each different label once and points at it, so that ten million cells with the names of a
thousand objects are ten million small numbers and a thousand strings.
"""

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import text_of

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
"""How an empty cell may be written."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # what comes back unchanged, within 64 bits
_MOST_TITLES = 50  # columns that an error lists
_SHOWN = 100  # characters of a bad line that an error repeats


@dataclasses.dataclass(frozen=True)
class Column:
    """Cells as numbers that point at labels.

    Examples
    --------
    >>> column = Column.of_cells(["ant", "bee", "ant"])
    >>> column.codes.tolist(), column.labels
    ([0, 1, 0], ['ant', 'bee'])
    """

    codes: NDArray[np.int32]
    labels: list[str]

    @classmethod
    def of_cells(cls, cells: Sequence[str]) -> Self:
        """From one string per cell."""
        number: dict[str, int] = {}
        codes = np.fromiter((number.setdefault(cell, len(number)) for cell in cells), np.int32, len(cells))
        return cls(codes, list(number))

    @classmethod
    def of_array(cls, values: NDArray[Any]) -> Self:
        """From an array of numbers, booleans or text.

        Examples
        --------
        >>> Column.of_array(np.array([2.0, np.nan, 7.0])).labels
        ['', '2', '7']
        """
        if values.dtype.kind not in "iuf":
            return cls.of_cells([label(cell) for cell in values.tolist()])
        lowest, highest = (
            (int(values.min()), int(values.max())) if values.dtype.kind in "iu" and len(values) else (0, -1)
        )
        if 0 <= highest - lowest <= 4 * len(values):
            # Counting is much faster than sorting, as long as the table of counts is not larger than the data.
            offsets = (values if values.dtype.kind == "u" else values.astype(np.int64)) - values.dtype.type(lowest)
            occurs = np.zeros(highest - lowest + 1, dtype=bool)
            occurs[offsets] = True
            codes = (np.cumsum(occurs) - 1)[offsets]
            return cls(codes.astype(np.int32), [str(lowest + offset) for offset in np.flatnonzero(occurs).tolist()])
        different, codes = np.unique(values, return_inverse=True)
        labels = [label(value) for value in different.tolist()]
        if "" in labels:  # NaN is sorted last; an empty label comes first everywhere else
            labels, codes = ["", *labels[:-1]], np.where(codes == len(labels) - 1, 0, codes + 1)
        return cls(codes.reshape(-1).astype(np.int32), labels)

    def stripped(self) -> tuple[Self, list[str]]:
        """The same column without spaces around the labels, and the labels that had them."""
        changed = [name for name in self.labels if name != name.strip()]
        if not changed:
            return self, []
        number: dict[str, int] = {}
        moved = np.array([number.setdefault(name.strip(), len(number)) for name in self.labels], dtype=np.int32)
        return dataclasses.replace(self, codes=moved[self.codes], labels=list(number)), changed

    def take(self, rows: NDArray[Any]) -> Self:
        """The cells of some rows, without the labels that none of them has.

        Examples
        --------
        >>> Column.of_cells(["ant", "bee", "cat", "ant"]).take(np.array([2, 3])).labels
        ['ant', 'cat']
        """
        codes = self.codes[rows]
        occurs = np.zeros(len(self.labels), dtype=bool)
        occurs[codes] = True
        moved = (np.cumsum(occurs) - 1).astype(np.int32)
        return type(self)(moved[codes], [self.labels[code] for code in np.flatnonzero(occurs).tolist()])

    def array(self) -> NDArray[Any]:
        """One value per cell: whole numbers if all labels are, otherwise text."""
        whole = all(_INTEGER.fullmatch(name) for name in self.labels)
        values = np.array([int(name) for name in self.labels] if whole else self.labels)
        return values[self.codes]


def label(cell: Any) -> str:
    """How a cell of any type is written.

    Examples
    --------
    >>> label(3.0), label(True), label(None), label("a b"), label(0.5), label(b"ant")
    ('3', 'true', '', 'a b', '0.5', 'ant')
    """
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return text_of(cell)


def numbered_columns(name: str, lists: Sequence[Sequence[Any] | None]) -> list[tuple[str, Column]]:
    """One column for each place in lists; what is missing at their ends is empty.

    Examples
    --------
    >>> [(name, column.labels) for name, column in numbered_columns("shown", [["ant", "bee"], ["cat"]])]
    [('shown_1', ['ant', 'cat']), ('shown_2', ['bee', ''])]
    """
    longest = max((len(cells) for cells in lists if cells is not None), default=0)
    return [
        (
            f"{name}_{place + 1}",
            Column.of_cells(
                [label(cells[place]) if cells is not None and place < len(cells) else "" for cells in lists]
            ),
        )
        for place in range(longest)
    ]


class Table(ABC):
    """An opened file: its columns are known, and can be read one by one.

    Attributes
    ----------
    path, format
        Where the table is from, and what kind of file that is.
    names
        The columns' names; None for a column that has none.
    first
        The cells of the first row, if these are known before columns are read.
    notes
        What a reader of the summary should know about how the file was read.
    settings
        ``n_objects``, ``numbering`` and ``names``, if the file says them.
    """

    def __init__(self, path: Path, format: str, names: Iterable[str | None]) -> None:
        self.path = path
        self.format = format
        self.names = tuple(names)
        self.first: Sequence[str] = ()
        self.notes: list[str] = []
        self.settings: Mapping[str, Any] = {}

    @abstractmethod
    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make some columns ready for :meth:`column` and some for :meth:`number`.

        The ``objects`` are columns of labels too; they may share one list of them.
        """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows there are, once some column was read."""

    @abstractmethod
    def column(self, position: int) -> Column:
        """A column of labels."""

    @abstractmethod
    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers; an empty cell is NaN."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row is in the file and what stands there, for an error."""

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:  # noqa: B027 - most tables have such cells alone
        """An error if a cell that was read, in one of these rows (None: all), is neither a name nor a number."""

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """The line of the file, from 1, on which each row begins; None if the file has no lines."""
        return None

    def title(self, position: int) -> str:
        """What an error calls a column."""
        name = self.names[position]
        return f"column {position + 1}" if name is None else shown(name)

    @property
    def titles(self) -> str:
        """The titles of the columns, for an error; of a wide table the first."""
        first = [self.title(position) for position in range(min(len(self.names), _MOST_TITLES))]
        more = len(self.names) - len(first)
        return ", ".join(first) + (f" and {more:,} more" if more else "")

    def error(self, row: int, problem: str) -> ValueError:
        """An error about a row."""
        return ValueError(f"{self.path}, {self.place(row)}: {problem}")


class TableAround(Table):
    """A table that gives another one's columns, some of them changed."""

    def __init__(self, table: Table, names: Sequence[str | None]) -> None:
        super().__init__(table.path, table.format, names)
        self.notes, self.settings = table.notes, table.settings
        self._table = table

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        self._table.read(objects, labels, numbers)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._table.n_rows

    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers."""
        return self._table.number(position)

    def place(self, row: int) -> str:
        """Where a row is in the file."""
        return self._table.place(row)

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """An error if a cell that was read, in one of these rows, is neither a name nor a number."""
        self._table.check_cells(rows)

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """The line of each row."""
        return self._table.lines


def checked_settings(path: Path, said: Any) -> dict[str, Any]:
    """What a file says about its objects: ``n_objects``, ``numbering`` and ``names``, of the right types.

    Examples
    --------
    >>> checked_settings(Path("a.npz"), {"n_objects": 3, "colour": "red"})
    {'n_objects': 3}
    """
    right: Mapping[str, Callable[[Any], bool]] = {
        "n_objects": lambda number: isinstance(number, int) and number > 0,
        "numbering": lambda numbering: isinstance(numbering, str),
        "names": lambda names: isinstance(names, list) and all(isinstance(name, str) for name in names),
    }
    settings = {name: said[name] for name in right if name in said} if isinstance(said, dict) else {}
    for name, value in settings.items():
        if not right[name](value):
            raise ValueError(f"{path}: {name} in the file is {shown(repr(value))}, which makes no sense; it is damaged")
    return settings


def shown(text: str) -> str:
    """A line of a file as an error repeats it.

    Examples
    --------
    >>> shown("a,b,c\\r\\n")
    "'a,b,c'"
    """
    text = text.rstrip("\r\n")
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def as_number(text: str) -> float:
    """A cell's number, NaN if it is empty; anything else is a ValueError.

    Examples
    --------
    >>> as_number(" 2.5"), as_number("NA")
    (2.5, nan)
    """
    return float("nan") if text.strip() in MISSING else float(text)


class LoadedTable(Table):
    """A table whose cells are in memory already."""

    def __init__(self, path: Path, format: str, columns: Sequence[tuple[str | None, Any]]) -> None:
        super().__init__(path, format, (name for name, _ in columns))
        self._cells = [cells for _, cells in columns]

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Nothing to do."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        first = self._cells[0]
        return len(first.codes if isinstance(first, Column) else first)

    def column(self, position: int) -> Column:
        """A column of labels."""
        cells = self._cells[position]
        if not isinstance(cells, Column):
            try:
                cells = self._cells[position] = Column.of_array(cells)
            except ValueError as error:
                raise ValueError(f"{self.path}, {self.title(position)}: {error}") from None
        return cells

    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers."""
        cells = self._cells[position]
        if not isinstance(cells, Column) and cells.dtype.kind in "biuf":
            return np.asarray(cells, dtype=np.float64)
        return numbers_of(self, position, self.column(position))

    def place(self, row: int) -> str:
        """The row and its cells."""
        columns = [self.column(position) for position in range(len(self._cells))]
        return f"row {row} ({', '.join(column.labels[column.codes[row]] for column in columns)})"


def numbers_of(table: Table, position: int, column: Column) -> NDArray[np.float64]:
    """A column of labels as numbers; the first that is none is an error."""
    values = np.empty(len(column.labels))
    for code, name in enumerate(column.labels):
        try:
            values[code] = as_number(name)
        except ValueError:
            row = int(np.argmax(column.codes == code))
            raise table.error(row, f"{name!r} in {table.title(position)} is not a number") from None
    return values[column.codes]
