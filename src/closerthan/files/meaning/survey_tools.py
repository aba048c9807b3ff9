"""Exports that must be rearranged before their columns can be understood: those of Qualtrics and Gorilla.

Qualtrics writes one row per person, below three header rows: the names of the columns, the texts of the questions, and
an id of each column as JSON. Loop & merge repeats questions; the columns of the first repetition begin with ``1_``.

Gorilla writes one row per event. The columns of the researcher's spreadsheet, such as the objects of a trial, are
repeated in all events of the trial, of which one has the response.
"""

import re
from collections.abc import Sequence, Set

import numpy as np

from closerthan.comparisons.column_names import fits, is_usual_name, plain
from closerthan.files.formats.tables import MISSING, Column, LoadedTable, Table, TableWrapper
from closerthan.files.meaning.attributes.conditions import SelectedRows
from closerthan.wording import counted

__all__ = ["gorilla_table", "qualtrics_table"]

_LOOP = re.compile(r"(\d+)_(.+)")
_PREVIEW = frozenset({"survey preview", "survey test", "preview"})
_RESPONSE_TIME = "response_time_s"
_SIDES = frozenset({"left", "right", "arrowleft", "arrowright"})
_ANSWERS = ("winner", "selected", "odd", "near", "central")
_UNANSWERED = frozenset({*MISSING, "-99"})  # an option of Qualtrics for questions that were seen but not answered
# Qualtrics adds these to the name of a question: times and clicks, and the order in which options were shown.
_ADDED = re.compile(r".*(_first_click|_last_click|_click_count|_do|_do_\d+)")


def qualtrics_table(table: Table) -> Table:
    """Rearrange an export of Qualtrics into one row per person and repetition."""
    repeated = {
        place: (int(match[1]), match[2])
        for place, name in enumerate(table.names)
        if (match := _LOOP.fullmatch(name or "")) is not None
    }
    question = _question({title for _, title in repeated.values()})
    loops: dict[int, dict[str, int]] = {}
    for place, (number, title) in repeated.items():
        role = _RESPONSE_TIME if plain(title).endswith("page_submit") else "answer" if title == question else title
        if role == _RESPONSE_TIME or is_usual_name(role):
            loops.setdefault(number, {})[role] = place
    rows = _rows_of_people(table)
    if not loops and len(rows) == table.n_rows:  # the headers were removed, so the table has been rearranged already
        return table
    if not any(fits("anchor", title) or fits("odd", title) for loop in loops.values() for title in loop):
        raise ValueError(
            f"{table.path}: the export of Qualtrics does not say which objects each question showed; repeat the "
            "question by loop & merge, store the objects of each repetition in columns such as 1_anchor, 1_left and "
            "1_right (embedded data), and name the question 'answer', so that its columns are 1_answer, 2_answer, ..."
        )
    people = next(place for place, name in enumerate(table.names) if name and plain(name) == "response_id")
    titles = list(dict.fromkeys(title for loop in loops.values() for title in loop))
    responses = [title for title in titles if any(fits(role, title) for role in _ANSWERS)] or titles
    # Whatever is known of a person, such as a condition, can select rows. Names of other roles would be ambiguous.
    known = {
        name: place
        for place, name in enumerate(table.names)
        if name and place != people and place not in repeated and (fits("participant", name) or not is_usual_name(name))
        if name not in ("participant", *titles)
    }
    loop_places = [place for loop in loops.values() for place in loop.values()]
    cells = _cells(table, sorted({people, *known.values(), *loop_places}))
    columns: dict[str, list[str]] = {"participant": [], **{title: [] for title in (*titles, *known)}}
    n_open = 0
    for row in rows:
        for loop in (loops[number] for number in sorted(loops)):
            values = {title: cells[loop[title]][row].strip() if title in loop else "" for title in titles}
            has_content = any(value not in MISSING for title, value in values.items() if title != _RESPONSE_TIME)
            # The objects may have been set beforehand, for people who then did not finish.
            has_response = any(values[title] not in _UNANSWERED for title in responses)
            n_open += has_content and not has_response
            if has_content and has_response:
                columns["participant"].append(cells[people][row])
                for title, value in (*values.items(), *((name, cells[place][row]) for name, place in known.items())):
                    columns[title].append(value)
    arranged = LoadedTable(
        table.path, table.format, [(name, Column.of_cells(column)) for name, column in columns.items()]
    )
    arranged.notes = [*table.notes, f"each person's {len(loops):,} repetitions are read as rows"]
    if n_open:
        arranged.notes.append(
            f"left out: {counted(n_open, 'question')} without a response, as of people who did not finish"
        )
    return arranged


