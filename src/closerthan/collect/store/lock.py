"""A lock that allows only one server per study."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

__all__ = ["AlreadyServedError", "study_lock"]


class AlreadyServedError(ValueError):
    """Another process is serving the same study."""


@contextlib.contextmanager
def study_lock(folder: Path) -> Iterator[None]:
    """Hold the lock until the end of the block; the operating system releases it even if the process is killed."""
    # SQLite's locks work on every operating system, unlike those of the standard library.
    connection = sqlite3.connect(folder / ".serving.sqlite", timeout=0, isolation_level=None)
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise AlreadyServedError(
                f"{folder} is already being served; stop that server first (Ctrl-C in its terminal)"
            ) from None
        yield
    finally:
        connection.close()
