"""The common table interface of all file formats.

A column of labels stores each distinct label once and refers to it by an integer code, so ten million cells with the
names of a thousand objects take ten million small integers and a thousand strings.
"""

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import text_of
from closerthan.messages import prefixed

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
"""Texts that stand for an empty cell."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # integers that fit into 64 bits and print as the same text
_MAX_TITLES = 50  # columns listed in an error message
_EXCERPT = 100  # characters of an offending line quoted in an error message


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of text cells, stored as integer codes that index a list of distinct labels.

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
        """Encode one string per cell."""
        code_of: dict[str, int] = {}
        codes = np.fromiter((code_of.setdefault(cell, len(code_of)) for cell in cells), np.int32, len(cells))
        return cls(codes, list(code_of))

    @classmethod
    def of_array(cls, values: NDArray[Any]) -> Self:
        """Encode an array of numbers, booleans or text.

        Examples
        --------
        >>> Column.of_array(np.array([2.0, np.nan, 7.0])).labels
        ['', '2', '7']
        """
        if values.dtype.kind not in "iuf":
            return cls.of_cells([label_of(cell) for cell in values.tolist()])
        lowest, highest = (
            (int(values.min()), int(values.max())) if values.dtype.kind in "iu" and len(values) else (0, -1)
        )
        if 0 <= highest - lowest <= 4 * len(values):
            # Counting is much faster than sorting, provided that the table of counts is not much larger than the data.
            offsets = (values if values.dtype.kind == "u" else values.astype(np.int64)) - values.dtype.type(lowest)
            occurs = np.zeros(highest - lowest + 1, dtype=bool)
            occurs[offsets] = True
            codes = (np.cumsum(occurs) - 1)[offsets]
            return cls(codes.astype(np.int32), [str(lowest + offset) for offset in np.flatnonzero(occurs).tolist()])
        distinct, codes = np.unique(values, return_inverse=True)
        labels = [label_of(value) for value in distinct.tolist()]
        if "" in labels:  # np.unique sorts NaN last, but an empty label comes first
            labels, codes = ["", *labels[:-1]], np.where(codes == len(labels) - 1, 0, codes + 1)
        return cls(codes.reshape(-1).astype(np.int32), labels)

    def stripped(self) -> tuple[Self, list[str]]:
        """Return the column with white space around labels removed, and the labels that changed."""
        changed = [name for name in self.labels if name != name.strip()]
        if not changed:
            return self, []
        code_of: dict[str, int] = {}
        new_codes = np.array([code_of.setdefault(name.strip(), len(code_of)) for name in self.labels], dtype=np.int32)
        return dataclasses.replace(self, codes=new_codes[self.codes], labels=list(code_of)), changed

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the cells of the given rows, without labels that no longer occur.

        Examples
        --------
        >>> Column.of_cells(["ant", "bee", "cat", "ant"]).take(np.array([2, 3])).labels
        ['ant', 'cat']
        """
        codes = self.codes[rows]
        occurs = np.zeros(len(self.labels), dtype=bool)
        occurs[codes] = True
        new_codes = (np.cumsum(occurs) - 1).astype(np.int32)
        return type(self)(new_codes[codes], [self.labels[code] for code in np.flatnonzero(occurs).tolist()])

    def array(self) -> NDArray[Any]:
        """Return one value per cell: integers if all labels are integers, otherwise text."""
        are_integers = all(_INTEGER.fullmatch(name) for name in self.labels)
        values = np.array([int(name) for name in self.labels] if are_integers else self.labels)
        return values[self.codes]

    def is_empty(self) -> NDArray[np.bool_]:
        """Return a mask of the empty cells.

        Examples
        --------
        >>> Column.of_cells(["ant", "NA"]).is_empty().tolist()
        [False, True]
        """
        empty: NDArray[np.bool_] = np.array([name in MISSING for name in self.labels], dtype=bool)
        return empty[self.codes]

    def first_row(self, code: int) -> int:
        """Return the first row whose cell has this code."""
        return int(np.argmax(self.codes == code))

    def label_numbers(self, *, decimal_commas: bool = False) -> tuple[NDArray[np.float64], int | None]:
        """Return each label as a number (NaN if empty), and the code of the first label that is not one, or None.

        Examples
        --------
        >>> Column.of_cells(["2.5", "NA"]).label_numbers()
        (array([2.5, nan]), None)
        >>> Column.of_cells(["2,5"]).label_numbers(decimal_commas=True)
        (array([2.5]), None)
        """
        values = np.full(len(self.labels), np.nan)
        for code, name in enumerate(self.labels):
            try:
                values[code] = as_number(name.replace(",", ".") if decimal_commas else name)
            except ValueError:
                return values, code
        return values, None


