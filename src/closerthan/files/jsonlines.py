"""JSON lines: one object (name: value) or one list of values per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.opening import UNPACKING_ERRORS, open_bytes, open_text
from closerthan.files.tables import Column, LoadedTable, label, shown


class JsonLinesTable(LoadedTable):
    """A file of JSON lines.

    A list inside an object becomes numbered columns: ``{"shown": ["a", "b"]}`` is shown_1 and shown_2. A name that is
    missing from a line is an empty cell.
    """

    def __init__(self, path: Path) -> None:
        self._lines: list[int] = []
        cells: dict[str | int, list[str]] = {}
        with open_bytes(path) as file:
            for number, line in enumerate(_unpacked(path, file), 1):
                if not line.strip():
                    continue
                found = _cells(path, number, line)
                if len({type(name) for name in (*found, *cells)}) > 1:
                    raise _error(path, number, line, "some lines are objects and some are lists; use one or the other")
                for name, cell in found.items():
                    column = cells.setdefault(name, [])
                    column.extend([""] * (len(self._lines) - len(column)))
                    column.append(cell)
                self._lines.append(number)
        if not self._lines:
            raise ValueError(f"{path} is empty: it has no line with an answer")
        for column in cells.values():
            column.extend([""] * (len(self._lines) - len(column)))
        columns = [(name if isinstance(name, str) else None, Column.of_cells(cells[name])) for name in cells]
        super().__init__(path, "JSON lines", columns)
        if not all(self.names):
            self.notes.append("the lines are lists: columns are taken by their position")

    @property
    def lines(self) -> NDArray[np.int32]:
        """The line of each row."""
        return np.array(self._lines, dtype=np.int32)

    def place(self, row: int) -> str:
        """The line's number and text."""
        wanted = self._lines[row]
        with open_text(self.path, "utf-8") as file:
            text = next(line for number, line in enumerate(file, 1) if number == wanted)
        return f"line {wanted} ({shown(text)})"


def _unpacked(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from file
    except UNPACKING_ERRORS as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from None


def _cells(path: Path, number: int, line: bytes) -> dict[str | int, str]:
    try:
        found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
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
        raise _error(
            path, number, line, 'expected an object such as {"anchor": "a", "near": "b", "far": "c"} or a list'
        )
    for name, value in items:
        if isinstance(value, dict | list):
            raise _error(path, number, line, f"{name!r} holds {value!r}; expected a name or a number")
    return {name: label(value) for name, value in items}


def _error(path: Path, number: int, line: bytes, problem: str) -> ValueError:
    return ValueError(f"{path}, line {number} ({shown(line.decode('utf-8', 'replace'))}): {problem}")
