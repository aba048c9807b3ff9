"""Weights, answers, people and blocks of the rows of a large Parquet file, copied to temporary files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons, in_order
from closerthan.comparisons.grouping import mixed
from closerthan.comparisons.on_disk import TemporaryRows, in_blocks, weighed
from closerthan.files.formats.extras import extra
from closerthan.files.formats.tables import MISSING

__all__ = ["RowColumns", "codes_of", "is_text", "labelled"]

_COMPARED = 1 << 20  # answers at the beginning of a file that tell whether the rows of one follow each other
_NUMBER = {"weight": np.float64, "participant": np.int32, "answer": np.int32, "block": np.int32}


class RowColumns:
    """Copies of the columns beside the objects, filled batch by batch.

    Parameters
    ----------
    path
        The file, for messages.
    names
        The columns, by their roles: weight, participant, answer, block.
    n_rows
        How many rows there are.
    several
        How many comparisons each row makes.
    """

    def __init__(self, path: Path, names: Mapping[str, str], n_rows: int, several: int = 1) -> None:
        self._path = path
        self.names = dict(names)
        self._several = several
        roles = [*names, "answer"] if several > 1 and "answer" not in names else names
        self._copies = {role: TemporaryRows((n_rows * several,), path.parent, _NUMBER[role]) for role in roles}
        self._people: dict[str, int] = {}
        self._blocks: dict[tuple[str, int], int] = {}  # by label and person
        self._n_nobody = 0
        self._n_answers = 0
        self._last: NDArray[np.uint64] = np.empty(0, np.uint64)  # the key of the row before
        self._begun: list[NDArray[np.uint64]] = []  # the keys of the first answers

    @staticmethod
    def can_be(role: str, kind: Any) -> bool:
        """Whether a column of this type can be read batch by batch."""
        types = extra("pyarrow.types", "reading a Parquet file")
        if role == "weight":
            return bool(types.is_integer(kind) or types.is_floating(kind))
        return bool(types.is_integer(kind)) or is_text(kind)

    def add(self, first: int, batch: Any) -> None:
        """The next rows, which begin at ``first``."""
        found: dict[str, Any] = {
            role: batch.column(batch.schema.get_field_index(name)) for role, name in self.names.items()
        }
        people = None
        if "weight" in found:
            self._write("weight", first, self._weights(first, found["weight"]))
        if "participant" in found:
            people = self._people_of(found["participant"])
            self._write("participant", first, people)
        if "block" in found:
            self._write("block", first, self._blocks_of(first, found["block"], people))
        if "answer" in found:
            self._write("answer", first, self._answers(first, found["answer"], people))
        elif "answer" in self._copies:
            self._write("answer", first, np.arange(first, first + len(batch)))

    def _write(self, role: str, first: int, numbers: NDArray[Any]) -> None:
        self._copies[role].write(first * self._several, np.repeat(numbers, self._several))

    def _weights(self, first: int, column: Any) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any():
            row = int(np.argmax(bad))
            what = f"is {weights[row]:g}; weights are finite and not negative"
            if np.isnan(weights[row]):
                what = "is empty; correct the file, or leave such rows out"
            raise ValueError(f"{self._path}, row {first + row:,}: the weight in {self.names['weight']!r} {what}")
        return weights

    def _people_of(self, column: Any) -> NDArray[np.int32]:
        labels, codes = labelled(column)
        known = ["" if label in MISSING else label for label in labels]
        people: NDArray[np.int32] = codes_of(known, codes, self._people).astype(np.int32)
        nobody = self._people.get("")
        self._n_nobody += 0 if nobody is None else int(np.count_nonzero(people == nobody))
        return people

    def _blocks_of(self, first: int, column: Any, people: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """Numbers from 0, in the order in which blocks first occur; equal labels of different people are different."""
        labels, codes = labelled(column)
        self._check_labels(first, "block", "which block it is from", labels, codes)
        person = np.zeros(len(codes), np.int64) if people is None else people.astype(np.int64)
        pairs, place = np.unique(codes * (int(person.max(initial=0)) + 1) + person, return_inverse=True)
        code, who = np.divmod(pairs, int(person.max(initial=0)) + 1)
        keys = [(labels[one], other) for one, other in zip(code.tolist(), who.tolist(), strict=True)]
        numbers = np.array([self._blocks.setdefault(key, len(self._blocks)) for key in keys], np.int32)
        found: NDArray[np.int32] = numbers[place.reshape(-1)]
        return found

    def _check_labels(self, first: int, role: str, what: str, labels: list[str], codes: NDArray[np.int64]) -> None:
        empty = np.array([label in MISSING for label in labels], bool)[codes]
        if empty.any():
            row = first + int(np.argmax(empty))
            raise ValueError(
                f"{self._path}, row {row:,}: {what}, {self.names[role]!r}, is empty; correct the file, or leave such "
                "rows out"
            )

    def _answers(self, first: int, column: Any, people: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """Numbers from 0: a row whose label or person differs from the row before begins another answer.

        Beyond 2^31 they wrap around: what counts is where another answer begins.
        """
        labels, codes = labelled(column)
        self._check_labels(first, "answer", "which answer it is from", labels, codes)
        keys = np.array([hash(label) for label in labels], np.int64).view(np.uint64)[codes]
        if people is not None:
            keys = mixed(keys ^ mixed(people.astype(np.uint64)))
        before = np.concatenate([self._last if len(self._last) else ~keys[:1], keys[:-1]])
        begins = keys != before
        if self._n_answers < _COMPARED:
            self._begun.append(keys[begins])
        numbers = self._n_answers - 1 + np.cumsum(begins)
        self._n_answers, self._last = int(numbers[-1]) + 1, keys[-1:]
        return numbers.astype(np.int32)

    @property
    def rows_of_an_answer_follow_each_other(self) -> bool:
        """Whether they do at the beginning of the file; if not, which answer a row is from cannot be told in blocks."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._begun])[:_COMPARED]
        return len(np.unique(keys)) == len(keys)

    @property
    def n_participants(self) -> int | None:
        """How many people there are; None if the file does not say."""
        return len(self._people.keys() - {""}) if "participant" in self.names else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know."""
        return (f"{self._n_nobody:,} rows do not say who gave the answer",) if self._n_nobody else ()

    def added_to(self, comparisons: Comparisons) -> Comparisons:
        """The same comparisons with what belongs to each."""
        found: dict[str, Any] = {}
        if "weight" in self._copies:
            found["weights"] = frozen(self._copies["weight"])
            if not weighed(found["weights"]).total > 0:
                raise ValueError(f"{self._path}: all weights are zero; at least one comparison must count")
        if "answer" in self._copies:
            found["answers"] = frozen(self._copies["answer"])
        if "block" in self._copies:
            found["blocks"] = frozen(self._copies["block"])
        if "participant" in self._copies:
            people = self._copies["participant"]
            names = in_order(set(self._people))
            place = {name: number for number, name in enumerate(names)}
            number = np.array([place[name] for name in self._people], np.int32)
            for first, block in in_blocks(people):
                people.write(first, number[block])
            found |= {"people": frozen(people), "person_names": tuple(names)}
        return comparisons.replace(**found)


def is_text(kind: Any) -> bool:
    """Whether a column of this type holds text."""
    types = extra("pyarrow.types", "reading a Parquet file")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def codes_of(labels: list[str], codes: NDArray[np.int64], known: dict[str, int]) -> NDArray[np.int64]:
    """Numbers for labels, in the order in which they come; ``known`` ones keep theirs."""
    number = np.array([known.setdefault(label, len(known)) for label in labels], np.int64)
    return number[codes]


def labelled(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The labels of a column and, for each cell, which it has; an empty cell has an empty label."""
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    labels = ["" if label is None else str(label) for label in column.dictionary.to_pylist()]
    indices: NDArray[np.int64] = column.indices.fill_null(len(labels)).to_numpy().astype(np.int64)
    return [*labels, ""] if column.indices.null_count else labels, indices
