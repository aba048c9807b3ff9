"""Weights, answers, people and blocks of a large Parquet file, copied to temporary files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons, sort_names
from closerthan.comparisons.on_disk import TemporaryRows, in_blocks, weight_summary
from closerthan.comparisons.questions import splitmix64
from closerthan.files.formats.extras import extra
from closerthan.files.formats.tables import MISSING

__all__ = ["RowColumns", "encode", "is_text", "update_codes"]

_COMPARED = 1 << 20  # number of answers used to check that the rows of each answer are contiguous
_DTYPES = {"weight": np.float64, "participant": np.int32, "answer": np.int32, "block": np.int32}


class RowColumns:
    """Copies of all columns that do not hold objects, filled batch by batch.

    Parameters
    ----------
    path
        The file, for messages.
    names
        Column names by role: weight, participant, answer, block.
    n_rows
        Number of rows.
    per_row
        Number of comparisons derived from each row.
    """

    def __init__(self, path: Path, names: Mapping[str, str], n_rows: int, per_row: int = 1) -> None:
        self._path = path
        self.names = dict(names)
        self._per_row = per_row
        roles = [*names, "answer"] if per_row > 1 and "answer" not in names else names
        self._copies = {role: TemporaryRows((n_rows * per_row,), path.parent, _DTYPES[role]) for role in roles}
        self._people: dict[str, int] = {}
        self._blocks: dict[tuple[str, int], int] = {}  # by label and person
        self._n_unnamed = 0
        self._n_answers = 0
        self._last: NDArray[np.uint64] = np.empty(0, np.uint64)  # the key of the previous row
        self._first_keys: list[NDArray[np.uint64]] = []  # the keys of the first answers

    @staticmethod
    def is_readable(role: str, kind: Any) -> bool:
        """Return whether a column with this role and type can be read in batches."""
        types = extra("pyarrow.types", "reading a Parquet file")
        if role == "weight":
            return bool(types.is_integer(kind) or types.is_floating(kind))
        return bool(types.is_integer(kind)) or is_text(kind)

    def add(self, first: int, batch: Any) -> None:
        """Store the next rows, which begin at row ``first``."""
        columns = {role: batch.column(batch.schema.get_field_index(name)) for role, name in self.names.items()}
        people = None
        if "weight" in columns:
            self._write("weight", first, self._weights(first, columns["weight"]))
        if "participant" in columns:
            people = self._people_of(columns["participant"])
            self._write("participant", first, people)
        if "block" in columns:
            self._write("block", first, self._blocks_of(first, columns["block"], people))
        if "answer" in columns:
            self._write("answer", first, self._answers(first, columns["answer"], people))
        elif "answer" in self._copies:
            self._write("answer", first, np.arange(first, first + len(batch)))

    def _write(self, role: str, first: int, numbers: NDArray[Any]) -> None:
        self._copies[role].write(first * self._per_row, np.repeat(numbers, self._per_row))

    def _weights(self, first: int, column: Any) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
        invalid = ~(np.isfinite(weights) & (weights >= 0))
        if invalid.any():
            row = int(np.argmax(invalid))
            problem = f"is {weights[row]:g}; weights must be finite and not negative"
            if np.isnan(weights[row]):
                problem = "is empty; correct the file, or leave such rows out"
            raise ValueError(f"{self._path}, row {first + row:,}: the weight in {self.names['weight']!r} {problem}")
        return weights

    def _people_of(self, column: Any) -> NDArray[np.int32]:
        labels, codes = encode(column)
        names = ["" if label in MISSING else label for label in labels]
        people: NDArray[np.int32] = update_codes(names, codes, self._people).astype(np.int32)
        unnamed = self._people.get("")
        self._n_unnamed += 0 if unnamed is None else int(np.count_nonzero(people == unnamed))
        return people

    def _blocks_of(self, first: int, column: Any, people: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """Number blocks from 0 in order of first occurrence; equal labels of different people are different blocks."""
        labels, codes = encode(column)
        self._check_labels(first, "block", labels, codes)
        person = np.zeros(len(codes), np.int64) if people is None else people.astype(np.int64)
        pairs, place = np.unique(codes * (int(person.max(initial=0)) + 1) + person, return_inverse=True)
        label_codes, pair_people = np.divmod(pairs, int(person.max(initial=0)) + 1)
        keys = [(labels[code], who) for code, who in zip(label_codes.tolist(), pair_people.tolist(), strict=True)]
        numbers = np.array([self._blocks.setdefault(key, len(self._blocks)) for key in keys], np.int32)
        blocks: NDArray[np.int32] = numbers[place.reshape(-1)]
        return blocks

    def _check_labels(self, first: int, role: str, labels: list[str], codes: NDArray[np.int64]) -> None:
        empty = np.array([label in MISSING for label in labels], bool)[codes]
        if empty.any():
            row = first + int(np.argmax(empty))
            raise ValueError(
                f"{self._path}, row {row:,}: the {role} identifier in {self.names[role]!r} is empty; correct the file, "
                "or leave such rows out"
            )

    def _answers(self, first: int, column: Any, people: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """Number answers from 0: a row whose label or person differs from the previous row begins a new answer.

        Beyond 2^31 the numbers wrap around, which is harmless because only changes between rows matter.
        """
        labels, codes = encode(column)
        self._check_labels(first, "answer", labels, codes)
        keys = np.array([hash(label) for label in labels], np.int64).view(np.uint64)[codes]
        if people is not None:
            keys = splitmix64(keys ^ splitmix64(people.astype(np.uint64)))
        previous = np.concatenate([self._last if len(self._last) else ~keys[:1], keys[:-1]])
        begins = keys != previous
        if self._n_answers < _COMPARED:
            self._first_keys.append(keys[begins])
        numbers = self._n_answers - 1 + np.cumsum(begins)
        self._n_answers, self._last = int(numbers[-1]) + 1, keys[-1:]
        return numbers.astype(np.int32)

    @property
    def answers_are_contiguous(self) -> bool:
        """True if the rows of each answer are contiguous, judged by the beginning of the file."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._first_keys])[:_COMPARED]
        return len(np.unique(keys)) == len(keys)

    @property
    def n_participants(self) -> int | None:
        """Number of people; None if the file does not name them."""
        return len(self._people.keys() - {""}) if "participant" in self.names else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the summary."""
        return (f"{self._n_unnamed:,} rows do not say who gave the answer",) if self._n_unnamed else ()

    def add_to(self, comparisons: Comparisons) -> Comparisons:
        """Return the comparisons with their weights, answers, blocks and people."""
        columns: dict[str, Any] = {}
        if "weight" in self._copies:
            columns["weights"] = frozen(self._copies["weight"])
            if not weight_summary(columns["weights"]).total > 0:
                raise ValueError(f"{self._path}: all weights are zero; at least one comparison must count")
        if "answer" in self._copies:
            columns["answers"] = frozen(self._copies["answer"])
        if "block" in self._copies:
            columns["blocks"] = frozen(self._copies["block"])
        if "participant" in self._copies:
            people = self._copies["participant"]
            names = sort_names(set(self._people))
            position_of = {name: position for position, name in enumerate(names)}
            new_numbers = np.array([position_of[name] for name in self._people], np.int32)
            for first, block in in_blocks(people):
                people.write(first, new_numbers[block])
            columns |= {"people": frozen(people), "person_names": tuple(names)}
        return comparisons.replace(**columns)


def is_text(kind: Any) -> bool:
    """Return whether a column of this type holds text."""
    types = extra("pyarrow.types", "reading a Parquet file")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def update_codes(labels: list[str], codes: NDArray[np.int64], code_of: dict[str, int]) -> NDArray[np.int64]:
    """Replace the codes of a batch by those of the whole file; new labels are added to ``code_of``."""
    new_codes = np.array([code_of.setdefault(label, len(code_of)) for label in labels], np.int64)
    return new_codes[codes]


def encode(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return the labels of a column of a batch, and the code of each cell; an empty cell has an empty label."""
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    labels = ["" if label is None else str(label) for label in column.dictionary.to_pylist()]
    indices: NDArray[np.int64] = column.indices.fill_null(len(labels)).to_numpy().astype(np.int64)
    return [*labels, ""] if column.indices.null_count else labels, indices
