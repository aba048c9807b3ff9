"""A folder that appears under its name only once it is complete, and never replaces what it should not."""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

OURS = frozenset(
    {"map.csv", "map.parquet", "map.npz", "map.png", "history.csv", "settings.json", "result.npz", "report.html"}
)
"""The files that a folder with a result consists of."""


class TakenError(ValueError):
    """Somebody else wrote to the same name."""


def check_target(folder: Path, force: bool) -> None:
    """Complain now, not after hours, if the folder could not be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     check_target(Path(place) / "map", force=False)
    ...     os.listdir(place)
    []
    """
    if folder.is_dir():
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in OURS)
        if others:
            raise ValueError(f"{folder} holds {others[0]}, which is no part of a result; choose another folder")
        if any(folder.iterdir()) and not force:
            raise ValueError(f"{folder} exists; pass --force to replace it, or choose another folder with --out")
    elif folder.exists() or folder.is_symlink():
        raise ValueError(f"{folder} is a file; choose another name for the folder")
    probe = _beside(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise ValueError(f"nothing can be written to {folder.parent.resolve()}: {error.strerror}") from None


@contextlib.contextmanager
def whole_folder(folder: Path, force: bool) -> Iterator[Path]:
    """A new folder to write to; it gets its name when all is written.

    If somebody else wrote to that name in the meantime, theirs stays, and this one is kept beside it.
    """
    draft = _beside(folder)
    draft.mkdir()
    try:
        yield draft
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    old = _beside(folder)
    if force and folder.is_dir():
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


def _beside(folder: Path) -> Path:
    folder = folder.resolve()
    return folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
