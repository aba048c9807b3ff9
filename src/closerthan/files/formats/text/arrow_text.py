"""Large text files, read by pyarrow.

pyarrow is several times faster than the standard library's csv module, but less strict. Each file is therefore scanned
for content that the two treat differently: bytes that are not UTF-8, quotation marks inside a cell or around several
lines, cells longer than the csv module allows, and unusual white space. Such a file, and any file that pyarrow refuses,
is left to the line-by-line reader, which either succeeds or names the offending line.
"""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.opening import DECOMPRESSION_ERRORS, archive_of, is_gzipped, open_bytes
from closerthan.files.formats.tables import Column

_BLOCK = 1 << 23  # bytes read at a time; pyarrow encodes each block separately and merges the labels at the end
_NUMBER = r"^-?[0-9]{1,20}(\.[0-9]{0,20})?([eE]-?[0-9]{1,2})?$"  # numbers that both readers parse alike
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_UNUSUAL_SPACE = re.compile(r"[^\S ]")  # white space that separates columns for str.split, but not for pyarrow


class Shape(NamedTuple):
    """Layout of a text file: ``width`` columns after ``skipped`` lines."""

    path: Path
    delimiter: str
    width: int
    skipped: int


class Cells(NamedTuple):
    """The requested columns by position; a column of numbers may remain encoded as labels."""

    labels: dict[int, Column]
    numbers: dict[int, NDArray[np.float64]]


def read_with_arrow(
    shape: Shape, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]
) -> Cells | None:
    """Read columns with pyarrow; return None if the file must be read line by line."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if len(shape.delimiter.encode()) > 1 or not _is_plain(shape):
        return None
    spaces = shape.delimiter == " "
    positions = range(shape.width) if spaces else {*objects, *labels, *numbers}
    types = {str(position): pa.string() for position in positions}
    try:
        with (
            open_bytes(shape.path)
            if is_gzipped(shape.path) or archive_of(shape.path)
            else pa.OSFile(str(shape.path)) as file
        ):
            table = arrow.read_csv(
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
    if not table.num_rows:
        return None
    cells = Cells({}, {})
    for group in ([objects] if objects else []) + [[position] for position in labels]:
        columns = _encode([table[str(position)] for position in group])
        cells.labels.update(zip(group, columns, strict=True))
    for position in numbers:
        values = _numbers(table[str(position)])
        if values is None:
            cells.labels[position] = _encode([table[str(position)]])[0]
        else:
            cells.numbers[position] = values
    if spaces:
        rest = [_encode([table[str(position)]])[0] for position in positions if position not in cells.labels]
        for column in (*cells.labels.values(), *rest):
            if not all(name and not name.isspace() and not _UNUSUAL_SPACE.search(name) for name in column.labels):
                return None
    return cells


def _encode(columns: Sequence[Any]) -> list[Column]:
    """Encode columns of strings with one shared list of labels."""
    import pyarrow as pa

    encoded = pa.chunked_array([chunk for column in columns for chunk in column.chunks]).dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    names = encoded.chunk(0).dictionary.to_pylist()  # all chunks of an encoded array share their labels
    return [Column(part, names) for part in np.split(codes, len(columns))]


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """Convert strings to numbers; None if some are not in plain decimal notation."""
    import pyarrow as pa
    from pyarrow import compute

    if not compute.all(compute.match_substring_regex(column, _NUMBER)).as_py():
        return None
    return np.asarray(column.cast(pa.float64()).to_numpy())


def _is_plain(shape: Shape) -> bool:
    """Return whether pyarrow and the csv module read the same cells from the file."""
    longest = csv.field_size_limit()
    ends = (ord(shape.delimiter), _NEWLINE, _RETURN)
    rest = b""
    try:
        with open_bytes(shape.path) as file:
            while True:
                read = file.read(_BLOCK)
                data = rest + read
                end = data.rfind(b"\n") + 1 if read else len(data)
                block, rest = data[:end], data[end:]
                if len(rest) >= _BLOCK or not _is_plain_block(block, ends, longest, shape.delimiter == " "):
                    return False
                if not read:
                    return True
    except DECOMPRESSION_ERRORS:
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
    if _QUOTE not in block:
        return True
    if spaces:
        return False
    quotes = np.flatnonzero(characters == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    around_cells = np.isin(characters[opening - 1], ends) & np.isin(characters[closing + 1], ends)
    one_line = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    return bool(around_cells.all() and one_line.all())
