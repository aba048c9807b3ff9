"""CSV files in the folder of a study: the objects, those of a condition, and the researcher's own questions."""

import contextlib
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["check_cells", "open_table"]


@contextlib.contextmanager
def open_table(path: Path, remedy: str) -> Iterator[tuple[list[str], "csv.DictReader[str]"]]:
    """Open a table, and return the names of its columns in lower case, and its rows.

    Parameters
    ----------
    path
        The file.
    remedy
        What to do if the file does not exist, for the error message.
    """
    if not path.is_file():
        raise ValueError(f"{path} does not exist; {remedy}")
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            columns = [name.strip().lower() for name in table.fieldnames or ()]
            table.fieldnames = columns
            yield columns, table
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8 ({error}); save it as such") from None


def check_cells(row: Mapping[Any, Any], place: str) -> None:
    """Raise an error that names the place if a row has more or fewer cells than there are columns."""
    if None in row or None in row.values():
        raise ValueError(
            f"{place}: the number of cells differs from the number of columns; put texts with commas in quotes"
        )
