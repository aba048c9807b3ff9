"""Parquet files, read by pyarrow."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.extras import extra
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.sizes import too_large
from closerthan.files.formats.tables import Column, LoadedTable, ObjectInfo, checked_object_info, numbered_columns

_REASON = 200  # maximum number of characters quoted from pyarrow's message
_CELL, _LIST_CELL = 8, 64  # minimum number of bytes in memory per cell, and per cell of a list
METADATA_KEY = b"closerthan"
"""Key of the file metadata that holds a description of the objects, as JSON."""


class ParquetTable(LoadedTable):
    """A Parquet file; columns are read on demand, and lists become numbered columns."""

    def __init__(self, path: Path) -> None:
        types = extra("pyarrow.types", "reading a Parquet file")
        with reading_parquet(path):
            self._file = open_parquet(path)
            schema = self._file.schema_arrow
        if not self._file.metadata.num_rows:
            raise NoAnswerError(f"{path} is empty: it has columns, but no rows")
        columns: list[tuple[str | None, Any]] = []
        self._fields: list[int | None] = []  # the field of the schema that each column is read from
        for number, field in enumerate(schema):
            if types.is_list(field.type) or types.is_large_list(field.type) or types.is_fixed_size_list(field.type):
                with reading_parquet(path, field.name):
                    columns += numbered_columns(field.name, self._field(path, number).to_pylist())
            else:
                columns.append((field.name, None))
            self._fields += [number] * (len(columns) - len(self._fields))
        super().__init__(path, "Parquet", columns)
        if METADATA_KEY in (schema.metadata or {}):
            with reading_parquet(path, "the list of objects"):
                self.object_info = checked_object_info(path, json.loads(schema.metadata[METADATA_KEY]))

    def _field(self, path: Path, number: int) -> Any:
        """Return a column of the file as a chunked array."""
        names = self._file.schema_arrow.names
        name = names[number]
        # pyarrow reads a dot as a path into a nested column, and a repeated name is ambiguous: read all columns then.
        is_unique = "." not in name and names.count(name) == 1
        check_size(path, self._file, column=name if is_unique else None)
        column = self._file.read([name]).column(0) if is_unique else self._file.read().column(number)
        if len(column) != self.n_rows:
            raise ValueError(
                f"{path}: column {name!r} has {len(column):,} rows, not {self.n_rows:,}; the file is damaged"
            )
        return column

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._file.metadata.num_rows)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns."""
        for position in {*objects, *labels, *numbers}:
            if self._cells[position] is None:
                number = self._fields[position]
                assert number is not None
                with reading_parquet(self.path, self.title(position)):
                    self._cells[position] = cells_of(self._field(self.path, number))

    def describe_row(self, row: int) -> str:
        """Return the row number and the cells."""
        self.read((), range(len(self.names)), ())
        return super().describe_row(row)


def open_parquet(path: Path) -> Any:
    """Open a Parquet file so that text columns are dictionary-encoded, whatever their size."""
    parquet = extra("pyarrow.parquet", "reading a Parquet file")
    schema = parquet.ParquetFile(path).schema
    columns = [schema.column(number) for number in range(len(schema))]
    text = [column.path for column in columns if column.physical_type == "BYTE_ARRAY" and column.path == column.name]
    # pre_buffer would read ahead all row groups, so that memory would grow with the file.
    return parquet.ParquetFile(path, read_dictionary=text, pre_buffer=False)


def check_size(path: Path, file: Any, *, column: str | None = None) -> None:
    """Raise an error if a column (None for all columns in total) needs an implausible amount of memory.

    A billion equal cells take only a few bytes in a file.
    """
    needed = 0
    for group in range(file.metadata.num_row_groups):
        chunks = file.metadata.row_group(group)
        for number in range(chunks.num_columns):
            chunk = chunks.column(number)
            first = chunk.path_in_schema.partition(".")[0]
            if column in (None, chunk.path_in_schema, first):
                cell = _CELL if chunk.path_in_schema == first else _LIST_CELL
                needed += max(chunk.total_uncompressed_size, cell * chunk.num_values)
    problem = too_large(needed, path.stat().st_size)
    if problem:
        where = "" if column is None else f", column {column!r}"
        raise ValueError(f"{path}{where}: {problem}")


