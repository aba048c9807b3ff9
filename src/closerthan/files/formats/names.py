"""Formats: which reader a file needs."""

from collections.abc import Callable
from pathlib import Path

from closerthan.files.formats.archives import table_in
from closerthan.files.formats.arrays import ArrayTable, read_npy
from closerthan.files.formats.json_array import JsonArrayTable, is_array
from closerthan.files.formats.jsonlines import JsonLinesTable
from closerthan.files.formats.opening import NoAnswerError, check_unpacked_size, is_packed
from closerthan.files.formats.parquet import ParquetTable
from closerthan.files.formats.psiz import PsizTable
from closerthan.files.formats.second_process import read_arrays
from closerthan.files.formats.tables import Table
from closerthan.files.formats.text import TextTable

_PICKLED = (".pkl", ".pickle", ".joblib", ".p")
_SHEETS = (".xlsx", ".xls", ".ods")


def ending(path: Path) -> str:
    """The part of a file's name that says its format, in small letters and without .gz.

    Examples
    --------
    >>> ending(Path("answers.CSV.gz")), ending(Path("fit.npz"))
    ('.csv', '.npz')
    """
    return (path.with_suffix("") if is_packed(path) else path).suffix.lower()


def opened(
    path: Path,
    known: Callable[[str], bool],
    *,
    header: bool | None,
    delimiter: str | None,
    encoding: str | None,
    variable: str | None,
) -> Table:
    """A file as a table."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    form = ending(path)
    if form in _PICKLED:
        raise ValueError(
            f"{path} is pickled, and pickles are never loaded, as they may run code; save it as .csv or .npz"
        )
    if form in _SHEETS:
        raise ValueError(f"{path} is a spreadsheet; save the sheet as .csv")
    if path.stat().st_size == 0:
        raise NoAnswerError(f"{path} is empty: it has no answer")
    if form == ".zip":
        path, variable = table_in(path, variable), None
        form = ending(path)
    if form in (".npy", ".npz"):
        return ArrayTable(path, "NumPy", read_npy(path), known, variable)
    if form == ".mat":
        return ArrayTable(path, "MATLAB", read_arrays(path, "MATLAB"), known, variable)
    if form in (".hdf5", ".h5"):
        return PsizTable(path, read_arrays(path, "HDF5"))
    if form in (".parquet", ".pq"):
        return ParquetTable(path)
    check_unpacked_size(path)
    if form in (".jsonl", ".ndjson", ".json"):
        return JsonArrayTable(path) if is_array(path) else JsonLinesTable(path)
    return TextTable(path, known, header=header, delimiter=delimiter, encoding=encoding)
