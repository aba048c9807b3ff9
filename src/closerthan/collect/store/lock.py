"""One server per study: a second one refuses to start."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

__all__ = ["AlreadyServedError", "alone"]


class AlreadyServedError(ValueError):
    """Another process serves the same study."""


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one, until the end of the block or of the process: the system frees the lock even after a kill."""
    # A lock of SQLite works on every system, which those of the standard library do not.
    connection = sqlite3.connect(folder / ".serving.sqlite", timeout=0, isolation_level=None)
    try:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise AlreadyServedError(
                f"{folder} is being served already; stop that server first (Ctrl-C where it was started)"
            ) from None
        yield
    finally:
        connection.close()