def object_info_of(path: Path) -> ObjectInfo:
    """Return the description of the objects in a Parquet file, as options of ``read_answers``."""
    parquet = extra("pyarrow.parquet", "reading a Parquet file")
    with reading_parquet(path, "the list of objects"):
        metadata = parquet.read_schema(path).metadata or {}
        return checked_object_info(path, json.loads(metadata.get(METADATA_KEY, b"{}")))


@contextlib.contextmanager
def reading_parquet(path: Path, part: str | None = None) -> Iterator[None]:
    """Convert pyarrow's exceptions about a damaged file (or a part of it) to a ValueError that names the file."""
    arrow = extra("pyarrow", "reading a Parquet file")
    try:
        yield
    except (arrow.ArrowException, OSError, KeyError, UnicodeError, json.JSONDecodeError) as error:
        reason = " ".join(str(error).split())[:_REASON]
        where = "is not a Parquet file" if part is None else f"cannot be read as Parquet ({part})"
        raise ValueError(f"{path} {where}, or it is damaged: {reason}") from None


def read_numbers(
    path: Path, is_name: Callable[[str, bool], bool], part: str
) -> tuple[NDArray[np.float64], tuple[str, ...] | None, tuple[str, ...]]:
    """Return the columns of numbers of a file, the names in its first column (or None), and the titles of the numbers.

    ``is_name`` returns whether the first column holds names, given its title and whether it is text.
    """
    arrow = extra("pyarrow", "reading Parquet")
    with reading_parquet(path, part):
        file = open_parquet(path)
        check_size(path, file)
        table = file.read()
        names = None
        if table.column_names:
            kind = table.column(0).type
            textual = (
                arrow.types.is_dictionary(kind) or arrow.types.is_string(kind) or arrow.types.is_large_string(kind)
            )
            if is_name(table.column_names[0], textual):
                names = tuple(labels_of_cells(table.column(0)))
                table = table.remove_column(0)
        columns = [column.cast(arrow.float64()).to_numpy() for column in table.columns]
    numbers = np.column_stack(columns) if columns else np.empty((0, 0))
    return numbers, names, tuple(table.column_names)


def labels_of_cells(column: Any) -> list[str]:
    """Return the text of each cell of a chunked array of any type."""
    encoded = _encode(column)
    return [encoded.labels[code] for code in encoded.codes.tolist()]


def cells_of(column: Any) -> Column | NDArray[Any]:
    """Convert a chunked array to an array if it holds numbers, otherwise to a column of labels."""
    arrow = extra("pyarrow", "reading a Parquet file")
    types = arrow.types
    if types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.cast(arrow.float64()).to_numpy())
    return _encode(column)


def _encode(column: Any) -> Column:
    arrow = extra("pyarrow", "reading a Parquet file")
    types = arrow.types
    if not types.is_dictionary(column.type):
        column = column.cast(arrow.string()).dictionary_encode()
    column = column.unify_dictionaries() if column.num_chunks > 1 else column
    chunks = column.chunks
    labels = ["" if name is None else name for name in chunks[0].dictionary.cast(arrow.string()).to_pylist()]
    # 64 bits, because the code of the additional empty label may not fit into the type of the indices.
    codes = np.concatenate([chunk.indices.cast(arrow.int64()).fill_null(len(labels)).to_numpy() for chunk in chunks])
    if codes.min() < 0 or codes.max() > len(labels):
        raise ValueError("a cell refers to a label that does not exist")
    return Column(codes.astype(np.int32), [*labels, ""])
