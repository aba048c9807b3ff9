"""How the answers of a file were given: response times, and the side of the chosen object."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import SECONDS, plain
from closerthan.comparisons.trials import SIDES
from closerthan.files.formats.tables import MISSING, Table, as_number
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.questions import Objects, Question

__all__ = ["WRITTEN_TIME", "sides_of", "times_of"]

WRITTEN_TIME = "response_time_s"
"""The column of times in files that closerthan writes, whose unit is certain."""

_SLOWEST = 60.0  # seconds; if half of the answers seem to take longer, the numbers are milliseconds
_SLOWEST_SAID = 300.0  # seconds; the same where the column's name says that they are seconds
_SIDES = {"left": 0, "l": 0, "right": 1, "r": 1}


def times_of(table: Table, layout: Layout, asked: bool, notes: list[str]) -> NDArray[np.float64] | None:
    """Seconds of each row, NaN where the cell is empty or no time; None if there is no such column.

    A column that merely has a usual name for this, but other content, is not used.
    """
    if "time" not in layout.columns:
        return None
    (position,) = layout.columns["time"]
    column, title = table.column(position), table.title(position)
    values = np.empty(len(column.labels))
    for code, name in enumerate(column.labels):
        try:
            values[code] = as_number(name)
        except ValueError:
            row = int(np.argmax(column.codes == code))
            if asked:
                raise table.error(row, f"the time in {title} is {name!r}; expected a number") from None
            notes.append(f"column {title} is not used: it holds {name!r}, where a time is expected")
            return None
    no_times = np.isinf(values) | (values < 0)
    if no_times.any():
        values[no_times] = np.nan
        number = int(no_times[column.codes].sum())
        notes.append(f"{number:,} times in {title} are negative or infinite, and taken as not known")
    times: NDArray[np.float64] = values[column.codes]
    if np.isnan(times).all():
        notes.append(f"column {title} is not used: it has no time")
        return None
    name = plain(table.names[position] or "")
    said = next((unit for end, unit in SECONDS.items() if name.endswith(end)), None)
    middle = float(np.nanmedian(times))
    unit = said if said is not None and name == WRITTEN_TIME else _plausible_unit(middle, said)
    if unit != said:
        word = "seconds" if unit == 1 else "milliseconds"
        although = "" if said is None else f", in spite of the column's name, as {middle * said:,.4g} s are implausible"
        notes.append(f"the times in {title} are taken to be {word}: their median is {middle:,.4g}{although}")
    return times if unit == 1 else times / round(1 / unit)


def _plausible_unit(middle: float, named_unit: float | None) -> float:
    """Return the unit of times in seconds, from their median and the unit in the column's name, if it has one.

    Examples
    --------
    >>> _plausible_unit(4.0, None), _plausible_unit(2010.0, None), _plausible_unit(2010.0, 1.0)
    (1.0, 0.001, 0.001)
    >>> _plausible_unit(90.0, 1.0), _plausible_unit(850.0, 1e-3)
    (1.0, 0.001)
    """
    if named_unit is None:
        return 1e-3 if middle > _SLOWEST else 1.0
    return 1e-3 if named_unit == 1 and middle > _SLOWEST_SAID else named_unit


def sides_of(table: Table, layout: Layout, question: Question, asked: bool) -> NDArray[np.int8] | None:
    """The side of the chosen object in each row, 0 left and 1 right (-1: not known); None if nothing says so."""
    if question.picked_side is not None:
        return question.picked_side.astype(np.int8)
    places = layout.columns.get("side", ())
    if len(places) == 1:
        return _named_sides(table, places[0], asked, question.notes)
    if not places:
        return None
    left, right, picked = Objects.of_columns([table.column(place) for place in places]).codes.T
    sides = np.where(picked == left, 0, np.where(picked == right, 1, -1)).astype(np.int8)
    sides[(left == right) | (picked < 0)] = -1
    if (sides < 0).mean() > 0.5:
        titles = [table.title(place) for place in places]
        question.notes.append(
            f"columns {', '.join(titles[:2])} are not used: what is in {titles[2]} is mostly in neither"
        )
        return None
    return sides


def _named_sides(table: Table, position: int, asked: bool, notes: list[str]) -> NDArray[np.int8] | None:
    column, title = table.column(position), table.title(position)
    numbers = [-1 if name in MISSING else _SIDES.get(name.lower(), len(SIDES)) for name in column.labels]
    if len(SIDES) in numbers:
        name = column.labels[numbers.index(len(SIDES))]
        if asked:
            row = int(np.argmax(column.codes == numbers.index(len(SIDES))))
            raise table.error(row, f"the side in {title} is {name!r}; expected left or right")
        notes.append(f"column {title} is not used: it holds {name!r}, where left or right is expected")
        return None
    found: NDArray[np.int8] = np.array(numbers, dtype=np.int8)[column.codes]
    return found
