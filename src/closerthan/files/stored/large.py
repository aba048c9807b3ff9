"""Large files: .npy and Parquet, read without ever being in memory as a whole.

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
from closerthan.files.formats.arrays import mapped_rows
from closerthan.files.formats.extras import extra
from closerthan.files.formats.names import ending
from closerthan.files.formats.parquet import ParquetTable, check_size, opened_parquet, reading_parquet
from closerthan.files.formats.tables import MISSING
from closerthan.files.meaning.batch_questions import BatchQuestions
from closerthan.files.meaning.catch_trials import catch_columns
from closerthan.files.meaning.columns import EXTRAS, Layout, understood
from closerthan.files.meaning.numbering import Numbered, numbered
from closerthan.files.meaning.summary import Summary
from closerthan.files.stored.row_columns import RowColumns, codes_of, is_text, labelled

__all__ = ["Portion", "as_int32", "read_large"]

_LIMIT = np.iinfo(np.int32).max
_NOTE = (
    "the file is large: it is read in parts; repeated and contradictory comparisons are not counted, and chains of "
    "dependent trials not looked for"
)
_LEFT_OUT = frozenset({"time", "side"})
_ASIDES = frozenset({"weight", "participant", "answer", "block", *_LEFT_OUT})
_ROLES = (("anchor", "near", "far"), ("near_1", "near_2", "far_1", "far_2"))
_KINDS = {3: "triplet", 4: "quadruplet"}


class _Coded(NamedTuple):
    """Rows of codes, and what each code stands for; None if that is the number itself."""

    rows: NDArray[np.int32]
    labels: list[str] | None
    about: "_About"
    settings: Mapping[str, Any] = {}
    beside: RowColumns | None = None


class _About(NamedTuple):
    """What a summary says of a file."""

    format: str
    kind: str
    columns: Mapping[str, str]
    notes: tuple[str, ...]
    n_rows: int


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
        coded = _of_parquet(path, asked, columns, portion)
    if coded is None or asked["kind"] not in (None, coded.about.kind):
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
        format=coded.about.format,
        kind=coded.about.kind,
        columns=coded.about.columns,
        numbering=found.numbering,
        numbering_reason=found.why,
        n_objects=comparisons.n_objects,
        n_mentioned=len(codes),
        n_rows=coded.about.n_rows,
        n_used=coded.about.n_rows,
        n_answers=comparisons.n_answers,
        n_comparisons=len(rows),
        n_test=0,
        n_participants=beside.n_participants,
        notes=(_NOTE, *coded.about.notes, *beside.notes),
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
    roles = _ROLES[rows.shape[1] - 3]
    columns = {role: f"column {place + 1}" for place, role in enumerate(roles)}
    found = as_int32(rows, path)
    if found is None:
        return None
    return _Coded(found, None, _About("NumPy", _KINDS[rows.shape[1]], columns, (), len(rows)))


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


class _Plan(NamedTuple):
    """Which columns of a Parquet file are read, and what for."""

    roles: tuple[str, ...]  # of triplets or quadruplets that are written as such
    used: Mapping[str, str]  # the columns of these roles, and of weights, people, answers and blocks
    questions: BatchQuestions | None  # who understands other answers
    codes: dict[str, int] | None  # names of objects, if they are not numbers
    empty: frozenset[str] = MISSING  # what stands for no object

    @classmethod
    def of(cls, table: ParquetTable, layout: Layout, schema: Any, names: Sequence[str]) -> "_Plan | None":
        """None if the file cannot be understood batch by batch; what is among ``names`` is never an empty cell."""
        types = extra("pyarrow.types", "reading a Parquet file")
        asides = [role for role in layout.columns if role in EXTRAS]
        if not {*asides} <= _ASIDES or catch_columns(table, [*layout.objects, *layout.labels]):
            return None
        roles, questions = tuple(role for role in layout.columns if role not in EXTRAS), None
        if roles not in _ROLES:
            roles, questions = (), BatchQuestions(table.path, layout, table.names)
        read = [role for role in (*roles, *asides) if role not in _LEFT_OUT]
        plan = cls(roles, {role: str(table.names[layout.columns[role][0]]) for role in read}, questions, None)
        if any(table.names.count(name) > 1 or "." in name for name in plan.names):
            return None
        kinds = {role: schema.field(name).type for role, name in plan.used.items()}
        if not all(RowColumns.can_be(role, kind) for role, kind in kinds.items() if role not in roles):
            return None
        if all(types.is_integer(kinds[role]) for role in roles):
            return plan
        if not all(is_text(kinds[role]) for role in roles):
            return None
        return plan._replace(codes={}, empty=MISSING - set(names))

    @property
    def names(self) -> list[str]:
        """Of all columns."""
        return list(dict.fromkeys([*(self.questions.columns if self.questions else ()), *self.used.values()]))

    @property
    def beside(self) -> dict[str, str]:
        """The columns of weights, people, answers and blocks."""
        return {role: name for role, name in self.used.items() if role not in self.roles}

    def comparisons(self, batch: Any, path: Path, first: int) -> NDArray[np.int64] | None:
        """Rows of numbers or codes of objects; None if that takes more than a batch."""
        found = self._objects(batch, path, first) if self.questions is None else self.questions.comparisons(batch)
        return found if found is not None and found.max() <= _LIMIT and found.min() >= 0 else None

    def _objects(self, batch: Any, path: Path, first: int) -> NDArray[np.int64]:
        """The objects of a batch of rows; names become numbers in the order in which they come."""
        block = np.empty((len(batch), len(self.roles)), np.int64)
        for place, name in enumerate(self.used[role] for role in self.roles):
            column = batch.column(batch.schema.get_field_index(name))
            if self.codes is None:
                empty = column.is_null().to_numpy(zero_copy_only=False)
                numbers = column.fill_null(0).to_numpy()
            else:
                labels, codes = labelled(column)
                empty = np.array([label in self.empty for label in labels], bool)[codes]
                numbers = codes_of(labels, codes, self.codes)
            if empty.any():
                row = first + int(np.argmax(empty))
                raise ValueError(f"{path}, row {row:,}: {name!r} is empty; correct the file, or leave such rows out")
            block[:, place] = numbers
        return block


def _of_parquet(
    path: Path, asked: Mapping[str, Any], columns: Mapping[str, Any] | None, portion: Portion
) -> _Coded | None:
    types = extra("pyarrow.types", "reading a Parquet file")
    with reading_parquet(path):
        file = opened_parquet(path)
    groups = range(file.metadata.num_row_groups) if portion.groups is None else portion.groups
    n_rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    if not portion.is_large(n_rows * 12) or any(types.is_nested(field.type) for field in file.schema_arrow):
        return None
    table = ParquetTable(path)
    layout = understood(table, asked["kind"], columns)
    named = table.settings.get("names", ()) if asked["names"] is None else asked["names"]
    plan = _Plan.of(table, layout, file.schema_arrow, named)
    if plan is None:
        return None
    for name in plan.names:  # what no memory is large enough for would fill a disk, too
        check_size(path, file, column=name)
    copy = beside = None
    several = first = 0
    with reading_parquet(path, ", ".join(plan.names)):
        for batch in file.iter_batches(portion.block or BLOCK, row_groups=list(groups), columns=plan.names):
            block = plan.comparisons(batch, path, first)
            if block is None:
                return None
            if copy is None or beside is None:
                several = len(block) // len(batch)
                copy = TemporaryRows((n_rows * several, block.shape[1]), path.parent)
                beside = RowColumns(path, plan.beside, n_rows, several)
            copy.write(first * several, block)
            beside.add(first, batch)
            first += len(batch)
    if first != n_rows or copy is None or beside is None:
        raise ValueError(f"{path} promises {n_rows:,} rows and has {first:,}; it is damaged")
    if not beside.rows_of_an_answer_follow_each_other:
        return None
    codes = plan.codes if plan.questions is None else plan.questions.codes
    about = _About("Parquet", layout.form.kind, *_columns_and_notes(table, layout, plan.questions), n_rows)
    return _Coded(frozen(copy), None if codes is None else list(codes), about, table.settings, beside)


def _columns_and_notes(
    table: ParquetTable, layout: Layout, questions: BatchQuestions | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    names = {
        role: ", ".join(str(table.names[place]) for place in places) for role, places in layout.columns.items()
    }  # fmt: skip
    left_out = [repr(name) for role, name in names.items() if role in _LEFT_OUT]
    notes = (f"of a large file, {' and '.join(left_out)} are not read",) if left_out else ()
    read = {role: name for role, name in names.items() if role not in _LEFT_OUT}
    return read, (*notes, *(questions.notes if questions else ()))
