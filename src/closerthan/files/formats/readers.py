"""Open a file with the reader for its format."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from closerthan.files.formats.archives import table_in
from closerthan.files.formats.binary.arrays import ArrayTable, read_npy
from closerthan.files.formats.binary.parquet import ParquetTable
from closerthan.files.formats.binary.psiz import PsizTable
from closerthan.files.formats.binary.second_process import read_arrays
from closerthan.files.formats.json.jatos import JatosArchive, is_jatos_archive, is_json_text
from closerthan.files.formats.json.json_array import JsonArrayTable, is_array
from closerthan.files.formats.json.jsonlines import JsonLinesTable
from closerthan.files.formats.opening import NoAnswerError, check_decompressed_size, is_gzipped
from closerthan.files.formats.study import StudyTable
from closerthan.files.formats.tables import Table
from closerthan.files.formats.text.delimited_text import ARROW_FROM, TextTable

__all__ = ["FileOptions", "open_table", "suffix_of"]

_PICKLES = (".pkl", ".pickle", ".joblib", ".p")
_SPREADSHEETS = (".xlsx", ".xls", ".ods")


class FileOptions(NamedTuple):
    """Options about the format of a file; None means that it is detected.

    Attributes
    ----------
    header, delimiter, encoding
        Format of a text file.
    variable
        The array to read from a .npz or .mat file, or the table to read from a .zip archive.
    arrow_from
        Size in bytes from which a text file is read by pyarrow.
    """

    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    variable: str | None = None
    arrow_from: int = ARROW_FROM


def suffix_of(path: Path) -> str:
    """Return the lower-case suffix that indicates a file's format, ignoring .gz.

    Examples
    --------
    >>> suffix_of(Path("answers.CSV.gz")), suffix_of(Path("fit.npz"))
    ('.csv', '.npz')
    """
    return (path.with_suffix("") if is_gzipped(path) else path).suffix.lower()


def open_table(path: Path, is_column: Callable[[str], bool], options: FileOptions) -> Table:
    """Open a file as a table; ``is_column`` returns whether a text is the name of a column that may be used."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix, variable = suffix_of(path), options.variable
    if suffix in _PICKLES:
        raise ValueError(
            f"{path} is a pickle, and pickles are never loaded, because they can run code; save it as .csv or .npz"
        )
    if suffix in _SPREADSHEETS:
        raise ValueError(f"{path} is a spreadsheet; save the sheet as .csv")
    if suffix == ".jzip":
        raise ValueError(f"{path} is a study of JATOS without its results; export these as an archive (.jrzip)")
    if path.stat().st_size == 0:
        raise NoAnswerError(f"{path} is empty: it has no answers")
    if variable is None and is_jatos_archive(path):
        return JatosArchive(path)
    if suffix == ".zip":
        path, variable = table_in(path, variable), None
        suffix = suffix_of(path)
    if suffix in (".npy", ".npz"):
        return ArrayTable(path, "NumPy", read_npy(path), is_column, variable)
    if suffix == ".mat":
        return ArrayTable(path, "MATLAB", read_arrays(path, "MATLAB"), is_column, variable)
    if suffix in (".hdf5", ".h5"):
        return PsizTable(path, read_arrays(path, "HDF5"))
    if suffix in (".parquet", ".pq"):
        return ParquetTable(path)
    if suffix == ".sqlite":
        return StudyTable(path)
    check_decompressed_size(path)
    if suffix in (".jsonl", ".ndjson", ".json") or (suffix == ".txt" and is_json_text(path)):
        return JsonArrayTable(path) if is_array(path) else JsonLinesTable(path)
    return TextTable(
        path,
        is_column,
        header=options.header,
        delimiter=options.delimiter,
        encoding=options.encoding,
        arrow_from=options.arrow_from,
    )
