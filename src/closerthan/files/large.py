"""Large files: .npy and Parquet with nothing but triplets or quadruplets, read without ever being in memory as a whole.

A .npy file of int32, numbered from 0, is used where it lies. Of others a copy of int32 rows is made, once, in a file
without a name beside it, which is gone when nobody uses it any longer.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import BLOCK, TemporaryRows, in_blocks, is_large, surveyed
from closerthan.files.arrays import mapped_rows
from closerthan.files.catch_trials import catch_columns
from closerthan.files.columns import understood
from closerthan.files.extras import extra
from closerthan.files.formats import ending
from closerthan.files.numbering import Numbered, numbered
from closerthan.files.parquet import ParquetTable, check_size, opened_parquet, reading_parquet
from closerthan.files.summary import Summary
from closerthan.files.tables import Table

__all__ = ["read_large"]

_LIMIT = np.iinfo(np.int32).max
_NOTE = "the file is large: it is read in blocks, and repeated and contradictory comparisons are not counted"
_KINDS = {3: "triplet", 4: "quadruplet"}


class _Coded(NamedTuple):
    """Rows of codes, and what each code stands for; None if that is the number itself."""

    rows: NDArray[np.int32]
    labels: list[str] | None
    columns: Mapping[str, str]
    format: str
    settings: Mapping[str, Any] = {}


def read_large(
    path: Path, asked: Mapping[str, Any], columns: Mapping[str, Any] | None
) -> tuple[Comparisons, Summary] | None:
    """The comparisons of a large file and what was in it; None if it is not large, or not that plain.

    Parameters
    ----------
    path
        The file.
    asked
        The options ``kind``, ``numbering``, ``names`` and ``n_objects`` of the reader.
    columns
        Which columns are which, where a user says so.
    """
    coded = None
    if ending(path) == ".npy" and not any(place is not None for place in (columns or {}).values()):
        coded = _of_array(path)
    elif ending(path) in (".parquet", ".pq"):
        coded = _of_parquet(path, asked["kind"], columns)
    if coded is None or asked["kind"] not in (None, _KINDS[coded.rows.shape[1]]):
        return None
    survey = surveyed(coded.rows)
    if survey is None or survey.least < 0:
        return None
    codes = np.flatnonzero(survey.mentioned)
    labels = [str(code) for code in codes.tolist()] if coded.labels is None else [coded.labels[code] for code in codes]
    found = _numbered(labels, coded.settings, asked)
    rows = coded.rows
    if not np.array_equal(found.numbers, codes):
        rows = _renumbered(rows, codes, found, path)
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    comparisons = make(rows, n_objects=found.n_objects, names=found.names)
    return comparisons, Summary(
        path=str(path),
        format=coded.format,
        kind=_KINDS[rows.shape[1]],
        columns=coded.columns,
        numbering=found.numbering,
        numbering_reason=found.why,
        n_objects=comparisons.n_objects,
        n_mentioned=len(codes),
        n_rows=len(rows),
        n_used=len(rows),
        n_answers=len(rows),
        n_comparisons=len(rows),
        n_test=0,
        notes=(_NOTE,),
    )


def _numbered(labels: list[str], settings: Mapping[str, Any], asked: Mapping[str, Any]) -> Numbered:
    own = {name: asked[name] for name in ("numbering", "names", "n_objects") if asked[name] is not None}
    if own or not settings:
        return numbered(labels, **own)
    found = numbered(labels, **settings)
    return found if "names" in settings or "numbering" not in settings else found._replace(names=None)


def _renumbered(rows: NDArray[np.int32], codes: NDArray[np.intp], found: Numbered, path: Path) -> NDArray[np.int32]:
    """A copy with other numbers."""
    number = np.zeros(int(codes[-1]) + 1, np.int32)
    number[codes] = found.numbers
    copy = TemporaryRows(rows.shape, path.parent)
    for first, block in in_blocks(rows):
        copy.write(first, number[block])
    return frozen(copy)  # type: ignore[no-any-return]


def _of_array(path: Path) -> _Coded | None:
    rows = mapped_rows(path)
    if rows is None or not is_large(rows.size * 4):
        return None
    roles = ("anchor", "near", "far") if rows.shape[1] == 3 else ("near_1", "near_2", "far_1", "far_2")
    columns = {role: f"column {place + 1}" for place, role in enumerate(roles)}
    if rows.dtype == np.int32 and rows.flags.c_contiguous:
        return _Coded(frozen(rows), None, columns, "NumPy")
    copy = TemporaryRows(rows.shape, path.parent)
    for first in range(0, len(rows), BLOCK):
        block = np.ascontiguousarray(rows[first : first + BLOCK])
        if int(block.max()) > _LIMIT or int(block.min()) < 0:
            return None
        copy.write(first, block.astype(np.int32))
    return _Coded(frozen(copy), None, columns, "NumPy")


def _of_parquet(path: Path, kind: str | None, columns: Mapping[str, Any] | None) -> _Coded | None:
    types = extra("pyarrow.types", "reading a Parquet file")
    with reading_parquet(path):
        file = opened_parquet(path)
    if not is_large(file.metadata.num_rows * 12) or any(types.is_nested(field.type) for field in file.schema_arrow):
        return None
    table = ParquetTable(path)
    layout = understood(table, kind, columns)
    roles = ("anchor", "near", "far") if layout.form.kind == "triplet" else ("near_1", "near_2", "far_1", "far_2")
    if set(layout.columns) != set(roles) or catch_columns(table, layout.objects):
        return None
    places = [layout.columns[role][0] for role in roles]
    names = [str(table.names[place]) for place in places]
    fields = [file.schema_arrow.field(place) for place in places]
    textual = [not types.is_integer(field.type) for field in fields]
    if any("." in name or table.names.count(name) > 1 for name in names) or any(textual) != all(textual):
        return None
    if any(textual) and not all(_is_text(types, field.type) for field in fields):
        return None
    for name in names:  # what no memory is large enough for would fill a disk, too
        check_size(path, file, column=name)
    copy = TemporaryRows((file.metadata.num_rows, len(names)), path.parent)
    codes: dict[str, int] | None = {} if any(textual) else None
    first = 0
    with reading_parquet(path, ", ".join(names)):
        for block in _batches(file, names, codes, table):
            if block.max() > _LIMIT or block.min() < 0:
                return None
            copy.write(first, block.astype(np.int32))
            first += len(block)
    if first != len(copy):
        raise ValueError(f"{path} promises {len(copy):,} rows and has {first:,}; it is damaged")
    used = dict(zip(roles, names, strict=True))
    return _Coded(frozen(copy), None if codes is None else list(codes), used, "Parquet", table.settings)


def _is_text(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _batches(file: Any, names: list[str], codes: dict[str, int] | None, table: Table) -> Iterator[NDArray[np.int64]]:
    """Blocks of rows; names become numbers in the order in which they come."""
    first = 0
    for batch in file.iter_batches(BLOCK, columns=names):
        block = np.empty((len(batch), len(names)), np.int64)
        for place, name in enumerate(names):
            column = batch.column(batch.schema.get_field_index(name))
            if column.null_count:
                row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                raise ValueError(
                    f"{table.path}, row {row + 1:,}: {name!r} is empty; correct the file, or leave such rows out"
                )
            block[:, place] = column.to_numpy() if codes is None else _codes(column, codes)
        yield block
        first += len(batch)


def _codes(column: Any, codes: dict[str, int]) -> NDArray[np.int64]:
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    labels = [str(label).strip() for label in column.dictionary.to_pylist()]
    number = np.array([codes.setdefault(label, len(codes)) for label in labels], np.int64)
    indices: NDArray[np.int64] = column.indices.to_numpy()
    return number[indices]
