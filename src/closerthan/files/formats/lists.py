"""Lists in the cells of a text file, such as ["ant", "bee"] or ant;bee: they become numbered columns."""

import ast
import json
import re
from collections.abc import Sequence
from typing import Any

from closerthan.comparisons.column_names import NUMBERED, plain
from closerthan.files.formats.tables import MISSING, Column, Table, TableAround, label

__all__ = ["ListedTable", "may_be_list", "with_lists"]

_BRACKETS = re.compile(r"\s*(\[.*\]|\(.*\))\s*", re.DOTALL)
_BETWEEN = (";", "|")  # between the objects of a list without brackets
_LONGEST = 10_000  # objects of a list


def with_lists(table: Table) -> Table:
    """The same table, or one in which columns of lists are numbered columns."""
    first = table.first if len(table.first) == len(table.names) else ()
    places = [place for place, cell in enumerate(first) if may_be_list(table.names[place], cell)]
    if not places:
        return table
    table.read((), places, ())
    found = {place: lists for place in places if (lists := _lists(table.column(place), table.names[place])) is not None}
    return ListedTable(table, found) if found else table


class ListedTable(TableAround):
    """A table some of whose columns hold lists: behind its columns stand those that each list is made of."""

    def __init__(self, table: Table, lists: dict[int, list[list[str]]]) -> None:
        self._parts: list[tuple[int, Column]] = []
        names: list[str | None] = [None if place in lists else name for place, name in enumerate(table.names)]
        for place, found in lists.items():
            codes = table.column(place).codes
            for number in range(max(map(len, found))):
                cells = [cells[number] if number < len(cells) else "" for cells in found]
                once = Column.of_cells(cells)
                self._parts.append((place, Column(once.codes[codes], once.labels)))
                names.append(f"{table.names[place]}_{number + 1}")
        # A column of lists keeps its place, so that the others keep theirs, under a name that means nothing.
        super().__init__(table, [name or "" for name in names])
        titles = ", ".join(table.title(place) for place in lists)
        self.notes.append(f"the cells in {titles} are lists, and read as numbered columns")

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        width = len(self._table.names)
        lists = {self._parts[place - width][0] for place in (*objects, *labels, *numbers) if place >= width}
        inside = [[place for place in some if place < width] for some in (objects, labels, numbers)]
        self._table.read(inside[0], [*inside[1], *lists], inside[2])

    def column(self, position: int) -> Column:
        """A column of labels."""
        width = len(self._table.names)
        return self._parts[position - width][1] if position >= width else self._table.column(position)


def may_be_list(name: str | None, cell: str) -> bool:
    """Whether a cell of a column of this name looks like a list.

    Examples
    --------
    >>> may_be_list("ranking", "ant;bee"), may_be_list("shown", "[1, 2]"), may_be_list("anchor", "ant")
    (True, True, False)
    """
    if not name:
        return False
    several = any(plain(name) in words for words in NUMBERED.values())
    return bool(_BRACKETS.fullmatch(cell)) or (several and any(sign in cell for sign in _BETWEEN))


def _lists(column: Column, name: str | None) -> list[list[str]] | None:
    """The list in each different cell; None if one of them is none, or too long to be meant so."""
    cells = [cell for cell in column.labels if cell.strip() not in MISSING]
    sign = next((sign for sign in _BETWEEN if all(sign in cell for cell in cells)), None)
    if all(_BRACKETS.fullmatch(cell) for cell in cells):
        found = [[] if cell.strip() in MISSING else _in_brackets(cell) for cell in column.labels]
    elif sign is not None and name is not None:
        found = [[part.strip() for part in cell.split(sign)] if cell.strip() else [] for cell in column.labels]
    else:
        return None
    lists = [one for one in found if one is not None]
    return lists if len(lists) == len(found) and 0 < max(map(len, lists)) <= _LONGEST else None


def _in_brackets(cell: str) -> list[str] | None:
    """What is in a list as JSON or Python write it, or with nothing but commas between plain words."""
    values: Any
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(cell.strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(values, list | tuple) and not any(isinstance(one, dict | list | tuple) for one in values):
            return [label(one) for one in values]
        return None
    words = [word.strip() for word in cell.strip()[1:-1].split(",")]
    return words if all(re.fullmatch(r"[^\"'\[\](){}]+", word) for word in words) else None
