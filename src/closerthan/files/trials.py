"""How the answers of a file were given: response times, and the side of the chosen object."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import SECONDS, plain
from closerthan.comparisons.trials import SIDES
from closerthan.files.columns import Layout
from closerthan.files.questions import Objects, Question
from closerthan.files.tables import MISSING, Table, as_number

__all__ = ["sides_of", "times_of"]

_SLOWEST = 60.0  # seconds; half of the answers of no study take longer, so that larger numbers are milliseconds
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
    unit = next((unit for end, unit in SECONDS.items() if plain(table.names[position] or "").endswith(end)), None)
    if unit is None:
        middle = float(np.nanmedian(times))
        unit = 1e-3 if middle > _SLOWEST else 1.0
        word = "milliseconds" if middle > _SLOWEST else "seconds"
        notes.append(f"the times in {title} are taken to be {word}: their median is {middle:,.4g}")
    return times * unit if unit == 1 else times / round(1 / unit)


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
