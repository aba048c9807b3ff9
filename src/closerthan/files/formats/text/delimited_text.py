"""Delimited text with or without a header line; columns are separated by commas, tabs, semicolons, bars or spaces.

Large files are read by pyarrow if it is installed (``arrow_text``), other files line by line by the standard library.
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
from closerthan.files.formats.opening import (
    DECOMPRESSION_ERRORS,
    NoAnswerError,
    decompression_error,
    open_bytes,
    open_text,
    read_lines,
    size_in_bytes,
)
from closerthan.files.formats.tables import Column, Table, excerpt, parse_numbers
from closerthan.files.formats.text.arrow_text import Cells, Shape, read_with_arrow
from closerthan.files.formats.text.lists import may_be_list
from closerthan.messages import value_error
from closerthan.wording import counted

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", " ": "spaces"}
_SAMPLE = 1 << 16  # number of characters from which the format is detected
ARROW_FROM = 1 << 20  # bytes above which reading with pyarrow saves more time than its import takes
_MIN_COLUMNS = 3  # an answer needs at least three objects
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
    path
        The file.
    is_column
        Whether a text is the name of a column that may be used, which distinguishes a header from an answer.
    header
        Whether the first line is a header; None means that it is detected.
    delimiter, encoding
        Format of the text; None means that it is detected.
    arrow_from
        Size in bytes from which the file is read by pyarrow, if that is installed.
    """

    def __init__(
        self,
        path: Path,
        is_column: Callable[[str], bool],
        *,
        header: bool | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        arrow_from: int = ARROW_FROM,
    ) -> None:
        super().__init__(path, "text", ())
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\n\r\0'):
            raise ValueError(
                f"{path}: delimiter is {delimiter!r}; it must be one character, neither a quotation mark "
                "nor a line ending"
            )
        self._encoding, self._skipped, self._arrow_from = _encoding(path, encoding), 0, arrow_from
        sample = self._sample()
        self._delimiter = delimiter or _delimiter(path, [line.text for line in sample])
        sample = self._split(sample)
        if len(sample[0].cells) < _MIN_COLUMNS and not _has_lists(sample[:2]):
            raise value_error(
                f"{path}, line {sample[0].number} ({excerpt(sample[0].text)}): expected at least {_MIN_COLUMNS} "
                f"columns separated by {', '.join(DELIMITERS.values())}",
                "pass {delimiter} for another separator",
                delimiter=...,
            )
        if header is None:
            header = _has_lists(sample[:2]) or _has_header(path, sample, is_column)
        titles = sample[0].cells
        if header and len(sample) > 1 and all(len(line.cells) == len(titles) + 1 for line in sample[1:]):
            titles = ["", *titles]  # R's write.table writes no title for the names of rows
        self._width = len(titles)
        if header:
            self.names = tuple(cell.strip() for cell in titles)
            self._skipped = sample[0].number + sample[0].n_lines - 1
        else:
            self.names = (None,) * self._width
            self._skipped = sample[0].number - 1
            self.notes.append("there is no header line; columns are identified by their position")
        if header and len(sample) == 1 and next(self._lines(), None) is None:
            raise NoAnswerError(f"{path} has a header line ({excerpt(sample[0].text)}) and nothing else")
        self.first_row = sample[-1].cells if len(sample) <= header else sample[int(header)].cells
        self.decimal_commas = self._delimiter == ";"
        self.format = f"text, separated by {DELIMITERS.get(self._delimiter, repr(self._delimiter))}"
        self._columns: dict[int, Column] = {}
        self._numbers: dict[int, NDArray[np.float64]] = {}
        self._line_numbers: NDArray[np.int32] | None = None

    # ---- detecting the format ----

    def _open(self) -> IO[str]:
        return open_text(self.path, self._encoding)

    def _sample(self) -> list[Line]:
        """Return the first lines, not yet split, without empty lines and without comments at the top."""
        sample: list[Line] = []
        size = n_comments = 0
        try:
            with self._open() as file:
                for number, text in enumerate(read_lines(file, self.path), 1):
                    if not sample and text.startswith("#"):
                        n_comments += 1
                    elif text.strip():
                        sample.append(Line(number, [], text))
                    size += len(text)
                    if size > _SAMPLE and sample:
                        break
        except (UnicodeError, *DECOMPRESSION_ERRORS) as error:
            raise self._undecodable(error) from None
        if not sample:
            raise NoAnswerError(f"{self.path} is empty: it has no line with an answer")
        if "\0" in sample[0].text:
            raise ValueError(f"{self.path} is not a text file, and its suffix is not that of a supported format")
        if n_comments:
            self.notes.append(f"{counted(n_comments, 'line')} with # at the top of the file were skipped")
        self._skipped = sample[0].number - 1
        return sample

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
        """Load columns."""
        shape = Shape(self.path, self._delimiter, self._width, self._skipped)
        large = (
            size_in_bytes(self.path) >= self._arrow_from
            and self._encoding in ("utf-8", "utf-8-sig")
            and has_extra("pyarrow")
        )
        cells = read_with_arrow(shape, objects, labels, numbers) if large else None
        self._columns, self._numbers = cells or Cells(self._read_by_line([*objects, *labels, *numbers]), {})
        for position in numbers:
            if position not in self._numbers:
                self._numbers[position] = parse_numbers(self, position, self._columns.pop(position))
        padded: list[str] = []
        clean: list[str] | None = None  # labels without spaces to remove, which several columns may share
        for position, column in self._columns.items():
            if column.labels is not clean:
                self._columns[position], changed = column.stripped()
                padded += changed
                clean = None if changed else column.labels
        if padded:
            self.notes.append(
                f"spaces around {len(set(padded))} different cells were removed (the first: {padded[0]!r})"
            )

    def _read_by_line(self, positions: Sequence[int]) -> dict[int, Column]:
        code_of: list[dict[str, int]] = [{} for _ in positions]
        codes: list[list[int]] = [[] for _ in positions]
        places = list(zip(positions, code_of, codes, strict=True))
        line_numbers = array("i")
        for line in self._lines():
            if len(line.cells) != self._width:
                raise ValueError(
                    f"{self.path}, line {line.number} ({excerpt(line.text)}): it has {len(line.cells)} columns, but "
                    f"the first line has {self._width}; expected {DELIMITERS.get(self._delimiter, self._delimiter)} "
                    "between columns, and quotation marks around cells that contain it"
                )
            for position, number, column in places:
                column.append(number.setdefault(line.cells[position], len(number)))
            line_numbers.append(line.number)
        self._line_numbers = np.array(line_numbers, dtype=np.int32)
        return {position: Column(np.array(column, dtype=np.int32), list(number)) for position, number, column in places}

    def _lines(self) -> Iterator[Line]:
        """Yield each record after the header, with its text and the number of its first line."""
        with self._open() as file:
            raw: list[str] = []

            def record_lines() -> Iterator[str]:
                for text in read_lines(file, self.path):
                    raw.append(text)
                    yield text

            records: Iterable[list[str]]
            source = record_lines()
            if self._delimiter == " ":
                records = map(_split_at_spaces, source)
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
                    f"{self.path}, line {number} ({excerpt(text)}): {error}; is a closing quotation mark missing?"
                ) from None
            except (UnicodeError, *DECOMPRESSION_ERRORS) as error:
                raise self._undecodable(error) from None

    def _undecodable(self, error: Exception) -> ValueError:
        if not isinstance(error, UnicodeError):
            return decompression_error(self.path, error)
        problem = f"{self.path} is not in {self._encoding}: {error}"
        try:
            with open_bytes(self.path) as file:
                for number, line in enumerate(file, 1):
                    if not _decodes(line, self._encoding):
                        quoted = excerpt(line.decode("latin-1"))
                        problem = f"{self.path}, line {number} ({quoted}): it is not in {self._encoding}"
                        break
        except DECOMPRESSION_ERRORS as broken:
            return decompression_error(self.path, broken)
        way_out = "save the file as UTF-8, or pass its encoding, such as {encoding}"
        return value_error(problem, way_out, encoding="latin-1")

    # ---- the Table interface ----

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values())).codes)

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        return self._columns[position]

    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        return self._numbers[position]

    @property
    def lines(self) -> NDArray[np.int32]:
        """Line on which each row begins."""
        if self._line_numbers is None:
            last = self._skipped + self.n_rows
            if self._last_line() == last:  # no line is empty, and pyarrow read one row from each
                self._line_numbers = np.arange(self._skipped + 1, last + 1, dtype=np.int32)
            else:
                self._line_numbers = np.fromiter((line.number for line in self._lines()), np.int32, self.n_rows)
        return self._line_numbers

    def _last_line(self) -> int:
        """Return the number of the last line that is not empty, in a file whose lines end in a line feed."""
        number, end = 1, b""
        with open_bytes(self.path) as file:
            while chunk := file.read(1 << 23):
                number += chunk.count(b"\n")
                end = (end + chunk)[-64:].replace(b"\r", b"")
        return number - (len(end) - len(end.rstrip(b"\n")))

    def describe_row(self, row: int) -> str:
        """Return the line number and the text of the line."""
        for position, line in enumerate(self._lines()):
            if position == row:
                return f"line {line.number} ({excerpt(line.text)})"
        raise IndexError(row)


