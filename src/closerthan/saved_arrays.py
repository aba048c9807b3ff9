"""Read arrays from .npz files; a file that is damaged or of another kind raises a single clear error."""

import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["read_and_parse", "read_archive"]

Parsed = TypeVar("Parsed")

MOST_PACKED = 1_200  # upper bound of the compression ratio of deflate


def read_archive(path: str | Path, what: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name; ``what`` names the expected content in errors.

    No memory is allocated for an array beyond the bytes that the file has for it, whatever its header claims.

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
                raise ValueError("it claims to hold more data than its size allows")
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in archive.infolist()}
    except FileNotFoundError:
        raise
    except Exception as error:  # damaged bytes can cause almost any error
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        raise ValueError(f"{path} is not a {what}: {' '.join(reason.split())}") from None


def read_and_parse(path: str | Path, what: str, parse: Callable[[Mapping[str, Any]], Parsed]) -> Parsed:
    """Read the arrays of a file and ``parse`` them; if that fails, the error says that the file is not a ``what``."""
    arrays = read_archive(path, what)
    try:
        return parse(arrays)
    except Exception as error:  # damaged bytes can cause almost any error
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
            raise ValueError(f"{member.filename} is not the array that its header describes")
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        file.read(1)  # zipfile verifies the checksum when it reaches the end
    return array
