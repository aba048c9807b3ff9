"""Files and folders that appear whole or not at all."""

import contextlib
import csv
import errno
import glob
import io
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

__all__ = [
    "TakenError",
    "beside",
    "json_text",
    "opened_arrays",
    "remove_drafts",
    "whole_csv",
    "whole_file",
    "whole_folder",
]


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


def whole_csv(path: str | Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table with a header as CSV, whole or not at all."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(titles)
        table.writerows(rows)
        text.flush()
        text.detach()


@contextlib.contextmanager
def opened_arrays(path: str | Path, what: str) -> Iterator[Any]:
    """The arrays of an .npz file; one that is no such file, or lacks some, is an error that says what was expected."""
    import zipfile

    import numpy as np

    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            if not hasattr(arrays, "files"):
                raise ValueError("it is a single array")
            yield arrays
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not {what}: {error}") from None


def remove_drafts(path: Path) -> None:
    """Remove what killed processes left of a :class:`whole_file`."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 8}"):
        draft.unlink(missing_ok=True)


class TakenError(ValueError):
    """Somebody else wrote to the same name."""


@contextlib.contextmanager
def whole_folder(folder: Path, *, replace: bool) -> Iterator[Path]:
    """A new folder to write to; it gets its name when all is written.

    If somebody else wrote to that name in the meantime, theirs stays, and this one is kept beside it.
    """
    draft = beside(folder)
    draft.mkdir()
    try:
        yield draft
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    old = beside(folder)
    if replace and folder.is_dir():
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, old)
    elif folder.is_dir():
        with contextlib.suppress(OSError):
            folder.rmdir()  # an empty one is no loss
    try:
        os.rename(draft, folder)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES):
            raise
        kept = _kept(draft, folder)
        raise TakenError(f"{folder} was written by somebody else in the meantime; this result is in {kept}") from None
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _kept(draft: Path, folder: Path) -> Path:
    for number in range(2, 1000):
        with contextlib.suppress(OSError):
            free = folder.with_name(f"{folder.name}-{number}")
            os.rename(draft, free)
            return free
    return draft


def beside(folder: Path) -> Path:
    """A new name in the same place."""
    folder = folder.resolve()
    return folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")


def json_text(value: Any) -> str:
    """JSON that every program reads: a number that is not finite is null.

    Examples
    --------
    >>> print(json_text({"error": math.nan}))
    {
      "error": null
    }
    """
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
