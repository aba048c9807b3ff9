"""Large .npy and Parquet files, which are never loaded into memory as a whole.

A .npy file of int32 numbers from 0 is used in place. Other files are converted once to int32 rows in an unnamed
temporary file in the same folder, which is deleted when it is no longer used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import BLOCK, TemporaryRows, is_large, renumber, survey_rows
from closerthan.files.formats.binary.arrays import mapped_rows
from closerthan.files.formats.binary.parquet import ParquetTable, check_size, open_parquet, reading_parquet
from closerthan.files.formats.extras import extra
from closerthan.files.formats.readers import suffix_of
from closerthan.files.formats.tables import MISSING, ObjectInfo
from closerthan.files.meaning.attributes.catch_trials import catch_columns
from closerthan.files.meaning.attributes.exclusions import exclusion_column
from closerthan.files.meaning.columns import EXTRAS, Layout, find_layout
from closerthan.files.meaning.numbering import Numbering, number_objects
from closerthan.files.meaning.reading import Reading
from closerthan.files.meaning.summary import Summary
from closerthan.files.stored.batch_interpreter import BatchInterpreter
from closerthan.files.stored.row_columns import RowColumns, encode, is_text, update_codes

__all__ = ["Portion", "as_int32", "read_large"]

_LIMIT = np.iinfo(np.int32).max
_NOTE = (
    "the file is large and is read in parts; repeated and contradictory comparisons are not counted, and chains of "
    "dependent trials are not detected"
)
_UNREAD = frozenset({"time", "side"})
_SUPPORTED = frozenset({"weight", "participant", "answer", "block", *_UNREAD})
_ROLES = (("anchor", "near", "far"), ("near_1", "near_2", "far_1", "far_2"))
_KINDS = {3: "triplet", 4: "quadruplet"}


class _CodedRows(NamedTuple):
    """Rows of codes, and the label of each code, or None if the codes are the numbers in the file."""

    rows: NDArray[np.int32]
    labels: list[str] | None
    description: "_Description"
    object_info: ObjectInfo
    row_columns: RowColumns | None = None


class _Description(NamedTuple):
    """Facts about a file for its summary."""

    format: str
    kind: str
    columns: Mapping[str, str]
    notes: tuple[str, ...]
    n_rows: int


@dataclass(frozen=True)
class Portion:
    """The part of a file to read, and the sizes of blocks.

    Parameters
    ----------
    groups
        Row groups of a Parquet file; None means all.
    large_from
        Number of bytes from which rows are read in blocks; None means the default.
    block
        Number of rows per block; None means the default.
    """

    groups: Sequence[int] | None = None
    large_from: int | None = None
    block: int | None = None

    def is_large(self, n_bytes: int) -> bool:
        """Return whether rows of this size are read in blocks."""
        return is_large(n_bytes) if self.large_from is None else n_bytes >= self.large_from


def read_large(path: Path, reading: Reading, portion: Portion | None = None) -> tuple[Comparisons, Summary] | None:
    """Read a large file in blocks; return None if it is not large, or must be read as a whole.

    Parameters
    ----------
    path
        The file.
    reading
        Options that keep all rows (:attr:`Reading.keeps_all_rows`).
    portion
        The part of the file to read, and the sizes of blocks.
    """
    coded, portion = None, portion or Portion()
    if suffix_of(path) == ".npy" and not any(place is not None for place in reading.roles.values()):
        coded = _read_array(path, portion)
    elif suffix_of(path) in (".parquet", ".pq"):
        coded = _read_parquet(path, reading, portion)
    if coded is None or reading.kind not in (None, coded.description.kind):
        return None
    survey = survey_rows(coded.rows)
    if survey is None or survey.least < 0:
        return None
    codes = np.flatnonzero(survey.mentioned)
    labels = [str(code) for code in codes.tolist()] if coded.labels is None else [coded.labels[code] for code in codes]
    numbering = _number_objects(labels, coded.object_info, reading)
    rows = coded.rows
    if not np.array_equal(numbering.numbers, codes):
        number_of_code = np.zeros(int(codes[-1]) + 1, np.int32)
        number_of_code[codes] = numbering.numbers
        rows = frozen(renumber(rows, number_of_code))
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    comparisons = make(rows, n_objects=numbering.n_objects, names=numbering.names)
    row_columns = coded.row_columns or RowColumns(path, {}, 0)
    comparisons = row_columns.add_to(comparisons)
    return comparisons, Summary(
        path=str(path),
        format=coded.description.format,
        kind=coded.description.kind,
        columns=coded.description.columns,
        numbering=numbering.numbering,
        numbering_reason=numbering.reason,
        n_objects=comparisons.n_objects,
        n_mentioned=len(codes),
        n_rows=coded.description.n_rows,
        n_used=coded.description.n_rows,
        n_answers=comparisons.n_answers,
        n_comparisons=len(rows),
        n_test=0,
        n_participants=row_columns.n_participants,
        notes=(_NOTE, *coded.description.notes, *row_columns.notes),
    )


def _number_objects(labels: list[str], object_info: ObjectInfo, reading: Reading) -> Numbering:
    if reading.numbering or reading.names is not None or reading.n_objects is not None or not object_info:
        return number_objects(labels, reading.numbering, reading.names, reading.n_objects)
    numbering = number_objects(labels, **object_info)
    return numbering if "names" in object_info or "numbering" not in object_info else numbering._replace(names=None)


def _read_array(path: Path, portion: Portion) -> _CodedRows | None:
    rows = mapped_rows(path)
    if rows is None or not portion.is_large(rows.size * 4):
        return None
    roles = _ROLES[rows.shape[1] - 3]
    columns = {role: f"column {place + 1}" for place, role in enumerate(roles)}
    converted = as_int32(rows, path)
    if converted is None:
        return None
    return _CodedRows(converted, None, _Description("NumPy", _KINDS[rows.shape[1]], columns, (), len(rows)), {})


def as_int32(rows: NDArray[np.integer[Any]], path: Path) -> NDArray[np.int32] | None:
    """Return memory-mapped rows as int32, in place or in a temporary file; None if they are not object numbers."""
    if rows.dtype == np.int32 and rows.flags.c_contiguous:
        return frozen(rows)  # type: ignore[no-any-return]
    copy = TemporaryRows(rows.shape, path.parent)
    for first in range(0, len(rows), BLOCK):
        block = np.ascontiguousarray(rows[first : first + BLOCK])
        if int(block.max()) > _LIMIT or int(block.min()) < 0:
            return None
        copy.write(first, block.astype(np.int32))
    return frozen(copy)  # type: ignore[no-any-return]


class _Plan(NamedTuple):
    """The columns of a Parquet file to read, and their use."""

    roles: tuple[str, ...]  # roles of the objects, if the answers are stored as triplets or quadruplets
    used: Mapping[str, str]  # columns by role: objects, weights, people, answers and blocks
    interpreter: BatchInterpreter | None  # None if the answers are stored as triplets or quadruplets
    codes: dict[str, int] | None  # codes of object names; None if objects are numbers
    empty: frozenset[str] = MISSING  # texts that stand for an empty cell

    @classmethod
    def of(cls, table: ParquetTable, layout: Layout, schema: Any, names: Sequence[str]) -> "_Plan | None":
        """Return a plan for reading in batches, or None if that is impossible; ``names`` are never empty cells."""
        types = extra("pyarrow.types", "reading a Parquet file")
        extras = [role for role in layout.columns if role in EXTRAS]
        marks = catch_columns(table, [*layout.objects, *layout.labels])
        if not {*extras} <= _SUPPORTED or marks or exclusion_column(table) is not None:
            return None
        roles, interpreter = tuple(role for role in layout.columns if role not in EXTRAS), None
        if roles not in _ROLES:
            roles, interpreter = (), BatchInterpreter(table.path, layout, table.names)
        read = [role for role in (*roles, *extras) if role not in _UNREAD]
        plan = cls(roles, {role: str(table.names[layout.columns[role][0]]) for role in read}, interpreter, None)
        if any(table.names.count(name) > 1 or "." in name for name in plan.names):
            return None
        kinds = {role: schema.field(name).type for role, name in plan.used.items()}
        if not all(RowColumns.is_readable(role, kind) for role, kind in kinds.items() if role not in roles):
            return None
        if all(types.is_integer(kinds[role]) for role in roles):
            return plan
        if not all(is_text(kinds[role]) for role in roles):
            return None
        return plan._replace(codes={}, empty=MISSING - set(names))

    @property
    def names(self) -> list[str]:
        """Names of all columns to read."""
        return list(dict.fromkeys([*(self.interpreter.columns if self.interpreter else ()), *self.used.values()]))

    @property
    def row_columns(self) -> dict[str, str]:
        """The columns of weights, people, answers and blocks, by role."""
        return {role: name for role, name in self.used.items() if role not in self.roles}

    def comparisons(self, batch: Any, path: Path, first: int) -> NDArray[np.int64] | None:
        """Return rows of numbers or codes of objects; None if they cannot be derived from a batch alone."""
        rows = self._objects(batch, path, first) if self.interpreter is None else self.interpreter.comparisons(batch)
        return rows if rows is not None and rows.max() <= _LIMIT and rows.min() >= 0 else None

    def _objects(self, batch: Any, path: Path, first: int) -> NDArray[np.int64]:
        """Return the objects of a batch; names are encoded in order of appearance."""
        block = np.empty((len(batch), len(self.roles)), np.int64)
        for place, name in enumerate(self.used[role] for role in self.roles):
            column = batch.column(batch.schema.get_field_index(name))
            if self.codes is None:
                empty = column.is_null().to_numpy(zero_copy_only=False)
                numbers = column.fill_null(0).to_numpy()
            else:
                labels, codes = encode(column)
                empty = np.array([label in self.empty for label in labels], bool)[codes]
                numbers = update_codes(labels, codes, self.codes)
            if empty.any():
                row = first + int(np.argmax(empty))
                raise ValueError(f"{path}, row {row:,}: {name!r} is empty; correct the file, or leave such rows out")
            block[:, place] = numbers
        return block


def _read_parquet(path: Path, reading: Reading, portion: Portion) -> _CodedRows | None:
    types = extra("pyarrow.types", "reading a Parquet file")
    with reading_parquet(path):
        file = open_parquet(path)
    groups = range(file.metadata.num_row_groups) if portion.groups is None else portion.groups
    n_rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    if not portion.is_large(n_rows * 12) or any(types.is_nested(field.type) for field in file.schema_arrow):
        return None
    table = ParquetTable(path)
    layout = find_layout(table, reading.kind, reading.roles)
    names = table.object_info.get("names", ()) if reading.names is None else reading.names
    plan = _Plan.of(table, layout, file.schema_arrow, names)
    if plan is None:
        return None
    for name in plan.names:  # otherwise a malicious file could fill the disk
        check_size(path, file, column=name)
    copy = row_columns = None
    per_row = first = 0
    with reading_parquet(path, ", ".join(plan.names)):
        for batch in file.iter_batches(portion.block or BLOCK, row_groups=list(groups), columns=plan.names):
            block = plan.comparisons(batch, path, first)
            if block is None:
                return None
            if copy is None or row_columns is None:
                per_row = len(block) // len(batch)
                copy = TemporaryRows((n_rows * per_row, block.shape[1]), path.parent)
                row_columns = RowColumns(path, plan.row_columns, n_rows, per_row)
            copy.write(first * per_row, block)
            row_columns.add(first, batch)
            first += len(batch)
    if first != n_rows or copy is None or row_columns is None:
        raise ValueError(f"{path} declares {n_rows:,} rows but has {first:,}; the file is damaged")
    if not row_columns.answers_are_contiguous:
        return None
    codes = plan.codes if plan.interpreter is None else plan.interpreter.codes
    columns, notes = _columns_and_notes(table, layout, plan.interpreter)
    description = _Description("Parquet", layout.form.kind, columns, notes, n_rows)
    return _CodedRows(frozen(copy), None if codes is None else list(codes), description, table.object_info, row_columns)


def _columns_and_notes(
    table: ParquetTable, layout: Layout, interpreter: BatchInterpreter | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    names = {
        role: ", ".join(str(table.names[place]) for place in places) for role, places in layout.columns.items()
    }  # fmt: skip
    unread = [repr(name) for role, name in names.items() if role in _UNREAD]
    notes = (f"because the file is large, {' and '.join(unread)} are not read",) if unread else ()
    read = {role: name for role, name in names.items() if role not in _UNREAD}
    return read, (*notes, *(interpreter.notes if interpreter else ()))
