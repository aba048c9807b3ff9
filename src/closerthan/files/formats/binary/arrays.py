"""Tables from arrays: .npy and .npz files, and variables of MATLAB files. Pickled content is never loaded."""

import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import text_of
from closerthan.files.formats.opening import NoAnswerError
from closerthan.files.formats.sizes import too_large
from closerthan.files.formats.tables import LoadedTable, checked_object_info
from closerthan.messages import value_error

TABLES = ("comparisons", "triplets", "quadruplets", "answers", "data", "train", "S", "trips")
"""Names by which the table is chosen if a file has several arrays, in order of preference."""

_OBJECT_INFO = ("n_objects", "numbering", "names")


class ArrayTable(LoadedTable):
    """A table made of one or several arrays.

    The main array is an (m, 3) or (m, 4) array without column names; a vector of the same length with a usual column
    name (such as weight or participant) becomes a further column. Without a main array, the columns are vectors of
    equal length.
    """

    def __init__(
        self,
        path: Path,
        format: str,
        arrays: Mapping[str, NDArray[Any]],
        is_column: Callable[[str], bool],
        variable: str | None = None,
    ) -> None:
        arrays = dict(arrays)
        object_info = {name: arrays.pop(name) for name in _OBJECT_INFO if name in arrays and name != variable}
        main = _main(path, arrays, variable)
        columns: list[tuple[str | None, Any]] = []
        if main is not None and main.ndim == 2 and main.shape[0] in (3, 4) and main.shape[1] > 10:
            raise ValueError(f"{path}: the table has shape {main.shape}; expected one row per answer; transpose it")
        if main is None:
            vectors = {name: np.ravel(array) for name, array in arrays.items() if _is_vector(array)}
            lengths = {len(array) for array in vectors.values()}
            if len(vectors) < 3 or len(lengths) > 1:
                raise _unclear(path, arrays)
            columns += vectors.items()
        elif main.dtype.names:
            columns += [(name, np.ravel(main[name])) for name in main.dtype.names]
        else:
            columns += [(None, main[:, position]) for position in range(main.shape[1])]
            vectors = {name: np.ravel(array) for name, array in arrays.items() if _is_vector(array) and is_column(name)}
            columns += [(name, array) for name, array in vectors.items() if len(array) == len(main)]
        if not len(columns[0][1]):
            raise NoAnswerError(f"{path} is empty: its table has no rows")
        super().__init__(path, format, columns)
        if None in self.names:
            self.notes.append("the table has no column names; columns are identified by their position")
        info = {name: _object_info(name, value) for name, value in object_info.items()}
        self.object_info = checked_object_info(path, info)


def read_npy(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the array of a .npy file, or the arrays of a .npz file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "a.npy", [[0, 1, 2]])
    ...     read_npy(Path(folder) / "a.npy")
    {'array': array([[0, 1, 2]])}
    """
    try:
        with open(path, "rb") as file:
            signature = file.read(6)
            is_numpy = signature.startswith((b"\x93NUMPY", b"PK"))
            if signature.startswith(b"PK"):
                return _unpacked(path)
            file.seek(0)
            _check_size(file, path.stat().st_size)
            file.seek(0)
            return {"array": np.lib.format.read_array(file, allow_pickle=False)}
    except FileNotFoundError:
        raise
    except (
        Exception
    ) as error:  # for a damaged file, NumPy raises many types of exceptions, such as struct.error and zlib.error
        if is_numpy and "pickle" in str(error).lower():
            raise ValueError(
                f"{path} holds pickled Python objects, which are never loaded, because they can run code; "
                "save numbers, or text of a fixed width (dtype 'U')"
            ) from None
        raise ValueError(f"{path} cannot be read as a NumPy file{f': {error}' if is_numpy else ''}") from None


def mapped_rows(path: Path) -> NDArray[np.integer[Any]] | None:
    """Return the memory-mapped rows of a .npy file of triplets or quadruplets; None for other content.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "a.npy", np.array([[0, 1, 2]], np.int32))
    ...     rows = mapped_rows(Path(folder) / "a.npy")
    ...     type(rows).__name__, rows.shape
    ('memmap', (1, 3))
    """
    try:
        with open(path, "rb") as file:
            _check_size(file, path.stat().st_size)
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # the reader of the whole file reports the problem
        return None
    if isinstance(rows, np.memmap) and rows.ndim == 2 and rows.shape[1] in (3, 4) and rows.dtype.kind in "iu":
        return rows if len(rows) else None
    return None


def _unpacked(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file; headers are compared with actual sizes before memory is allocated."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        problem = too_large(sum(member.file_size for member in members), path.stat().st_size)
        if problem:
            raise ValueError(problem)
        for member in members:
            with archive.open(member) as file:
                _check_size(file, member.file_size)
            with archive.open(member) as file:
                arrays[member.filename.removesuffix(".npy")] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays


def _check_size(file: IO[bytes], size: int) -> None:
    """Raise an error unless the size declared in an array's header is the size of the data."""
    version = np.lib.format.read_magic(file)
    # Version 3 differs from version 2 only in the encoding of field names, which does not matter for the size.
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except Exception:  # NumPy raises many types of exceptions, some with unhelpful messages of the Python parser
        raise ValueError("its header is not that of an array; the file is damaged") from None
    declared, actual = math.prod(shape) * dtype.itemsize, size - file.tell()
    if not dtype.hasobject and declared != actual:
        raise ValueError(
            f"its header declares {declared:,} bytes of numbers, but there are {actual:,}; the file is damaged"
        )


def _object_info(name: str, value: NDArray[Any]) -> Any:
    cells = [text_of(cell) if isinstance(cell, bytes) else cell for cell in np.ravel(value).tolist()]
    if name == "names":
        return [str(cell) for cell in cells]
    cell = cells[0] if len(cells) == 1 else None
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _main(path: Path, arrays: Mapping[str, NDArray[Any]], variable: str | None) -> NDArray[Any] | None:
    if variable is not None:
        if variable not in arrays:
            raise ValueError(f"{path} has no variable {variable!r}; it has {_listed(arrays)}")
        main = arrays[variable]
        if not _is_table(main):
            raise ValueError(f"{path}: {variable!r} has shape {main.shape}; expected a table with at least 3 columns")
        return main
    tables = [name for name, array in arrays.items() if _is_table(array)]
    if len(tables) > 1:
        tables = [name for name in TABLES if name in tables] or tables
    if len(tables) == 1:
        return arrays[tables[0]]
    if tables:
        raise _unclear(path, arrays)
    return None


def _is_table(array: NDArray[Any]) -> bool:
    if array.dtype.names:
        return True
    return array.ndim == 2 and array.shape[1] >= 3 and (array.shape[0] > 1 or array.shape[1] <= 4)


def _is_vector(array: NDArray[Any]) -> bool:
    return array.ndim == 1 or (array.ndim == 2 and 1 in array.shape)


def _listed(arrays: Mapping[str, NDArray[Any]]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"


def _unclear(path: Path, arrays: Mapping[str, NDArray[Any]]) -> ValueError:
    return value_error(
        f"{path} holds {_listed(arrays)}",
        "expected one table of 3 or 4 columns (pass {variable} to choose one), or vectors of equal length named "
        "anchor, near and far",
        variable=...,
    )
