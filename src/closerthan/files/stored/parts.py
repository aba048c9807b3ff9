"""Read the part of the answers that belongs to one of several processes.

Each process reads some files of a folder, some row groups of a Parquet file, or a range of rows of a .npy file. Files
in other formats cannot be divided without reading them, so each process reads the whole file and keeps its part.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons, sort_names
from closerthan.comparisons.on_disk import concatenate, large_file, renumber, survey_rows
from closerthan.comparisons.parsing import OptionalColumns
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.files.formats.binary.arrays import mapped_rows
from closerthan.files.formats.binary.parquet import check_size, object_info_of, open_parquet, reading_parquet
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.readers import suffix_of
from closerthan.files.meaning.answers import read_answers
from closerthan.files.meaning.folders import files_in, person_of_file
from closerthan.files.meaning.reading import Reading, ReadingOptions
from closerthan.files.stored.large import Portion, as_int32, read_large
from closerthan.messages import value_error
from closerthan.objective.processes import Processes

__all__ = ["Place", "read_part"]

_ARRAY_OPTIONS = {"numbering", "n_objects", "ties", "self_pairs", "missing", "catch"}
_MIXED = "{}: some parts have triplets and others quadruplets; fit them separately"


class Place(NamedTuple):
    """The number of a part, and the number of parts."""

    number: int
    n: int

    def of(self, size: int) -> slice:
        """Return this part of a sequence of ``size`` elements.

        Examples
        --------
        >>> [Place(number, 3).of(4) for number in range(3)]
        [slice(0, 1, None), slice(1, 2, None), slice(2, 4, None)]
        """
        return slice(size * self.number // self.n, size * (self.number + 1) // self.n)


def read_part(
    path: Path,
    place: Place,
    processes: Processes,
    portion: Portion | None = None,
    **options: Unpack[ReadingOptions],
) -> Comparisons:
    """Read this process's part of the answers in a file or folder.

    All processes call this function, and they agree on the objects.

    Parameters
    ----------
    path
        The file, or a folder with files of one format.
    place
        The part to read.
    processes
        The communicator of the processes.
    portion
        Sizes of blocks, if not the defaults.
    options
        Options of :func:`closerthan.files.read_answers`.
    """
    portion, reading = portion or Portion(), Reading.of(options)
    part = _read(path, place, reading, portion)
    parts = [each for each in processes.all_gather(_Objects.of(part)) if each.numbering is not None]
    if not parts:
        raise ValueError(f"{path} is empty: no process found an answer")
    numberings = {each.numbering for each in parts}
    if (
        len(numberings) > 1
    ):  # a part may be too small for a reliable detection, so all parts are read again with the same numbering
        numbering: Any = "names" if "names" in numberings else "0-based"
        part = _read(path, place, dataclasses.replace(reading, numbering=numbering), portion)
        parts = [each for each in processes.all_gather(_Objects.of(part)) if each.numbering is not None]
    width = {each.width for each in parts}
    if len(width) > 1:
        raise ValueError(_MIXED.format(path))
    n_objects = max(each.n_objects for each in parts)
    if parts[0].names is None:
        return _renumbered(part, width.pop(), n_objects, None)
    if any(each.numbering != "names" for each in parts):
        # The names are the numbers from 1, so the longest list contains all others.
        names = max((each.names or () for each in parts), key=len)
    else:
        names = _all_names([each.names or () for each in parts])
    return _renumbered(part, width.pop(), len(names), names)


@dataclasses.dataclass(frozen=True)
class _Objects:
    """The objects of a part, and the number of columns of its comparisons."""

    numbering: str | None = None
    n_objects: int = 0
    names: tuple[str, ...] | None = None
    width: int = 3

    @classmethod
    def of(cls, part: "tuple[Comparisons, str] | None") -> "_Objects":
        if part is None:
            return cls()
        answers, numbering = part
        return cls(numbering, answers.n_objects, answers.names, answers.rows.shape[1])


def _read(path: Path, place: Place, reading: Reading, portion: Portion) -> tuple[Comparisons, str] | None:
    """Return a part and the numbering of its objects; None if it is empty."""
    if path.is_dir():
        parts: dict[str, tuple[Comparisons, str]] = {}
        for file in files_in(path)[place.number :: place.n]:
            try:
                answers_of_file = _read(file, Place(0, 1), reading, portion)
            except ValueError as error:
                if not isinstance(error.__cause__ or error, NoAnswerError):
                    raise
            else:
                parts |= {} if answers_of_file is None else {file.name: answers_of_file}
        return _concatenate(path, parts)
    if suffix_of(path) == ".npy" and reading.changes().keys() <= _ARRAY_OPTIONS:
        rows = mapped_rows(path)
        if rows is not None:
            return _read_rows(path, rows[place.of(len(rows))], reading, portion)
    if suffix_of(path) in (".parquet", ".pq"):
        with reading_parquet(path):
            file = open_parquet(path)
        groups = range(file.metadata.num_row_groups)[place.of(file.metadata.num_row_groups)]
        if not len(groups):
            return None
        if reading.keeps_all_rows:
            large = read_large(path, reading, dataclasses.replace(portion, groups=groups))
            if large is not None:
                return large[0], large[1].numbering
        if place.n > 1:
            with reading_parquet(path):
                check_size(path, file)
                table = file.read_row_groups(list(groups))
            answers = read_answers(table, **{**object_info_of(path), **reading.changes()})
            return answers.comparisons, answers.summary.numbering
    answers = read_answers(path, **reading.changes())
    comparisons = answers.comparisons
    if place.n > 1:
        comparisons = _part_of(comparisons, place)
        if not len(comparisons):
            return None
    return comparisons, answers.summary.numbering


def _part_of(comparisons: Comparisons, place: Place) -> Comparisons:
    """Return the comparisons of one part; all those of an answer are in the same part."""
    if comparisons.answers is None:
        return comparisons.take(place.of(len(comparisons)))
    answer, own = consecutive_numbers(comparisons.answers), place.of(comparisons.n_answers)
    return comparisons.take((answer >= own.start) & (answer < own.stop))


def _read_rows(
    path: Path, rows: NDArray[np.integer[Any]], reading: Reading, portion: Portion
) -> tuple[Comparisons, str] | None:
    """Return memory-mapped rows as comparisons, and their numbering; None if there are none."""
    if not len(rows):
        return None
    if portion.is_large(rows.size * 4):
        rows = rows if (converted := as_int32(rows, path)) is None else converted
    survey = survey_rows(rows)
    lowest, highest = (int(rows.min()), int(rows.max())) if survey is None else (survey.least, survey.largest)
    first = {"0-based": 0, "1-based": 1}.get(reading.numbering or "", min(1, lowest))
    n_objects = reading.n_objects or highest + 1 - first
    names = tuple(str(number) for number in range(1, n_objects + 1)) if first else None
    numbers: Any = rows
    if first:
        is_stored = large_file(rows) is not None
        numbers = frozen(renumber(numbers, np.arange(highest + 1, dtype=np.int32) - 1) if is_stored else rows - 1)
    return Comparisons.from_columns(numbers, n_objects, names=names), f"{first}-based"


def _concatenate(path: Path, parts: dict[str, tuple[Comparisons, str]]) -> tuple[Comparisons, str] | None:
    """Concatenate the comparisons of several files, which are keyed by file name."""
    if len(parts) < 2:
        return next(iter(parts.values()), None)
    numberings = {numbering for _, numbering in parts.values()}
    if len(numberings) > 1:
        problem = f"{path}: objects are {' and '.join(sorted(numberings))} in different files"
        raise value_error(problem, "pass {numbering}", numbering=...)
    if len({answers.rows.shape[1] for answers, _ in parts.values()}) > 1:
        raise ValueError(_MIXED.format(path))
    names = None
    if all(answers.names is not None for answers, _ in parts.values()):
        names = _all_names([answers.names or () for answers, _ in parts.values()])
    n_objects = max(answers.n_objects for answers, _ in parts.values()) if names is None else len(names)
    by_file = {file: _sorted_by_answer(_renumbered(part, 3, n_objects, names)) for file, part in parts.items()}
    files = list(by_file.values())
    weights = None
    if any(file.weights is not None for file in files):
        weights = concatenate([np.ones(len(file)) if file.weights is None else file.weights for file in files])
    comparisons = Comparisons.from_columns(
        frozen(concatenate([file.rows for file in files])),
        n_objects,
        weights=frozen(weights),
        names=names,
        answers=_answers(files),
        blocks=_blocks(files),
    )
    return comparisons.replace(**_people(by_file)), numberings.pop()


def _sorted_by_answer(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons with the rows of each answer contiguous, as a large file requires."""
    if comparisons.answers is None or large_file(comparisons.answers) is not None:
        return comparisons
    return comparisons.take(np.argsort(comparisons.answers, kind="stable"))


