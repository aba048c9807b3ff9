"""Exports of survey tools, recognised by their columns and read according to the conventions of the tool.

=============  ===================================================================================================
tool           peculiarities of its tables
=============  ===================================================================================================
Salmon         objects are numbered from 0; their names are in separate columns (head_filename, ...)
tripletTools   the same, with the names of head and winner in Center and Answer
NEXT           columns Center, Left, Right and Answer; no peculiarities
jsPsych        one row per screen; stimulus, choices (a list) and response (the number of the button, or a key)
PsychoPy       one row per screen; answers and times are in columns named after a component, such as resp.keys
Qualtrics      one row per person, three header rows; columns of loop & merge begin with the number of the repetition
Gorilla        one row per event; the columns of the researcher's spreadsheet hold the objects
MLDS           triads (S1, S2, S3) or quadruples (S1, ..., S4) of levels; resp is 1 if the second interval is larger
=============  ===================================================================================================
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import fits, plain
from closerthan.files.formats.json.nested_json import is_object_column
from closerthan.files.formats.tables import MISSING, Column, Table, TableWrapper
from closerthan.files.formats.text.lists import expand_lists
from closerthan.files.meaning.columns import Layout, find_layout, find_layouts
from closerthan.files.meaning.reading import ColumnChoice
from closerthan.files.meaning.survey_tools import gorilla_table, qualtrics_table

__all__ = ["TOOL_COLUMNS", "Export", "NamedTable", "Tool", "expand_all_lists", "recognise_tool"]

Columns = Mapping[str, str | int | Sequence[str | int] | None]

_RESPONSE = re.compile(r"(.+)\.(keys|clicked_name)(_1)?")  # PsychoPy columns; _1 is the first of several responses
_TIMES = {"keys": "rt", "clicked_name": "time"}


MLDS = "MLDS"


class Tool(NamedTuple):
    """A survey tool, and the column names (in lower case) by which its tables are recognised.

    Attributes
    ----------
    marks, any_of
        Column names that must all be present, and names of which one must be present.
    numbers
        Columns that hold objects as numbers.
    names
        Pairs of columns: the number of an object, and its name.
    screens
        Whether there is one row per screen, including screens without a question.
    """

    name: str
    marks: frozenset[str]
    any_of: frozenset[str] = frozenset()
    numbers: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    screens: bool = False


TOOLS = (
    Tool(
        "Salmon",
        frozenset({"head", "left", "right", "winner", "puid"}),
        frozenset({"alg_ident", "network_latency", "head_html", "head_object"}),
        ("head", "left", "right", "winner", "loser"),
        (("head", "head_filename"), ("left", "left_filename"), ("right", "right_filename")),
    ),
    Tool(
        "tripletTools",
        frozenset({"head", "winner", "loser", "center", "left", "right", "answer"}),
        frozenset({"sample_alg", "sample_set"}),
        ("head", "winner", "loser"),
        (("head", "center"), ("winner", "answer")),
    ),
    Tool("NEXT", frozenset({"participant_id", "center", "left", "right", "answer", "alg_label"})),
    Tool("jsPsych", frozenset({"trial_index", "time_elapsed"}), screens=True),
    Tool(MLDS, frozenset({"s_1", "s_2", "s_3"}), frozenset({"resp", "response"})),
    Tool("Qualtrics", frozenset({"start_date", "end_date", "response_id"})),
    Tool("Gorilla", frozenset({"participant_private_id", "response"}), frozenset({"event_index", "trial_number"})),
    Tool("PsychoPy", frozenset({"exp_name"}), frozenset({"psychopy_version", "frame_rate"}), screens=True),
)
"""The supported tools."""


_REARRANGED = {"Qualtrics": qualtrics_table, "Gorilla": gorilla_table}

TOOL_COLUMNS = frozenset().union(*(tool.marks for tool in TOOLS if tool.name in _REARRANGED))
"""Columns by which the header of an export is recognised, although none of them holds objects or answers."""


def recognise_tool(names: Sequence[str | None]) -> Tool | None:
    """Return the tool that wrote a table with these columns, or None.

    Examples
    --------
    >>> recognise_tool(["trial_type", "trial_index", "time_elapsed", "rt", "response"]).name
    'jsPsych'
    >>> recognise_tool(["anchor", "near", "far"])
    """
    present = {plain(name) for name in names if name}
    return next((tool for tool in TOOLS if tool.marks <= present and (not tool.any_of or tool.any_of & present)), None)


class Export:
    """A table, the tool that wrote it (if recognised), and the meaning of its columns.

    Parameters
    ----------
    table, kind, columns
        As in :func:`closerthan.files.meaning.columns.find_layout`.
    """

    def __init__(self, table: Table, kind: str | None, columns: Columns | None) -> None:
        self.tool = recognise_tool(table.names)
        self.table = table
        if self.tool is not None:
            table.format = f"{table.format}, an export of {self.tool.name}"
            if self.tool.name in _REARRANGED:
                self.table = _REARRANGED[self.tool.name](table)
            elif self.tool.screens:
                self.table = expand_all_lists(table)
            elif self.tool.name == MLDS:
                # A response of 0 reverses the row; in other files, 0 is a tie.
                answers = [place for place, name in enumerate(table.names) if name and plain(name) in self.tool.any_of]
                self.table = NamedTable(table, answers, {"0": "-1"})
                self.table.object_info = {"numbering": "names", **table.object_info}  # levels such as 0.25 are names
        # Tools write tables with one kind of question, so other columns have other meanings.
        self.layout, *self.other_layouts = (
            find_layouts(table, kind, columns) if self.tool is None else [self._find_layout(kind, columns)]
        )

    def _find_layout(self, kind: str | None, columns: Columns | None) -> Layout:
        try:
            return find_layout(self.table, kind, columns)
        except ValueError:
            tool_columns = self._tool_columns(kind)
            if not tool_columns:
                raise
            try:
                return find_layout(self.table, kind, {**tool_columns, **(columns or {})})
            except ValueError:  # the first error, about the original columns, is more helpful
                pass
            raise

    def _tool_columns(self, kind: str | None) -> Columns:
        """Return the roles of columns that have names specific to the tool."""
        if self.tool is None:
            return {}
        if self.tool.name == MLDS:
            return _mlds_columns(self.table)
        if not self.tool.screens:
            return {}
        return _jspsych_columns(self.table, kind) if self.tool.name == "jsPsych" else _psychopy_columns(self.table)

    @property
    def name_columns(self) -> list[int]:
        """Positions of the columns that hold the numbers and names of objects: number, name, number, name, ..."""
        pairs = [] if self.tool is None else self.tool.names
        places = [[_position(self.table, name) for name in pair] for pair in pairs]
        return [place for pair in places if None not in pair for place in pair if place is not None]

    def named(self, names: Sequence[str] | None = None) -> Table:
        """Return the table with object numbers replaced by names; its columns must have been read.

        If the user passes names, as for the objects of a map, the numbers may refer to these: names in the file are
        then used only if they are among them.
        """
        name_columns = self.name_columns
        if self.tool is None or not name_columns:
            return self.table
        name_of: dict[str, str] = {}
        for number_place, name_place in zip(name_columns[::2], name_columns[1::2], strict=True):
            numbers, words = self.table.column(number_place), self.table.column(name_place)
            n_words = len(words.labels)
            pairs = np.unique(numbers.codes.astype(np.int64) * n_words + words.codes)
            for number, word in zip((pairs // n_words).tolist(), (pairs % n_words).tolist(), strict=True):
                if name_of.setdefault(numbers.labels[number], words.labels[word]) != words.labels[word]:
                    return self.table  # a number has two names
        places = [place for name in self.tool.numbers if (place := _position(self.table, name)) is not None]
        used = [place for place in places if place in {*self.layout.objects, *self.layout.labels}]
        labels = {label for place in used for label in self.table.column(place).labels} - MISSING
        object_names = [name_of.get(label, "") for label in labels]
        if names is not None and not set(object_names) <= set(names):
            return self.table
        if MISSING & set(object_names) or len(set(object_names)) < len(object_names):
            self.table.notes.append("objects are identified by their numbers, because some have no name or share one")
            return self.table
        return NamedTable(self.table, used, name_of)

    def other_screens(self) -> NDArray[np.bool_] | None:
        """Return a mask of the rows without a question, or None if there are none; columns must have been read."""
        if self.tool is None or not self.tool.screens:
            return None
        anchor = self.layout.columns.get("anchor", ())
        options = [place for place in self.layout.objects if place not in anchor]
        has_question = np.any([filled(self.table.column(place)) for place in options], axis=0)
        return None if has_question.all() or not has_question.any() else ~has_question


class NamedTable(TableWrapper):
    """A table in which object numbers in some columns are replaced by names."""

    def __init__(self, table: Table, places: Sequence[int], name_of: Mapping[str, str]) -> None:
        super().__init__(table, table.names)
        self._places, self._name_of = frozenset(places), name_of
        self._labels: dict[int, list[str]] = {}  # columns that share labels continue to share them

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        column = self._table.column(position)
        if position not in self._places:
            return column
        labels = self._labels.setdefault(id(column.labels), [self._name_of.get(name, name) for name in column.labels])
        return Column(column.codes, labels)


def filled(column: Column) -> NDArray[np.bool_]:
    """Return a mask of the cells that are neither empty nor blank."""
    is_filled: NDArray[np.bool_] = np.array([name.strip() not in MISSING for name in column.labels], dtype=bool)
    return is_filled[column.codes]


def _position(table: Table, name: str) -> int | None:
    places = [place for place, title in enumerate(table.names) if title and plain(title) == name]
    return places[0] if len(places) == 1 else None


def expand_all_lists(table: Table) -> Table:
    """Expand lists into numbered columns, even if the first rows contain no lists."""
    if not table.first_row:  # lists in JSON have already been expanded
        return table
    table.read((), range(len(table.names)), ())
    columns = [table.column(place) for place in range(len(table.names))]
    table.first_row = [next((name for name in column.labels if name.strip() not in MISSING), "") for column in columns]
    return expand_lists(table)


def _jspsych_columns(table: Table, kind: str | None) -> dict[str, ColumnChoice]:
    """Return the columns of jsPsych by role: stimulus is the anchor, choices are the options, response the choice."""
    choices = [name for name in table.names if name and re.fullmatch(r"choices_\d+", plain(name))]
    answer = next((name for name in table.names if name and plain(name) in ("response", "button_pressed")), None)
    if len(choices) < 2 or answer is None:
        return {}
    place = table.names.index(choices[0])
    table.read((), [place], ())
    column = table.column(place)
    if len(set(column.labels) - MISSING) < 2:  # choices that are the same on every screen are keys and not objects
        return {}
    if kind in ("odd-one-out", "most-central"):
        return {"items": choices, "selected": answer}
    anchor = {} if any(name and fits("anchor", name) for name in table.names) else {"anchor": "stimulus"}
    if len(choices) == 2:
        return {**anchor, "left": choices[0], "right": choices[1], "winner": answer}
    return {**anchor, "shown": choices, "chosen": answer}


def _mlds_columns(table: Table) -> dict[str, ColumnChoice]:
    """Return the columns of R's MLDS by role: in a triad, the intervals share the middle level."""
    places = {plain(name): name for name in table.names if name}
    answer = places.get("resp", places.get("response"))
    if "s_4" in places:
        intervals = {"near_1": "s_1", "near_2": "s_2", "far_1": "s_3", "far_2": "s_4"}
    else:
        intervals = {"anchor": "s_2", "near": "s_1", "far": "s_3"}
    return {**{role: places[name] for role, name in intervals.items()}, "label": answer}


def _psychopy_columns(table: Table) -> dict[str, ColumnChoice]:
    """Return the columns with the responses and times of the only PsychoPy component that records answers."""
    objects = [place for place, name in enumerate(table.names) if name and is_object_column(name)]
    responses = [
        (place, match) for place, name in enumerate(table.names) if name and (match := _RESPONSE.fullmatch(name))
    ]
    if not objects or not responses:
        return {}
    table.read((), [*objects, *(place for place, _ in responses)], ())
    has_question = np.any([filled(table.column(place)) for place in objects], axis=0)
    used = [
        match
        for place, match in responses
        if (filled(table.column(place)) & has_question).sum() > has_question.sum() / 2
    ]
    if len(used) != 1:
        return {}
    name, attribute, suffix = used[0].groups()
    sides = any(fits("left", title) for title in table.names if title)
    time = f"{name}.{_TIMES[attribute]}{suffix or ''}"
    return {"winner" if sides else "selected": used[0][0], **({"time": time} if time in table.names else {})}
