"""Delimited text: comma, tab, semicolon, bar or spaces between the columns; with a header line or without.

Large files are read by pyarrow where it is installed (``quick_text``), all others line by line by the standard library.
"""

import codecs
import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.extras import has_extra
from closerthan.files.formats.lists import may_be_list
from closerthan.files.formats.opening import (
    UNPACKING_ERRORS,
    NoAnswerError,
    lines_of,
    open_bytes,
    open_text,
    size_of,
    unpacking_error,
)
from closerthan.files.formats.quick_text import Cells, Shape, read_quickly
from closerthan.files.formats.tables import Column, Table, numbers_of, shown
from closerthan.wording import counted

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "spaces"}
_SAMPLE = 1 << 16
_LARGE = 1 << 20  # bytes from which on pyarrow is worth its import
_FEWEST = 3  # columns of the narrowest file that can be understood
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")


class Line(NamedTuple):
    """One record of a text file."""

    number: int
    cells: list[str]
    text: str
    n_lines: int = 1


class TextTable(Table):
    """A delimited text file.

    Parameters
    ----------
    known
        Whether a cell is the name of a column that is used; it tells a header from an answer.
    header
        Whether the first line is a header; None: find out.
    """

    def __init__(
        self,
        path: Path,
        known: Callable[[str], bool],
        *,
        header: bool | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(path, "text", ())
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\n\r\0'):
            raise ValueError(
                f"{path}: delimiter is {delimiter!r}; it must be one character, and no quotation mark or line end"
            )
        self._encoding, self._skipped = _encoding(path, encoding), 0
        sample = self._sample()
        self._delimiter = delimiter or _delimiter(path, [line.text for line in sample])
        sample = self._split(sample)
        if len(sample[0].cells) < _FEWEST and not _has_lists(sample[:2]):
            raise ValueError(
                f"{path}, line {sample[0].number} ({shown(sample[0].text)}): expected at least {_FEWEST} columns "
                f"separated by {', '.join(DELIMITERS.values())}; if it is something else, pass delimiter="
            )
        if header is None:
            header = _has_lists(sample[:2]) or _has_header(path, sample, known)
        self._width = len(sample[0].cells)
        if header:
            self.names = tuple(cell.strip() for cell in sample[0].cells)
            self._skipped = sample[0].number + sample[0].n_lines - 1
        else:
            self.names = (None,) * self._width
            self._skipped = sample[0].number - 1
            self.notes.append("there is no header line: columns are taken by their position")
        if header and len(sample) == 1 and next(self._lines(), None) is None:
            raise NoAnswerError(f"{path} has a header line ({shown(sample[0].text)}) and nothing else")
        self.first = sample[-1].cells if len(sample) <= header else sample[int(header)].cells
        self.format = f"text, separated by {DELIMITERS.get(self._delimiter, repr(self._delimiter))}"
        self._columns: dict[int, Column] = {}
        self._numbers: dict[int, NDArray[np.float64]] = {}
        self._line_numbers: NDArray[np.int32] | None = None

    # ---- looking at the beginning of the file ----

    def _open(self) -> IO[str]:
        return open_text(self.path, self._encoding)

    def _sample(self) -> list[Line]:
        """The first lines, unsplit, without empty ones and without remarks at the top."""
        found: list[Line] = []
        size = remarks = 0
        try:
            with self._open() as file:
                for number, text in enumerate(lines_of(file, self.path), 1):
                    if not found and text.startswith("#"):
                        remarks += 1
                    elif text.strip():
                        found.append(Line(number, [], text))
                    size += len(text)
                    if size > _SAMPLE and found:
                        break
        except (UnicodeError, *UNPACKING_ERRORS) as error:
            raise self._undecodable(error) from None
        if not found:
            raise NoAnswerError(f"{self.path} is empty: it has no line with an answer")
        if "\0" in found[0].text:
            raise ValueError(f"{self.path} is not a text file, and its ending is not one of a known format")
        if remarks:
            self.notes.append(f"{counted(remarks, 'line')} with # at the top of the file were skipped")
        self._skipped = found[0].number - 1
        return found

    def _split(self, sample: list[Line]) -> list[Line]:
        records = []
        last = sample[-1].number
        for line in self._lines():
            records.append(line)
            if line.number >= last or len(records) >= len(sample):
                break
        return records

    # ---- reading ----

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        shape = Shape(self.path, self._delimiter, self._width, self._skipped)
        large = size_of(self.path) >= _LARGE and self._encoding in ("utf-8", "utf-8-sig") and has_extra("pyarrow")
        found = read_quickly(shape, objects, labels, numbers) if large else None
        self._columns, self._numbers = found or Cells(self._read_carefully([*objects, *labels, *numbers]), {})
        for position in numbers:
            if position not in self._numbers:
                self._numbers[position] = numbers_of(self, position, self._columns.pop(position))
        spaced: list[str] = []
        clean: list[str] | None = None  # columns of objects may share their labels
        for position, column in self._columns.items():
            if column.labels is not clean:
                self._columns[position], changed = column.stripped()
                spaced += changed
                clean = None if changed else column.labels
        if spaced:
            self.notes.append(
                f"spaces around {len(set(spaced))} different cells were removed (the first: {spaced[0]!r})"
            )

    def _read_carefully(self, positions: Sequence[int]) -> dict[int, Column]:
        known: list[dict[str, int]] = [{} for _ in positions]
        codes: list[list[int]] = [[] for _ in positions]
        places = list(zip(positions, known, codes, strict=True))
        line_numbers = array("i")
        for line in self._lines():
            if len(line.cells) != self._width:
                raise ValueError(
                    f"{self.path}, line {line.number} ({shown(line.text)}): it has {len(line.cells)} columns, but "
                    f"the first line has {self._width}; expected {DELIMITERS.get(self._delimiter, self._delimiter)} "
                    "between columns, and quotation marks around a cell that contains it"
                )
            for position, number, column in places:
                column.append(number.setdefault(line.cells[position], len(number)))
            line_numbers.append(line.number)
        self._line_numbers = np.array(line_numbers, dtype=np.int32)
        return {position: Column(np.array(column, dtype=np.int32), list(number)) for position, number, column in places}

    def _lines(self) -> Iterator[Line]:
        """Every record after the header, with the number and the text of its first line."""
        with self._open() as file:
            raw: list[str] = []

            def remembered() -> Iterator[str]:
                for text in lines_of(file, self.path):
                    raw.append(text)
                    yield text

            records: Iterable[list[str]]
            source = remembered()
            if self._delimiter == " ":
                records = (text.split() for text in source)
            else:
                records = csv.reader(source, delimiter=self._delimiter, strict=True)
            number = 1
            try:
                for _ in range(self._skipped):
                    next(source, None)
                number += len(raw)
                raw.clear()
                for cells in records:
                    if len(cells) > 1 or (cells and cells[0].strip()):
                        yield Line(number, cells, "".join(raw), len(raw))
                    number += len(raw)
                    raw.clear()
            except csv.Error as error:
                text = raw[0] if raw else ""
                raise ValueError(
                    f"{self.path}, line {number} ({shown(text)}): {error}; is a quotation mark opened and not closed?"
                ) from None
            except (UnicodeError, *UNPACKING_ERRORS) as error:
                raise self._undecodable(error) from None

    def _undecodable(self, error: Exception) -> ValueError:
        if not isinstance(error, UnicodeError):
            return unpacking_error(self.path, error)
        way_out = 'save the file as UTF-8, or pass its encoding, such as encoding="latin-1"'
        try:
            with open_bytes(self.path) as file:
                for number, line in enumerate(file, 1):
                    if not _decodes(line, self._encoding):
                        return ValueError(
                            f"{self.path}, line {number} ({shown(line.decode('latin-1'))}): "
                            f"it is not in {self._encoding}; {way_out}"
                        )
        except UNPACKING_ERRORS as broken:
            return unpacking_error(self.path, broken)
        return ValueError(f"{self.path} is not in {self._encoding}: {error}; {way_out}")

    # ---- the contract of Table ----

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values())).codes)

    def column(self, position: int) -> Column:
        """A column of labels."""
        return self._columns[position]

    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers."""
        return self._numbers[position]

    @property
    def lines(self) -> NDArray[np.int32]:
        """The line on which each row begins."""
        if self._line_numbers is None:
            last = self._skipped + self.n_rows
            if self._last_line() == last:  # no line is empty, and what was read quickly has a row on each
                self._line_numbers = np.arange(self._skipped + 1, last + 1, dtype=np.int32)
            else:
                self._line_numbers = np.fromiter((line.number for line in self._lines()), np.int32, self.n_rows)
        return self._line_numbers

    def _last_line(self) -> int:
        """The number of the last line that is not empty, where lines end as usual."""
        number, end = 1, b""
        with open_bytes(self.path) as file:
            while chunk := file.read(1 << 23):
                number += chunk.count(b"\n")
                end = (end + chunk)[-64:].replace(b"\r", b"")
        return number - (len(end) - len(end.rstrip(b"\n")))

    def place(self, row: int) -> str:
        """The line's number and text."""
        for position, line in enumerate(self._lines()):
            if position == row:
                return f"line {line.number} ({shown(line.text)})"
        raise IndexError(row)


