"""Open files that may be compressed, with gzip (suffix .gz) or in a zip archive.

A file in an archive has a path like a file in a folder: ``answers.zip/study/answers.csv``.
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

from closerthan.checks import ParameterError
from closerthan.files.formats import sizes
from closerthan.messages import Message, message_of, prefixed

__all__ = [
    "DECOMPRESSION_ERRORS",
    "NoAnswerError",
    "archive_of",
    "check_decompressed_size",
    "decompression_error",
    "gzip_writer",
    "is_gzipped",
    "name_file_in_errors",
    "open_bytes",
    "open_text",
    "read_lines",
    "size_in_bytes",
]

Reader = TypeVar("Reader", bound=Callable[..., Any])

_LONGEST = 2000  # maximum number of characters of an error message
_MOST_BY_DEFLATE = 1100  # the highest compression ratio of gzip and zip is 1032, rounded up
_CHUNK = 1 << 20  # bytes

DECOMPRESSION_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Exceptions raised when a damaged compressed file is read."""


def decompression_error(path: Path, error: Exception) -> ValueError:
    """Return the error that reports a damaged compressed file.

    Examples
    --------
    >>> decompression_error(Path("answers.csv.gz"), EOFError("it ends early"))
    ValueError('answers.csv.gz cannot be decompressed: it ends early; compress or download it again')
    """
    return ValueError(f"{path} cannot be decompressed: {error}; compress or download it again")


class NoAnswerError(ValueError):
    """The file is empty or has only a header, such as the file of a participant who left before answering."""


def name_file_in_errors(read: Reader) -> Reader:
    """Decorate a reader so that all its errors name the file, even those from code that does not know its path.

    Examples
    --------
    >>> @name_file_in_errors
    ... def lines(path):
    ...     raise ValueError("there are 2 objects; a map needs at least 3")
    >>> lines("answers.csv")
    Traceback (most recent call last):
    ...
    ValueError: answers.csv: there are 2 objects; a map needs at least 3
    """

    @functools.wraps(read)
    def wrapper(path: Any, *args: Any, **options: Any) -> Any:
        try:
            return read(path, *args, **options)
        except ValueError as error:
            if not isinstance(path, str | os.PathLike):  # a table in memory has no path
                raise
            if isinstance(error, ParameterError):  # it is about an argument, not about the file
                raise
            message = message_of(error)
            if os.fspath(path) not in message:
                message = prefixed(f"{os.fspath(path)}: ", message)
            if len(message) > _LONGEST:  # it quotes a very long cell or name
                message = _shortened(message)
            if message == str(error) and type(error) is ValueError:
                raise
            raise ValueError(message) from error
        except MemoryError:
            name = os.fspath(path) if isinstance(path, str | os.PathLike) else "the table"
            raise MemoryError(
                f"{name} needs more memory than is available; leave out columns that are not needed, or write triplets "
                "as .npy or .parquet, which are read in parts"
            ) from None

    return cast(Reader, wrapper)


def _shortened(message: str) -> str:
    text = message.problem if isinstance(message, Message) else message
    text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    return message.with_problem(text) if isinstance(message, Message) else text


def is_gzipped(path: Path) -> bool:
    """Return whether a file name ends in .gz.

    Examples
    --------
    >>> is_gzipped(Path("answers.csv.GZ")), is_gzipped(Path("answers.csv"))
    (True, False)
    """
    return path.suffix.lower() == ".gz"


def archive_of(path: Path) -> Path | None:
    """Return the zip archive that contains a file, or None."""
    return next((parent for parent in path.parents if parent.suffix.lower() == ".zip" and parent.is_file()), None)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading its decompressed content."""
    archive = archive_of(path)
    if archive is None:
        return cast(IO[bytes], gzip.open(path, "rb")) if is_gzipped(path) else open(path, "rb")
    try:
        with zipfile.ZipFile(archive) as file:  # an open member stays open when the archive is closed
            member = file.open(path.relative_to(archive).as_posix())
    except (OSError, NotImplementedError, RuntimeError, KeyError, ValueError) as error:
        # zipfile raises all of these for damaged archives.
        raise zipfile.BadZipFile(str(error)) from None
    return cast(IO[bytes], gzip.open(member, "rb")) if is_gzipped(path) else member


def check_decompressed_size(path: Path, floor: int = sizes.TEXT) -> None:
    """Raise an error if a file decompresses to an implausible size, before memory is allocated for it.

    Parameters
    ----------
    path
        The file; an uncompressed file always passes.
    floor
        Number of bytes to which any file may decompress.
    """
    archive = archive_of(path)
    if archive is None and not is_gzipped(path):
        return
    packed = (archive or path).stat().st_size
    most = max(floor, sizes.PACKED * packed)
    is_compressed_twice = archive is not None and is_gzipped(path)
    if packed * _MOST_BY_DEFLATE <= most and not is_compressed_twice:
        return
    size = 0
    try:
        with open_bytes(path) as file:
            while size <= most and (chunk := file.read(_CHUNK)):
                size += len(chunk)
    except DECOMPRESSION_ERRORS as error:
        raise decompression_error(path, error) from None
    if size > most:
        raise ValueError(
            f"{path}: it decompresses to more than {most:,} bytes, more than {sizes.PACKED} times its size, which is "
            "not plausible for answers; if it does hold answers, decompress it first"
        )


def read_lines(file: IO[str], path: Path, longest: int = sizes.LONGEST_LINE) -> Iterator[str]:
    """Yield the lines of a text with their line endings; raise an error at an implausibly long line."""
    number = 1
    while text := file.readline(longest + 1):
        if len(text) > longest:
            raise ValueError(
                f"{path}, line {number} has more than {longest:,} characters; if its line endings are missing or "
                "unusual, write the file again with one answer per line"
            )
        yield text
        number += 1


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a file for reading its decompressed text, with line endings unchanged."""
    return io.TextIOWrapper(cast(BinaryIO, open_bytes(path)), encoding=encoding, newline="")


def size_in_bytes(path: Path) -> int:
    """Return the size of a file on disk, or that of an archive member when extracted."""
    archive = archive_of(path)
    if archive is None:
        return path.stat().st_size
    with zipfile.ZipFile(archive) as file:
        return file.getinfo(path.relative_to(archive).as_posix()).file_size


def gzip_writer(file: BinaryIO) -> BinaryIO:
    """Wrap a file so that its content is gzipped without a time stamp: equal content gives equal bytes."""
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
