"""Read and write maps: an embedding and the names of its objects."""

import csv
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.checks import checked, distinct
from closerthan.comparisons import text_of
from closerthan.comparisons.column_names import is_usual_name
from closerthan.comparisons.parsing import is_number
from closerthan.files.features import is_name_column, lines_of_cells
from closerthan.files.formats.binary.parquet import open_parquet, read_numbers, reading_parquet
from closerthan.files.formats.extras import extra
from closerthan.files.formats.opening import is_gzipped, name_file_in_errors
from closerthan.files.formats.readers import suffix_of
from closerthan.files.formats.tables import excerpt
from closerthan.files.formats.text.delimited_text import quoted
from closerthan.files.writing import csv_text
from closerthan.saving import whole_file, whole_folder

_NAME = "name"
_SPARSE_FILE, _SPARSE = "dimensions.npz", "sparse_dimensions"  # a file of SparseDimensions, and its array of metadata
_VICE_FILES = ("pruned_params.npz", "parameters.npz")
_VICE_MEANS = ("pruned_loc", "loc")  # arrays in these files that hold the means of the weights
_LONGEST_HEADER = 1 << 20  # maximum number of characters
_SUFFIXES = (".csv", ".parquet", ".npz")


@checked
def write_map(
    embedding: ArrayLike,
    names: Sequence[str] | None,
    path: str | os.PathLike[str],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a map atomically as .csv, .parquet or .npz.

    Tables have one row per object: its name, if there are names, and its coordinates x1, x2, ...; a .npz file has the
    arrays ``embedding`` and ``names``. Coordinates are written in full precision.

    Spreadsheets execute cells that look like formulas. With ``spreadsheet_safe``, names in a .csv file that could be
    mistaken for formulas get a leading apostrophe, which becomes part of the name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_map([[0.5, 1], [2, 3]], ["ant", "bee"], Path(folder) / "map.csv", spreadsheet_safe=True)
    ...     print((Path(folder) / "map.csv").read_text())
    name,x1,x2
    ant,0.5,1.0
    bee,2.0,3.0
    <BLANKLINE>
    """
    path = Path(path)
    points = np.asarray(embedding, dtype=np.float64)
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES or is_gzipped(path):
        raise ValueError(f"{path}: a map can be written as {', '.join(_SUFFIXES)}")
    _check(points, names, "the map")
    labels = None if names is None else [str(name) for name in names]
    if suffix == ".npz":
        arrays: dict[str, Any] = {"embedding": points}
        if labels is not None:
            if any(name.endswith("\0") for name in labels):
                raise ValueError(
                    "a name ends with a NUL character, which .npz does not preserve; write .csv or .parquet"
                )
            arrays["names"] = np.array(labels, dtype=np.str_)
        with whole_file(path) as file:
            np.savez_compressed(file, **arrays)
    elif suffix == ".parquet":
        arrow, parquet = extra("pyarrow", "writing Parquet"), extra("pyarrow.parquet", "writing Parquet")
        columns = {} if labels is None else {_NAME: arrow.array(labels, arrow.string())}
        columns |= {f"x{axis + 1}": arrow.array(column) for axis, column in enumerate(points.T)}
        with whole_file(path) as file:
            parquet.write_table(arrow.table(columns), file)
    else:
        header = [*([] if labels is None else [_NAME]), *[f"x{axis + 1}" for axis in range(points.shape[1])]]
        lines = [",".join(map(repr, point)) for point in points.tolist()]
        if labels is not None:
            safe = map(csv_text.spreadsheet_safe, labels) if spreadsheet_safe else labels
            lines = [f"{quoted(name, ',')},{line}" for name, line in zip(safe, lines, strict=True)]
        with whole_file(path) as file:
            file.write("\n".join([",".join(header), *lines, ""]).encode())


@checked
@name_file_in_errors
def read_map(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Read a map: a file from :func:`write_map`, a saved result, or any table of coordinates.

    Tables are .csv and .parquet files, .txt files (columns separated by spaces, tabs or commas) and .npy arrays. The
    first column of a table holds names if it is called name, object, label or id, or if its cells are not numbers.
    Text files without a header line, such as many published embeddings, hold only coordinates. From a folder or .npz
    file of VICE, the mean weights (``pruned_loc`` or ``loc``) are read, preferably those of the dimensions that were
    not pruned. VICE and SPoSE save tables in both orientations; the longer axis is taken to be that of the objects.
    From a folder of ``closerthan sparse`` or its ``dimensions.npz``, the weights are read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_map([[0.5, 1], [2, 3]], ["ant", "bee"], Path(folder) / "map.npz")
    ...     embedding, names = read_map(Path(folder) / "map.npz")
    >>> embedding.tolist(), names
    ([[0.5, 1.0], [2.0, 3.0]], ('ant', 'bee'))
    """
    path = Path(path)
    if path.is_dir():
        path = _file_in(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = suffix_of(path)
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".npz": _read_npz, ".npy": _read_npy, ".txt": _read_csv}
    if suffix not in readers:
        raise ValueError(f"{path}: a map can be read from {', '.join(readers)}")
    read = readers[suffix]
    points, names = read(path)
    _check(points, names, str(path))
    return points, names


def _file_in(folder: Path) -> Path:
    """Return the file with the dimensions in a folder of ``closerthan sparse`` or VICE, after pruning if possible.

    A folder of VICE has no names, so the file of closerthan comes first.
    """
    for name in (_SPARSE_FILE, *_VICE_FILES):
        if (folder / name).is_file():
            return folder / name
    raise ValueError(
        f"{folder} is a folder without {_SPARSE_FILE} of closerthan sparse and without {' or '.join(_VICE_FILES)} of "
        "VICE; a file is expected"
    )


@checked
def write_vice_folder(dimensions: ArrayLike, folder: str | os.PathLike[str], spread: ArrayLike | None = None) -> None:
    """Write sparse dimensions as VICE saves its results: ``parameters.npz`` and ``pruned_params.npz``.

    Parameters
    ----------
    dimensions
        The weights, one row per object.
    folder
        Folder to write; an existing one must be empty.
    spread
        Standard deviation of each weight. By default zero: the scripts of VICE sample from these distributions, and
        so always obtain the weights themselves.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     write_vice_folder([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], Path(parent) / "vice")
    ...     read_map(Path(parent) / "vice")[0].tolist()
    [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]
    """
    loc = np.asarray(dimensions, dtype=np.float64)
    scale = np.zeros_like(loc) if spread is None else np.asarray(spread, dtype=np.float64)
    _check(loc, None, "the table of dimensions")
    if scale.shape != loc.shape:
        raise ValueError(f"spread has shape {scale.shape}; it must have that of the dimensions, {loc.shape}")
    with whole_folder(Path(folder), replace=False) as draft:
        np.savez_compressed(draft / "parameters.npz", loc=loc, scale=scale)
        np.savez_compressed(draft / "pruned_params.npz", pruned_loc=loc, pruned_scale=scale)


def is_map(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a map written by :func:`write_map` or ``Result.save``, and not a file of answers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_map([[0.5, 1], [2, 3]], None, Path(folder) / "map.csv")
    ...     is_map(Path(folder) / "map.csv")
    True
    """
    try:
        return _looks_like_map(Path(path))
    except (OSError, ValueError, NotImplementedError, csv.Error, zipfile.BadZipFile):
        return False  # the reader reports what is wrong with a damaged file


def _looks_like_map(path: Path) -> bool:
    if suffix_of(path) == ".npz" and not is_gzipped(path):
        with zipfile.ZipFile(path) as arrays:
            return "embedding.npy" in arrays.namelist()
    titles: Sequence[str] = ()
    if suffix_of(path) == ".parquet":
        with reading_parquet(path):
            titles = open_parquet(path).schema_arrow.names
    elif suffix_of(path) == ".csv" and path.is_file() and not is_gzipped(path):
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            titles = next(csv.reader([file.readline(_LONGEST_HEADER)]), [])
    axes = [title for title in titles if title != _NAME]
    return bool(axes) and all(title == f"x{axis}" for axis, title in enumerate(axes, 1))


def _check(points: NDArray[np.float64], names: Sequence[str] | None, where: str) -> None:
    if points.ndim != 2 or not points.size:
        raise ValueError(f"{where} has shape {points.shape}; expected one row of coordinates per object")
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"{where}, row {row}: the coordinates {points[row].tolist()} are not all finite numbers")
    if names is not None:
        if len(names) != len(points):
            raise ValueError(f"{where} has {len(points)} objects, but {len(names)} names; they must agree")
        distinct(names, where)


def _read_npz(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    from closerthan.files.formats.binary.arrays import read_npy

    arrays = read_npy(path)
    if _SPARSE in arrays:
        return _sparse_weights(path, arrays)
    means = next((arrays[key] for key in _VICE_MEANS if key in arrays), None)
    if "embedding" not in arrays and means is not None and means.ndim == 2:
        return np.asarray(means if len(means) >= means.shape[1] else means.T, dtype=np.float64), None
    if "embedding" not in arrays:
        raise ValueError(f"{path} is not a map: it has no array 'embedding', only {', '.join(arrays) or 'nothing'}")
    points = arrays["embedding"]
    if points.dtype.kind not in "iuf":
        raise ValueError(f"{path}: 'embedding' is of type {points.dtype}; expected numbers")
    names = np.ravel(arrays["names"]).tolist() if "names" in arrays else None
    if "about" in arrays:  # a saved Result
        try:
            about = json.loads(str(arrays["about"]))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is a damaged result: its description is not JSON ({error})") from None
        names = about.get("names") if isinstance(about, dict) else None
        if names is not None and not isinstance(names, list):
            raise ValueError(f"{path} is a damaged result: its names are {excerpt(repr(names))}")
    return np.asarray(points, dtype=np.float64), None if names is None else tuple(map(text_of, names))


def _sparse_weights(
    path: Path, arrays: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Return the weights and the names in a file of sparse dimensions."""
    try:
        names = json.loads(arrays[_SPARSE].tobytes())["names"]
        return np.asarray(arrays["weights"], dtype=np.float64), None if names is None else tuple(map(text_of, names))
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ValueError(f"{path} is a damaged file of sparse dimensions") from None


def _read_npy(path: Path) -> tuple[NDArray[np.float64], None]:
    from closerthan.files.formats.binary.arrays import read_npy

    (points,) = read_npy(path).values()
    if points.dtype.kind not in "iuf":
        raise ValueError(f"{path} holds values of type {points.dtype}; expected numbers")
    return np.asarray(points, dtype=np.float64), None


def _read_parquet(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    with reading_parquet(path, "a map"):
        _check_titles(path, open_parquet(path).schema_arrow.names)
    points, names, _ = read_numbers(path, is_name_column, "a map")
    return points, names


def _read_csv(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    (_, header), *lines = lines_of_cells(path, "a map")[0] or [(1, [])]
    if not header or not lines:
        raise ValueError(f"{path} has no map: expected a header line (name, x1, x2, ...) and one line per object")
    _check_titles(path, header)
    if all(is_number(cell) for cell in header):
        if all(float(cell).is_integer() for _, cells in [(1, header), *lines] for cell in cells):
            raise ValueError(
                f"{path} has only whole numbers and no header line, as a file of answers has; expected a header line "
                "such as name,x1,x2 (commands that take a map and answers expect the map first)"
            )
        lines = [(1, header), *lines]
        header = [f"x{axis + 1}" for axis in range(len(header))]
    named = is_name_column(header[0], not all(is_number(cells[0]) for _, cells in lines))
    if len(header) == named:
        raise ValueError(f"{path}, line 1 ({excerpt(','.join(header))}): it has names but no coordinates")
    points = np.empty((len(lines), len(header) - named))
    for row, (number, cells) in enumerate(lines):
        try:
            if len(cells) != len(header):
                raise ValueError
            points[row] = [float(cell) for cell in cells[named:]]
        except ValueError:
            raise ValueError(
                f"{path}, line {number} ({excerpt(','.join(cells))}): expected "
                f"{'a name and ' if named else ''}{points.shape[1]} coordinates"
            ) from None
    return points, tuple(cells[0] for _, cells in lines) if named else None


def _check_titles(path: Path, titles: Sequence[str]) -> None:
    """Raise an error for a file of answers, which looks like a map if its objects are numbers."""
    answer_titles = [title for title in titles[:4] if is_usual_name(title)]
    if len(answer_titles) >= 3:
        raise ValueError(
            f"{path} has the columns {', '.join(answer_titles)}: these are answers, not a map; expected name, x1, x2, "
            "... (commands that take both expect the map first)"
        )
