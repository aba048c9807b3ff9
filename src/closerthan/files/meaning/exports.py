"""Exports of tools that ask people: recognised by their columns, and read as these tools mean them.

=============  ===================================================================================================
tool           what is special about its tables
=============  ===================================================================================================
Salmon         objects are numbered from 0; what they are called is in columns of their own (head_filename, ...)
tripletTools   the same, with Center and Answer for head and winner
NEXT           nothing: Center, Left, Right and Answer
jsPsych        a row per screen; stimulus, choices (a list) and response (the button's number, or a key)
PsychoPy       a row per screen; what was answered, and how quickly, is in columns called by a component: resp.keys
=============  ===================================================================================================
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import fits, plain
from closerthan.files.formats.lists import with_lists
from closerthan.files.formats.nested_json import names_object
from closerthan.files.formats.tables import MISSING, Column, Table, TableAround
from closerthan.files.meaning.columns import Layout, understood

__all__ = ["Export", "NamedTable", "Tool", "recognised", "with_lists_anywhere"]

Columns = Mapping[str, str | int | Sequence[str | int] | None]

_PICKED = re.compile(r"(.+)\.(keys|clicked_name)(_1)?")  # as PsychoPy calls columns; the first, if several were pressed
_TIMES = {"keys": "rt", "clicked_name": "time"}


class Tool(NamedTuple):
    """A tool, and the columns by which its tables are known, in small letters.

    Attributes
    ----------
    marks, any_of
        All of the first, and one of the second, are there.
    numbers
        Columns that hold objects as numbers.
    names
        Pairs of columns: an object's number, and its name.
    screens
        Whether there is a row for each screen, also for those that ask nothing.
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
    Tool("PsychoPy", frozenset({"exp_name"}), frozenset({"psychopy_version", "frame_rate"}), screens=True),
)
"""The tools that are known."""


def recognised(names: Sequence[str | None]) -> Tool | None:
    """Which tool wrote a table with these columns; None if none that is known.

    Examples
    --------
    >>> recognised(["trial_type", "trial_index", "time_elapsed", "rt", "response"]).name
    'jsPsych'
    >>> recognised(["anchor", "near", "far"])
    """
    there = {plain(name) for name in names if name}
    return next((tool for tool in TOOLS if tool.marks <= there and (not tool.any_of or tool.any_of & there)), None)


