"""A part of the answers, for one of several processes: each reads only its own.

Of a folder each process reads some files, of a Parquet file some row groups, of a .npy file a range of rows. Other
formats have no parts that can be found without reading them: each process reads the whole file and keeps its share.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons, in_order
from closerthan.comparisons.on_disk import large_file, renumbered, surveyed, together
from closerthan.files.formats.arrays import mapped_rows
from closerthan.files.formats.names import ending
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.parquet import check_size, opened_parquet, reading_parquet, settings_of
from closerthan.files.meaning.answers import read_answers
from closerthan.files.meaning.folders import called_like, files_in
from closerthan.files.stored.large import Portion, as_int32, read_large
from closerthan.objective.processes import Processes

__all__ = ["Place", "read_part"]

_MIXED = "{}: some parts have triplets and others quadruplets; fit them one after the other"


class Place(NamedTuple):
    """Which part of how many."""

    number: int
    n: int

    def of(self, size: int) -> slice:
        """This part of a list of so many.

        Examples
        --------
        >>> [Place(number, 3).of(4) for number in range(3)]
        [slice(0, 1, None), slice(1, 2, None), slice(2, 4, None)]
        """
        return slice(size * self.number // self.n, size * (self.number + 1) // self.n)


def read_part(
    path: Path, place: Place, processes: Processes, portion: Portion | None = None, **reading: Any
) -> Comparisons:
    """This process's part of the answers in a file or folder; all processes call it, and agree on the objects.

    Parameters
    ----------
    path
        The file, or a folder with files of one format.
    place
        The part to read.
    processes
        Who reads the others.
    portion
        Sizes other than the usual ones.
    reading
        Options of :func:`closerthan.files.read_answers`.
    """
    portion = portion or Portion()
    own = _read(path, place, reading, portion)
    labels = processes.all_gather(_Labels.of(own))
    known = [label for label in labels if label.numbering is not None]
    if not known:
        raise ValueError(f"{path} is empty: no process found an answer")
    numberings = {label.numbering for label in known}
    if len(numberings) > 1:  # a part alone may tell too little: read it again as the others are
        numbering = "names" if "names" in numberings else "0-based"
        own = _read(path, place, {**reading, "numbering": numbering}, portion)
        labels = processes.all_gather(_Labels.of(own))
        known = [label for label in labels if label.numbering is not None]
    width = {label.width for label in known}
    if len(width) > 1:
        raise ValueError(_MIXED.format(path))
    n_objects = max(label.n_objects for label in known)
    if known[0].names is None:
        return _renumbered(own, width.pop(), n_objects, None)
    if any(label.numbering != "names" for label in known):
        names = max((label.names or () for label in known), key=len)  # counted from 1
    else:
        names = _all_names([label.names or () for label in known])
    return _renumbered(own, width.pop(), len(names), names)


@dataclasses.dataclass(frozen=True)
class _Labels:
    """What a part says about the objects."""

    numbering: str | None = None
    n_objects: int = 0
    names: tuple[str, ...] | None = None
    width: int = 3

    @classmethod
    def of(cls, own: "tuple[Comparisons, str] | None") -> "_Labels":
        if own is None:
            return cls()
        answers, numbering = own
        return cls(numbering, answers.n_objects, answers.names, answers.rows.shape[1])


def _read(path: Path, place: Place, reading: dict[str, Any], portion: Portion) -> tuple[Comparisons, str] | None:
    """A part and how its objects are numbered; None if it is empty."""
    if path.is_dir():
        files = files_in(path)[place.number :: place.n]
        found: dict[str, tuple[Comparisons, str]] = {}
        for file in files:
            try:
                one = _read(file, Place(0, 1), reading, portion)
            except ValueError as error:
                if not isinstance(error.__cause__ or error, NoAnswerError):
                    raise
            else:
                found |= {} if one is None else {file.name: one}
        return _together(path, found)
    if ending(path) == ".npy" and not {*reading} - {"numbering", "n_objects", "ties", "self_pairs", "missing", "catch"}:
        rows = mapped_rows(path)
        if rows is not None:
            part = rows[place.of(len(rows))]
            if not len(part):
                return None
            if portion.is_large(part.size * 4):
                part = part if (small := as_int32(part, path)) is None else small
            survey = surveyed(part)
            least, most = (int(part.min()), int(part.max())) if survey is None else (survey.least, survey.largest)
            first = {"0-based": 0, "1-based": 1}.get(reading.get("numbering", ""), min(1, least))
            count = reading.get("n_objects") or most + 1 - first
            names = tuple(str(number) for number in range(1, count + 1)) if first else None
            numbers: Any = part
            if first:
                kept = large_file(part) is not None
                numbers = renumbered(numbers, np.arange(most + 1, dtype=np.int32) - 1) if kept else part - 1
                numbers = frozen(numbers)
            return Comparisons.from_columns(numbers, count, names=names), f"{first}-based"
    if ending(path) in (".parquet", ".pq"):
        with reading_parquet(path):
            file = opened_parquet(path)
        groups = range(file.metadata.num_row_groups)[place.of(file.metadata.num_row_groups)]
        if not len(groups):
            return None
        if _is_plain(reading):
            asked = {name: reading.get(name) for name in ("kind", "numbering", "names", "n_objects")}
            large = read_large(path, asked, reading.get("columns"), dataclasses.replace(portion, groups=groups))
            if large is not None:
                return large[0], large[1].numbering
        if place.n > 1:
            with reading_parquet(path):
                check_size(path, file)
                table = file.read_row_groups(list(groups))
            answers = read_answers(table, **{**settings_of(path), **reading})
            return answers.comparisons, answers.summary.numbering
    answers = read_answers(path, **reading)
    everything = answers.comparisons
    rows_of_part = place.of(len(everything))
    if place.n == 1:
        return everything, answers.summary.numbering
    return (
        (everything.take(rows_of_part), answers.summary.numbering) if rows_of_part.start < rows_of_part.stop else None
    )


def _together(path: Path, found: dict[str, tuple[Comparisons, str]]) -> tuple[Comparisons, str] | None:
    """Several files, by their names, as one part."""
    if len(found) < 2:
        return next(iter(found.values()), None)
    numberings = {numbering for _, numbering in found.values()}
    if len(numberings) > 1:
        raise ValueError(f"{path}: objects are {' and '.join(sorted(numberings))} in different files; pass numbering=")
    if len({answers.rows.shape[1] for answers, _ in found.values()}) > 1:
        raise ValueError(_MIXED.format(path))
    names = None
    if all(answers.names is not None for answers, _ in found.values()):
        names = _all_names([answers.names or () for answers, _ in found.values()])
    n_objects = max(answers.n_objects for answers, _ in found.values()) if names is None else len(names)
    each = {file: _in_turn(_renumbered(one, 3, n_objects, names)) for file, one in found.items()}
    weights = None
    if any(answers.weights is not None for answers in each.values()):
        weights = together([np.ones(len(one)) if one.weights is None else one.weights for one in each.values()])
    rows = together([answers.rows for answers in each.values()])
    everything = Comparisons.from_columns(
        frozen(rows),
        n_objects,
        weights=frozen(weights),
        names=names,
        answers=_answers(list(each.values())),
        blocks=_blocks(list(each.values())),
    )
    return everything.replace(**_people(each)), numberings.pop()


def _in_turn(answers: Comparisons) -> Comparisons:
    """The same with the rows of an answer one after the other, as they must be in a large file."""
    if answers.answers is None or large_file(answers.answers) is not None:
        return answers
    return answers.take(np.argsort(answers.answers, kind="stable"))


def _answers(each: Sequence[Comparisons]) -> NDArray[np.int32] | None:
    """Which answer each row is from: numbers go on from file to file."""
    if all(one.answers is None for one in each):
        return None
    parts = [np.arange(len(one), dtype=np.int32) if one.answers is None else one.answers for one in each]
    before = [0, *accumulate(one.n_answers for one in each)][:-1]
    return frozen(together(parts, before))  # type: ignore[no-any-return]


def _blocks(each: Sequence[Comparisons]) -> NDArray[np.int32] | None:
    """Which block each row is from; answers of a file without blocks are blocks of their own."""
    if all(one.blocks is None for one in each):
        return None
    parts = [one.blocks for one in each]
    for place, one in enumerate(each):
        if one.blocks is None:
            parts[place] = np.arange(len(one), dtype=np.int32) if one.answers is None else one.answers
    before = [0, *accumulate(int(part.max(initial=-1)) + 1 for part in parts if part is not None)][:-1]
    return frozen(together([part for part in parts if part is not None], before))  # type: ignore[no-any-return]


def _people(each: Mapping[str, Comparisons]) -> dict[str, Any]:
    """Who gave each answer, where one of the files says so; the others are one person's each, called like the file."""
    if all(one.people is None for one in each.values()):
        return {}
    said = {file: one.person_names if any(one.person_names or ()) else None for file, one in each.items()}
    called = {file: names or (called_like(file),) for file, names in said.items()}
    names = in_order({name for some in called.values() for name in some})
    number = {name: place for place, name in enumerate(names)}
    parts = []
    for file, one in each.items():
        people = one.people if one.people is not None and said[file] else np.zeros(len(one), np.int32)
        parts.append(renumbered(people, np.array([number[name] for name in called[file]], np.int32)))
    return {"people": frozen(together(parts)), "person_names": tuple(names)}


