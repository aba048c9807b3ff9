"""Write a file for the researcher, in a separate process, so that a large study does not slow down the server."""

import errno
import sqlite3
import sys
from pathlib import Path

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import table_lines, write_study
from closerthan.collect.study.description import Study
from closerthan.operating_system import lower_priority

__all__ = ["DISK_FULL", "write_download"]

DISK_FULL = errno.ENOSPC
"""The status with which the process exits if the disk is full."""


def write_download(study: Study, path: Path) -> None:
    """Write the file that the name of ``path`` stands for: study.zip, or one of the tables."""
    lower_priority()  # the server has priority
    access = Access(study.folder)
    with Store(study.folder / FILE, create=False) as store:
        try:
            if path.name == "study.zip":
                write_study(store, study, access, path)
                return
            with open(path, "wb") as file:
                file.writelines(line.encode() for line in table_lines(store, study, access, path.name))
        except (OSError, sqlite3.OperationalError) as error:
            if _is_disk_full(error):
                sys.exit(DISK_FULL)
            raise


def _is_disk_full(error: OSError | sqlite3.OperationalError) -> bool:
    return (
        (error.errno == errno.ENOSPC) if isinstance(error, OSError) else error.sqlite_errorcode == sqlite3.SQLITE_FULL
    )
