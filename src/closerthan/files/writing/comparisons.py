"""Writing comparisons, in every format that can be read."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import checked
from closerthan.comparisons import Comparisons
from closerthan.comparisons.trials import SIDES
from closerthan.files.formats.extras import extra
from closerthan.files.formats.names import ending
from closerthan.files.formats.opening import is_packed, packing
from closerthan.files.formats.parquet import SETTINGS
from closerthan.files.formats.tables import MISSING
from closerthan.files.formats.text import quoted
from closerthan.files.meaning.trials import WRITTEN_TIME
from closerthan.saving import whole_file

_HEADERS = {3: ("anchor", "near", "far"), 4: ("near_1", "near_2", "far_1", "far_2")}
_CHUNK = 1 << 18  # rows turned into text together


@checked
def write_comparisons(comparisons: Comparisons, path: str | os.PathLike[str]) -> None:
    """Write comparisons; the format is the file's ending, and the file appears whole or not at all.

    .csv, .tsv and .jsonl (each also with .gz) have one line per comparison: the objects' names (or their numbers from
    0), the weight if there are weights, answer_id if one answer made several comparisons, and participant, split_block,
    response_time_s and near_side where these are known. .parquet, .npz and .mat hold in addition the list of all
    objects, so that reading them gives exactly the same comparisons; in .mat objects are numbered from 1. .npy and .txt
    hold numbers from 0 alone.

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
    form = check_format(path)
    packed = is_packed(path)
    if packed and form not in (".csv", ".tsv", ".txt", ".jsonl"):
        raise ValueError(f"{path}: only text can be written as .gz")
    nobody = next((name for name in comparisons.person_names or () if name and name in MISSING), None)
    if nobody is not None:
        raise ValueError(f"the person's name {nobody!r} means a missing value in a file; choose another name")
    with whole_file(path) as file:
        if packed:
            with packing(file) as inner:
                WRITERS[form](comparisons, inner)
        else:
            WRITERS[form](comparisons, file)


def check_format(path: Path) -> str:
    """The ending of a file that comparisons can be written as; another one is an error.

    Examples
    --------
    >>> check_format(Path("answers.csv.gz"))
    '.csv'
    """
    form = ending(path)
    if form not in WRITERS:
        raise ValueError(f"{path}: comparisons can be written as {', '.join(WRITERS)}")
    return form


def _delimited(delimiter: str) -> Callable[[Comparisons, BinaryIO], None]:
    def write(comparisons: Comparisons, file: BinaryIO) -> None:
        header = _titles(comparisons)
        file.write((delimiter.join(header) + "\n").encode())
        line = delimiter.join(["%s"] * len(header)) + "\n"
        _write_lines(comparisons, lambda name: cell_of(name, delimiter), line, file)

    return write


def _beside(comparisons: Comparisons) -> dict[str, NDArray[Any]]:
    """What is known about each comparison beside its objects: numbers, or codes of people and sides."""
    known = {
        "weight": comparisons.weights,
        "answer_id": comparisons.answers,
        "participant": comparisons.people,
        "split_block": comparisons.blocks,
        WRITTEN_TIME: comparisons.times,
        "near_side": comparisons.sides,
    }
    return {title: values for title, values in known.items() if values is not None}


def _words(comparisons: Comparisons, title: str) -> list[str] | None:
    """What the codes in a column mean; None for a column of numbers."""
    if title == "participant":
        return list(comparisons.person_names or ())
    return [*SIDES, ""] if title == "near_side" else None  # -1, the last one, is not known


def _titles(comparisons: Comparisons) -> list[str]:
    return [*_HEADERS[comparisons.rows.shape[1]], *_beside(comparisons)]


def cell_of(name: str, delimiter: str) -> str:
    """How a name is written in a text file; one that would not be read as the same is an error."""
    if name in MISSING or name != name.strip():
        raise ValueError(
            f"the name {name!r} is empty, means an empty cell or has spaces around it, which a text file does not "
            "keep; write .parquet or .npz"
        )
    return quoted(name, delimiter)


def _write_lines(
    comparisons: Comparisons,
    written: Callable[[str], str],
    line: str,
    file: BinaryIO,
    empty: tuple[str, str] = ("", ""),
) -> None:
    names = None if comparisons.names is None else [written(name) for name in comparisons.names]
    no_word, no_number = empty
    # People who did not say who they are have an empty name; it becomes an empty cell, which reads back as the same.
    words = {
        title: [written(word) if word else no_word for word in found]
        for title in _beside(comparisons)
        if (found := _words(comparisons, title)) is not None
    }
    for start in range(0, len(comparisons), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns: list[Sequence[Any]] = list(comparisons.rows[part].T.tolist())
        if names is not None:
            columns = [list(map(names.__getitem__, column)) for column in columns]
        for title, values in _beside(comparisons).items():
            cells = values[part].tolist()
            if title in words:
                columns.append(list(map(words[title].__getitem__, cells)))
            else:
                columns.append([no_number if cell != cell else repr(cell) for cell in cells])
        file.write("".join(map(line.__mod__, zip(*columns, strict=True))).encode())


def _spaced(comparisons: Comparisons, file: BinaryIO) -> None:
    _numbers_alone(comparisons, ".txt")
    _write_lines(comparisons, str, " ".join(["%d"] * comparisons.rows.shape[1]) + "\n", file)


def _numbers_alone(comparisons: Comparisons, form: str) -> None:
    more = {
        "names": comparisons.names,
        "weights": comparisons.weights,
        "several comparisons per answer": comparisons.answers,
        "people": comparisons.people,
        "blocks": comparisons.blocks,
        "response times": comparisons.times,
        "sides": comparisons.sides,
    }
    kept = " and ".join(what for what, value in more.items() if value is not None)
    if kept:
        raise ValueError(f"{form} holds numbers alone, but there are {kept}; write .csv or .npz")


def _json_lines(comparisons: Comparisons, file: BinaryIO) -> None:
    def written(name: str) -> str:
        cell_of(name, ",")
        return json.dumps(name, ensure_ascii=False)

    line = "{" + ", ".join(f'"{title}": %s' for title in _titles(comparisons)) + "}\n"
    _write_lines(comparisons, written, line, file, empty=('""', "null"))


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
    for title, values in _beside(comparisons).items():
        words = _words(comparisons, title)
        if words is None:
            columns[title] = arrow.array(values, from_pandas=True)  # NaN is null
        else:
            codes = arrow.array(values % len(words))
            columns[title] = arrow.DictionaryArray.from_arrays(codes, arrow.array(words, arrow.string()))
    table = arrow.table(columns)
    parquet.write_table(table.replace_schema_metadata({SETTINGS: json.dumps(settings, allow_nan=False)}), file)


def _npz(comparisons: Comparisons, file: BinaryIO) -> None:
    np.savez_compressed(file, **_arrays(comparisons, _settings(comparisons)))


def _arrays(comparisons: Comparisons, settings: dict[str, Any]) -> dict[str, Any]:
    if any("\0" in name for name in (*(comparisons.names or ()), *(comparisons.person_names or ()))):
        raise ValueError("a name has a NUL character, which arrays do not keep; write .parquet")
    arrays = {"triplets" if comparisons.rows.shape[1] == 3 else "quadruplets": comparisons.rows, **settings}
    for title, values in _beside(comparisons).items():
        words = _words(comparisons, title)
        arrays[title] = values if words is None else np.array(words)[values]
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
    for vector in _beside(comparisons):
        words = _words(comparisons, vector)
        arrays[vector] = (arrays[vector] if words is None else arrays[vector].astype(object))[:, None]
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
