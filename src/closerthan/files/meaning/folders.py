"""Folders of answers: one file per person, as jsPsych and PsychoPy leave them, read as one table."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import fits
from closerthan.files.formats.archives import ABOUT, OTHERS, TEXTS
from closerthan.files.formats.lists import with_lists
from closerthan.files.formats.names import ending, opened
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.tables import MISSING, Column, Table
from closerthan.files.meaning.exports import recognised, with_lists_anywhere

__all__ = ["FolderTable", "called_like", "files_in", "opened_folder"]

_BESIDE = (".log", ".psydat", ".md")  # what PsychoPy and people put beside answers
_KINDS = (*TEXTS, *OTHERS, ".zip", ".hdf5", ".h5")
_PERSON = "participant"
_SHOWN = 6
_OPTIONAL = ("participant", "time", "side")
_NUMBER = re.compile(r"_?\d+$")  # of a column that is a place in a list


def files_in(folder: Path) -> list[Path]:
    """The files of answers in a folder, by name; they must be of one kind."""
    if (folder / "result.npz").exists() or any((folder / f"map.{kind}").exists() for kind in ("csv", "parquet", "npz")):
        raise ValueError(f"{folder} is the folder of a fit; a file or a folder of answers is expected")
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file()
        and not file.name.startswith((".", "_"))
        and not file.name.lower().startswith(ABOUT)
        and ending(file) not in _BESIDE
    )
    if not files:
        raise ValueError(f"{folder} is a folder without a file of answers; expected one per person, as .csv or .json")
    kinds = Counter(ending(file) or file.name for file in files)
    if len(kinds) > 1:
        counts = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common(_SHOWN))
        raise ValueError(
            f"{folder} has files of different kinds ({counts}); put the answers into a folder of their own, or pass "
            "one file"
        )
    (kind,) = kinds
    if kind not in _KINDS:
        raise ValueError(
            f"{folder} holds {len(files)} files such as {files[0].name}, which are no answers; expected one per "
            "person, as .csv or .json"
        )
    return files


def opened_folder(folder: Path, known: Callable[[str], bool], **how: Any) -> Table:
    """The files in a folder as one table; ``how`` is that of :func:`~closerthan.files.formats.names.opened`."""
    files = files_in(folder)
    empty: list[str] = []
    tables: dict[str, Table] = {}
    for file in files:
        try:
            table = with_lists(opened(file, known, **how))
        except NoAnswerError:
            empty.append(file.name)
            continue
        tool = recognised(table.names)
        tables[file.name] = with_lists_anywhere(table) if tool is not None and tool.screens else table
    if not tables:
        raise ValueError(f"{folder} is empty: none of its {len(files)} files has an answer")
    _check_alike(folder, tables, known)
    found = FolderTable(folder, tables)
    if empty:
        found.notes.append(f"{len(empty)} of {len(files)} files are empty: {_listed(empty)}")
    return found


class FolderTable(Table):
    """Tables below each other. Who does not say who answered is called like the file.

    Parameters
    ----------
    folder
        Where they are.
    tables
        By the names of their files.
    """

    def __init__(self, folder: Path, tables: dict[str, Table]) -> None:
        titles = dict.fromkeys(
            name if name is not None else place for one in tables.values() for place, name in enumerate(one.names)
        )
        # A list becomes numbered columns; in the file of somebody who was never asked, it is an empty column.
        titles = {title: None for title in titles if title != "" and f"{title}_1" not in titles}
        self._people = [title for title in titles if isinstance(title, str) and fits(_PERSON, title)]
        if not self._people:
            self._people = [_PERSON]
            titles[_PERSON] = None
        self._titles = list(titles)
        first = next(iter(tables.values()))
        super().__init__(
            folder,
            f"{len(tables)} files: {first.format}",
            [title if isinstance(title, str) else None for title in self._titles],
        )
        self._tables = list(tables.values())
        self._files = list(tables)
        self._places = [
            {name if name is not None else place: place for place, name in enumerate(one.names)} for one in self._tables
        ]
        self.notes = list(dict.fromkeys(note for one in self._tables for note in one.notes))
        self.settings = _settings(folder, tables)
        self._columns: dict[int, Column] = {}
        self._said = False

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Make columns ready, in all files."""
        for table, places in zip(self._tables, self._places, strict=True):
            here = [
                [places[self._titles[one]] for one in some if self._titles[one] in places]
                for some in (objects, labels, numbers)
            ]
            table.read(here[0], here[1] if any(here) else [0], here[2])

    @property
    def n_rows(self) -> int:
        """How many rows all files have."""
        return sum(table.n_rows for table in self._tables)

    def column(self, position: int) -> Column:
        """A column of labels."""
        if position not in self._columns:
            title = self._titles[position]
            number: dict[str, int] = {}
            codes = []
            for table, places, file in zip(self._tables, self._places, self._files, strict=True):
                own = table.column(places[title]) if title in places else Column.of_cells([""] * table.n_rows)
                if title == self._people[0] and {name.strip() for name in own.labels} <= MISSING:
                    own = Column.of_cells([called_like(file)] * table.n_rows)
                    self._say_who()
                moved = np.array([number.setdefault(name, len(number)) for name in own.labels], dtype=np.int32)
                codes.append(moved[own.codes])
            self._columns[position] = Column(np.concatenate(codes), list(number))
        return self._columns[position]

    def _say_who(self) -> None:
        if not self._said:
            self.notes.append("files that do not say who answered are taken as one person's each, called like the file")
            self._said = True

    def number(self, position: int) -> NDArray[np.float64]:
        """A column of numbers."""
        title = self._titles[position]
        return np.concatenate(
            [
                table.number(places[title]) if title in places else np.full(table.n_rows, np.nan)
                for table, places in zip(self._tables, self._places, strict=True)
            ]
        )

    def place(self, row: int) -> str:
        """Which file a row is in, and where."""
        which, inside = self._inside(row)
        return f"{self._files[which]}, {self._tables[which].place(inside)}"

    def _inside(self, row: int) -> tuple[int, int]:
        ends = list(accumulate(table.n_rows for table in self._tables))
        which = bisect_right(ends, row)
        return which, row - (ends[which - 1] if which else 0)

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """An error if a cell that was read is neither a name nor a number."""
        begin = 0
        for table in self._tables:
            end = begin + table.n_rows
            table.check_cells(None if rows is None else rows[(rows >= begin) & (rows < end)] - begin)
            begin = end


