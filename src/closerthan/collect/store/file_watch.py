"""Notice if the database of a running study is removed, replaced or overwritten."""

import os
from pathlib import Path

__all__ = ["FileWatch"]

# An SQLite file begins with this text, the size of a page, and the versions for writing and reading, which are 2 for a
# database with a write-ahead log. A backup is a file without such a log. A counter of changes follows, which never
# decreases: an older copy of the file has a smaller one.
_MAGIC, _VERSIONS, _CHANGES = b"SQLite format 3\0", slice(18, 20), slice(24, 28)


class FileWatch:
    """Remembers which files an open database consists of: the file itself and its write-ahead log.

    On some systems, a file that is removed or replaced while it is open still accepts answers, but nobody finds them.
    The watch keeps the file open until it is closed, which must happen after all connections to it were closed: closing
    any descriptor of a file ends the locks of the whole process on it.

    Examples
    --------
    >>> import tempfile
    >>> from closerthan.collect.store.database import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(Path(folder) / "answers.sqlite") as store:
    ...         _ = store.name_objects(["ant", "bee", "cat", "dog"])
    ...         watch = FileWatch(store.path)
    ...         before = watch.is_same
    ...         _ = store.path.rename(store.path.with_name("older.sqlite"))
    ...         print(before, watch.is_same)
    ...     watch.close()
    True False
    """

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, path.with_name(f"{path.name}-wal")
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._changes = b""
        self._identity = self._current()

    @property
    def is_same(self) -> bool:
        """True if the paths still name the same files, and the first is a database with a log and not an older copy."""
        return self._current() == self._identity is not None

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _current(self) -> tuple[int, ...] | None:
        try:
            file, log = os.stat(self._path), os.stat(self._log)
            os.lseek(self._file, 0, os.SEEK_SET)
            start = os.read(self._file, _CHANGES.stop)
        except OSError:
            return None
        if not start.startswith(_MAGIC) or start[_VERSIONS] != b"\2\2" or start[_CHANGES] < self._changes:
            return None
        self._changes = start[_CHANGES]
        return file.st_dev, file.st_ino, log.st_dev, log.st_ino