def _answers(files: Sequence[Comparisons]) -> NDArray[np.int32] | None:
    """Return the answer of each row, numbered consecutively over all files."""
    if all(file.answers is None for file in files):
        return None
    parts = [np.arange(len(file), dtype=np.int32) if file.answers is None else file.answers for file in files]
    offsets = [0, *accumulate(file.n_answers for file in files)][:-1]
    return frozen(concatenate(parts, offsets))  # type: ignore[no-any-return]


def _blocks(files: Sequence[Comparisons]) -> NDArray[np.int32] | None:
    """Return the block of each row; in a file without blocks each answer is a separate block."""
    if all(file.blocks is None for file in files):
        return None
    parts = [file.blocks for file in files]
    for place, file in enumerate(files):
        if file.blocks is None:
            parts[place] = np.arange(len(file), dtype=np.int32) if file.answers is None else file.answers
    offsets = [0, *accumulate(int(part.max(initial=-1)) + 1 for part in parts if part is not None)][:-1]
    return frozen(concatenate([part for part in parts if part is not None], offsets))  # type: ignore[no-any-return]


def _people(files: Mapping[str, Comparisons]) -> OptionalColumns:
    """Return the person of each row if a file names people; each other file is one person, named after the file."""
    if all(file.people is None for file in files.values()):
        return {}
    own_names = {name: file.person_names if any(file.person_names or ()) else None for name, file in files.items()}
    names_in = {file: names or (person_of_file(file),) for file, names in own_names.items()}
    names = sort_names({name for some in names_in.values() for name in some})
    position_of = {name: position for position, name in enumerate(names)}
    parts = []
    for name, file in files.items():
        people = file.people if file.people is not None and own_names[name] else np.zeros(len(file), np.int32)
        parts.append(renumber(people, np.array([position_of[person] for person in names_in[name]], np.int32)))
    return {"people": frozen(concatenate(parts)), "person_names": tuple(names)}


def _all_names(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Merge lists of names into the order that a single process would give them."""
    if len(set(lists)) == 1:
        return lists[0]
    names = {name for each in lists for name in each}
    if all(name.isdecimal() for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def _renumbered(
    part: tuple[Comparisons, str] | None, width: int, n_objects: int, names: tuple[str, ...] | None
) -> Comparisons:
    """Return the comparisons of a part, with the object numbers that all parts share."""
    if part is None:
        return Comparisons(np.empty((0, width), np.int32), n_objects, names=names)
    answers = part[0]
    if answers.names == names and answers.n_objects == n_objects:
        return answers
    rows = answers.rows
    if answers.names is not None and names is not None and names[: len(answers.names)] != answers.names:
        position_of = {name: position for position, name in enumerate(names)}
        rows = frozen(renumber(rows, np.array([position_of[name] for name in answers.names], np.int32)))
    return answers.replace(rows=rows, n_objects=n_objects, names=names)