def _encoding(path: Path, encoding: str | None) -> str:
    if encoding is not None:
        try:
            "".encode(encoding)
            name = codecs.lookup(encoding).name
        except (LookupError, ValueError):  # UnicodeError is a ValueError
            raise ValueError(
                f"{path}: encoding is {encoding!r}, which is unknown; common encodings are utf-8 and latin-1"
            ) from None
        if name != "utf-8":
            return name
    try:
        with open_bytes(path) as file:
            first_bytes = file.read(4)
    except DECOMPRESSION_ERRORS as error:
        raise decompression_error(path, error) from None
    if first_bytes[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding is None:
        return "utf-16"
    return "utf-8-sig" if first_bytes[:3] == b"\xef\xbb\xbf" else "utf-8"


def _decodes(line: bytes, encoding: str) -> bool:
    """Return whether a line can be decoded; True for UTF-16 and UTF-32, whose lines cannot be split as bytes."""
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return True
    try:
        line.decode(encoding)
    except UnicodeError:
        return False
    return True


def _split_at_spaces(text: str) -> list[str]:
    """Return the cells of a line; spaces within quotation marks do not separate cells.

    Examples
    --------
    >>> _split_at_spaces('"blue whale"  ant bee')
    ['blue whale', 'ant', 'bee']
    """
    if '"' not in text:
        return text.split()
    return next(csv.reader([text.strip().replace("\t", " ")], delimiter=" ", skipinitialspace=True, strict=True))


def _delimiter(path: Path, sample: list[str]) -> str:
    """Return the delimiter that gives most lines the width of the first; earlier DELIMITERS win ties."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes or ".tab" in suffixes:
        return "\t"

    def widths(delimiter: str) -> list[int]:
        if delimiter == " ":
            return [len(_split_at_spaces(line)) for line in sample]
        return [len(cells) for cells in csv.reader(io.StringIO("".join(sample), newline=""), delimiter=delimiter)]

    best, most = ",", 0
    for delimiter in DELIMITERS:
        try:
            n_columns = widths(delimiter)
        except csv.Error:
            continue
        n_alike = n_columns.count(n_columns[0]) if n_columns[0] >= _MIN_COLUMNS else 0
        if n_alike > most:
            best, most = delimiter, n_alike
    return best


def _has_lists(sample: list[Line]) -> bool:
    """Return whether a header of two columns is followed by an object and a list."""
    first, second = sample[0].cells, sample[-1].cells
    return len(first) == len(second) == 2 and any(map(may_be_list, first, second))


def _has_header(path: Path, sample: list[Line], is_column: Callable[[str], bool]) -> bool:
    first = [cell.strip() for cell in sample[0].cells]
    numeric = [bool(_NUMBER.fullmatch(cell)) for cell in first]
    if all(numeric):
        return False
    others = {cell.strip() for line in sample[1:] for cell in line.cells}
    # Every question has at least two columns, so a single column name may be an object, called "near" for example.
    has_names, recurs = sum(is_column(cell) for cell in first) >= 2, all(cell in others for cell in first)
    if has_names != recurs:
        return has_names
    if not has_names and not any(numeric) and any(_NUMBER.fullmatch(cell) for cell in others):
        return True
    raise value_error(
        f"{path}, line {sample[0].number} ({excerpt(sample[0].text)}): it may be a header or an answer",
        "pass {header}",
        header=(True, False),
    )


def quoted(cell: str, delimiter: str) -> str:
    """Return a cell for a text file, in quotation marks if it needs them.

    Examples
    --------
    >>> quoted("Rome", ","), quoted("Paris, Texas", ",")
    ('Rome', '"Paris, Texas"')
    """
    if any(character in cell for character in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
