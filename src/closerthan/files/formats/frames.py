"""DataFrames (of pandas or polars) and Arrow tables, read like files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import names_of
from closerthan.files.formats.tables import Column, LoadedTable, label, numbered_columns

__all__ = ["FrameTable", "is_frame"]


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame, or something like it.

    Examples
    --------
    >>> import pandas
    >>> is_frame(pandas.DataFrame({"anchor": ["ant"]})), is_frame("answers.csv")
    (True, False)
    """
    return hasattr(data, "shape") and (hasattr(data, "column_names") or hasattr(data, "columns"))


class FrameTable(LoadedTable):
    """The columns of a DataFrame; one that holds lists becomes numbered columns."""

    def __init__(self, frame: Any) -> None:
        path = Path("the DataFrame")
        if not len(frame):
            raise ValueError(f"{path} is empty: it has no answer")
        names = names_of(frame)
        width = frame.shape[1]
        columns: list[tuple[str | None, Any]] = []
        for place in range(width):
            name = None if names is None else names[place]
            cells = _cells(_column(frame, place))
            if isinstance(cells, list):
                if all(isinstance(cell, list | tuple | np.ndarray) or cell is None for cell in cells):
                    columns += numbered_columns(name or f"column_{place}", cells)
                    continue
                columns.append((name, Column.of_cells([label(cell) for cell in cells])))
            else:
                columns.append((name, cells))
        super().__init__(path, "DataFrame", columns)
        if names is None:
            self.notes.append("the columns have no names: they are taken by their position")


def _column(frame: Any, place: int) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place]
    return frame.column(place) if hasattr(frame, "column_names") else frame[:, place]


def _cells(column: Any) -> NDArray[Any] | list[Any]:
    """Numbers as an array, anything else as a list with None for what is missing."""
    if getattr(getattr(column, "dtype", None), "kind", "O") in "biuf" and isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    if hasattr(column, "isna"):  # pandas has several values that mean missing
        return list(column.astype(object).where(column.notna(), None))
    return list(column.to_list())
