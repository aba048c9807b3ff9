"""Maps: an embedding and the objects' names, read and written."""

import csv
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.checks import checked, distinct
from closerthan.comparisons import text_of
from closerthan.comparisons.column_names import known
from closerthan.files.formats.extras import extra
from closerthan.files.formats.names import ending
from closerthan.files.formats.opening import is_packed, naming_the_file
from closerthan.files.formats.parquet import check_size, labels_in, opened_parquet, reading_parquet
from closerthan.files.formats.tables import shown
from closerthan.files.formats.text import quoted
from closerthan.saving import whole_file

_NAME = "name"
_LONGEST_HEADER = 1 << 20  # characters
_ENDINGS = (".csv", ".parquet", ".npz")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula


@checked
def write_map(
    embedding: ArrayLike,
    names: Sequence[str] | None,
    path: str | os.PathLike[str],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a map as .csv, .parquet or .npz; the file appears whole or not at all.

    Tables have one row per object: its name, if there are names, and its coordinates x1, x2, ...; a .npz file has the
    arrays ``embedding`` and ``names``. No digit is lost.

    Spreadsheets run what they take for a formula. With ``spreadsheet_safe`` names in a .csv file that begin with =, +,
    -, @ or a tab get an apostrophe before them, which is then part of the name.

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
    form = ending(path)
    if form not in _ENDINGS or is_packed(path):
        raise ValueError(f"{path}: a map can be written as {', '.join(_ENDINGS)}")
    _check(points, names, "the map")
    labels = None if names is None else [str(name) for name in names]
    if form == ".npz":
        arrays: dict[str, Any] = {"embedding": points}
        if labels is not None:
            if any(name.endswith("\0") for name in labels):
                raise ValueError("a name ends with a NUL character, which .npz does not keep; write .csv or .parquet")
            arrays["names"] = np.array(labels, dtype=np.str_)
        with whole_file(path) as file:
            np.savez_compressed(file, **arrays)
    elif form == ".parquet":
        arrow, parquet = extra("pyarrow", "writing Parquet"), extra("pyarrow.parquet", "writing Parquet")
        columns = {} if labels is None else {_NAME: arrow.array(labels, arrow.string())}
        columns |= {f"x{axis + 1}": arrow.array(column) for axis, column in enumerate(points.T)}
        with whole_file(path) as file:
            parquet.write_table(arrow.table(columns), file)
    else:
        header = [*([] if labels is None else [_NAME]), *[f"x{axis + 1}" for axis in range(points.shape[1])]]
        lines = [",".join(map(repr, point)) for point in points.tolist()]
        if labels is not None:
            safe = [f"'{name}" if spreadsheet_safe and name.startswith(_FORMULA) else name for name in labels]
            lines = [f"{quoted(name, ',')},{line}" for name, line in zip(safe, lines, strict=True)]
        with whole_file(path) as file:
            file.write("\n".join([",".join(header), *lines, ""]).encode())


@checked
@naming_the_file
def read_map(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Read a map: what :func:`write_map` wrote, a saved result, or any table of coordinates with a header line.

    In a table, a first column that is called name, object, label or id has the names, as has one that holds anything
    but numbers.

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
        raise ValueError(f"{path} is a folder; a file is expected")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    form = ending(path)
    if form not in _ENDINGS:
        raise ValueError(f"{path}: a map can be read from {', '.join(_ENDINGS)}")
    read = {".npz": _read_npz, ".parquet": _read_parquet, ".csv": _read_csv}[form]
    points, names = read(path)
    _check(points, names, str(path))
    return points, names


def is_map(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a map as :func:`write_map` or ``Result.save`` writes it, and not one of answers.

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
    except (OSError, ValueError, NotImplementedError, csv.Error, zipfile.BadZipFile):  # damaged: who reads it says so
        return False


def _looks_like_map(path: Path) -> bool:
    if ending(path) == ".npz" and not is_packed(path):
        with zipfile.ZipFile(path) as arrays:
            return "embedding.npy" in arrays.namelist()
    titles: Sequence[str] = ()
    if ending(path) == ".parquet":
        with reading_parquet(path):
            titles = opened_parquet(path).schema_arrow.names
    elif ending(path) == ".csv" and path.is_file() and not is_packed(path):
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
    from closerthan.files.formats.arrays import read_npy

    arrays = read_npy(path)
    if "embedding" not in arrays:
        raise ValueError(f"{path} is not a map: it has no array 'embedding', but {', '.join(arrays) or 'nothing'}")
    points = arrays["embedding"]
    if points.dtype.kind not in "iuf":
        raise ValueError(f"{path}: 'embedding' is of type {points.dtype}; expected numbers")
    names = np.ravel(arrays["names"]).tolist() if "names" in arrays else None
    if "about" in arrays:  # a saved Result
        try:
            about = json.loads(str(arrays["about"]))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is a damaged result: what it says about itself is not JSON ({error})") from None
        names = about.get("names") if isinstance(about, dict) else None
        if names is not None and not isinstance(names, list):
            raise ValueError(f"{path} is a damaged result: its names are {shown(repr(names))}")
    return np.asarray(points, dtype=np.float64), None if names is None else tuple(map(text_of, names))


def _read_parquet(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    arrow = extra("pyarrow", "reading Parquet")
    with reading_parquet(path, "a map"):
        file = opened_parquet(path)
        check_size(path, file)
        table = file.read()
        _check_titles(path, table.column_names)
        names = None
        if table.column_names and _is_name(table.column_names[0], arrow.types.is_dictionary(table.column(0).type)):
            names = tuple(labels_in(table.column(0)))
            table = table.remove_column(0)
        columns = [column.cast(arrow.float64()).to_numpy() for column in table.columns]
    return np.column_stack(columns) if columns else np.empty((0, 0)), names


def _read_csv(path: Path) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            lines = [(reader.line_num, cells) for cells in reader if cells]
    except (UnicodeError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read as a map: {error}") from None
    if not header or not lines:
        raise ValueError(f"{path} has no map: expected a header line (name, x1, x2, ...) and one line per object")
    _check_titles(path, header)
    if all(_is_number(cell) for cell in header):
        raise ValueError(f"{path}, line 1 ({shown(','.join(header))}): expected a header line such as name,x1,x2")
    named = _is_name(header[0], not all(_is_number(cells[0]) for _, cells in lines))
    if len(header) == named:
        raise ValueError(f"{path}, line 1 ({shown(','.join(header))}): it has names, but no coordinates")
    points = np.empty((len(lines), len(header) - named))
    for row, (number, cells) in enumerate(lines):
        try:
            if len(cells) != len(header):
                raise ValueError
            points[row] = [float(cell) for cell in cells[named:]]
        except ValueError:
            raise ValueError(
                f"{path}, line {number} ({shown(','.join(cells))}): expected "
                f"{'a name and ' if named else ''}{points.shape[1]} coordinates"
            ) from None
    return points, tuple(cells[0] for _, cells in lines) if named else None


def _check_titles(path: Path, titles: Sequence[str]) -> None:
    """Answers are no map, although those about numbered objects look like one."""
    found = [title for title in titles[:4] if known(title)]
    if len(found) >= 3:
        raise ValueError(
            f"{path} has the columns {', '.join(found)}: these are answers, not a map; expected name, x1, x2, ... "
            "(commands that need both take the map first)"
        )


def _is_name(title: str, textual: bool) -> bool:
    return textual or title.strip().lower() in (_NAME, "names", "object", "label", "id")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
