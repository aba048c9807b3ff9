"""Parquet, by pyarrow."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.extras import extra
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.sizes import too_large
from closerthan.files.formats.tables import Column, LoadedTable, checked_settings, numbered_columns

_SHOWN = 200  # characters of pyarrow's reason
_CELL, _LISTED = 8, 64  # bytes that a cell needs in memory at least, and one in a list
SETTINGS = b"closerthan"
"""The key of the file's metadata under which the objects are described, as JSON."""


class ParquetTable(LoadedTable):
    """A Parquet file; only the columns that are asked for are read, and lists become numbered columns."""

    def __init__(self, path: Path) -> None:
        types = extra("pyarrow.types", "reading a Parquet file")
        with reading_parquet(path):
            self._file = opened_parquet(path)
            schema = self._file.schema_arrow
        if not self._file.metadata.num_rows:
            raise NoAnswerError(f"{path} is empty: it has columns, but no row")
        columns: list[tuple[str | None, Any]] = []
        self._fields: list[int | None] = []  # the field of the schema that a column is still to be read from
        for number, field in enumerate(schema):
            if types.is_list(field.type) or types.is_large_list(field.type) or types.is_fixed_size_list(field.type):
                with reading_parquet(path, field.name):
                    columns += numbered_columns(field.name, self._field(path, number).to_pylist())
            else:
                columns.append((field.name, None))
            self._fields += [number] * (len(columns) - len(self._fields))
        super().__init__(path, "Parquet", columns)
        if SETTINGS in (schema.metadata or {}):
            with reading_parquet(path, "the list of objects"):
                self.settings = checked_settings(path, json.loads(schema.metadata[SETTINGS]))

    def _field(self, path: Path, number: int) -> Any:
        """A column of the file as a chunked array."""
        names = self._file.schema_arrow.names
        name = names[number]
        # A dot leads into a nested column, and of equal names it is not clear which is meant: then all are read.
        alone = "." not in name and names.count(name) == 1
        check_size(path, self._file, column=name if alone else None)
        column = self._file.read([name]).column(0) if alone else self._file.read().column(number)
        if len(column) != self.n_rows:
            raise ValueError(f"{path}: column {name!r} has {len(column):,} rows, not {self.n_rows:,}; it is damaged")
        return column

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._file.metadata.num_rows)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        for position in {*objects, *labels, *numbers}:
            if self._cells[position] is None:
                number = self._fields[position]
                assert number is not None
                with reading_parquet(self.path, self.title(position)):
                    self._cells[position] = cells_of(self._field(self.path, number))

    def place(self, row: int) -> str:
        """The row and those of its cells that were read."""
        self.read((), range(len(self.names)), ())
        return super().place(row)


def opened_parquet(path: Path) -> Any:
    """A Parquet file whose text is read as labels and numbers that point at them, as much of it as there may be."""
    parquet = extra("pyarrow.parquet", "reading a Parquet file")
    schema = parquet.ParquetFile(path).schema
    columns = [schema.column(number) for number in range(len(schema))]
    text = [column.path for column in columns if column.physical_type == "BYTE_ARRAY" and column.path == column.name]
    # Without pre_buffer: it would read ahead all row groups, so that memory grows with the file.
    return parquet.ParquetFile(path, read_dictionary=text, pre_buffer=False)


def check_size(path: Path, file: Any, *, column: str | None = None) -> None:
    """An error if a column (None: all together) needs far more memory than any answers of the file's size do.

    A billion equal cells are a few bytes in the file.
    """
    needed = 0
    for group in range(file.metadata.num_row_groups):
        chunks = file.metadata.row_group(group)
        for number in range(chunks.num_columns):
            chunk = chunks.column(number)
            first = chunk.path_in_schema.partition(".")[0]
            if column in (None, chunk.path_in_schema, first):
                cell = _CELL if chunk.path_in_schema == first else _LISTED
                needed += max(chunk.total_uncompressed_size, cell * chunk.num_values)
    bomb = too_large(needed, path.stat().st_size)
    if bomb:
        where = "" if column is None else f", column {column!r}"
        raise ValueError(f"{path}{where}: {bomb}")


def settings_of(path: Path) -> dict[str, Any]:
    """What a Parquet file says about its objects, as options of a reader."""
    parquet = extra("pyarrow.parquet", "reading a Parquet file")
    with reading_parquet(path, "the list of objects"):
        metadata = parquet.read_schema(path).metadata or {}
        return dict(checked_settings(path, json.loads(metadata.get(SETTINGS, b"{}"))))


@contextlib.contextmanager
def reading_parquet(path: Path, part: str | None = None) -> Iterator[None]:
    """Whatever pyarrow says of a damaged file (or a part of it) is one sentence that names the file."""
    arrow = extra("pyarrow", "reading a Parquet file")
    try:
        yield
    except (arrow.ArrowException, OSError, KeyError, UnicodeError, json.JSONDecodeError) as error:
        reason = " ".join(str(error).split())[:_SHOWN]
        where = "is not a Parquet file" if part is None else f"cannot be read as Parquet ({part})"
        raise ValueError(f"{path} {where}, or it is damaged: {reason}") from None


def labels_in(column: Any) -> list[str]:
    """The label of each cell of a chunked array of any type, as text."""
    found = _labelled(column)
    return [found.labels[code] for code in found.codes.tolist()]


def cells_of(column: Any) -> Column | NDArray[Any]:
    """A chunked array as labels or, if it holds numbers, as an array."""
    arrow = extra("pyarrow", "reading a Parquet file")
    types = arrow.types
    if types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.cast(arrow.float64()).to_numpy())
    return _labelled(column)


def _labelled(column: Any) -> Column:
    arrow = extra("pyarrow", "reading a Parquet file")
    types = arrow.types
    if not types.is_dictionary(column.type):
        column = column.cast(arrow.string()).dictionary_encode()
    column = column.unify_dictionaries() if column.num_chunks > 1 else column
    chunks = column.chunks
    labels = ["" if name is None else name for name in chunks[0].dictionary.cast(arrow.string()).to_pylist()]
    # As 64 bits: one more label may not fit into the type of the indices.
    codes = np.concatenate([chunk.indices.cast(arrow.int64()).fill_null(len(labels)).to_numpy() for chunk in chunks])
    if codes.min() < 0 or codes.max() > len(labels):
        raise ValueError("a cell points at a label that is not there")
    return Column(codes.astype(np.int32), [*labels, ""])
