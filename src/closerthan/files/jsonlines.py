"""JSON lines: one object (name: value) or one list of values per line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.opening import UNPACKING_ERRORS, open_bytes, unpacking_error
from closerthan.files.tables import Column, LoadedTable, label, shown

_EXPECTED = 'expected an object such as {"anchor": "a", "near": "b", "far": "c"} or a list'


class JsonLinesTable(LoadedTable):
    """A file of JSON lines.

    A list inside an object becomes numbered columns: ``{"shown": ["a", "b"]}`` is shown_1 and shown_2. A name that is
    missing from a line is an empty cell.
    """

    def __init__(self, path: Path) -> None:
        self._lines: list[int] = []
        # Of each column only the cells that are there: if each line had a name of its own, the rest would fill the
        # memory.
        found: dict[str | int, tuple[list[int], list[str]]] = {}
        kinds = set()
        with open_bytes(path) as file:
            for number, line in enumerate(_unpacked(path, file), 1):
                if not line.strip():
                    continue
                cells = _cells(path, number, line)
                kinds |= {type(name) for name in cells}
                if len(kinds) > 1:
                    raise _error(path, number, line, "some lines are objects and some are lists; use one or the other")
                for name, cell in cells.items():
                    rows, column = found.setdefault(name, ([], []))
                    rows.append(len(self._lines))
                    column.append(cell)
                self._lines.append(number)
        if not self._lines:
            raise ValueError(f"{path} is empty: it has no line with an answer")
        if not found:
            raise ValueError(f"{path}: its lines are empty; {_EXPECTED}")
        columns = [(name if isinstance(name, str) else None, cells) for name, cells in found.items()]
        super().__init__(path, "JSON lines", columns)
        if kinds == {int}:
            self.notes.append("the lines are lists: columns are taken by their position")

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._lines)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        for position in {*objects, *labels, *numbers}:
            if isinstance(self._cells[position], tuple):
                rows, cells = self._cells[position]
                column = Column.of_cells(cells)
                codes = np.full(self.n_rows, len(column.labels), dtype=np.int32)
                codes[rows] = column.codes
                missing = [""] * (len(rows) < self.n_rows)
                self._cells[position] = Column(codes, [*column.labels, *missing])

    @property
    def lines(self) -> NDArray[np.int32]:
        """The line of each row."""
        return np.array(self._lines, dtype=np.int32)

    def place(self, row: int) -> str:
        """The line's number and text."""
        wanted = self._lines[row]
        with open_bytes(self.path) as file:
            text = next(line for number, line in enumerate(file, 1) if number == wanted)
        return f"line {wanted} ({shown(text.decode('utf-8', 'replace'))})"


def _unpacked(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from file
    except UNPACKING_ERRORS as error:
        raise unpacking_error(path, error) from None


def _cells(path: Path, number: int, line: bytes) -> dict[str | int, str]:
    try:
        found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        raise _error(path, number, line, f"it is not JSON: {error}") from None
    items: list[tuple[str | int, Any]]
    if isinstance(found, dict):
        items = []
        for name, value in found.items():
            if isinstance(value, list):
                items += [(f"{name}_{position}", cell) for position, cell in enumerate(value, 1)]
            else:
                items.append((name, value))
    elif isinstance(found, list):
        items = list(enumerate(found))
    else:
        raise _error(path, number, line, _EXPECTED)
    for name, value in items:
        if isinstance(value, dict | list):
            raise _error(path, number, line, f"{name!r} holds {shown(repr(value))}; expected a name or a number")
    cells = {name: label(value) for name, value in items}
    if b"\\u" in line:
        strange = next((text for text in (*map(str, cells), *cells.values()) if not _is_text(text)), None)
        if strange is not None:
            raise _error(path, number, line, f"{strange!r} has half of a pair of code units, which is no character")
    return cells


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _error(path: Path, number: int, line: bytes, problem: str) -> ValueError:
    return ValueError(f"{path}, line {number} ({shown(line.decode('utf-8', 'replace'))}): {problem}")
