"""Arrays: .npy, .npz, and the variables of a MATLAB file. Pickled content is never loaded."""

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
from closerthan.files.formats.tables import LoadedTable, checked_settings

TABLES = ("comparisons", "triplets", "quadruplets", "answers", "data", "train", "S", "trips")
"""Names under which the one table of a file is looked for, if it has several."""

_SETTINGS = ("n_objects", "numbering", "names")


class ArrayTable(LoadedTable):
    """One or several arrays.

    A table is an (m, 3) or (m, 4) array without column names; a vector of the same length whose name is known (such as
    weight or participant) belongs to it. Without a table, vectors of one length are columns.
    """

    def __init__(
        self,
        path: Path,
        format: str,
        arrays: Mapping[str, NDArray[Any]],
        known: Callable[[str], bool],
        variable: str | None = None,
    ) -> None:
        arrays = dict(arrays)
        settings = {name: arrays.pop(name) for name in _SETTINGS if name in arrays and name != variable}
        main = _main(path, arrays, variable)
        columns: list[tuple[str | None, Any]] = []
        if main is not None and main.ndim == 2 and main.shape[0] in (3, 4) and main.shape[1] > 10:
            raise ValueError(f"{path}: the table has shape {main.shape}; expected one row per answer, so transpose it")
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
            vectors = {name: np.ravel(array) for name, array in arrays.items() if _is_vector(array) and known(name)}
            columns += [(name, array) for name, array in vectors.items() if len(array) == len(main)]
        if not len(columns[0][1]):
            raise NoAnswerError(f"{path} is empty: its table has no row")
        super().__init__(path, format, columns)
        if None in self.names:
            self.notes.append("the table has no column names: columns are taken by their position")
        self.settings = checked_settings(path, {name: _setting(name, value) for name, value in settings.items()})


def read_npy(path: Path) -> Mapping[str, NDArray[Any]]:
    """The array of a .npy file, or those of a .npz file.

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
            beginning = file.read(6)
            genuine = beginning.startswith((b"\x93NUMPY", b"PK"))
            if beginning.startswith(b"PK"):
                return _unpacked(path)
            file.seek(0)
            _check_size(file, path.stat().st_size)
            file.seek(0)
            return {"array": np.lib.format.read_array(file, allow_pickle=False)}
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy raises many kinds, down to struct.error and zlib.error, for a damaged file
        if genuine and "pickle" in str(error).lower():
            raise ValueError(
                f"{path} holds pickled Python objects, which are never loaded, as they may run code; "
                "save numbers, or text of a fixed width (dtype 'U')"
            ) from None
        raise ValueError(f"{path} cannot be read as a NumPy file{f': {error}' if genuine else ''}") from None


def mapped_rows(path: Path) -> NDArray[np.integer[Any]] | None:
    """The rows of a .npy file of triplets or quadruplets, memory-mapped; None if it holds something else.

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
    except (OSError, ValueError):  # what is wrong is said by who reads it
        return None
    if isinstance(rows, np.memmap) and rows.ndim == 2 and rows.shape[1] in (3, 4) and rows.dtype.kind in "iu":
        return rows if len(rows) else None
    return None


def _unpacked(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file; what its headers say is compared with what is there before memory is asked for."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        bomb = too_large(sum(member.file_size for member in members), path.stat().st_size)
        if bomb:
            raise ValueError(bomb)
        for member in members:
            with archive.open(member) as file:
                _check_size(file, member.file_size)
            with archive.open(member) as file:
                found[member.filename.removesuffix(".npy")] = np.lib.format.read_array(file, allow_pickle=False)
    return found


def _check_size(file: IO[bytes], size: int) -> None:
    """Whether an array's header promises what follows it."""
    version = np.lib.format.read_magic(file)
    # Version 3 differs from 2 in how the names of fields are written, which makes no difference to their size.
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except Exception:  # NumPy raises many kinds, in the words of Python's parser
        raise ValueError("its header is not the one of an array; it is damaged") from None
    promised, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if not dtype.hasobject and promised != there:
        raise ValueError(f"its header promises {promised:,} bytes of numbers, but {there:,} are there; it is damaged")


def _setting(name: str, value: NDArray[Any]) -> Any:
    cells = [text_of(cell) if isinstance(cell, bytes) else cell for cell in np.ravel(value).tolist()]
    if name == "names":
        return [str(cell) for cell in cells]
    one = cells[0] if len(cells) == 1 else None
    return int(one) if isinstance(one, float) and one.is_integer() else one


def _main(path: Path, arrays: Mapping[str, NDArray[Any]], variable: str | None) -> NDArray[Any] | None:
    if variable is not None:
        if variable not in arrays:
            raise ValueError(f"{path} has no variable {variable!r}; it has {_listed(arrays)}")
        main = arrays[variable]
        if not _is_table(main):
            raise ValueError(f"{path}: {variable!r} has shape {main.shape}; expected m rows and 3 columns, or more")
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
    return ValueError(
        f"{path} holds {_listed(arrays)}: which one are the answers? expected one table of 3 or 4 columns "
        "(pass variable= to choose), or vectors of one length named anchor, near and far"
    )