class Export:
    """A table, the tool that wrote it (if one is recognised), and what its columns mean.

    Parameters
    ----------
    table, kind, columns
        As in :func:`closerthan.files.meaning.columns.understood`.
    """

    def __init__(self, table: Table, kind: str | None, columns: Columns | None) -> None:
        self.tool = recognised(table.names)
        self.table = table
        if self.tool is not None:
            table.format = f"{table.format}, an export of {self.tool.name}"
            if self.tool.screens:
                self.table = with_lists_anywhere(table)
        self.layout = self._understood(kind, columns)

    def _understood(self, kind: str | None, columns: Columns | None) -> Layout:
        try:
            return understood(self.table, kind, columns)
        except ValueError:
            offered = self._offered(kind)
            if not offered:
                raise
            try:
                return understood(self.table, kind, {**offered, **(columns or {})})
            except ValueError:  # what is wrong with the columns as they are is easier to mend
                pass
            raise

    def _offered(self, kind: str | None) -> Columns:
        """The roles of columns that only this tool calls so."""
        if self.tool is None or not self.tool.screens:
            return {}
        return (_of_jspsych if self.tool.name == "jsPsych" else _of_psychopy)(self.table, kind)

    @property
    def naming(self) -> list[int]:
        """The columns to be read for the objects' names."""
        pairs = [] if self.tool is None else self.tool.names
        found = [[_place(self.table, name) for name in pair] for pair in pairs]
        return [place for pair in found if None not in pair for place in pair if place is not None]

    def named(self, given: Sequence[str] | None = None) -> Table:
        """The table, once its columns are read, with the names of objects that are numbers in it.

        If names are given, as those of a map are, numbers may stand for these: then names that are others do not count.
        """
        naming = self.naming
        if self.tool is None or not naming:
            return self.table
        words: dict[str, str] = {}
        for number, name in zip(naming[::2], naming[1::2], strict=True):
            numbers, names = self.table.column(number), self.table.column(name)
            n_names = len(names.labels)
            pairs = np.unique(numbers.codes.astype(np.int64) * n_names + names.codes)
            for one, other in zip((pairs // n_names).tolist(), (pairs % n_names).tolist(), strict=True):
                if words.setdefault(numbers.labels[one], names.labels[other]) != names.labels[other]:
                    return self.table  # a number has two names
        places = [place for name in self.tool.numbers if (place := _place(self.table, name)) is not None]
        used = [place for place in places if place in {*self.layout.objects, *self.layout.labels}]
        labels = {label for place in used for label in self.table.column(place).labels} - MISSING
        called = [words.get(label, "") for label in labels]
        if given is not None and not set(called) <= set(given):
            return self.table
        if MISSING & set(called) or len(set(called)) < len(called):
            self.table.notes.append("objects are called by their numbers, as not each of them has a name of its own")
            return self.table
        return NamedTable(self.table, used, words)

    def other_screens(self) -> NDArray[np.bool_] | None:
        """The rows, once columns are read, in which nothing was to be compared; None if there are none."""
        if self.tool is None or not self.tool.screens:
            return None
        anchor = self.layout.columns.get("anchor", ())
        options = [place for place in self.layout.objects if place not in anchor]
        asked = np.any([filled(self.table.column(place)) for place in options], axis=0)
        return None if asked.all() or not asked.any() else ~asked


class NamedTable(TableAround):
    """A table some of whose columns hold numbers, for which names are known."""

    def __init__(self, table: Table, places: Sequence[int], words: Mapping[str, str]) -> None:
        super().__init__(table, table.names)
        self._places, self._words = frozenset(places), words
        self._labels: dict[int, list[str]] = {}  # columns that share their labels still do

    def column(self, position: int) -> Column:
        """A column of labels."""
        column = self._table.column(position)
        if position not in self._places:
            return column
        labels = self._labels.setdefault(id(column.labels), [self._words.get(name, name) for name in column.labels])
        return Column(column.codes, labels)


def filled(column: Column) -> NDArray[np.bool_]:
    """Which cells of a column are not empty."""
    found: NDArray[np.bool_] = np.array([name.strip() not in MISSING for name in column.labels], dtype=bool)
    return found[column.codes]


def _place(table: Table, name: str) -> int | None:
    places = [place for place, title in enumerate(table.names) if title and plain(title) == name]
    return places[0] if len(places) == 1 else None


def with_lists_anywhere(table: Table) -> Table:
    """Lists become numbered columns, although the first screens have none."""
    if not table.first:  # lists of JSON are columns already
        return table
    table.read((), range(len(table.names)), ())
    columns = [table.column(place) for place in range(len(table.names))]
    table.first = [next((name for name in column.labels if name.strip() not in MISSING), "") for column in columns]
    return with_lists(table)


def _of_jspsych(table: Table, kind: str | None) -> dict[str, Any]:
    """jsPsych's own names: stimulus is the anchor, choices are the options, response the button's number or a key."""
    choices = [name for name in table.names if name and re.fullmatch(r"choices_\d+", plain(name))]
    answer = next((name for name in table.names if name and plain(name) in ("response", "button_pressed")), None)
    if len(choices) < 2 or answer is None:
        return {}
    place = table.names.index(choices[0])
    table.read((), [place], ())
    column = table.column(place)
    if len(set(column.labels) - MISSING) < 2:  # the same on each screen: these are keys, and no objects
        return {}
    if kind in ("odd-one-out", "most-central"):
        return {"items": choices, "selected": answer}
    anchor = {} if any(name and fits("anchor", name) for name in table.names) else {"anchor": "stimulus"}
    if len(choices) == 2:
        return {**anchor, "left": choices[0], "right": choices[1], "winner": answer}
    return {**anchor, "shown": choices, "chosen": answer}


def _of_psychopy(table: Table, kind: str | None) -> dict[str, Any]:  # noqa: ARG001 - as the other
    """PsychoPy's names of what was pressed and when, of the one component that is filled where objects are."""
    objects = [place for place, name in enumerate(table.names) if name and names_object(name)]
    picks = [(place, found) for place, name in enumerate(table.names) if name and (found := _PICKED.fullmatch(name))]
    if not objects or not picks:
        return {}
    table.read((), [*objects, *(place for place, _ in picks)], ())
    asked = np.any([filled(table.column(place)) for place in objects], axis=0)
    used = [found for place, found in picks if (filled(table.column(place)) & asked).sum() > asked.sum() / 2]
    if len(used) != 1:
        return {}
    name, ending, first = used[0].groups()
    sides = any(fits("left", title) for title in table.names if title)
    time = f"{name}.{_TIMES[ending]}{first or ''}"
    return {"winner" if sides else "selected": used[0][0], **({"time": time} if time in table.names else {})}
