"""Lists in the cells of a text file, such as ["ant", "bee"] or ant;bee, expanded into numbered columns."""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from closerthan.comparisons.column_names import NUMBERED, plain
from closerthan.files.formats.tables import MISSING, Column, Table, TableWrapper, label_of

__all__ = ["ExpandedTable", "expand_lists", "may_be_list"]

_BRACKETS = re.compile(r"\s*(\[.*\]|\(.*\))\s*", re.DOTALL)
_SEPARATORS = (";", "|")  # between the objects of a list without brackets
_LONGEST = 10_000  # maximum number of objects in a list


def expand_lists(table: Table) -> Table:
    """Return the table with columns of lists expanded into numbered columns."""
    first_row = table.first_row if len(table.first_row) == len(table.names) else ()
    candidates = [place for place, cell in enumerate(first_row) if may_be_list(table.names[place], cell)]
    if not candidates:
        return table
    table.read((), candidates, ())
    lists = {
        place: parsed
        for place in candidates
        if (parsed := _parse_lists(table.column(place), table.names[place])) is not None
    }
    return ExpandedTable(table, lists) if lists else table


class ExpandedTable(TableWrapper):
    """A table in which columns of lists are expanded; the numbered columns follow the original columns."""

    def __init__(self, table: Table, lists: dict[int, list[list[str]]]) -> None:
        self._parts: list[tuple[int, Column]] = []
        names: list[str | None] = [None if place in lists else name for place, name in enumerate(table.names)]
        for place, values in lists.items():
            codes = table.column(place).codes
            for number in range(max(map(len, values))):
                cells = [cells[number] if number < len(cells) else "" for cells in values]
                distinct = Column.of_cells(cells)
                self._parts.append((place, Column(distinct.codes[codes], distinct.labels)))
                names.append(f"{table.names[place]}_{number + 1}")
        # A column of lists keeps its position, so that the other columns keep theirs, but has no usable name.
        super().__init__(table, [name or "" for name in names])
        titles = ", ".join(table.title(place) for place in lists)
        self.notes.append(f"the cells in {titles} are lists and are read as numbered columns")

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns."""
        width = len(self._table.names)
        lists = {self._parts[place - width][0] for place in (*objects, *labels, *numbers) if place >= width}
        original = [[place for place in places if place < width] for places in (objects, labels, numbers)]
        self._table.read(original[0], [*original[1], *lists], original[2])

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        width = len(self._table.names)
        return self._parts[position - width][1] if position >= width else self._table.column(position)


def may_be_list(name: str | None, cell: str) -> bool:
    """Return whether a cell in a column of this name looks like a list.

    Examples
    --------
    >>> may_be_list("ranking", "ant;bee"), may_be_list("shown", "[1, 2]"), may_be_list("anchor", "ant")
    (True, True, False)
    """
    if not name:
        return False
    holds_several = any(plain(name) in words for words in NUMBERED.values())
    return bool(_BRACKETS.fullmatch(cell)) or (holds_several and any(mark in cell for mark in _SEPARATORS))


def _parse_lists(column: Column, name: str | None) -> list[list[str]] | None:
    """Return the list in each distinct cell; None if a cell is not a list, or a list is implausibly long."""
    cells = [cell for cell in column.labels if cell.strip() not in MISSING]
    separator = next((mark for mark in _SEPARATORS if all(mark in cell for cell in cells)), None)
    if all(_BRACKETS.fullmatch(cell) for cell in cells):
        parsed = [[] if cell.strip() in MISSING else _parse_brackets(cell) for cell in column.labels]
    elif separator is not None and name is not None:
        parsed = [[part.strip() for part in cell.split(separator)] if cell.strip() else [] for cell in column.labels]
    else:
        return None
    lists = [values for values in parsed if values is not None]
    return lists if len(lists) == len(parsed) and 0 < max(map(len, lists)) <= _LONGEST else None


def _parse_brackets(cell: str) -> list[str] | None:
    """Parse a list in JSON or Python syntax, or of unquoted words separated by commas."""
    values: Any
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(cell.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(values, list | tuple) and not any(isinstance(value, dict | list | tuple) for value in values):
            return [label_of(value) for value in values]
        return None
    words = [word.strip() for word in cell.strip()[1:-1].split(",")]
    return words if all(re.fullmatch(r"[^\"'\[\](){}]+", word) for word in words) else None
