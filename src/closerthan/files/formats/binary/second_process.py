"""Read MATLAB and HDF5 files in a separate process.

The libraries for these formats trust the file, so a damaged file can crash the process, such as a notebook. A second
Python process therefore reads the file and sends back plain arrays; if it crashes, the user sees an error message.
"""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.binary import hdf5, matlab_variables

__all__ = ["READERS", "read_arrays", "send_arrays"]

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from closerthan.files.formats.binary.second_process import send_arrays
send_arrays(sys.argv[2], sys.argv[3], sys.stdout.buffer)
"""
_TIMEOUT = 60.0  # seconds, plus one per megabyte

READERS = {"MATLAB": matlab_variables.variables, "HDF5": hdf5.datasets}
"""Functions that read the arrays of a file, by format."""


def read_arrays(
    path: Path, format: str, *, program: str = _PROGRAM, timeout: float = _TIMEOUT
) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of numbers or text in a MATLAB or HDF5 file.

    Parameters
    ----------
    path, format
        The file, and a key of :data:`READERS`.
    program
        Code of the other process, which writes the arrays to its standard output.
    timeout
        Seconds that the other process may take, plus one per megabyte.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder) / "a.mat", {"triplets": [[1, 2, 3]]})
    ...     read_arrays(Path(folder) / "a.mat", "MATLAB")
    {'triplets': array([[1, 2, 3]])}
    """
    if not _is_interpreter(sys.executable):
        return READERS[format](path)
    # With -I, neither the current folder nor the environment affects what the other process imports.
    command = [sys.executable, "-I", "-c", program, json.dumps(sys.path), str(path), format]
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["creationflags"] = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    timeout += path.stat().st_size / 1e6
    try:
        process = subprocess.run(command, stdout=subprocess.PIPE, timeout=timeout, check=False, **quiet)
    except subprocess.TimeoutExpired:
        raise _damaged(path, format, f"reading it took longer than {timeout:.0f} s") from None
    except OSError:  # some systems do not allow new processes
        return READERS[format](path)
    return _received(path, format, process.stdout, process.returncode)


def send_arrays(path: str, format: str, pipe: IO[bytes]) -> None:
    """Write the arrays to a pipe: a line of JSON with their names or with an error, followed by the arrays."""
    arrays: Mapping[str, NDArray[Any]] = {}
    try:
        arrays = READERS[format](Path(path))
        head: dict[str, Any] = {"names": list(arrays)}
    except (ValueError, ImportError, OSError, MemoryError) as error:
        head = {"error": str(error) or f"{path} cannot be read", "is_library": isinstance(error, ImportError)}
    pipe.write(json.dumps(head).encode() + b"\n")
    for array in arrays.values():
        np.lib.format.write_array(_Writer(pipe), array, allow_pickle=False)
    pipe.flush()


class _Writer:
    """A wrapper that keeps NumPy from treating a pipe as a file on disk."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.write = pipe.write


def _received(path: Path, format: str, content: bytes, code: int) -> Mapping[str, NDArray[Any]]:
    pipe = io.BytesIO(content)
    try:
        head = json.loads(pipe.readline())
        if "error" in head:
            raise (ImportError if head["is_library"] else ValueError)(head["error"])
        arrays = {name: np.lib.format.read_array(pipe, allow_pickle=False) for name in head["names"]}
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise _damaged(path, format, f"the process that read it exited with code {code}") from None
    if code:
        raise _damaged(path, format, f"the process that read it exited with code {code}")
    return arrays


def _damaged(path: Path, format: str, reason: str) -> ValueError:
    article = "an" if format == "HDF5" else "a"
    return ValueError(f"{path} cannot be read as {article} {format} file: {reason}; it is damaged, so save it again")


def _is_interpreter(program: str | None) -> bool:
    """Return whether a program is a Python interpreter and not an application that embeds one.

    Examples
    --------
    >>> _is_interpreter("/usr/bin/python3.12"), _is_interpreter("/opt/blender/blender"), _is_interpreter(None)
    (True, False, False)
    """
    return bool(program) and not getattr(sys, "frozen", False) and "py" in Path(str(program)).stem.lower()[:4]
