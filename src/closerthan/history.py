"""The course of a fit: a Record for each epoch, and the History of all epochs."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from closerthan.checks import checked
from closerthan.representation import tabulated
from closerthan.wording import html_table

__all__ = ["History", "Record"]

NAN = float("nan")
MOST_SHOWN = 20  # records in the table of a notebook
WHOLE = ("epoch", "gradients")  # columns of whole numbers


@tabulated
class Record(NamedTuple):
    """The state after an epoch; epoch 0 is the start."""

    epoch: int
    gradients: int  # component gradients (or losses) evaluated so far: the paper's x-axis
    seconds: float  # spent by the solver, without evaluation and compilation
    objective: float
    gradient_norm: float  # NaN if the solver does not compute it
    step: float  # step size of the epoch; NaN if the solver has none
    train_error: float
    validation_error: float  # NaN without a validation set


def record_of(row: Mapping[str, Any]) -> Record:
    """Return the record in a row of a file; columns of other versions are ignored, and an empty cell is NaN.

    Examples
    --------
    >>> row = {"epoch": "3", "gradients": "90", "seconds": "0.1", "objective": "0.4", "gradient_norm": ""}
    >>> record_of(row | {"step": "0.2", "train_error": "0.25", "validation_error": ""}).train_error
    0.25
    """
    numbers: Any = {name: (int if name in WHOLE else _number)(row[name]) for name in Record._fields}
    return Record(**numbers)


def _number(cell: Any) -> float:
    return NAN if cell == "" else float(cell)


class _Column:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, history: "History | None", owner: type | None = None) -> Any:
        if history is None:
            return self
        kind = np.int64 if self.name in WHOLE else np.float64
        return np.array([getattr(record, self.name) for record in history], dtype=kind)


class History:
    """One record per epoch; the columns of the table are attributes.

    Examples
    --------
    >>> history = History([Record(0, 0, 0.0, 0.69, 0.1, NAN, 0.5, NAN), Record(1, 30, 0.1, 0.4, 0.05, 0.2, 0.25, NAN)])
    >>> history.train_error
    array([0.5 , 0.25])
    """

    epoch = _Column()
    gradients = _Column()
    seconds = _Column()
    objective = _Column()
    gradient_norm = _Column()
    step = _Column()
    train_error = _Column()
    validation_error = _Column()

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = list(records)

    def append(self, record: Record) -> None:
        """Add the record of one more epoch."""
        self._records.append(record)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __getitem__(self, position: int) -> Record:
        return self._records[position]

    def __repr__(self) -> str:
        return f"History({len(self)} records)"

    def _repr_html_(self) -> str:
        rows = [[f"{number:,}" if isinstance(number, int) else f"{number:.4g}" for number in one] for one in self]
        return html_table(repr(self), Record._fields, rows[:MOST_SHOWN], len(rows))

    @checked
    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as CSV text, and write it to ``path`` if given; numbers that are not finite are empty cells.

        Examples
        --------
        >>> print(History([Record(0, 0, 0.0, 0.5, 0.1, NAN, 0.5, NAN)]).to_csv())
        epoch,gradients,seconds,objective,gradient_norm,step,train_error,validation_error
        0,0,0.0,0.5,0.1,,0.5,
        <BLANKLINE>
        """
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(Record._fields)
        table.writerows([[cell if math.isfinite(cell) else "" for cell in record] for record in self])
        if path is not None:
            from closerthan.saving import whole_file

            with whole_file(path) as file:
                file.write(text.getvalue().encode())
        return text.getvalue()

    @classmethod
    @checked
    def from_csv(cls, path: str | Path) -> "History":
        """Read a file written by :meth:`to_csv`."""
        try:
            with open(path, encoding="utf-8", newline="") as file:
                return cls(map(record_of, csv.DictReader(file)))
        except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
            raise ValueError(f"{path} is not a history: {' '.join(str(error).split())}") from None

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        try:
            import pandas
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas; or use to_csv()") from None
        return pandas.DataFrame(list(self), columns=list(Record._fields))
