"""Read features of objects, or a matrix of similarities or dissimilarities between them."""

import csv
import dataclasses
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked, distinct
from closerthan.comparisons import text_of
from closerthan.comparisons.parsing import is_number
from closerthan.files.formats.binary.parquet import read_numbers
from closerthan.files.formats.opening import name_file_in_errors
from closerthan.files.formats.readers import suffix_of
from closerthan.files.formats.tables import as_number, excerpt
from closerthan.representation import shows_fields

__all__ = ["Features", "is_name_column", "lines_of_cells", "read_features"]

_SUFFIXES = (".csv", ".tsv", ".txt", ".npy", ".npz", ".parquet")
_ARRAYS = ("features", "embedding", "embeddings", "activations", "similarities", "dissimilarities", "distances")
_NAME_TITLES = ("", "name", "names", "object", "label", "id")


@shows_fields
@dataclasses.dataclass(frozen=True, eq=False)
class Features:
    """A table of numbers with one row per object; missing numbers are NaN.

    Attributes
    ----------
    table
        (n_objects, n_columns).
    names
        Names of the objects, or None.
    titles
        Titles of the columns, or None.
    """

    table: NDArray[np.float64]
    names: tuple[str, ...] | None
    titles: tuple[str, ...] | None = None

    @property
    def is_matrix(self) -> bool:
        """True if rows and columns have the same names or the table is symmetric: a matrix of (dis)similarities."""
        table = self.table
        is_symmetric = len(table) > 2 and np.array_equal(table, table.T, equal_nan=True)
        return is_symmetric or (self.names is not None and self.names == self.titles)


@checked
@name_file_in_errors
def read_features(path: str | os.PathLike[str]) -> Features:
    """Read a table of numbers with one row per object: features, or a matrix of (dis)similarities.

    Text files (.csv, .tsv or .txt) may have a header line. Their first column holds names if it is called name,
    object, label or id, or if its cells are not numbers; empty cells and NA are missing numbers. A .npy file holds one
    array, and a .npz file may also hold names. In Parquet files, the first column holds names if it is text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "m.csv").write_text(",ant,bee\\nant,0,2.5\\nbee,,0\\n")
    ...     read_features(Path(folder) / "m.csv").table.tolist()
    [[0.0, 2.5], [nan, 0.0]]
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is expected")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES:
        raise ValueError(f"{path}: features can be read from {', '.join(_SUFFIXES)}")
    if suffix in (".npy", ".npz"):
        features = _read_arrays(path)
    elif suffix == ".parquet":
        features = Features(*read_numbers(path, is_name_column, "features"))
    else:
        features = _read_text(path)
    table, names = features.table, features.names
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{path} has a table of shape {table.shape}; expected one row of numbers per object")
    if names is not None:
        if len(names) != len(table):
            raise ValueError(f"{path} has {len(table)} rows, but {len(names)} names; they must agree")
        distinct(names, str(path))
    return features


def _read_arrays(path: Path) -> Features:
    from closerthan.files.formats.binary.arrays import read_npy

    arrays = dict(read_npy(path))
    names = arrays.pop("names", None)
    candidates = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "iuf"]
    usual = [name for name in _ARRAYS if name in candidates]
    if not usual and len(candidates) != 1:
        content = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise ValueError(f"{path} holds {content}; expected one table of numbers, or one that is called features")
    table = np.asarray(arrays[usual[0] if usual else candidates[0]], dtype=np.float64)
    return Features(table, None if names is None else tuple(text_of(name) for name in np.ravel(names).tolist()))


def lines_of_cells(path: Path, what: str) -> tuple[list[tuple[int, list[str]]], str]:
    """Return the lines of a text file that are not empty, as their number and their cells, and the delimiter.

    Cells are separated by commas, tabs or semicolons, or by spaces if the first line has none of these.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            delimiter = max(",\t;", key=first.count) if set(",\t;") & set(first) else " "
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            lines = [(reader.line_num, [cell for cell in cells if cell or delimiter != " "]) for cells in reader]
    except (UnicodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as {what}: {error}") from None
    return [(number, cells) for number, cells in lines if any(cell.strip() for cell in cells)], delimiter


def _read_text(path: Path) -> Features:
    lines, delimiter = lines_of_cells(path, "a table of numbers")
    lines = [(number, [cell.strip() for cell in cells]) for number, cells in lines]
    if not lines:
        raise ValueError(f"{path} is empty")
    header = lines[0][1] if _is_header(lines[0][1]) else None
    body = lines if header is None else lines[1:]
    if not body:
        raise ValueError(f"{path} has a header line, but no objects")
    width = len(body[0][1])
    if header is not None and len(header) == width - 1:  # R writes no title for the column of names
        header = ["", *header]
    is_named = (header is not None and is_name_column(header[0], False)) or not all(
        _is_cell(cells[0]) for _, cells in body
    )
    table = np.empty((len(body), width - is_named))
    for row, (number, cells) in enumerate(body):
        try:
            if len(cells) != width or (header is not None and len(header) != width):
                raise ValueError
            table[row] = [as_number(cell) for cell in cells[is_named:]]
        except ValueError:
            expected = f"{'a name and ' if is_named else ''}{width - is_named} numbers"
            raise ValueError(f"{path}, line {number} ({excerpt(delimiter.join(cells))}): expected {expected}") from None
    names = tuple(cells[0] for _, cells in body) if is_named else None
    return Features(table, names, None if header is None else tuple(header[is_named:]))


def _is_header(cells: list[str]) -> bool:
    """Return whether a line holds titles: words, or the numbers 0, 1, ... that pandas writes as titles."""
    if is_name_column(cells[0], False) and cells[1:] == [str(number) for number in range(len(cells) - 1)]:
        return True
    return not all(_is_cell(cell) for cell in cells[1:]) or not (len(cells) > 1 or _is_cell(cells[0]))


def is_name_column(title: str, textual: bool) -> bool:
    """Return whether a column, the first one of a file, holds names: it has text or a title that says so."""
    return textual or title.strip().lower() in _NAME_TITLES


def _is_cell(cell: str) -> bool:
    return cell == "" or is_number(cell) or cell in ("NA", "N/A", "NULL", "null")