def called_like(file: str) -> str:
    """The name of the person whose answers a file holds, if nothing in it says so."""
    return Path(file.removesuffix(".gz")).stem


def _check_alike(folder: Path, tables: dict[str, Table], known: Callable[[str], bool]) -> None:
    """All files are of one tool or, if of none, have the same columns of objects and answers.

    Lists may have different lengths, and so different numbers of columns. Columns without a usual name, and those of
    which an empty cell is no problem (such as times), may be missing in some files.
    """
    (first, one), *others = tables.items()
    tool = recognised(one.names)
    for file, other in others:
        own = recognised(other.names)
        if (own and own.name) != (tool and tool.name):
            kinds = [f"{name} is {'an export of ' + made.name if made else 'of no tool that is known'}"
                     for name, made in ((first, tool), (file, own))]  # fmt: skip
            raise ValueError(f"{folder}: {' and '.join(kinds)}; put them into folders of their own")
        if tool is None and _columns(other, known) != _columns(one, known):
            shown = [f"{name} has the columns {_listed([table.title(at) for at in range(len(table.names))])}"
                     for name, table in ((first, one), (file, other))]  # fmt: skip
            raise ValueError(f"{folder}: {', and '.join(shown)}; files that are read together have the same columns")


def _columns(table: Table, known: Callable[[str], bool]) -> set[Any]:
    names = {place if name is None else _NUMBER.sub("", name) for place, name in enumerate(table.names) if name != ""}
    usual = {name for name in names if isinstance(name, int) or known(name) or known(f"{name}_1")}
    return {name for name in usual or names if isinstance(name, int) or not any(fits(role, name) for role in _OPTIONAL)}


def _settings(folder: Path, tables: dict[str, Table]) -> dict[str, Any]:
    """What all files say about the objects; the largest number of them, where they have no names."""
    each = [dict(table.settings) for table in tables.values()]
    numbers = [said.pop("n_objects", 0) for said in each]
    if any(said != each[0] for said in each):
        raise ValueError(
            f"{folder}: its files list different objects, or number them in different ways; read them one by one, or "
            "write them again with names (closerthan convert)"
        )
    return {**each[0], **({"n_objects": max(numbers)} if any(numbers) else {})}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + ", ..." * (len(names) > _SHOWN)
