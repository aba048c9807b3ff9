"""Opening files that may be packed with gzip; the ending .gz says so."""

import gzip
import zlib
from pathlib import Path
from typing import IO, BinaryIO, cast

__all__ = ["UNPACKING_ERRORS", "is_packed", "open_bytes", "open_text", "packing", "unpacking_error"]

UNPACKING_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a damaged file raises."""


def unpacking_error(path: Path, error: Exception) -> ValueError:
    """What a damaged file is called.

    Examples
    --------
    >>> unpacking_error(Path("answers.csv.gz"), EOFError("it ends early"))
    ValueError('answers.csv.gz cannot be unpacked: it ends early; pack it again, or download it again')
    """
    return ValueError(f"{path} cannot be unpacked: {error}; pack it again, or download it again")


def is_packed(path: Path) -> bool:
    """Whether the file's name ends in .gz.

    Examples
    --------
    >>> is_packed(Path("answers.csv.GZ")), is_packed(Path("answers.csv"))
    (True, False)
    """
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its content, unpacked."""
    return cast(IO[bytes], gzip.open(path, "rb")) if is_packed(path) else open(path, "rb")


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file to read its text, unpacked; the ends of lines stay as they are."""
    if is_packed(path):
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return open(path, encoding=encoding, newline="")


def packing(file: BinaryIO) -> BinaryIO:
    """A file that packs what is written to it; the same content gives the same bytes, whenever and wherever."""
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