def label_of(cell: Any) -> str:
    """Return the text that labels a cell of any type.

    Examples
    --------
    >>> label_of(3.0), label_of(True), label_of(None), label_of("a b"), label_of(0.5), label_of(b"ant")
    ('3', 'true', '', 'a b', '0.5', 'ant')
    """
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return text_of(cell)


def numbered_columns(name: str, lists: Sequence[Sequence[Any] | None]) -> list[tuple[str, Column]]:
    """Return one column per position in the lists; shorter lists end in empty cells.

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
                [label_of(cells[place]) if cells is not None and place < len(cells) else "" for cells in lists]
            ),
        )
        for place in range(longest)
    ]


class ObjectInfo(TypedDict, total=False):
    """Facts that a file declares about its objects: their number, how cells refer to them, and their names."""

    n_objects: int
    numbering: str
    names: list[str]


class Table(ABC):
    """An open file whose column names have been read, and whose columns can be read individually.

    Attributes
    ----------
    path, format
        Path of the file, and a description of its format.
    names
        Column names; None for a column without a name.
    first_row
        Cells of the first row, if they are available before columns are read.
    notes
        Remarks for the summary about how the file was read.
    object_info
        Facts that the file declares about its objects.
    decimal_commas
        Whether numbers may have decimal commas, as in text separated by semicolons.
    """

    decimal_commas = False

    def __init__(self, path: Path, format: str, names: Iterable[str | None]) -> None:
        self.path = path
        self.format = format
        self.names = tuple(names)
        self.first_row: Sequence[str] = ()
        self.notes: list[str] = []
        self.object_info: ObjectInfo = {}

    @abstractmethod
    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns: ``objects`` and ``labels`` for :meth:`column`, ``numbers`` for :meth:`number`.

        Columns of objects may share one list of labels.
        """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, available after a column has been read."""

    @abstractmethod
    def column(self, position: int) -> Column:
        """Return a column of labels."""

    @abstractmethod
    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers; an empty cell is NaN."""

    @abstractmethod
    def describe_row(self, row: int) -> str:
        """Return the location and the content of a row, for an error message."""

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:  # noqa: B027 - most formats have no other cells
        """Raise an error if a loaded cell in ``rows`` (None for all rows) is neither a name nor a number."""

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Line of the file (from 1) on which each row begins; None if the format has no lines."""
        return None

    @property
    def files(self) -> NDArray[np.intp] | None:
        """Number of the file that each row is from; None if there is only one."""
        return None

    def title(self, position: int) -> str:
        """Return the name of a column for an error message."""
        name = self.names[position]
        return f"column {position + 1}" if name is None else excerpt(name)

    @property
    def titles(self) -> str:
        """Column titles for an error message; only the first ones of a wide table."""
        first = [self.title(position) for position in range(min(len(self.names), _MAX_TITLES))]
        more = len(self.names) - len(first)
        return ", ".join(first) + (f" and {more:,} more" if more else "")

    def error(self, row: int, problem: str) -> ValueError:
        """Return an error that quotes a row."""
        return ValueError(prefixed(f"{self.path}, {self.describe_row(row)}: ", problem))


class TableWrapper(Table):
    """A view of another table with some columns changed."""

    def __init__(self, table: Table, names: Sequence[str | None]) -> None:
        super().__init__(table.path, table.format, names)
        self.notes, self.object_info = table.notes, table.object_info
        self.decimal_commas = table.decimal_commas
        self._table = table

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns."""
        self._table.read(objects, labels, numbers)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._table.n_rows

    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        return self._table.number(position)

    def describe_row(self, row: int) -> str:
        """Return the location and the content of a row."""
        return self._table.describe_row(row)

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """Raise an error if a loaded cell in ``rows`` is neither a name nor a number."""
        self._table.check_cells(rows)

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Line of each row."""
        return self._table.lines

    @property
    def files(self) -> NDArray[np.intp] | None:
        """File of each row."""
        return self._table.files


def checked_object_info(path: Path, content: Any) -> ObjectInfo:
    """Return the facts that a file declares about its objects, with their types checked.

    Examples
    --------
    >>> checked_object_info(Path("a.npz"), {"n_objects": 3, "colour": "red"})
    {'n_objects': 3}
    """
    rules: Mapping[str, Callable[[Any], bool]] = {
        "n_objects": lambda number: isinstance(number, int) and number > 0,
        "numbering": lambda numbering: isinstance(numbering, str),
        "names": lambda names: isinstance(names, list) and all(isinstance(name, str) for name in names),
    }
    declared: Any = {name: content[name] for name in rules if name in content} if isinstance(content, dict) else {}
    for name, value in declared.items():
        if not rules[name](value):
            raise ValueError(
                f"{path}: {name} in the file is {excerpt(repr(value))}, which is invalid; the file is damaged"
            )
    info: ObjectInfo = declared
    return info


def excerpt(text: str) -> str:
    """Return text as error messages quote it: without its line ending, and shortened.

    Examples
    --------
    >>> excerpt("a,b,c\\r\\n")
    "'a,b,c'"
    """
    text = text.rstrip("\r\n")
    return repr(text if len(text) <= _EXCERPT else text[:_EXCERPT] + "...")


def abbreviated(names: Sequence[str], most: int = 10) -> str:
    """Return a list of names for an error message, cut off after the first ``most`` names.

    Examples
    --------
    >>> abbreviated(["ant", "bee"]), abbreviated(["ant", "bee", "cat"], most=2)
    ('ant, bee', 'ant, bee, ...')
    """
    return ", ".join([*names[:most], *["..."] * (len(names) > most)])


def as_number(text: str) -> float:
    """Return the number in a cell, or NaN if it is empty; other text raises a ValueError.

    Examples
    --------
    >>> as_number(" 2.5"), as_number("NA")
    (2.5, nan)
    """
    return float("nan") if text.strip() in MISSING else float(text)


class LoadedTable(Table):
    """A table whose cells are already in memory."""

    def __init__(self, path: Path, format: str, columns: Sequence[tuple[str | None, Any]]) -> None:
        super().__init__(path, format, (name for name, _ in columns))
        self._cells = [cells for _, cells in columns]

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Do nothing: all columns are in memory."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        first = self._cells[0]
        return len(first.codes if isinstance(first, Column) else first)

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        cells = self._cells[position]
        if not isinstance(cells, Column):
            try:
                cells = self._cells[position] = Column.of_array(cells)
            except ValueError as error:
                raise ValueError(f"{self.path}, {self.title(position)}: {error}") from None
        return cells

    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        cells = self._cells[position]
        if not isinstance(cells, Column) and cells.dtype.kind in "biuf":
            return np.asarray(cells, dtype=np.float64)
        return parse_numbers(self, position, self.column(position))

    def describe_row(self, row: int) -> str:
        """Return the row number and the cells."""
        columns = [self.column(position) for position in range(len(self._cells))]
        return f"row {row} ({', '.join(column.labels[column.codes[row]] for column in columns)})"


def parse_numbers(table: Table, position: int, column: Column) -> NDArray[np.float64]:
    """Convert a column of labels to numbers; raise an error at the first label that is not a number."""
    values, bad = column.label_numbers(decimal_commas=table.decimal_commas)
    if bad is not None:
        problem = f"{column.labels[bad]!r} in {table.title(position)} is not a number"
        raise table.error(column.first_row(bad), problem)
    return values[column.codes]
