"""Zip archives: the one table in them."""

import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from closerthan.files.formats.opening import unpacking_error

__all__ = ["ABOUT", "OTHERS", "TEXTS", "table_in"]

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".jsonl", ".ndjson", ".json")
"""The endings of tables that are read inside an archive."""

OTHERS = (".npy", ".npz", ".mat", ".parquet", ".pq", ".xlsx", ".xls", ".ods")
"""Those of tables that are not."""

ABOUT = ("readme", "license", "licence", "changelog", "codebook")
"""How texts begin that are no tables."""


def table_in(archive: Path, wanted: str | None = None) -> Path:
    """The path of the one table in an archive, or of the wanted one, by its name."""
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise unpacking_error(archive, error) from None
    tables = [member for member in members if _is_table(member.filename)]
    names = [member.filename for member in tables]
    if wanted is not None:
        tables = [member for member in members if wanted in (member.filename, PurePosixPath(member.filename).name)]
        if len(tables) != 1:
            raise ValueError(f"{archive} has {len(tables)} files called {wanted!r}; its tables are {_listed(names)}")
    if not tables:
        there = _listed([member.filename for member in members]) if members else "nothing"
        raise ValueError(
            f"{archive} has no table in it: it holds {there}; expected one that ends in {', '.join(TEXTS)}"
        )
    if len(tables) > 1:
        raise ValueError(
            f"{archive} has {len(tables)} tables in it: {_listed(names)}; choose one by its name, "
            f'such as variable="{names[0]}", or unpack it and pass the folder, which is read as one set'
        )
    (table,) = tables
    if table.flag_bits & 1:
        raise ValueError(f"{archive}: {table.filename} is encrypted; unpack it first, with its password")
    if _ending(table.filename) not in TEXTS:
        raise ValueError(f"{archive}: {table.filename} cannot be read inside an archive; unpack it first")
    return archive / table.filename


def _ending(name: str) -> str:
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix


def _is_table(name: str) -> bool:
    path = PurePosixPath(name)
    if "__MACOSX" in path.parts or path.name.startswith(".") or path.name.lower().startswith(ABOUT):
        return False
    return _ending(name) in (*TEXTS, *OTHERS)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + ", ..." * (len(names) > 10)
