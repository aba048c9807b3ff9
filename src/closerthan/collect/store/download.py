"""Write a file for the researcher, in a separate process, so that a large study does not slow down the server."""

from pathlib import Path

from closerthan.collect.store.access import Access
from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.export import table_lines, write_study
from closerthan.collect.study.description import Study
from closerthan.operating_system import lower_priority

__all__ = ["write_download"]


def write_download(study: Study, path: Path) -> None:
    """Write the file that the name of ``path`` stands for: study.zip, or one of the tables."""
    lower_priority()  # the server has priority
    with Store(study.folder / FILE, create=False) as store:
        if path.name == "study.zip":
            write_study(store, study, Access(study.folder), path)
            return
        with open(path, "wb") as file:
            file.writelines(line.encode() for line in table_lines(store, study, Access(study.folder), path.name))
