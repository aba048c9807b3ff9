"""Folders of answers with one file per person, as jsPsych and PsychoPy write them, read as one table."""

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
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.readers import FileOptions, open_table, suffix_of
from closerthan.files.formats.study import DATABASE, StudyTable, is_study
from closerthan.files.formats.tables import MISSING, Column, ObjectInfo, Table, abbreviated
from closerthan.files.formats.text.lists import expand_lists
from closerthan.files.meaning.exports import expand_all_lists, recognise_tool

__all__ = ["FolderTable", "files_in", "open_folder", "person_of_file"]

_OTHER_FILES = (".log", ".psydat", ".md")  # logs of PsychoPy and notes, which hold no answers
_SUFFIXES = (*TEXTS, *OTHERS, ".zip", ".hdf5", ".h5")
_PERSON = "participant"
_ONE_PERSON = "the answers in each file without a participant are taken to be those of one person, named after the file"
_MAX_LISTED = 6  # number of names in a message
_OPTIONAL = ("participant", "answer", "time", "side")
_NUMBER = re.compile(r"_?\d+$")  # the position in a list, at the end of a column name


def files_in(folder: Path) -> list[Path]:
    """Return the files of answers in a folder, sorted by name; they must have the same format."""
    if (folder / "result.npz").exists() or any((folder / f"map.{kind}").exists() for kind in ("csv", "parquet", "npz")):
        raise ValueError(f"{folder} is the folder of a fit; a file or a folder of answers is expected")
    if (folder / "study.toml").exists():
        raise ValueError(f"{folder} is a study without answers; collect some with: closerthan collect serve {folder}")
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file()
        and not file.name.startswith((".", "_"))
        and not file.name.lower().startswith(ABOUT)
        and suffix_of(file) not in _OTHER_FILES
    )
    if not files:
        raise ValueError(
            f"{folder} is a folder that contains no files of answers; expected one per person, as .csv or .json"
        )
    suffixes = Counter(suffix_of(file) or file.name for file in files)
    if len(suffixes) > 1:
        counts = ", ".join(f"{number} {suffix}" for suffix, number in suffixes.most_common(_MAX_LISTED))
        raise ValueError(
            f"{folder} has files of different formats ({counts}); put the answers into a separate folder, or pass one "
            "file"
        )
    (suffix,) = suffixes
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{folder} holds {len(files)} files such as {files[0].name}, which are not answers; expected one file "
            "per person, as .csv or .json"
        )
    return files


def open_folder(folder: Path, is_column: Callable[[str], bool], options: FileOptions) -> Table:
    """Open the files in a folder as one table; see :func:`~closerthan.files.formats.readers.open_table`.

    The folder of a study that ``closerthan collect`` serves holds one database.
    """
    if is_study(folder):
        return StudyTable(folder / DATABASE)
    files = files_in(folder)
    empty: list[str] = []
    tables: dict[str, Table] = {}
    for file in files:
        try:
            table = expand_lists(open_table(file, is_column, options))
        except NoAnswerError:
            empty.append(file.name)
            continue
        tool = recognise_tool(table.names)
        tables[file.name] = expand_all_lists(table) if tool is not None and tool.screens else table
    if not tables:
        raise ValueError(f"{folder} is empty: none of its {len(files)} files has an answer")
    _check_alike(folder, tables, is_column)
    table = FolderTable(folder, tables)
    if empty:
        table.notes.append(f"{len(empty)} of {len(files)} files are empty: {abbreviated(empty, _MAX_LISTED)}")
    return table


