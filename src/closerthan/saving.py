"""Atomic writing: files and folders appear complete or not at all, and survive a power cut once they appear."""

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

DRAFT, OLD = "draft", "old"  # suffixes of a file that is being written and of one that is being replaced


class whole_file:  # noqa: N801 - a context manager that is used like a function
    """Open a file for writing that appears under its name only when it is complete and synced to the disk.

    Drafts of the same file that killed processes left behind are removed.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = without_links(Path(path))

    def __enter__(self) -> BinaryIO:
        _remove_leftovers(self._path)
        while True:
            # The tempfile module is not used, since only the owner can read its files, even under their final name.
            self._draft = _beside(self._path, DRAFT)
            with _naming(self._path, self._draft):
                self._file = open(self._draft, "xb")
            try_lock(self._file.fileno())
            if self._draft.exists():  # no other process removed it as a leftover before it was locked
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
        finally:  # on a full disk, even closing a file can fail
            self._draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path, draft: Path) -> Iterator[None]:
    """Make errors of the operating system name the final path rather than the draft."""
    try:
        yield
    except OSError as error:
        _name(error, path, draft)
        raise


def _name(error: OSError, path: Path, draft: Path) -> None:
    """Put the final path into an error that names the draft, or that names no file, as on a full disk."""
    if error.errno is None:  # it has only a message
        return
    place = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else draft
    if place.is_relative_to(draft):
        error.filename = str(path / place.relative_to(draft))
        del error.filename2


def whole_csv(path: str | Path, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table with a header as CSV, atomically."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(_UnixLines(text))
        table.writerow(titles)
        table.writerows(rows)
        text.flush()
        text.detach()


class _UnixLines:
    """A text file that ends lines with a line feed, although its CSV writer ends them with "\\r\\n".

    Before Python 3.13, a CSV writer quotes a carriage return only if that is part of its line terminator. Without
    quotes, a name that contains one would be read as the end of a line.
    """

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + "\n")


class TakenError(ValueError):
    """Another process wrote to the same name."""


@contextlib.contextmanager
def whole_folder(folder: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a new folder to write to, which is renamed to ``folder`` when all files are written.

    Existing files are not lost before that: a folder to be replaced is moved aside first and deleted last. If another
    process created a folder of that name in the meantime, that folder stays, and the new one is saved beside it.
    """
    folder = without_links(folder)
    _remove_leftovers(folder)
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
            place = _free_name(draft, folder)
            message = f"{folder} was written by another process in the meantime; this result is in {place}"
            raise TakenError(message) from None


@contextlib.contextmanager
def _draft_folder(folder: Path) -> Iterator[Path]:
    """Yield a locked folder beside another one; it is deleted afterwards unless it was renamed."""
    with contextlib.ExitStack() as stack:
        draft = folder
        while not draft.exists() or draft == folder:  # until no other process removes it as a leftover
            draft = _beside(folder, DRAFT)
            with _naming(folder, draft):
                draft.mkdir()
            stack.enter_context(_locked(draft))
        try:
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path, replace: bool) -> None:
    """Rename a draft. A folder of that name is moved aside first; it is deleted last or, after an error, moved back."""
    if not (replace and folder.is_dir()):
        with contextlib.suppress(OSError):
            folder.rmdir()  # succeeds only if the folder is empty
        os.rename(draft, folder)
        sync(folder.parent)
        return
    old = _beside(folder, OLD)
    with _locked(folder):  # so that no other process takes it for a leftover
        with contextlib.suppress(FileNotFoundError):  # another process has just moved it aside
            os.rename(folder, old)
        try:
            os.rename(draft, folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.rename(old, folder)
            raise
        sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)


def _free_name(draft: Path, folder: Path) -> Path:
    """Rename a draft to the first numbered name that is free, and return it."""
    for number in range(2, 10_000):
        with contextlib.suppress(OSError):
            free = folder.with_name(f"{folder.name}-{number}")
            os.rename(draft, free)
            return free
    raise TakenError(f"{folder} was written by another process in the meantime, and so were all similar names")


def writable_beside(folder: Path) -> None:
    """Raise an OSError if :func:`whole_folder` could not write there; recover a folder that a killed process moved."""
    folder = without_links(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    probe = _beside(folder, DRAFT)
    probe.mkdir()
    probe.rmdir()
    _remove_leftovers(folder)


def without_links(path: Path) -> Path:
    """Return the target of a symbolic link, so that writing replaces the target and not the link."""
    # For a link to itself, Python before 3.13 raises a RuntimeError; later versions return the link.
    with contextlib.suppress(RuntimeError):
        place = path.resolve()
        if not place.is_symlink():
            return place
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _beside(path: Path, kind: str) -> Path:
    """Return a new hidden name in the same folder."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{kind}")


# ---- leftovers of killed processes -----------------------------------------------------------------------------------


def _remove_leftovers(path: Path) -> None:
    """Remove drafts of killed processes. Running processes hold a lock; where there are no locks, all drafts stay.

    A folder that was moved aside and never replaced is moved back.
    """
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.({DRAFT}|{OLD})")
    with contextlib.suppress(OSError):
        for name in os.listdir(path.parent):
            match = pattern.fullmatch(name)
            if match is None:
                continue
            leftover = path.parent / name
            with _locked(leftover) as is_locked, contextlib.suppress(OSError):
                if not is_locked:
                    continue
                if match[1] == OLD and not path.exists():
                    os.rename(leftover, path)
                elif leftover.is_dir():
                    shutil.rmtree(leftover, ignore_errors=True)
                else:
                    leftover.unlink()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Lock a file or folder; yield whether that succeeded."""
    try:
        descriptor = open_to_read(path)
    except OSError:  # it no longer exists, or the system cannot open folders
        yield False
        return
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def json_text(value: Any) -> str:
    """Return valid JSON text; numbers that are not finite become null.

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
