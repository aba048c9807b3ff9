"""Response times, and the positions at which objects were shown."""

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import SECONDS, plain
from closerthan.comparisons.trials import UNKNOWN
from closerthan.files.formats.tables import MISSING, Table
from closerthan.files.meaning.columns import Layout
from closerthan.files.meaning.interpretation import DerivedRows, Interpretation, Objects

__all__ = ["WRITTEN_TIME", "option_positions", "response_times"]

WRITTEN_TIME = "response_time_s"
"""Column of response times in files written by closerthan, which is always in seconds."""

_SLOWEST = 60.0  # seconds; with a larger median, times without a unit are taken as milliseconds
_SLOWEST_NAMED = 300.0  # seconds; the same limit if the column name says that times are in seconds
_SIDES = {"left": 0, "l": 0, "right": 1, "r": 1}


def response_times(table: Table, layout: Layout, explicit: bool, notes: list[str]) -> NDArray[np.float64] | None:
    """Return the response time of each row in seconds, NaN if missing or invalid; None if there is no such column.

    A column with a usual name but other content is ignored unless the user chose it explicitly.
    """
    if "time" not in layout.columns:
        return None
    (position,) = layout.columns["time"]
    column, title = table.column(position), table.title(position)
    values, bad = column.label_numbers(decimal_commas=table.decimal_commas)
    if bad is not None:
        cell = column.labels[bad]
        if explicit:
            raise table.error(column.first_row(bad), f"the time in {title} is {cell!r}; expected a number")
        notes.append(f"column {title} is not used: it holds {cell!r}, but a time is expected")
        return None
    invalid = np.isinf(values) | (values < 0)
    if invalid.any():
        values[invalid] = np.nan
        n_invalid = int(invalid[column.codes].sum())
        notes.append(f"{n_invalid:,} times in {title} are negative or infinite and are treated as missing")
    times: NDArray[np.float64] = values[column.codes]
    if np.isnan(times).all():
        notes.append(f"column {title} is not used: it contains no times")
        return None
    name = plain(table.names[position] or "")
    named_unit = next((unit for suffix, unit in SECONDS.items() if name.endswith(suffix)), None)
    median = float(np.nanmedian(times))
    unit = named_unit if named_unit is not None and name == WRITTEN_TIME else _plausible_unit(median, named_unit)
    if unit != named_unit:
        word = "seconds" if unit == 1 else "milliseconds"
        despite = (
            "" if named_unit is None else f", and {median * named_unit:,.4g} s, as the name implies, is implausible"
        )
        notes.append(f"the times in {title} are taken to be {word}: their median is {median:,.4g}{despite}")
    return times if unit == 1 else times / round(1 / unit)


def _plausible_unit(median: float, named_unit: float | None) -> float:
    """Return the unit of times, in seconds, from their median and the unit in the column name, if it has one.

    Examples
    --------
    >>> _plausible_unit(4.0, None), _plausible_unit(2010.0, None), _plausible_unit(2010.0, 1.0)
    (1.0, 0.001, 0.001)
    >>> _plausible_unit(90.0, 1.0), _plausible_unit(850.0, 1e-3)
    (1.0, 0.001)
    """
    if named_unit is None:
        return 1e-3 if median > _SLOWEST else 1.0
    return 1e-3 if named_unit == 1 and median > _SLOWEST_NAMED else named_unit


def option_positions(interpretation: Interpretation, derived: DerivedRows, explicit: bool) -> NDArray[np.int8] | None:
    """Return the positions of the near and the far object of each comparison; None if the file does not contain them.

    Positions are counted from 0, so that 0 is left and 1 is right if there are two options; -1 is unknown.
    """
    rows, source = derived
    options = interpretation.options
    if options is not None:
        options_of_row = options[source]
        places = [(options_of_row == rows[:, column, None]) for column in (1, 2)]
        positions = [np.where(place.any(axis=1), place.argmax(axis=1), UNKNOWN) for place in places]
    else:
        sides = _chosen_sides(interpretation, explicit)
        if sides is None:
            return None
        near = sides[source]
        positions = [near, np.where(near == UNKNOWN, UNKNOWN, 1 - near)]
    return np.stack(positions, axis=1).astype(np.int8)


def _chosen_sides(interpretation: Interpretation, explicit: bool) -> NDArray[np.int8] | None:
    """Return the side of the chosen object in each row: 0 left, 1 right, -1 unknown; None if the file has no sides."""
    table, places = interpretation.table, interpretation.layout.columns.get("side", ())
    if len(places) == 1:
        return _named_sides(table, places[0], explicit, interpretation.notes)
    if not places:
        return None
    left, right, picked = Objects.of_columns([table.column(place) for place in places]).codes.T
    sides = np.where(picked == left, 0, np.where(picked == right, 1, -1)).astype(np.int8)
    sides[(left == right) | (picked < 0)] = -1
    if (sides < 0).mean() > 0.5:
        titles = [table.title(place) for place in places]
        interpretation.notes.append(
            f"columns {', '.join(titles[:2])} are not used: most values of {titles[2]} are in neither of them"
        )
        return None
    return sides


def _named_sides(table: Table, position: int, explicit: bool, notes: list[str]) -> NDArray[np.int8] | None:
    column, title = table.column(position), table.title(position)
    sides = [-1 if name in MISSING else _SIDES.get(name.lower()) for name in column.labels]
    if None in sides:
        code = sides.index(None)
        if explicit:
            problem = f"the side in {title} is {column.labels[code]!r}; expected left or right"
            raise table.error(column.first_row(code), problem)
        notes.append(f"column {title} is not used: it holds {column.labels[code]!r}, but left or right is expected")
        return None
    side_of_row: NDArray[np.int8] = np.array(sides, dtype=np.int8)[column.codes]
    return side_of_row