class FolderTable(Table):
    """The rows of several tables; a file without a participant column holds the answers of a person named after it.

    Parameters
    ----------
    folder
        The folder.
    tables
        Its tables, by file name.
    """

    def __init__(self, folder: Path, tables: dict[str, Table]) -> None:
        titles = dict.fromkeys(
            name if name is not None else place for table in tables.values() for place, name in enumerate(table.names)
        )
        # Lists become numbered columns, but a file without any list has an empty column instead.
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
        self.decimal_commas = all(table.decimal_commas for table in self._tables)
        self._files = list(tables)
        self._places = [
            {name if name is not None else place: place for place, name in enumerate(table.names)}
            for table in self._tables
        ]
        self.notes = list(dict.fromkeys(note for table in self._tables for note in table.notes))
        self.object_info = _object_info(folder, tables)
        self._columns: dict[int, Column] = {}

    def read(self, objects: Sequence[int], labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Load columns of all files."""
        for table, places in zip(self._tables, self._places, strict=True):
            own = [
                [places[self._titles[position]] for position in positions if self._titles[position] in places]
                for positions in (objects, labels, numbers)
            ]
            table.read(own[0], own[1] if any(own) else [0], own[2])

    @property
    def n_rows(self) -> int:
        """Number of rows in all files."""
        return sum(table.n_rows for table in self._tables)

    @property
    def files(self) -> NDArray[np.intp]:
        """File of each row."""
        return np.repeat(np.arange(len(self._tables)), [table.n_rows for table in self._tables])

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        if position not in self._columns:
            title = self._titles[position]
            code_of: dict[str, int] = {}
            codes = []
            for table, places, file in zip(self._tables, self._places, self._files, strict=True):
                own = table.column(places[title]) if title in places else Column.of_cells([""] * table.n_rows)
                if title == self._people[0] and {name.strip() for name in own.labels} <= MISSING:
                    own = Column.of_cells([person_of_file(file)] * table.n_rows)
                    if _ONE_PERSON not in self.notes:
                        self.notes.append(_ONE_PERSON)
                new_codes = np.array([code_of.setdefault(name, len(code_of)) for name in own.labels], dtype=np.int32)
                codes.append(new_codes[own.codes])
            self._columns[position] = Column(np.concatenate(codes), list(code_of))
        return self._columns[position]

    def number(self, position: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        title = self._titles[position]
        return np.concatenate(
            [
                table.number(places[title]) if title in places else np.full(table.n_rows, np.nan)
                for table, places in zip(self._tables, self._places, strict=True)
            ]
        )

    def describe_row(self, row: int) -> str:
        """Return the file of a row, its location there and its content."""
        ends = list(accumulate(table.n_rows for table in self._tables))
        file = bisect_right(ends, row)
        return f"{self._files[file]}, {self._tables[file].describe_row(row - (ends[file - 1] if file else 0))}"

    def check_cells(self, rows: NDArray[np.intp] | None = None) -> None:
        """Raise an error if a loaded cell in ``rows`` is neither a name nor a number."""
        begin = 0
        for table in self._tables:
            end = begin + table.n_rows
            table.check_cells(None if rows is None else rows[(rows >= begin) & (rows < end)] - begin)
            begin = end


def person_of_file(file: str) -> str:
    """Return the person's name for a file of answers that does not name its participant."""
    return Path(file.removesuffix(".gz")).stem


def _check_alike(folder: Path, tables: dict[str, Table], is_column: Callable[[str], bool]) -> None:
    """Raise an error unless all files come from one tool or have the same columns of objects and answers.

    Lists may have different lengths, and so different numbers of columns. Columns without a usual name, and columns in
    which an empty cell is allowed (such as times), may be missing in some files.
    """
    (first_file, first), *others = tables.items()
    tool = recognise_tool(first.names)
    for file, table in others:
        own_tool = recognise_tool(table.names)
        if (own_tool and own_tool.name) != (tool and tool.name):
            origins = [f"{name} is {'an export of ' + origin.name if origin else 'not an export of a supported tool'}"
                       for name, origin in ((first_file, tool), (file, own_tool))]  # fmt: skip
            raise ValueError(f"{folder}: {' and '.join(origins)}; put them into separate folders")
        if tool is None and _columns(table, is_column) != _columns(first, is_column):
            columns = [
                f"{name} has the columns {abbreviated([each.title(at) for at in range(len(each.names))], _MAX_LISTED)}"
                for name, each in ((first_file, first), (file, table))
            ]
            raise ValueError(f"{folder}: {', and '.join(columns)}; the files of a folder must have the same columns")


def _columns(table: Table, is_column: Callable[[str], bool]) -> set[Any]:
    names = {place if name is None else _NUMBER.sub("", name) for place, name in enumerate(table.names) if name != ""}
    usual = {name for name in names if isinstance(name, int) or is_column(name) or is_column(f"{name}_1")}
    return {name for name in usual or names if isinstance(name, int) or not any(fits(role, name) for role in _OPTIONAL)}


def _object_info(folder: Path, tables: dict[str, Table]) -> ObjectInfo:
    """Return the description of the objects, which all files must share; n_objects is the maximum over all files."""
    each = [table.object_info.copy() for table in tables.values()]
    numbers = [info.pop("n_objects", 0) for info in each]
    if any(info != each[0] for info in each):
        raise ValueError(
            f"{folder}: its files list different objects, or number them in different ways; read them one by one, or "
            "write them again with names (closerthan convert)"
        )
    if any(numbers):
        each[0]["n_objects"] = max(numbers)
    return each[0]
