"""The folders of the studies that one server serves, and the paths of their addresses."""

import re
from collections.abc import Sequence
from pathlib import Path

from closerthan.collect.study.description import FILE

__all__ = ["studies_in"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def studies_in(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the folders of the studies in ``paths`` by their names, which become parts of the addresses.

    A path is the folder of a study, or a folder that contains the folders of studies. A single study has the name "".
    """
    if len(paths) == 1 and ((paths[0] / FILE).exists() or not list(paths[0].glob(f"*/{FILE}"))):
        return {"": paths[0]}
    folders: dict[str, Path] = {}
    for path in paths:
        inner = sorted(file.parent for file in path.glob(f"*/{FILE}")) if not (path / FILE).exists() else []
        for folder in inner or [path]:
            name = folder.resolve().name
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"the name of {folder} cannot be part of an address; rename the folder, with letters without "
                    "accents, digits, and - only"
                )
            if name in folders:
                raise ValueError(f"{folders[name]} and {folder} have the same name; rename one of the folders")
            folders[name] = folder
    return folders
