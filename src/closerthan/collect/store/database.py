"""The file of a study: SQLite, in which an acknowledged answer survives a power cut."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from closerthan.collect.store.schema import migrate
from closerthan.operating_system import make_private
from closerthan.saving import whole_file

__all__ = ["FILE", "Store"]

FILE = "answers.sqlite"
PATIENCE = 10.0  # seconds to wait for another process that is writing


class Store:
    """One connection to the file of a study, for one thread at a time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / FILE) as store:
    ...     store.name_objects(["ant", "bee", "cat"])
    {'ant': 0, 'bee': 1, 'cat': 2}
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise ValueError(
                f"{self.path} is not there: nobody has been asked yet; start with: "
                f"closerthan collect serve {self.path.parent}"
            )
        is_new = not self.path.exists()
        with _in_words(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        self._connection.row_factory = sqlite3.Row
        with self.closed_on_error():
            if is_new and os.name == "posix":
                self.path.chmod(0o600)
            migrate(self._connection, self.path)
            # FULL: with NORMAL, a power cut may take answers that were acknowledged. What is forgotten is overwritten.
            for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {setting}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            with _in_words(self.path):
                raise error

    @contextlib.contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """The file is closed if what is done inside fails."""
        try:
            with _in_words(self.path):
                yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written inside is there afterwards, or none of it."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of the same moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of a query."""
        return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """The first row of a query, if there is one."""
        found: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return found

    def value(self, query: str, *values: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        found = self.row(query, *values)
        return None if found is None else found[0]

    def insert(self, table: str, **values: Any) -> int:
        """Add a row, and say its number."""
        columns, places = ", ".join(values), ", ".join("?" * len(values))
        done = self._connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", tuple(values.values()))
        return done.lastrowid or 0

    def change(self, query: str, *values: Any) -> int:
        """Run a statement that writes, and say how many rows it changed."""
        return self._connection.execute(query, values).rowcount

    def name_objects(self, names: Sequence[str]) -> dict[str, int]:
        """The number of each object: a name keeps the number that it had, and one that is gone is not shown again."""
        with self.writing():
            known = {row["name"]: row["number"] for row in self.rows("SELECT number, name FROM objects")}
            for name in names:
                if name not in known:
                    number = len(known)
                    self.insert("objects", number=number, name=name)
                    known[name] = number
            self.change("UPDATE objects SET shown = 0")
            for name in names:
                self.change("UPDATE objects SET shown = 1 WHERE name = ?", name)
        return {name: known[name] for name in names}

    def tidy(self) -> None:
        """Move everything from the journal to the file, so that nothing forgotten is left in the journal."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, path: str | Path) -> None:
        """Copy the file while it is in use; the copy appears whole or not at all."""
        with whole_file(path) as file:
            copy = sqlite3.connect(file.name)
            try:
                self._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a journal beside it
                (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    raise sqlite3.DatabaseError(found)
            finally:
                copy.close()
            make_private(file.name)


@contextlib.contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """What SQLite cannot do with a file, with the way out; a fault of ours stays what it is."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
            raise
        said = str(error)
        way_out = next((way for sign, way in _WAYS_OUT.items() if sign in said), None)
        if way_out is None and type(error) is sqlite3.OperationalError:
            raise
        raise ValueError(f"{path} cannot be used ({said}); {way_out or _DAMAGED}") from None


_DAMAGED = "it is damaged: keep a copy, and put the latest backup in its place"
_WAYS_OUT = {
    "readonly": "copy the study to a folder that you may write to",
    "unable to open": "it must be a file in a folder that you may write to",
    "locked": "another program holds it: close that first",
    "full": "make room on the disk",
    "disk I/O": "is the disk full, or gone?",
}
