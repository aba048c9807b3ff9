"""Large files: .npy and Parquet with triplets or quadruplets, read without ever being in memory as a whole.

A .npy file of int32, numbered from 0, is used where it lies. Of others a copy of int32 rows is made, once, in a file
without a name beside it, which is gone when nobody uses it any longer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import BLOCK, TemporaryRows, is_large, renumbered, surveyed
from closerthan.files.arrays import mapped_rows
from closerthan.files.catch_trials import catch_columns
from closerthan.files.columns import understood
from closerthan.files.extras import extra
from closerthan.files.formats import ending
from closerthan.files.numbering import Numbered, numbered
from closerthan.files.parquet import ParquetTable, check_size, opened_parquet, reading_parquet
from closerthan.files.row_columns import RowColumns, codes_of, is_text
from closerthan.files.summary import Summary

__all__ = ["Portion", "as_int32", "read_large"]

_LIMIT = np.iinfo(np.int32).max
_NOTE = "the file is large: it is read in blocks, and repeated and contradictory comparisons are not counted"
_LEFT_OUT = frozenset({"time", "side"})
_ASIDES = frozenset({"weight", "participant", "answer", *_LEFT_OUT})
_KINDS = {3: "triplet", 4: "quadruplet"}


class _Coded(NamedTuple):
    """Rows of codes, and what each code stands for; None if that is the number itself."""

    rows: NDArray[np.int32]
    labels: list[str] | None
    columns: Mapping[str, str]
    format: str
    settings: Mapping[str, Any] = {}
    beside: RowColumns | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Portion:
    """How much of a file is read, from which size on in blocks, and how many rows at a time.

    Parameters
    ----------
    groups
        The row groups of a Parquet file; None: all.
    large_from
        Bytes of rows; None: the usual limit.
    block
        Rows; None: the usual number.
    """

    groups: Sequence[int] | None = None
    large_from: int | None = None
    block: int | None = None

    def is_large(self, n_bytes: int) -> bool:
        """Whether so many bytes of rows are read in blocks."""
        return is_large(n_bytes) if self.large_from is None else n_bytes >= self.large_from


def read_large(
    path: Path, asked: Mapping[str, Any], columns: Mapping[str, Any] | None, portion: Portion | None = None
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
    portion
        How much of the file, if not all; and sizes other than the usual ones.
    """
    coded, portion = None, portion or Portion()
    if ending(path) == ".npy" and not any(place is not None for place in (columns or {}).values()):
        coded = _of_array(path, portion)
    elif ending(path) in (".parquet", ".pq"):
        coded = _of_parquet(path, asked["kind"], columns, portion)
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
        number = np.zeros(int(codes[-1]) + 1, np.int32)
        number[codes] = found.numbers
        rows = frozen(renumbered(rows, number))
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    comparisons = make(rows, n_objects=found.n_objects, names=found.names)
    beside = coded.beside or RowColumns(path, {}, 0)
    comparisons = beside.added_to(comparisons)
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
        n_answers=comparisons.n_answers,
        n_comparisons=len(rows),
        n_test=0,
        n_participants=beside.n_participants,
        notes=(_NOTE, *coded.notes, *beside.notes),
    )


def _numbered(labels: list[str], settings: Mapping[str, Any], asked: Mapping[str, Any]) -> Numbered:
    own = {name: asked[name] for name in ("numbering", "names", "n_objects") if asked[name] is not None}
    if own or not settings:
        return numbered(labels, **own)
    found = numbered(labels, **settings)
    return found if "names" in settings or "numbering" not in settings else found._replace(names=None)


def _of_array(path: Path, portion: Portion) -> _Coded | None:
    rows = mapped_rows(path)
    if rows is None or not portion.is_large(rows.size * 4):
        return None
    roles = ("anchor", "near", "far") if rows.shape[1] == 3 else ("near_1", "near_2", "far_1", "far_2")
    columns = {role: f"column {place + 1}" for place, role in enumerate(roles)}
    found = as_int32(rows, path)
    return None if found is None else _Coded(found, None, columns, "NumPy")


