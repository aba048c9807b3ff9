"""A part of the answers, for one of several processes: each reads only its own.

Of a folder each process reads some files, of a Parquet file some row groups, of a .npy file a range of rows. Other
formats have no parts that can be found without reading them: each process reads the whole file and keeps its share.
"""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from closerthan.arrays import frozen
from closerthan.comparisons import Comparisons
from closerthan.comparisons.on_disk import large_file, renumbered, surveyed, together
from closerthan.files.answers import read_answers
from closerthan.files.arrays import mapped_rows
from closerthan.files.folders import files_in
from closerthan.files.formats import ending
from closerthan.files.large import Portion, as_int32, read_large
from closerthan.files.parquet import check_size, opened_parquet, reading_parquet, settings_of
from closerthan.objective.processes import Processes

__all__ = ["Place", "read_part"]


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
    labels = processes.gathered(_Labels.of(own))
    known = [label for label in labels if label.numbering is not None]
    if not known:
        raise ValueError(f"{path} is empty: no process found an answer")
    numberings = {label.numbering for label in known}
    if len(numberings) > 1:  # a part alone may tell too little: read it again as the others are
        numbering = "names" if "names" in numberings else "0-based"
        own = _read(path, place, {**reading, "numbering": numbering}, portion)
        labels = processes.gathered(_Labels.of(own))
        known = [label for label in labels if label.numbering is not None]
    width = {label.width for label in known}
    if len(width) > 1:
        raise ValueError(f"{path}: some parts have triplets and others quadruplets; fit them one after the other")
    n_objects = max(label.n_objects for label in known)
    if known[0].names is None:
        return _renumbered(own, width.pop(), n_objects, None)
    if "names" in reading or any(label.numbering != "names" for label in known):
        names = max((label.names or () for label in known), key=len)  # counted from 1, or as given: one list of all
    else:
        names = _in_order({name for label in known for name in label.names or ()})
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
        found = [one for file in files if (one := _read(file, Place(0, 1), reading, portion))]
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
            return Comparisons(numbers, count, names=names), f"{first}-based"
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


def _together(path: Path, found: list[tuple[Comparisons, str]]) -> tuple[Comparisons, str] | None:
    """Several files as one part."""
    if len(found) < 2:
        return found[0] if found else None
    numberings = {numbering for _, numbering in found}
    if len(numberings) > 1:
        raise ValueError(f"{path}: objects are {' and '.join(sorted(numberings))} in different files; pass numbering=")
    names = None
    if found[0][0].names is not None:
        names = _in_order({name for answers, _ in found for name in answers.names or ()})
    n_objects = max(answers.n_objects for answers, _ in found) if names is None else len(names)
    each = [_renumbered(one, one[0].rows.shape[1], n_objects, names) for one in found]
    weights = None
    if any(answers.weights is not None for answers in each):
        weights = together([np.ones(len(one)) if one.weights is None else one.weights for one in each])
    rows = together([answers.rows for answers in each])
    return Comparisons(frozen(rows), n_objects, weights=frozen(weights), names=names), numberings.pop()


def _is_plain(reading: dict[str, Any]) -> bool:
    """Whether nothing is asked for that only the reader of whole files can do."""
    dropped = (reading.get(name) for name in ("ties", "self_pairs", "missing"))
    return reading.get("where") is None and reading.get("variable") is None and "drop" not in dropped


def _in_order(names: set[str]) -> tuple[str, ...]:
    """As one process orders them: numbers by their size, names by the alphabet."""
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
    return dataclasses.replace(answers, rows=rows, n_objects=n_objects, names=names)
