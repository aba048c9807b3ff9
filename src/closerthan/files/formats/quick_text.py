"""Large text files, read by pyarrow.

pyarrow is several times faster than the standard library's reader, but not as strict. So a file is first looked
through for all in which they differ: bytes that are not UTF-8, quotation marks inside a cell or around several lines,
cells longer than the standard library allows, spaces of other kinds. A file with any of it is left to the careful
reader, as is one that pyarrow refuses: it either succeeds or names the line that is wrong.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.opening import UNPACKING_ERRORS, archive_of, is_packed, open_bytes
from closerthan.files.formats.tables import Column

_BLOCK = 1 << 23  # bytes read at a time; each block has its own labels, which are merged at the end
_NUMBER = r"^-?[0-9]{1,20}(\.[0-9]{0,20})?([eE]-?[0-9]{1,2})?$"  # what every reader takes for the same number
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_STRANGE = re.compile(r"[^\S ]")  # white space that str.split takes for a delimiter, and pyarrow does not


class Shape(NamedTuple):
    """How a text file is written: ``width`` columns, after ``skipped`` lines."""

    path: Path
    delimiter: str
    width: int
    skipped: int


class Cells(NamedTuple):
    """The columns that were asked for, by position; one of numbers may be left as labels."""

    labels: dict[int, Column]
    numbers: dict[int, NDArray[np.float64]]


def read_quickly(shape: Shape, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> Cells | None:
    """Some columns of labels and of numbers; None if the careful reader is to read the file."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if len(shape.delimiter.encode()) > 1 or not _is_plain(shape):
        return None
    spaces = shape.delimiter == " "
    asked = range(shape.width) if spaces else {*objects, *labels, *numbers}
    types = {str(position): pa.string() for position in asked}
    try:
        with (
            open_bytes(shape.path)
            if is_packed(shape.path) or archive_of(shape.path)
            else pa.OSFile(str(shape.path)) as file
        ):
            found = arrow.read_csv(
                file,
                arrow.ReadOptions(
                    column_names=[str(position) for position in range(shape.width)],
                    skip_rows=shape.skipped,
                    block_size=_BLOCK,
                ),
                arrow.ParseOptions(
                    delimiter=shape.delimiter, newlines_in_values=False, quote_char=False if spaces else '"'
                ),
                arrow.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=False),
            )
    except (pa.ArrowException, OSError, UnicodeError):
        return None
    if not found.num_rows:
        return None
    cells = Cells({}, {})
    for together in ([objects] if objects else []) + [[position] for position in labels]:
        columns = _encoded([found[str(position)] for position in together])
        cells.labels.update(zip(together, columns, strict=True))
    for position in numbers:
        values = _numbers(found[str(position)])
        if values is None:
            cells.labels[position] = _encoded([found[str(position)]])[0]
        else:
            cells.numbers[position] = values
    if spaces:
        rest = [_encoded([found[str(position)]])[0] for position in asked if position not in cells.labels]
        for column in (*cells.labels.values(), *rest):
            if not all(name and not name.isspace() and not _STRANGE.search(name) for name in column.labels):
                return None
    return cells


def _encoded(columns: Sequence[Any]) -> list[Column]:
    """Columns of strings as labels that they share."""
    import pyarrow as pa

    encoded = pa.chunked_array([chunk for column in columns for chunk in column.chunks]).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    names = encoded.chunk(0).dictionary.to_pylist()  # every chunk of an encoded array has the labels of all
    return [Column(part, names) for part in np.split(codes, len(columns))]


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """Strings as numbers, if all are written in the plainest way."""
    import pyarrow as pa
    from pyarrow import compute

    if not compute.all(compute.match_substring_regex(column, _NUMBER)).as_py():
        return None
    return np.asarray(column.cast(pa.float64()).to_numpy())


def _is_plain(shape: Shape) -> bool:
    """Whether both readers see the same cells in the file."""
    longest = csv.field_size_limit()
    ends = (ord(shape.delimiter), _NEWLINE, _RETURN)
    rest = b""
    try:
        with open_bytes(shape.path) as file:
            while True:
                read = file.read(_BLOCK)
                found = rest + read
                at = found.rfind(b"\n") + 1 if read else len(found)
                block, rest = found[:at], found[at:]
                if len(rest) >= _BLOCK or not _is_plain_block(block, ends, longest, shape.delimiter == " "):
                    return False
                if not read:
                    return True
    except UNPACKING_ERRORS:
        return False


def _is_plain_block(block: bytes, ends: tuple[int, ...], longest: int, spaces: bool) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    characters = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    lines = np.flatnonzero((characters == _NEWLINE) | (characters == _RETURN))
    if np.diff(lines).max(initial=0) > longest:
        return False
    if spaces or _QUOTE not in block:
        return True
    quotes = np.flatnonzero(characters == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    alone = np.isin(characters[opening - 1], ends) & np.isin(characters[closing + 1], ends)
    one_line = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    return bool(alone.all() and one_line.all())
