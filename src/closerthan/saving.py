"""Files that appear whole or not at all."""

import glob
import os
import secrets
from pathlib import Path
from typing import BinaryIO

__all__ = ["remove_drafts", "whole_file"]


class whole_file:  # noqa: N801 - reads as a verb where it is used
    """A file that appears under its name only once it is complete."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def __enter__(self) -> BinaryIO:
        # Not the tempfile module: its files can be read by their owner alone, even under their final name.
        self._draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        self._file = open(self._draft, "xb")
        return self._file

    def __exit__(self, failed: object, *_: object) -> None:
        self._file.close()
        if failed:
            self._draft.unlink()
        else:
            os.replace(self._draft, self._path)


def remove_drafts(path: Path) -> None:
    """Remove what killed processes left of a :class:`whole_file`."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}"):
        draft.unlink(missing_ok=True)
