"""JSON lines: each line holds one object (name: value) or one list of values."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.opening import DECOMPRESSION_ERRORS, NoAnswerError, decompression_error, open_bytes
from closerthan.files.formats.sizes import LONGEST_LINE
from closerthan.files.formats.tables import Column, LoadedTable, excerpt, label_of
from closerthan.messages import prefixed

_EXPECTED = 'expected an object such as {"anchor": "a", "near": "b", "far": "c"} or a list'


class Nested(str):
    """The JSON text of a cell that is neither a name nor a number; it is an error only if the column is used."""


class JsonLinesTable(LoadedTable):
    """A file of JSON lines.

    A list inside an object becomes numbered columns: ``{"shown": ["a", "b"]}`` gives shown_1 and shown_2. If a line
    lacks a name, its cell is empty.
    """

    kind, part = "JSON lines", "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._numbers: list[int] = []
        self._nested: dict[int, NDArray[np.intp]] = {}  # by column: rows whose cell is neither a name nor a number
        # Only existing cells are stored: with a different name on each line, empty cells would fill the memory.
        cells_of: dict[str | int, tuple[list[int], list[str]]] = {}
        kinds = set()
        for number, content in self._contents():
            cells = self._flat(number, content)
            kinds |= {type(name) for name in cells}
            if len(kinds) > 1:
                raise self._problem(
                    number, f"some {self.part}s are objects and others are lists; use only one of these forms"
                )
            for name, cell in cells.items():
                rows, column = cells_of.setdefault(name, ([], []))
                rows.append(len(self._numbers))
                column.append(cell)
            self._numbers.append(number)
        if not self._numbers:
            raise NoAnswerError(f"{path} is empty: it has no {self.part} with an answer")
        if not cells_of:
            raise NoAnswerError(f"{path}: all {self.part}s are empty; {_EXPECTED}")
        columns = [(name if isinstance(name, str) else None, cells) for name, cells in cells_of.items()]
        super().__init__(path, self.kind, columns)
        if kinds == {int}:
            self.notes.append(f"the {self.part}s are lists, whose values are identified by their position")

    # ---- methods that JsonArrayTable overrides ----

    def _contents(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and the parsed content of each line that is not empty."""
        try:
            with open_bytes(self.path) as file:
                number = 0
                while line := file.readline(LONGEST_LINE + 1):
                    number += 1
                    if len(line) > LONGEST_LINE:
                        raise ValueError(
                            f"{self.path}, line {number} has more than {LONGEST_LINE:,} bytes; write one answer per "
                            "line"
                        )
                    if line.strip():
                        yield number, _parsed(self.path, number, line)
        except DECOMPRESSION_ERRORS as error:
            raise decompression_error(self.path, error) from None

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
        invalid = next((text for text in (*map(str, cells), *cells.values()) if not _is_text(text)), None)
        if invalid is not None:
            raise self._problem(number, f"{invalid!r} contains an unpaired surrogate, which is not a character")
        return cells

    def _problem(self, number: int, problem: str) -> ValueError:
        return ValueError(prefixed(f"{self.path}, {self.part} {number} ({excerpt(self._text(number))}): ", problem))

    # ---- the Table interface ----

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._numbers)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns."""
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
        """Raise an error if a loaded cell in ``rows`` is neither a name nor a number."""
        for position, nested in self._nested.items():
            bad = nested if rows is None else nested[np.isin(nested, rows)]
            if len(bad):
                column = self.column(position)
                cell = excerpt(column.labels[column.codes[bad[0]]])
                raise self.error(int(bad[0]), f"{self.title(position)} holds {cell}; expected a name or a number")

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Line of each row."""
        return np.array(self._numbers, dtype=np.int32)

    def describe_row(self, row: int) -> str:
        """Return the line number and the text of the line."""
        number = self._numbers[row]
        return f"{self.part} {number} ({excerpt(self._text(number))})"


def _parsed(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:  # an integer of more than 4,300 digits raises a plain ValueError
        text = excerpt(line.decode("utf-8", "replace"))
        raise ValueError(f"{path}, line {number} ({text}): it is not JSON: {error}") from None


def _cell(value: Any) -> str:
    return Nested(json.dumps(value, ensure_ascii=False)) if isinstance(value, dict | list) else label_of(value)


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