def _question(titles: Set[str]) -> str | None:
    """Return the repeated column with the answers if it has the usual name of a question, such as Q3, otherwise None.

    Examples
    --------
    >>> _question({"anchor", "left", "right", "Q3", "Q3_DO", "Q4_Page Submit"}), _question({"anchor", "answer", "Q3"})
    ('Q3', None)
    """
    if any(fits(role, title) for role in _ANSWERS for title in titles) or not any(
        fits("anchor", title) for title in titles
    ):
        return None
    others = [
        title
        for title in titles
        if not is_usual_name(title) and not plain(title).endswith("page_submit") and not _ADDED.fullmatch(plain(title))
    ]
    return others[0] if len(others) == 1 else None


def _rows_of_people(table: Table) -> list[int]:
    """Return the rows below the headers, without previews of the survey."""
    places = [
        place
        for place, name in enumerate(table.names)
        if name and plain(name) in ("response_id", "status", "distribution_channel")
    ]
    cells = _cells(table, places)
    rows = []
    for row in range(table.n_rows):
        values = [cells[place][row] for place in places]
        is_header = any(value.startswith('{"ImportId"') for value in values) or "Response ID" in values
        if not is_header and not any(value.strip().lower() in _PREVIEW for value in values):
            rows.append(row)
    return rows


def gorilla_table(table: Table) -> Table:
    """Return the events of an export of Gorilla whose response is one of the objects of their trial."""
    names = [_gorilla_name(name) for name in table.names]
    if any(name and plain(name) == "response" for name in names):
        # A column of the spreadsheet such as ANSWER holds the correct response.
        is_other = [name and fits("winner", name) and plain(name) != "response" for name in names]
        names = [f"spreadsheet {name}" if other else name for name, other in zip(names, is_other, strict=True)]
    renamed = _Renamed(table, names)
    options = [
        place
        for place, name in enumerate(names)
        if name and (fits("left", name) or fits("right", name) or re.fullmatch(r"(item|option|shown)_\d+", plain(name)))
    ]
    responses = [place for place, name in enumerate(names) if name and plain(name) == "response"]
    if not options and any(name and (fits("near", name) or fits("odd", name)) for name in names):
        return renamed  # the table has been rearranged already
    if not options or len(responses) != 1:
        raise ValueError(
            f"{table.path}: an export of Gorilla must have the column Response, and columns of your spreadsheet with "
            "the objects of each trial, called anchor, left and right, or item_1, item_2 and item_3; rename the "
            "columns in the file"
        )
    types = [place for place, name in enumerate(names) if name and plain(name) == "response_type"]
    cells = _cells(table, [*options, *responses, *types])
    # Besides the response, a click can be recorded as the action that ends the screen.
    is_action = [any(cells[place][row].strip().lower() == "action" for place in types) for row in range(table.n_rows)]
    options_of_row = [{cells[place][row].strip() for place in options} - MISSING for row in range(table.n_rows)]
    response = [cell.strip() for cell in cells[responses[0]]]
    is_answer = [
        bool(objects) and not action and (answer in objects or answer.lower() in _SIDES)
        for objects, answer, action in zip(options_of_row, response, is_action, strict=True)
    ]
    if not any(is_answer):
        raise ValueError(
            f"{table.path}: no Response is one of the objects in "
            f"{', '.join(table.title(place) for place in options)}; use the same names in the spreadsheet and in the "
            "responses"
        )
    n_others = len(is_answer) - sum(is_answer)
    renamed.notes.append(f"{n_others:,} other events, such as fixations and screens without a question, are left out")
    return SelectedRows(renamed, np.flatnonzero(is_answer))


class _Renamed(TableWrapper):
    """A table whose columns are renamed."""

    def column(self, position: int) -> Column:
        """Return a column of labels."""
        return self._table.column(position)


def _gorilla_name(name: str | None) -> str:
    """Return the name of a column, without the prefix that Gorilla gives to columns of the spreadsheet.

    Examples
    --------
    >>> _gorilla_name("Participant Private ID"), _gorilla_name("Spreadsheet: left"), _gorilla_name("Spreadsheet Row")
    ('participant', 'left', 'Spreadsheet Row')
    """
    if name is None or plain(name) == "participant_private_id":
        return "participant" if name else ""
    return re.sub(r"^spreadsheet\s*:\s*", "", name, flags=re.IGNORECASE)


def _cells(table: Table, places: Sequence[int]) -> dict[int, list[str]]:
    """Return the text of all cells in some columns."""
    table.read((), places, ())
    columns = {place: table.column(place) for place in places}
    return {place: [column.labels[code] for code in column.codes.tolist()] for place, column in columns.items()}