def _is_plain(reading: dict[str, Any]) -> bool:
    """Whether nothing is asked for that only the reader of whole files can do."""
    dropped = (reading.get(name) for name in ("ties", "self_pairs", "missing"))
    by_rows = reading.get("where") is not None or "catch" in (reading.get("columns") or {})
    return not by_rows and reading.get("variable") is None and "drop" not in dropped


def _all_names(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """As one process orders them: as all lists do or, if these differ, numbers by their size, names by the alphabet."""
    if len(set(lists)) == 1:
        return lists[0]
    names = {name for some in lists for name in some}
    if all(name.isdecimal() for name in names):
        return tuple(sorted(names, key=lambda name: (float(name), name)))
    return tuple(sorted(names))


def _renumbered(
    own: tuple[Comparisons, str] | None, width: int, n_objects: int, names: tuple[str, ...] | None
) -> Comparisons:
    """The comparisons of a part, with the numbers and names of all."""
    if own is None:
        return Comparisons(np.empty((0, width), np.int32), n_objects, names=names)
    answers = own[0]
    if answers.names == names and answers.n_objects == n_objects:
        return answers
    rows = answers.rows
    if answers.names is not None and names is not None and names[: len(answers.names)] != answers.names:
        number = {name: position for position, name in enumerate(names)}
        rows = frozen(renumbered(rows, np.array([number[name] for name in answers.names], np.int32)))
    return answers.replace(rows=rows, n_objects=n_objects, names=names)
