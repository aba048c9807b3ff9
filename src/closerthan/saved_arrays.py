"""Arrays from .npz files that anybody may have written: all of them as they should be, or one clear sentence."""

import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["read_archive", "read_whole"]

Made = TypeVar("Made")

MOST_PACKED = 1_200  # bytes that a byte may stand for: what deflate can do at most


def read_archive(path: str | Path, what: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file, by name; ``what`` it should be is for the error if it is something else.

    No array is larger than the bytes that there are for it, whatever its header says.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "numbers.npz"
    ...     np.savez(file, even=[0, 2, 4])
    ...     read_archive(file, "saved result")
    {'even': array([0, 2, 4])}
    """
    try:
        with open(path, "rb") as opened, zipfile.ZipFile(opened) as archive:
            size = os.fstat(opened.fileno()).st_size
            if sum(member.file_size for member in archive.infolist()) > MOST_PACKED * size:
                raise ValueError("it says that it is larger than it can be")
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in archive.infolist()}
    except FileNotFoundError:
        raise
    except Exception as error:  # what damaged bytes lead to is a list without an end
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        raise ValueError(f"{path} is not a {what}: {' '.join(reason.split())}") from None


def read_whole(path: str | Path, what: str, made: Callable[[Mapping[str, Any]], Made]) -> Made:
    """What ``made`` makes of the arrays of a file; if it cannot, the error says what the file is not."""
    arrays = read_archive(path, what)
    try:
        return made(arrays)
    except Exception as error:  # what damaged bytes lead to is a list without an end
        missing = f"there is no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise ValueError(f"{path} is not a {what}: {missing or type(error).__name__}") from None


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{member.filename} is an array of an unknown version, {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read_header(file)
        if kind.hasobject or math.prod(shape) * kind.itemsize != member.file_size - file.tell():
            raise ValueError(f"{member.filename} is not the array that it says it is")
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        file.read(1)  # at the end, its check sum is compared
    return array
