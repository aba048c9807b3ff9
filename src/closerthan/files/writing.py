"""Writing comparisons, in every format that can be read."""

import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from closerthan.comparisons import Comparisons
from closerthan.files.extras import extra
from closerthan.files.formats import ending
from closerthan.files.parquet import SETTINGS
from closerthan.files.tables import MISSING
from closerthan.files.text import quoted
from closerthan.saving import whole_file

_HEADERS = {3: ("anchor", "near", "far"), 4: ("near_1", "near_2", "far_1", "far_2")}
_CHUNK = 1 << 18  # rows turned into text together


def write_comparisons(comparisons: Comparisons, path: str | os.PathLike[str]) -> None:
    """Write comparisons; the format is the file's ending, and the file appears whole or not at all.

    .csv, .tsv and .jsonl (each also with .gz) have a line a comparison: the objects' names, or their numbers from 0,
    and the weight if there are weights. .parquet, .npz and .mat hold in addition the list of all objects, so that
    reading them gives the very same comparisons; in .mat objects are numbered from 1. .npy and .txt hold numbers from
    0 alone.

    Examples
    --------
    >>> import tempfile
    >>> answers = Comparisons.from_triplets([["ant", "bee", "cat"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_comparisons(answers, Path(folder) / "answers.csv")
    ...     print((Path(folder) / "answers.csv").read_text())
    anchor,near,far
    ant,bee,cat
    <BLANKLINE>
    """
    path = Path(path)
    form = ending(path)
    if form not in WRITERS:
        raise ValueError(f"{path}: comparisons can be written as {', '.join(WRITERS)}")
    packed = path.suffix.lower() == ".gz"
    if packed and form not in (".csv", ".tsv", ".txt", ".jsonl"):
        raise ValueError(f"{path}: only text can be written as .gz")
    with whole_file(path) as file:
        if packed:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as inner:
                WRITERS[form](comparisons, cast(BinaryIO, inner))
        else:
            WRITERS[form](comparisons, file)


def _delimited(delimiter: str) -> Callable[[Comparisons, BinaryIO], None]:
    def write(comparisons: Comparisons, file: BinaryIO) -> None:
        weighted = comparisons.weights is not None
        header = [*_HEADERS[comparisons.rows.shape[1]], *(["weight"] if weighted else [])]
        file.write((delimiter.join(header) + "\n").encode())
        names = None if comparisons.names is None else [_cell(name, delimiter) for name in comparisons.names]
        _write_lines(comparisons, names, delimiter.join(["%s"] * len(header)) + "\n", file)

    return write


def _cell(name: str, delimiter: str) -> str:
    if name in MISSING or name != name.strip():
        raise ValueError(
            f"the name {name!r} is empty, means an empty cell or has spaces around it, which a text file does not "
            "keep; write .parquet or .npz"
        )
    return quoted(name, delimiter)


def _write_lines(comparisons: Comparisons, names: Sequence[str] | None, line: str, file: BinaryIO) -> None:
    for rows, weights in _chunks(comparisons):
        columns: list[Sequence[Any]] = list(rows.T.tolist())
        if names is not None:
            columns = [list(map(names.__getitem__, column)) for column in columns]
        if weights is not None:
            columns.append(list(map(repr, weights.tolist())))
        file.write("".join(map(line.__mod__, zip(*columns, strict=True))).encode())


def _chunks(comparisons: Comparisons) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(comparisons), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield comparisons.rows[part], None if comparisons.weights is None else comparisons.weights[part]


def _spaced(comparisons: Comparisons, file: BinaryIO) -> None:
    _numbers_alone(comparisons, ".txt")
    _write_lines(comparisons, None, " ".join(["%d"] * comparisons.rows.shape[1]) + "\n", file)


def _numbers_alone(comparisons: Comparisons, form: str) -> None:
    if comparisons.names is not None or comparisons.weights is not None:
        raise ValueError(f"{form} holds numbers alone, but there are names or weights; write .csv or .npz")


def _json_lines(comparisons: Comparisons, file: BinaryIO) -> None:
    for name in comparisons.names or ():
        _cell(name, ",")
    names = None if comparisons.names is None else [json.dumps(name, ensure_ascii=False) for name in comparisons.names]
    titles = [*_HEADERS[comparisons.rows.shape[1]], *(["weight"] if comparisons.weights is not None else [])]
    _write_lines(comparisons, names, "{" + ", ".join(f'"{title}": %s' for title in titles) + "}\n", file)


def _settings(comparisons: Comparisons) -> dict[str, Any]:
    settings: dict[str, Any] = {"n_objects": comparisons.n_objects, "numbering": "0-based"}
    if comparisons.names is not None:
        settings["names"] = list(comparisons.names)
    return settings


def _parquet(comparisons: Comparisons, file: BinaryIO) -> None:
    arrow, parquet = extra("pyarrow", "writing Parquet"), extra("pyarrow.parquet", "writing Parquet")
    settings = _settings(comparisons)
    columns = {}
    for title, column in zip(_HEADERS[comparisons.rows.shape[1]], comparisons.rows.T, strict=True):
        columns[title] = arrow.array(np.ascontiguousarray(column))
        if comparisons.names is not None:
            columns[title] = arrow.DictionaryArray.from_arrays(columns[title], arrow.array(comparisons.names))
            settings["numbering"] = "names"
    if comparisons.weights is not None:
        columns["weight"] = arrow.array(comparisons.weights)
    table = arrow.table(columns)
    parquet.write_table(table.replace_schema_metadata({SETTINGS: json.dumps(settings)}), file)


def _npz(comparisons: Comparisons, file: BinaryIO) -> None:
    np.savez_compressed(file, **_arrays(comparisons, _settings(comparisons)))


def _arrays(comparisons: Comparisons, settings: dict[str, Any]) -> dict[str, Any]:
    if any("\0" in name for name in comparisons.names or ()):
        raise ValueError("a name has a NUL character, which arrays do not keep; write .parquet")
    arrays = {"triplets" if comparisons.rows.shape[1] == 3 else "quadruplets": comparisons.rows, **settings}
    if comparisons.weights is not None:
        arrays["weight"] = comparisons.weights
    return {name: np.asarray(value) for name, value in arrays.items()}


def _npy(comparisons: Comparisons, file: BinaryIO) -> None:
    _numbers_alone(comparisons, ".npy")
    np.save(file, comparisons.rows)


def _mat(comparisons: Comparisons, file: BinaryIO) -> None:
    from scipy import io

    arrays = _arrays(comparisons, {**_settings(comparisons), "numbering": "1-based"})
    table = "triplets" if "triplets" in arrays else "quadruplets"
    arrays[table] = arrays[table] + 1
    if "names" in arrays:
        if any(not name for name in arrays["names"]):
            raise ValueError("a name is empty, which .mat does not keep; write .npz")
        arrays["names"] = arrays["names"].astype(object)  # a cell array in MATLAB
    if "weight" in arrays:
        arrays["weight"] = arrays["weight"][:, None]
    io.savemat(file, arrays, do_compression=True)


WRITERS: dict[str, Callable[[Comparisons, BinaryIO], None]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".txt": _spaced,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".npz": _npz,
    ".npy": _npy,
    ".mat": _mat,
}
"""The formats that can be written, by a file's ending."""
