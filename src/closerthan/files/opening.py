"""Opening files that may be packed with gzip; the ending .gz says so."""

import functools
import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, Concatenate, ParamSpec, TypeVar, cast

__all__ = ["UNPACKING_ERRORS", "is_packed", "naming_the_file", "open_bytes", "open_text", "packing", "unpacking_error"]

Options = ParamSpec("Options")
Found = TypeVar("Found")
Name = str | os.PathLike[str]

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


def naming_the_file(read: Callable[Concatenate[Name, Options], Found]) -> Callable[Concatenate[Name, Options], Found]:
    """A reader whose errors all name the file, also those from parts that know nothing of files.

    Examples
    --------
    >>> @naming_the_file
    ... def lines(path):
    ...     raise ValueError("there are 2 objects; a map needs at least 3")
    >>> lines("answers.csv")
    Traceback (most recent call last):
    ...
    ValueError: answers.csv: there are 2 objects; a map needs at least 3
    """

    @functools.wraps(read)
    def reading(path: Name, *given: Options.args, **options: Options.kwargs) -> Found:
        try:
            return read(path, *given, **options)
        except ValueError as error:
            if os.fspath(path) in str(error):
                raise
            raise ValueError(f"{os.fspath(path)}: {error}") from error

    return reading


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
