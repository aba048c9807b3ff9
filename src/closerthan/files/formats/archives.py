"""Find the table in a zip archive."""

import zipfile
from pathlib import Path, PurePosixPath

from closerthan.files.formats.opening import decompression_error
from closerthan.files.formats.tables import abbreviated
from closerthan.messages import value_error

__all__ = ["ABOUT", "OTHERS", "TEXTS", "table_in"]

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".jsonl", ".ndjson", ".json")
"""Suffixes of tables that can be read inside an archive."""

OTHERS = (".npy", ".npz", ".mat", ".parquet", ".pq", ".xlsx", ".xls", ".ods")
"""Suffixes of tables that cannot be read inside an archive."""

ABOUT = ("readme", "license", "licence", "changelog", "codebook")
"""Prefixes of the names of text files that are not tables."""


def table_in(archive: Path, name: str | None = None) -> Path:
    """Return the path of the only table in an archive, or of the table called ``name``."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise decompression_error(archive, error) from None
    tables = [member for member in members if _is_table(member.filename)]
    names = [member.filename for member in tables]
    if name is not None:
        tables = [member for member in members if name in (member.filename, PurePosixPath(member.filename).name)]
        if len(tables) != 1:
            raise ValueError(f"{archive} has {len(tables)} files called {name!r}; its tables are {abbreviated(names)}")
    if not tables:
        content = abbreviated([member.filename for member in members]) or "nothing"
        raise ValueError(
            f"{archive} contains no table; it holds {content}; expected a file that ends in {', '.join(TEXTS)}"
        )
    if len(tables) > 1:
        raise value_error(
            f"{archive} contains {len(tables)} tables: {abbreviated(names)}",
            "choose one by its name, such as {variable}, or extract the archive and pass the folder, which is "
            "read as one table",
            variable=names[0],
        )
    (table,) = tables
    if table.flag_bits & 1:
        raise ValueError(f"{archive}: {table.filename} is encrypted; extract it first, with its password")
    if _suffix(table.filename) not in TEXTS:
        raise ValueError(f"{archive}: {table.filename} cannot be read inside an archive; extract it first")
    return archive / table.filename


def _suffix(name: str) -> str:
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix


def _is_table(name: str) -> bool:
    path = PurePosixPath(name)
    if "__MACOSX" in path.parts or path.name.startswith(".") or path.name.lower().startswith(ABOUT):
        return False
    return _suffix(name) in (*TEXTS, *OTHERS)
