"""DataFrames (pandas or polars) and Arrow tables, read like files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.column_names import names_of
from closerthan.files.formats.tables import Column, LoadedTable, label_of, numbered_columns

__all__ = ["FrameTable", "is_frame"]


def is_frame(data: Any) -> bool:
    """Return whether ``data`` is a DataFrame or an Arrow table.

    Examples
    --------
    >>> import pandas
    >>> is_frame(pandas.DataFrame({"anchor": ["ant"]})), is_frame("answers.csv")
    (True, False)
    """
    return hasattr(data, "shape") and (hasattr(data, "column_names") or hasattr(data, "columns"))


class FrameTable(LoadedTable):
    """The columns of a DataFrame; a column of lists becomes numbered columns."""

    def __init__(self, frame: Any) -> None:
        path = Path("the DataFrame")
        if not len(frame):
            raise ValueError(f"{path} is empty: it has no answers")
        names = names_of(frame)
        columns: list[tuple[str | None, Any]] = []
        for position in range(frame.shape[1]):
            name = None if names is None else names[position]
            cells = _cells(_column(frame, position))
            if isinstance(cells, list):
                if all(isinstance(cell, list | tuple | np.ndarray) or cell is None for cell in cells):
                    columns += numbered_columns(name or f"column_{position}", cells)
                    continue
                columns.append((name, Column.of_cells([label_of(cell) for cell in cells])))
            else:
                columns.append((name, cells))
        super().__init__(path, "DataFrame", columns)
        if names is None:
            self.notes.append("the columns have no names and are identified by their position")


def _column(frame: Any, position: int) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[:, position]
    return frame.column(position) if hasattr(frame, "column_names") else frame[:, position]


def _cells(column: Any) -> NDArray[Any] | list[Any]:
    """Return numbers as an array, and other cells as a list in which missing values are None."""
    if getattr(getattr(column, "dtype", None), "kind", "O") in "biuf" and isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    if hasattr(column, "isna"):  # pandas has several kinds of missing values
        return list(column.astype(object).where(column.notna(), None))
    return list(column.to_list())