def as_int32(rows: NDArray[np.integer[Any]], path: Path) -> NDArray[np.int32] | None:
    """Mapped rows as they are, or in a temporary file; None if their numbers cannot be objects'."""
    if rows.dtype == np.int32 and rows.flags.c_contiguous:
        return frozen(rows)  # type: ignore[no-any-return]
    copy = TemporaryRows(rows.shape, path.parent)
    for first in range(0, len(rows), BLOCK):
        block = np.ascontiguousarray(rows[first : first + BLOCK])
        if int(block.max()) > _LIMIT or int(block.min()) < 0:
            return None
        copy.write(first, block.astype(np.int32))
    return frozen(copy)  # type: ignore[no-any-return]


def _of_parquet(path: Path, kind: str | None, columns: Mapping[str, Any] | None, portion: Portion) -> _Coded | None:
    types = extra("pyarrow.types", "reading a Parquet file")
    with reading_parquet(path):
        file = opened_parquet(path)
    groups = range(file.metadata.num_row_groups) if portion.groups is None else portion.groups
    n_rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    if not portion.is_large(n_rows * 12) or any(types.is_nested(field.type) for field in file.schema_arrow):
        return None
    table = ParquetTable(path)
    layout = understood(table, kind, columns)
    roles = ("anchor", "near", "far") if layout.form.kind == "triplet" else ("near_1", "near_2", "far_1", "far_2")
    asides = [role for role in layout.columns if role not in roles]
    if not {*roles} <= {*layout.columns} or not {*asides} <= _ASIDES or catch_columns(table, layout.objects):
        return None
    used = {
        role: str(table.names[place]) for role, (place, *_) in layout.columns.items() if role not in _LEFT_OUT
    }  # fmt: skip
    fields = {role: file.schema_arrow.field(name) for role, name in used.items() if table.names.count(name) == 1}
    textual = [not types.is_integer(fields[role].type) for role in roles if role in fields]
    if len(fields) < len(used) or any("." in name for name in used.values()) or any(textual) != all(textual):
        return None
    if any(textual) and not all(is_text(fields[role].type) for role in roles):
        return None
    if not all(RowColumns.can_be(role, fields[role].type) for role in used if role not in roles):
        return None
    for name in used.values():  # what no memory is large enough for would fill a disk, too
        check_size(path, file, column=name)
    copy = TemporaryRows((n_rows, len(roles)), path.parent)
    beside = RowColumns(path, {role: name for role, name in used.items() if role not in roles}, n_rows)
    codes: dict[str, int] | None = {} if any(textual) else None
    first = 0
    with reading_parquet(path, ", ".join(used.values())):
        batches = file.iter_batches(portion.block or BLOCK, row_groups=list(groups), columns=list(used.values()))
        for batch in batches:
            block = _objects(batch, [used[role] for role in roles], codes, path, first)
            if block.max() > _LIMIT or block.min() < 0:
                return None
            copy.write(first, block)
            beside.add(first, batch)
            first += len(block)
    if first != len(copy):
        raise ValueError(f"{path} promises {len(copy):,} rows and has {first:,}; it is damaged")
    if not beside.rows_of_an_answer_follow_each_other:
        return None
    left_out = [str(table.names[place]) for role in asides if role in _LEFT_OUT for place in layout.columns[role]]
    notes = (f"of a large file, {' and '.join(map(repr, left_out))} are not read",) if left_out else ()
    labels = None if codes is None else list(codes)
    return _Coded(frozen(copy), labels, used, "Parquet", table.settings, beside, notes)


def _objects(batch: Any, names: list[str], codes: dict[str, int] | None, path: Path, first: int) -> NDArray[np.int64]:
    """The objects of a batch of rows; names become numbers in the order in which they come."""
    block = np.empty((len(batch), len(names)), np.int64)
    for place, name in enumerate(names):
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{path}, row {row + 1:,}: {name!r} is empty; correct the file, or leave such rows out")
        block[:, place] = column.to_numpy() if codes is None else _codes(column, codes)
    return block


def _codes(column: Any, codes: dict[str, int]) -> NDArray[np.int64]:
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    labels = [str(label).strip() for label in column.dictionary.to_pylist()]
    return codes_of(labels, column.indices.to_numpy(), codes)
