"""The SQLite database of a study, in which every acknowledged answer survives a power failure."""

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from closerthan.collect.store.schema import MIGRATIONS, migrate
from closerthan.files.formats.study import DATABASE as FILE
from closerthan.operating_system import make_private
from closerthan.saving import whole_file

__all__ = ["FILE", "Store", "problem_of_file"]

PATIENCE = 10.0  # seconds to wait while another process is writing
_AT_ONCE = 500  # rows per transaction


class Store:
    """A connection to the database of a study, for use by one thread at a time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / FILE) as store:
    ...     store.name_objects(["ant", "bee", "cat"])
    {'ant': 0, 'bee': 1, 'cat': 2}
    """

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = True, migrations: Sequence[str] = MIGRATIONS
    ) -> None:
        self.path = Path(path)
        if not create and not self.path.exists():
            raise ValueError(
                f"{self.path} does not exist, so there are no answers yet; start the study with: "
                f"closerthan collect serve {self.path.parent}"
            )
        is_new = not self.path.exists()
        with _explained(self.path):
            self._connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        self._connection.row_factory = sqlite3.Row
        with self.closed_on_error():
            if is_new:
                make_private(self.path)
            migrate(self._connection, self.path, migrations)
            # With synchronous = NORMAL, a power failure could lose acknowledged answers. secure_delete overwrites the
            # data of participants who are deleted.
            for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {setting}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            with _explained(self.path):
                raise error

    @contextlib.contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the file if the block raises an exception."""
        try:
            with _explained(self.path):
                yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Run the block in a write transaction, which is rolled back if the block raises an exception."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself rolls back after some errors, such as a full disk
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Run the block in a read transaction, so that all queries see the same state; blocks may be nested."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query."""
        return self._connection.execute(query, values).fetchall()

    def stream(self, query: str, *values: Any) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query one by one; until the last one, they are read from the same state of the file."""
        yield from self._connection.execute(query, values)

    def row(self, query: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row

    def value(self, query: str, *values: Any) -> Any:
        """Return the first value of the first row, or None if there is no row."""
        row = self.row(query, *values)
        return None if row is None else row[0]

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row and return its number."""
        columns, placeholders = ", ".join(values), ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({columns}) VALUES ({placeholders})"
        return self._connection.execute(statement, tuple(values.values())).lastrowid or 0

    def change(self, query: str, *values: Any) -> int:
        """Run a statement that writes, and return the number of changed rows."""
        return self._connection.execute(query, values).rowcount

    def change_many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement that writes for each row of values, in transactions so short that nobody waits for them."""
        waiting = iter(rows)
        while part := list(itertools.islice(waiting, _AT_ONCE)):
            with self.writing():
                self._connection.executemany(query, part)

    @property
    def n_changes(self) -> int:
        """The number of rows that this connection has inserted, changed or deleted."""
        return self._connection.total_changes

    def name_objects(self, names: Sequence[str]) -> dict[str, int]:
        """Number the objects and return the numbers; known names keep theirs, and other stored objects are hidden."""
        with self.writing():
            numbers = {row["name"]: row["number"] for row in self.rows("SELECT number, name FROM objects")}
            for name in names:
                if name not in numbers:
                    numbers[name] = len(numbers)
                    self.insert("objects", number=numbers[name], name=name)
            self.change("UPDATE objects SET shown = 0")
            for name in names:
                self.change("UPDATE objects SET shown = 1 WHERE name = ?", name)
        return {name: numbers[name] for name in names}

    def latest_judgement(self, condition: str = "") -> Any:
        """Return the latest assessment of a map as JSON data, or an empty dictionary if there is none."""
        query = """SELECT judgement FROM maps WHERE judgement IS NOT NULL AND condition = ?
        ORDER BY version DESC LIMIT 1"""
        return json.loads(self.value(query, condition) or "{}")

    def tidy(self) -> None:
        """Move the journal into the file, so that the journal does not retain deleted data."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def backup(self, path: str | Path) -> None:
        """Copy the database, which may be in use. The copy is written atomically."""
        with whole_file(path) as file:
            copy = sqlite3.connect(file.name)
            try:
                self._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # a single file without a journal
                (problem,) = copy.execute("PRAGMA quick_check(1)").fetchone()
                if problem != "ok":
                    raise sqlite3.DatabaseError(problem)
            finally:
                copy.close()
            make_private(file.name)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite errors about the file into a ValueError that names a remedy; let programming errors pass."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        problem = problem_of_file(error)
        if not problem:
            raise
        raise ValueError(f"{path} cannot be used: {problem}") from None


def problem_of_file(error: Exception) -> str:
    """Return what is wrong with a database file or its disk, and a remedy; "" for other errors.

    Examples
    --------
    >>> problem_of_file(sqlite3.OperationalError("database or disk is full"))
    'database or disk is full; free some space on the disk'
    """
    if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
        return ""
    remedy = next((remedy for part, remedy in _REMEDIES.items() if part in str(error)), "")
    if not remedy and type(error) is sqlite3.DatabaseError:
        remedy = _DAMAGED
    return f"{error}; {remedy}" if remedy else ""


_DAMAGED = "it is damaged: keep a copy, and replace it with the latest backup"
_REMEDIES = {
    "readonly": "copy the study to a folder with write permission",
    "unable to open": "it must be a file in a folder with write permission",
    "locked": "another program is using it: close that program first",
    "full": "free some space on the disk",
    "disk I/O": "check whether the disk is full or disconnected",
}
