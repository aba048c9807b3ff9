"""Opening files that may be packed: with gzip, as the ending .gz says, or in a zip archive.

A file in an archive is called like one in a folder: ``answers.zip/study/answers.csv``.
"""

import functools
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar, cast

from closerthan.files.formats import sizes

__all__ = [
    "UNPACKING_ERRORS",
    "NoAnswerError",
    "archive_of",
    "check_unpacked_size",
    "is_packed",
    "lines_of",
    "naming_the_file",
    "open_bytes",
    "open_text",
    "packing",
    "size_of",
    "unpacking_error",
]

Reader = TypeVar("Reader", bound=Callable[..., Any])

_LONGEST = 2000  # characters of an error
_MOST_BY_DEFLATE = 1100  # bytes that a byte of gzip or zip can stand for, and some to spare
_CHUNK = 1 << 20  # bytes

UNPACKING_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a damaged file raises."""


def unpacking_error(path: Path, error: Exception) -> ValueError:
    """What a damaged file is called.

    Examples
    --------
    >>> unpacking_error(Path("answers.csv.gz"), EOFError("it ends early"))
    ValueError('answers.csv.gz cannot be unpacked: it ends early; pack it again, or download it again')
    """
    return ValueError(f"{path} cannot be unpacked: {error}; pack it again, or download it again")


class NoAnswerError(ValueError):
    """A file is empty, or has titles and nothing below them: in a folder, of somebody who left before answering."""


def naming_the_file(read: Reader) -> Reader:
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
    def reading(path: Any, *given: Any, **options: Any) -> Any:
        try:
            return read(path, *given, **options)
        except ValueError as error:
            if not isinstance(path, str | os.PathLike):  # a table in memory has no name
                raise
            message = str(error) if os.fspath(path) in str(error) else f"{os.fspath(path)}: {error}"
            if len(message) > _LONGEST:  # a cell or a name in it is very long
                message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"
            if message == str(error) and type(error) is ValueError:
                raise
            raise ValueError(message) from error
        except MemoryError:
            name = os.fspath(path) if isinstance(path, str | os.PathLike) else "the table"
            raise MemoryError(
                f"{name} takes more memory than there is; leave out columns that are not needed, or write triplets as "
                ".npy or .parquet, which are read in parts"
            ) from None

    return cast(Reader, reading)


def is_packed(path: Path) -> bool:
    """Whether the file's name ends in .gz.

    Examples
    --------
    >>> is_packed(Path("answers.csv.GZ")), is_packed(Path("answers.csv"))
    (True, False)
    """
    return path.suffix.lower() == ".gz"


def archive_of(path: Path) -> Path | None:
    """The zip archive that a file is in, if it is in one."""
    return next((parent for parent in path.parents if parent.suffix.lower() == ".zip" and parent.is_file()), None)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its content, unpacked."""
    archive = archive_of(path)
    if archive is None:
        return cast(IO[bytes], gzip.open(path, "rb")) if is_packed(path) else open(path, "rb")
    try:
        with zipfile.ZipFile(archive) as file:  # what is opened stays open when the archive is closed
            member = file.open(path.relative_to(archive).as_posix())
    except (OSError, NotImplementedError, RuntimeError, KeyError, ValueError) as error:  # says zipfile of damage
        raise zipfile.BadZipFile(str(error)) from None
    return cast(IO[bytes], gzip.open(member, "rb")) if is_packed(path) else member


def check_unpacked_size(path: Path, floor: int = sizes.TEXT) -> None:
    """Raise an error if a packed file unpacks to far more than any answers do, before it takes memory.

    Parameters
    ----------
    path
        The file; one that is not packed passes.
    floor
        Bytes to which any file may unpack.
    """
    archive = archive_of(path)
    if archive is None and not is_packed(path):
        return
    packed = (archive or path).stat().st_size
    most = max(floor, sizes.PACKED * packed)
    is_packed_twice = archive is not None and is_packed(path)
    if packed * _MOST_BY_DEFLATE <= most and not is_packed_twice:
        return
    size = 0
    try:
        with open_bytes(path) as file:
            while size <= most and (chunk := file.read(_CHUNK)):
                size += len(chunk)
    except UNPACKING_ERRORS as error:
        raise unpacking_error(path, error) from None
    if size > most:
        raise ValueError(
            f"{path}: it unpacks to more than {most:,} bytes, more than {sizes.PACKED} times its size, which no "
            "answers do; if they are answers, unpack the file first"
        )


def lines_of(file: IO[str], path: Path, longest: int = sizes.LONGEST_LINE) -> Iterator[str]:
    """The lines of a text, with their ends; one that is longer than any answer is an error."""
    number = 1
    while text := file.readline(longest + 1):
        if len(text) > longest:
            raise ValueError(
                f"{path}, line {number} has more than {longest:,} characters; if lines end in another way, or nothing "
                "separates them, write the file again with one answer per line"
            )
        yield text
        number += 1


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file to read its text, unpacked; the ends of lines stay as they are."""
    return io.TextIOWrapper(cast(BinaryIO, open_bytes(path)), encoding=encoding, newline="")


def size_of(path: Path) -> int:
    """The bytes of a file, as it is on the disk or in its archive."""
    archive = archive_of(path)
    if archive is None:
        return path.stat().st_size
    with zipfile.ZipFile(archive) as file:
        return file.getinfo(path.relative_to(archive).as_posix()).file_size


def packing(file: BinaryIO) -> BinaryIO:
    """A file that packs what is written to it; the same content gives the same bytes, whenever and wherever."""
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