def _encoding(path: Path, encoding: str | None) -> str:
    if encoding is not None:
        try:
            "".encode(encoding)
            known = codecs.lookup(encoding).name
        except (LookupError, ValueError):  # UnicodeError is a ValueError
            raise ValueError(
                f"{path}: encoding is {encoding!r}, which is not known; usual ones are utf-8 and latin-1"
            ) from None
        if known != "utf-8":
            return known
    try:
        with open_bytes(path) as file:
            beginning = file.read(4)
    except UNPACKING_ERRORS as error:
        raise unpacking_error(path, error) from None
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding is None:
        return "utf-16"
    return "utf-8-sig" if beginning[:3] == b"\xef\xbb\xbf" else "utf-8"


def _decodes(line: bytes, encoding: str) -> bool:
    """Whether a line is text; of encodings with several bytes per character this cannot be told line by line."""
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return True
    try:
        line.decode(encoding)
    except UnicodeError:
        return False
    return True


def _delimiter(path: Path, sample: list[str]) -> str:
    """The one that splits most lines like the first; a comma before a tab, and so on, if several do."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in endings or ".tab" in endings:
        return "\t"

    def widths(delimiter: str) -> list[int]:
        if delimiter == " ":
            return [len(line.split()) for line in sample]
        return [len(cells) for cells in csv.reader(io.StringIO("".join(sample), newline=""), delimiter=delimiter)]

    best, most = ",", 0
    for delimiter in DELIMITERS:
        try:
            found = widths(delimiter)
        except csv.Error:
            continue
        alike = found.count(found[0]) if found[0] >= _FEWEST else 0
        if alike > most:
            best, most = delimiter, alike
    return best


def _has_lists(sample: list[Line]) -> bool:
    """Whether a header of two columns is followed by an object and a list."""
    first, second = sample[0].cells, sample[-1].cells
    return len(first) == len(second) == 2 and any(map(may_be_list, first, second))


def _has_header(path: Path, sample: list[Line], known: Callable[[str], bool]) -> bool:
    first = [cell.strip() for cell in sample[0].cells]
    numeric = [bool(_NUMBER.fullmatch(cell)) for cell in first]
    if all(numeric):
        return False
    others = {cell.strip() for line in sample[1:] for cell in line.cells}
    # Every question has two columns at least, so that one alone may be an object that happens to be called "near".
    usual, again = sum(known(cell) for cell in first) >= 2, all(cell in others for cell in first)
    if usual != again:
        return usual
    if not usual and not any(numeric) and any(_NUMBER.fullmatch(cell) for cell in others):
        return True
    raise ValueError(
        f"{path}, line {sample[0].number} ({shown(sample[0].text)}): it may be a header or an answer; "
        "pass header=True or header=False"
    )


def quoted(cell: str, delimiter: str) -> str:
    """A cell with quotation marks around it, if it needs them.

    Examples
    --------
    >>> quoted("Rome", ","), quoted("Paris, Texas", ",")
    ('Rome', '"Paris, Texas"')
    """
    if any(character in cell for character in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
