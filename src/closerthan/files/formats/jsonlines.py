"""JSON lines: one object (name: value) or one list of values per line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.opening import UNPACKING_ERRORS, NoAnswerError, open_bytes, unpacking_error
from closerthan.files.formats.sizes import LONGEST_LINE
from closerthan.files.formats.tables import Column, LoadedTable, label, shown

_EXPECTED = 'expected an object such as {"anchor": "a", "near": "b", "far": "c"} or a list'


class Nested(str):
    """JSON text of a cell that is neither a name nor a number; nobody minds it in a column that is not used."""


class JsonLinesTable(LoadedTable):
    """A file of JSON lines.

    A list inside an object becomes numbered columns: ``{"shown": ["a", "b"]}`` is shown_1 and shown_2. A name that is
    missing from a line is an empty cell.
    """

    kind, part = "JSON lines", "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers: list[int] = []
        self._nested: dict[int, NDArray[np.intp]] = {}  # rows with cells that are neither names nor numbers
        # Of each column only the cells that are there: if each line had a name of its own, the rest would fill the
        # memory.
        found: dict[str | int, tuple[list[int], list[str]]] = {}
        kinds = set()
        for number, content in self._contents():
            cells = self._flat(number, content)
            kinds |= {type(name) for name in cells}
            if len(kinds) > 1:
                raise self._problem(number, f"some {self.part}s are objects and some are lists; use one or the other")
            for name, cell in cells.items():
                rows, column = found.setdefault(name, ([], []))
                rows.append(len(self._numbers))
                column.append(cell)
            self._numbers.append(number)
        if not self._numbers:
            raise NoAnswerError(f"{path} is empty: it has no {self.part} with an answer")
        if not found:
            raise NoAnswerError(f"{path}: its {self.part}s are empty; {_EXPECTED}")
        columns = [(name if isinstance(name, str) else None, cells) for name, cells in found.items()]
        super().__init__(path, self.kind, columns)
        if kinds == {int}:
            self.notes.append(f"the {self.part}s are lists: columns are taken by their position")

    # ---- what differs between lines and arrays ----

    def _contents(self) -> Iterator[tuple[int, Any]]:
        """The number of each line that is not empty, and what it says."""
        try:
            with open_bytes(self.path) as file:
                number = 0
                while line := file.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        raise ValueError(
                            f"{self.path}, line {number} has more than {LONGEST_LINE:,} bytes; write one answer a line"
                        )
                    if line.strip():
                        yield number, _parsed(self.path, number, line)
        except UNPACKING_ERRORS as error:
            raise unpacking_error(self.path, error) from None

    def _text(self, number: int) -> str:
        with open_bytes(self.path) as file:
            line = next(line for position, line in enumerate(file, 1) if position == number)
        return line.decode("utf-8", "replace")

    # ---- from content to cells ----

    def _flat(self, number: int, content: Any) -> dict[str | int, str]:
        items: list[tuple[str | int, Any]]
        if isinstance(content, dict):
            items = []
            for name, value in content.items():
                if isinstance(value, list):
                    items += [(f"{name}_{position}", cell) for position, cell in enumerate(value, 1)]
                else:
                    items.append((name, value))
        elif isinstance(content, list):
            items = list(enumerate(content))
        else:
            raise self._problem(number, _EXPECTED)
        cells = {name: _cell(value) for name, value in items}
        strange = next((text for text in (*map(str, cells), *cells.values()) if not _is_text(text)), None)
        if strange is not None:
            raise self._problem(number, f"{strange!r} has half of a pair of code units, which is no character")
        return cells

    def _problem(self, number: int, problem: str) -> ValueError:
        return ValueError(f"{self.path}, {self.part} {number} ({shown(self._text(number))}): {problem}")

    # ---- the contract of Table ----

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._numbers)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        for position in {*objects, *labels, *numbers}:
            if isinstance(self._cells[position], tuple):
                rows, cells = self._cells[position]
                nested = [row for row, cell in zip(rows, cells, strict=True) if isinstance(cell, Nested)]
                if nested:
                    self._nested[position] = np.array(nested)
                column = Column.of_cells(cells)
                codes = np.full(self.n_rows, len(column.labels), dtype=np.int32)
                codes[rows] = column.codes
                missing = [""] * (len(rows) < self.n_rows)
                self._cells[position] = Column(codes, [*column.labels, *missing])

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """An error if a cell that was read, in one of these rows, is neither a name nor a number."""
        for position, nested in self._nested.items():
            bad = nested if rows is None else nested[np.isin(nested, rows)]
            if len(bad):
                column = self.column(position)
                held = shown(column.labels[column.codes[bad[0]]])
                raise self.error(int(bad[0]), f"{self.title(position)} holds {held}; expected a name or a number")

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """The line of each row."""
        return np.array(self._numbers, dtype=np.int32)

    def place(self, row: int) -> str:
        """The line's number and text."""
        number = self._numbers[row]
        return f"{self.part} {number} ({shown(self._text(number))})"


def _parsed(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        text = shown(line.decode("utf-8", "replace"))
        raise ValueError(f"{path}, line {number} ({text}): it is not JSON: {error}") from None


def _cell(value: Any) -> str:
    return Nested(json.dumps(value, ensure_ascii=False)) if isinstance(value, dict | list) else label(value)


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
