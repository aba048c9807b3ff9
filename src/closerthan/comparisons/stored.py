"""StoredComparisons: answers that stay in a file because there are too many to copy into memory."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.checks import checked
from closerthan.comparisons.container import COLUMNS, NO_WEIGHT, Comparisons
from closerthan.comparisons.grouping import AUTO, none_can_be_held_out, number_of_units
from closerthan.comparisons.on_disk import FileRows, Stored, in_blocks, large_file
from closerthan.comparisons.parsing import Columns
from closerthan.comparisons.questions import object_set_keys, splitmix64

__all__ = ["StoredComparisons"]

MOST_SPLIT_OFF = 1_000_000  # comparisons held out from a large file; they measure an error to about 0.05 %


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StoredComparisons(Comparisons):
    """Comparisons whose rows lie in a memory-mapped file that is too large to be copied.

    They have the same methods as :class:`Comparisons`, whose constructors create this class if rows are in a large
    file. Rows are read in blocks. Splitting does not copy the larger part: it lists the rows to skip. Code that needs
    an array with an entry for each row must check :attr:`cheap_to_enumerate` first, or draw a sample with
    :meth:`in_memory`.

    The ``answers`` must be in a large file as well, in ascending order, since the rows of an answer are read together.
    There are no ``trials``.

    Attributes
    ----------
    skipped
        Numbers of the rows that are left out, in ascending order; None if there are none.
    """

    skipped: NDArray[np.int64] | None = None

    @staticmethod
    def can_hold(columns: Mapping[str, Any]) -> bool:
        """Return whether columns are in a large file and can be read in blocks."""
        answers = columns.get("answers")
        if columns.get("trials") is not None or (answers is not None and large_file(answers) is None):
            return False
        return large_file(columns["rows"]) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling copies a memory map into memory, so the copy is an ordinary Comparisons.
        copy = self._take_rows(self._not_skipped(np.arange(len(self))))
        return Comparisons, tuple(getattr(copy, field.name) for field in dataclasses.fields(Comparisons))

    @property
    def file(self) -> FileRows:
        """The file that holds the rows."""
        file = large_file(self.rows)
        assert file is not None
        return file

    @property
    def cheap_to_enumerate(self) -> bool:
        """False: an array with an entry for each row may not fit in memory."""
        return False

    @property
    def n_answers(self) -> int:
        """Number of answers from which the rows come."""
        return len(self) if self.answers is None else _number_of_runs(self.answers)

    def replace(self, **changes: Unpack[Columns]) -> Comparisons:
        """Return the same comparisons with some columns replaced."""
        return super().replace(**changes) if self.skipped is None else dataclasses.replace(self, **changes)

    def byte_blocks(self) -> Iterator[Any]:
        """Yield everything that the comparisons hold as bytes, for a fingerprint."""
        yield from super().byte_blocks()
        if self.skipped is not None:
            yield self.skipped.data

    @checked
    def has_several_groups(self, by: str = AUTO) -> bool:
        """Return True: counting the groups would load all rows into memory, and a large file has several groups."""
        self.split_unit(by)
        return True

    @checked
    def in_memory(self, most: int, rng: np.random.Generator) -> Comparisons:
        """Return a random sample of about ``most`` rows, in memory; all rows if there are fewer."""
        return self.sample(most, rng)

    def _take_rows(self, selection: NDArray[Any] | slice) -> Comparisons:
        if self.skipped is None:
            return super()._take_rows(selection)
        rows = np.arange(*selection.indices(len(self))) if isinstance(selection, slice) else selection
        return dataclasses.replace(self, skipped=None)._take_rows(self._not_skipped(rows))

    def _not_skipped(self, rows: NDArray[Any]) -> NDArray[Any]:
        return rows if self.skipped is None else rows[~np.isin(rows, self.skipped)]

    @checked
    def sample(self, number: int, rng: np.random.Generator) -> Comparisons:
        """Return about ``number`` random rows in memory; all rows if there are fewer."""
        if number >= len(self) and self.skipped is None:
            return self
        parts = []
        for first, block in self.blocks_of_answers():
            selected = rng.random(len(block["rows"])) < number / len(self)
            if self.skipped is not None:
                begin, end = np.searchsorted(self.skipped, [first, first + len(selected)])
                selected[self.skipped[begin:end] - first] = False
            parts.append({name: column[selected] for name, column in block.items()})
        return self._from_parts(parts)

    @checked
    def split(self, fraction: float, rng: np.random.Generator, *, by: str = AUTO) -> tuple[Comparisons, Comparisons]:
        """Split at random into two parts: the rest, which stays in the file, and a fraction of the answers, in memory.

        A row belongs to the second part if a hash of its question (or block) is small enough, so that all answers to a
        question are in one part. The second part has at most about a million comparisons. See
        :meth:`Comparisons.split` for the parameters.
        """
        by = self.split_unit(by)
        salt = rng.integers(2**64, dtype=np.uint64)
        limit = np.uint64(min(fraction, MOST_SPLIT_OFF / len(self)) * 2.0**64)
        held_out_people = self._people_to_hold_out(fraction, rng) if by == "people" else None
        places, parts, some_weight_left = [], [], self.weights is None
        for first, block in self.blocks_of_answers():
            if held_out_people is not None:
                selected = np.flatnonzero(held_out_people[block["people"]])
            elif by == "blocks":
                selected = np.flatnonzero(splitmix64(block["blocks"].astype(np.uint64) ^ salt) < limit)
            else:
                answers = block.get("answers")
                answers = None if answers is None else answers - answers[:1]
                question = object_set_keys(block["rows"], self.n_objects, answers)
                selected = np.flatnonzero(splitmix64(question ^ salt) < limit)
            places.append(first + selected)
            parts.append({name: column[selected] for name, column in block.items()})
            some_weight_left = some_weight_left or bool(np.delete(block["weights"], selected).any())
        skipped, second = np.concatenate(places), self._from_parts(parts)
        if not 0 < len(skipped) < len(self):
            raise ValueError(
                f"a fraction of {fraction} of {len(self)} comparisons leaves one part empty; choose another fraction"
            )
        if not some_weight_left or not (second.weights is None or second.weights.any()):
            raise ValueError(NO_WEIGHT)
        if self.skipped is not None:
            second = second.take(~np.isin(skipped, self.skipped))
            skipped = np.union1d(skipped, self.skipped)
        return dataclasses.replace(self, skipped=frozen(skipped), dropped={}), second

    def blocks_of_answers(self, size: int | None = None) -> Iterator[tuple[int, dict[str, Stored]]]:
        """Yield blocks of all columns with the number of their first row; no answer is cut by the end of a block."""
        size = size or self.file.block_rows
        columns = {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}
        rest: dict[str, Stored] = {}  # rows of an answer that may continue in the next block
        for blocks in zip(*(in_blocks(column, size) for column in columns.values()), strict=True):
            first, end = blocks[0][0], blocks[0][0] + len(blocks[0][1])
            block = {name: values for name, (_, values) in zip(columns, blocks, strict=True)}
            if rest:
                first -= len(rest["rows"])
                block = {name: np.concatenate([rest[name], values]) for name, values in block.items()}
                rest = {}
            if self.answers is not None and end < len(self):
                cut = int(np.flatnonzero(np.diff(block["answers"], prepend=~block["answers"][:1]))[-1])
                rest = {name: values[cut:].copy() for name, values in block.items()}
                block = {name: values[:cut] for name, values in block.items()}
            if len(block["rows"]):
                yield first, block

    def _from_parts(self, parts: Sequence[Mapping[str, Stored]]) -> Comparisons:
        """Return some of the rows as comparisons in memory."""
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if "answers" in columns:  # renumbered from 0, since the numbers of a file wrap around beyond 2^31
            begins = np.diff(columns["answers"], prepend=columns["answers"][:1]) != 0
            columns["answers"] = np.cumsum(begins).astype(np.int32)
        others = {field.name: getattr(self, field.name) for field in dataclasses.fields(Comparisons)}
        return Comparisons(**others | {name: frozen(column) for name, column in columns.items()} | {"dropped": {}})

    def _people_to_hold_out(self, fraction: float, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return whether to hold out each person: ``fraction`` of them, with at most a million rows in all."""
        assert self.people is not None
        counts = self._rows_per_person()
        present = rng.permutation(np.flatnonzero(counts))
        if len(present) == 1:
            raise ValueError(none_can_be_held_out("people"))
        selected = present[: number_of_units(fraction, len(present), "people")]
        n_within_limit = max(int(np.searchsorted(np.cumsum(counts[selected]), MOST_SPLIT_OFF, side="right")), 1)
        held_out = np.zeros(len(counts), dtype=bool)
        held_out[selected[:n_within_limit]] = True
        return held_out


def _number_of_runs(numbers: NDArray[np.int32]) -> int:
    """Return the number of runs of equal numbers."""
    count, last = 0, -1
    for _, block in in_blocks(numbers):
        count += int(np.count_nonzero(np.diff(block, prepend=last)))
        last = int(block[-1])
    return count
