"""Files and folders that appear whole or not at all, and that survive a power cut once they have."""

import contextlib
import csv
import errno
import io
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from closerthan.operating_system import open_to_read, sync, try_lock

__all__ = ["TakenError", "json_text", "whole_csv", "whole_file", "whole_folder", "without_links", "writable_beside"]

DRAFT, OLD = "draft", "old"  # what is being written, and what is being replaced


class whole_file:  # noqa: N801 - reads as a verb where it is used
    """A file that appears under its name only once it is complete, and on the disk.

    What killed processes left of the same file is removed.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = without_links(Path(path))

    def __enter__(self) -> BinaryIO:
        _remove_left(self._path)
        while True:
            # Not the tempfile module: its files can be read by their owner alone, even under their final name.
            self._draft = _beside(self._path, DRAFT)
            with _naming(self._path, self._draft):
                self._file = open(self._draft, "xb")
            try_lock(self._file.fileno())
            if self._draft.exists():  # nobody took it for a draft of a killed process before it was locked
                return self._file
            self._file.close()

    def __exit__(self, kind: object, failed: BaseException | None, *_: object) -> None:
        if isinstance(failed, OSError):
            _name(failed, self._path, self._draft)
        try:
            with _naming(self._path, self._draft), self._file:
                if not failed:
                    self._file.flush()
                    os.fsync(self._file.fileno())
            if not failed:
                with _naming(self._path, self._draft):
                    os.replace(self._draft, self._path)
                sync(self._path.parent)
        finally:  # on a full disk, even closing a file is an error
            self._draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path, draft: Path) -> Iterator[None]:
    """Let errors of the system name the file or folder as the user knows it."""
    try:
        yield
    except OSError as error:
        _name(error, path, draft)
        raise


def _name(error: OSError, path: Path, draft: Path) -> None:
    """Put the final name into an error that names a draft, or nothing, as the error of a full disk does."""
    if error.errno is None:  # its arguments are a message
        return
    place = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else draft
    if place.is_relative_to(draft):
        error.filename = str(path / place.relative_to(draft))
        del error.filename2


def whole_csv(path: str | Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table with a header as CSV, whole or not at all."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        table.writerow(titles)
        table.writerows(rows)
        text.flush()
        text.detach()


class TakenError(ValueError):
    """Somebody else wrote to the same name."""


@contextlib.contextmanager
def whole_folder(folder: Path, *, replace: bool) -> Iterator[Path]:
    """A new folder to write to; it gets its name when all is written.

    Before it has, nothing that is there is lost: a folder to replace is put aside, and deleted last. If somebody else
    wrote to that name in the meantime, theirs stays, and this one is kept beside it.
    """
    folder = without_links(folder)
    _remove_left(folder)
    with _draft_folder(folder) as draft:
        with _naming(folder, draft):
            yield draft
        for path in (*draft.rglob("*"), draft):
            sync(path)
        try:
            _put_in_place(draft, folder, replace)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES):
                raise
            kept = _kept(draft, folder)
            message = f"{folder} was written by somebody else in the meantime; this result is in {kept}"
            raise TakenError(message) from None


@contextlib.contextmanager
def _draft_folder(folder: Path) -> Iterator[Path]:
    """A locked folder beside another one, which is gone afterwards unless it was given another name."""
    with contextlib.ExitStack() as stack:
        draft = folder
        while not draft.exists() or draft == folder:  # until nobody takes it for a draft of a killed process
            draft = _beside(folder, DRAFT)
            with _naming(folder, draft):
                draft.mkdir()
            stack.enter_context(_locked(draft))
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path, replace: bool) -> None:
    """Give a draft its name; a folder that has it is put aside first, and deleted, or put back, last."""
    if not (replace and folder.is_dir()):
        with contextlib.suppress(OSError):
            folder.rmdir()  # an empty one is no loss
        os.rename(draft, folder)
        sync(folder.parent)
        return
    old = _beside(folder, OLD)
    with _locked(folder):  # so that nobody takes it for what a killed process left
        with contextlib.suppress(FileNotFoundError):  # somebody else has just put it aside
            os.rename(folder, old)
        try:
            os.rename(draft, folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.rename(old, folder)
            raise
        sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)


def _kept(draft: Path, folder: Path) -> Path:
    """Give a draft the first name that is free."""
    for number in range(2, 10_000):
        with contextlib.suppress(OSError):
            free = folder.with_name(f"{folder.name}-{number}")
            os.rename(draft, free)
            return free
    raise TakenError(f"{folder} was written by somebody else in the meantime, and so were all names like it")


def writable_beside(folder: Path) -> None:
    """Raise an OSError if :func:`whole_folder` could not write there; what a killed process put aside is put back."""
    folder = without_links(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    probe = _beside(folder, DRAFT)
    probe.mkdir()
    probe.rmdir()
    _remove_left(folder)


def without_links(path: Path) -> Path:
    """Where a link leads: what is written goes there, and the link stays."""
    with contextlib.suppress(RuntimeError):  # says Python before 3.13 of a link to itself; later ones give it back
        place = path.resolve()
        if not place.is_symlink():
            return place
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _beside(path: Path, kind: str) -> Path:
    """A new name in the same place."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{kind}")


# ---- what killed processes left --------------------------------------------------------------------------------------


def _remove_left(path: Path) -> None:
    """Remove drafts of processes that are no more. Those that are hold a lock; where there are no locks, all stay.

    A folder that was put aside, and whose successor never came, is put back.
    """
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.({DRAFT}|{OLD})")
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            found = pattern.fullmatch(name)
            if found is None:
                continue
            left = path.parent / name
            with _locked(left) as is_ours, contextlib.suppress(OSError):
                if not is_ours:
                    continue
                if found[1] == OLD and not path.exists():
                    os.rename(left, path)
                elif left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or a folder; yields whether nobody else does."""
    try:
        number = open_to_read(path)
    except OSError:  # gone, or folders cannot be opened here
        yield False
        return
    try:
        yield try_lock(number)
    finally:
        os.close(number)


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
