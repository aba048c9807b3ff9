"""Parquet, by pyarrow."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.extras import extra
from closerthan.files.tables import Column, LoadedTable, label

SETTINGS = b"closerthan"
"""The key of the file's metadata under which the objects are described, as JSON."""


class ParquetTable(LoadedTable):
    """A Parquet file; only the columns that are asked for are read, and lists become numbered columns."""

    def __init__(self, path: Path) -> None:
        parquet = extra("pyarrow.parquet", "reading a Parquet file")
        types = extra("pyarrow.types", "reading a Parquet file")
        arrow = extra("pyarrow", "reading a Parquet file")
        try:
            self._file = parquet.ParquetFile(path)
        except arrow.ArrowException as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from None
        schema = self._file.schema_arrow
        columns: list[tuple[str | None, Any]] = []
        for field in schema:
            if types.is_list(field.type) or types.is_large_list(field.type) or types.is_fixed_size_list(field.type):
                columns += _numbered(field.name, self._file.read([field.name])[field.name])
            else:
                columns.append((field.name, None))
        super().__init__(path, "Parquet", columns)
        if not self._file.metadata.num_rows:
            raise ValueError(f"{path} is empty: it has columns, but no row")
        if SETTINGS in (schema.metadata or {}):
            self.settings = json.loads(schema.metadata[SETTINGS])

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._file.metadata.num_rows)

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready."""
        for position in {*objects, *labels, *numbers}:
            if self._cells[position] is None:
                name = self.names[position]
                assert name is not None
                self._cells[position] = _cells(self._file.read([name])[name])

    def place(self, row: int) -> str:
        """The row and those of its cells that were read."""
        self.read((), range(len(self.names)), ())
        return super().place(row)


def _cells(column: Any) -> Column | NDArray[Any]:
    """A chunked array as labels or, if it holds numbers, as an array."""
    arrow = extra("pyarrow", "reading a Parquet file")
    types = arrow.types
    if types.is_integer(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.cast(arrow.float64()).to_numpy())
    if not types.is_dictionary(column.type):
        column = column.cast(arrow.string()).dictionary_encode()
    column = column.unify_dictionaries() if column.num_chunks > 1 else column
    chunks = column.chunks
    labels = chunks[0].dictionary.cast(arrow.string()).to_pylist()
    codes = np.concatenate([chunk.indices.fill_null(len(labels)).to_numpy(zero_copy_only=False) for chunk in chunks])
    return Column(codes.astype(np.int32), [*labels, ""])


def _numbered(name: str, column: Any) -> list[tuple[str, Column]]:
    rows = column.to_pylist()
    longest = max((len(row or ()) for row in rows), default=0)
    return [
        (
            f"{name}_{position + 1}",
            Column.of_cells([label(row[position]) if row and position < len(row) else "" for row in rows]),
        )
        for position in range(longest)
    ]
