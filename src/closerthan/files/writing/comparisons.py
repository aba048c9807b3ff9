"""Write comparisons to files."""

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
from closerthan.files.formats.binary.parquet import METADATA_KEY
from closerthan.files.formats.extras import extra
from closerthan.files.formats.opening import gzip_writer, is_gzipped
from closerthan.files.formats.readers import suffix_of
from closerthan.files.formats.tables import MISSING, ObjectInfo
from closerthan.files.formats.text.delimited_text import quoted
from closerthan.files.meaning.attributes.random_questions import WRITTEN_KIND
from closerthan.files.meaning.attributes.times_and_sides import WRITTEN_TIME
from closerthan.saving import whole_file

_HEADERS = {3: ("anchor", "near", "far"), 4: ("near_1", "near_2", "far_1", "far_2")}
_CHUNK = 1 << 18  # rows formatted at a time


@checked
def write_comparisons(comparisons: Comparisons, path: str | os.PathLike[str]) -> None:
    """Write comparisons atomically, in the format that the suffix of the file indicates.

    .csv, .tsv and .jsonl (each also with .gz) have one line per comparison: the names of the objects (or their numbers
    from 0), the weight if there are weights, answer_id if an answer gave several comparisons, and participant,
    split_block, response_time_s, near_side and question_kind if they are available. .parquet, .npz and .mat also hold
    the list of all objects, so reading them returns exactly the same comparisons; in .mat files objects are numbered
    from 1. .npy and .txt hold only numbers from 0.

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
    suffix = check_format(path)
    compressed = is_gzipped(path)
    if compressed and suffix not in (".csv", ".tsv", ".txt", ".jsonl"):
        raise ValueError(f"{path}: only text can be written as .gz")
    ambiguous = next((name for name in comparisons.person_names or () if name and name in MISSING), None)
    if ambiguous is not None:
        raise ValueError(f"the person's name {ambiguous!r} stands for a missing value in files; choose another name")
    with whole_file(path) as file:
        if compressed:
            with gzip_writer(file) as inner:
                WRITERS[suffix](comparisons, inner)
        else:
            WRITERS[suffix](comparisons, file)


def check_format(path: Path) -> str:
    """Return the suffix of a file; raise an error if comparisons cannot be written in its format.

    Examples
    --------
    >>> check_format(Path("answers.csv.gz"))
    '.csv'
    """
    suffix = suffix_of(path)
    if suffix not in WRITERS:
        raise ValueError(f"{path}: comparisons can be written as {', '.join(WRITERS)}")
    return suffix


def _delimited(delimiter: str) -> Callable[[Comparisons, BinaryIO], None]:
    def write(comparisons: Comparisons, file: BinaryIO) -> None:
        header = _titles(comparisons)
        file.write((delimiter.join(header) + "\n").encode())
        line = delimiter.join(["%s"] * len(header)) + "\n"
        _write_lines(comparisons, lambda name: cell_of(name, delimiter), line, file)

    return write


def _row_columns(comparisons: Comparisons) -> dict[str, NDArray[Any]]:
    """Return all columns that do not hold objects, as numbers or as codes of people and sides."""
    random = comparisons.random
    columns = {
        "weight": comparisons.weights,
        "answer_id": comparisons.answers,
        "participant": comparisons.people,
        "split_block": comparisons.blocks,
        WRITTEN_TIME: comparisons.times,
        "near_side": comparisons.sides,
        WRITTEN_KIND: None if random is None or not random.any() else random.astype(np.int8),
    }
    return {title: values for title, values in columns.items() if values is not None}


def _words(comparisons: Comparisons, title: str) -> list[str] | None:
    """Return the texts that the codes in a column stand for; None for a column of numbers."""
    if title == "participant":
        return list(comparisons.person_names or ())
    if title == WRITTEN_KIND:
        return ["other", "random"]
    return [*SIDES, ""] if title == "near_side" else None  # -1, the code of an unknown side, selects the last element


def _titles(comparisons: Comparisons) -> list[str]:
    return [*_HEADERS[comparisons.rows.shape[1]], *_row_columns(comparisons)]


def cell_of(name: str, delimiter: str) -> str:
    """Return a name as written in a text file; raise an error if it could not be read back."""
    if name in MISSING or name != name.strip():
        raise ValueError(
            f"the name {name!r} is empty, stands for an empty cell or has spaces around it, which a text file does not "
            "preserve; write .parquet or .npz"
        )
    return quoted(name, delimiter)


def _write_lines(
    comparisons: Comparisons,
    format_name: Callable[[str], str],
    line: str,
    file: BinaryIO,
    empty: tuple[str, str] = ("", ""),
) -> None:
    names = None if comparisons.names is None else [format_name(name) for name in comparisons.names]
    no_word, no_number = empty
    # An unnamed person has an empty name, which is written as an empty cell and read back as the same.
    words = {
        title: [format_name(word) if word else no_word for word in texts]
        for title in _row_columns(comparisons)
        if (texts := _words(comparisons, title)) is not None
    }
    for start in range(0, len(comparisons), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns: list[Sequence[Any]] = list(comparisons.rows[part].T.tolist())
        if names is not None:
            columns = [list(map(names.__getitem__, column)) for column in columns]
        for title, values in _row_columns(comparisons).items():
            cells = values[part].tolist()
            if title in words:
                columns.append(list(map(words[title].__getitem__, cells)))
            else:
                columns.append([no_number if cell != cell else repr(cell) for cell in cells])
        file.write("".join(map(line.__mod__, zip(*columns, strict=True))).encode())


def _spaced(comparisons: Comparisons, file: BinaryIO) -> None:
    _require_numbers_only(comparisons, ".txt")
    _write_lines(comparisons, str, " ".join(["%d"] * comparisons.rows.shape[1]) + "\n", file)


def _require_numbers_only(comparisons: Comparisons, suffix: str) -> None:
    others = {
        "names": comparisons.names,
        "weights": comparisons.weights,
        "several comparisons per answer": comparisons.answers,
        "people": comparisons.people,
        "blocks": comparisons.blocks,
        "response times": comparisons.times,
        "sides": comparisons.sides,
        "kinds of questions": comparisons.random,
    }
    lost = " and ".join(name for name, value in others.items() if value is not None)
    if lost:
        raise ValueError(f"{suffix} holds only numbers, but there are {lost}; write .csv or .npz")


def _json_lines(comparisons: Comparisons, file: BinaryIO) -> None:
    def format_name(name: str) -> str:
        cell_of(name, ",")
        return json.dumps(name, ensure_ascii=False)

    line = "{" + ", ".join(f'"{title}": %s' for title in _titles(comparisons)) + "}\n"
    _write_lines(comparisons, format_name, line, file, empty=('""', "null"))


def _object_info(comparisons: Comparisons) -> ObjectInfo:
    info: ObjectInfo = {"n_objects": comparisons.n_objects, "numbering": "0-based"}
    if comparisons.names is not None:
        info["names"] = list(comparisons.names)
    return info


def _parquet(comparisons: Comparisons, file: BinaryIO) -> None:
    arrow, parquet = extra("pyarrow", "writing Parquet"), extra("pyarrow.parquet", "writing Parquet")
    object_info = _object_info(comparisons)
    columns = {}
    for title, column in zip(_HEADERS[comparisons.rows.shape[1]], comparisons.rows.T, strict=True):
        columns[title] = arrow.array(np.ascontiguousarray(column))
        if comparisons.names is not None:
            columns[title] = arrow.DictionaryArray.from_arrays(columns[title], arrow.array(comparisons.names))
            object_info["numbering"] = "names"
    for title, values in _row_columns(comparisons).items():
        words = _words(comparisons, title)
        if words is None:
            columns[title] = arrow.array(values, from_pandas=True)  # NaN is written as null
        else:
            codes = arrow.array(values % len(words))
            columns[title] = arrow.DictionaryArray.from_arrays(codes, arrow.array(words, arrow.string()))
    table = arrow.table(columns)
    parquet.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(object_info, allow_nan=False)}), file)


def _npz(comparisons: Comparisons, file: BinaryIO) -> None:
    np.savez_compressed(file, **_arrays(comparisons, _object_info(comparisons)))


def _arrays(comparisons: Comparisons, object_info: ObjectInfo) -> dict[str, Any]:
    if any("\0" in name for name in (*(comparisons.names or ()), *(comparisons.person_names or ()))):
        raise ValueError("a name has a NUL character, which arrays do not preserve; write .parquet")
    arrays = {"triplets" if comparisons.rows.shape[1] == 3 else "quadruplets": comparisons.rows, **object_info}
    for title, values in _row_columns(comparisons).items():
        words = _words(comparisons, title)
        arrays[title] = values if words is None else np.array(words)[values]
    return {name: np.asarray(value) for name, value in arrays.items()}


def _npy(comparisons: Comparisons, file: BinaryIO) -> None:
    _require_numbers_only(comparisons, ".npy")
    np.save(file, comparisons.rows)


def _mat(comparisons: Comparisons, file: BinaryIO) -> None:
    from scipy import io

    arrays = _arrays(comparisons, {**_object_info(comparisons), "numbering": "1-based"})
    table = "triplets" if "triplets" in arrays else "quadruplets"
    arrays[table] = arrays[table] + 1
    if "names" in arrays:
        if any(not name for name in arrays["names"]):
            raise ValueError("a name is empty, which .mat does not preserve; write .npz")
        arrays["names"] = arrays["names"].astype(object)  # a cell array in MATLAB
    for vector in _row_columns(comparisons):
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
"""Functions that write comparisons, by file suffix."""
