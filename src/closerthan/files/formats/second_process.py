"""MATLAB and HDF5 files, read in a process of their own.

The libraries trust what a file says of itself: a damaged file can end the process, and with it a notebook. So a second
Python process reads the file and hands back plain arrays; if it dies, that is an error of one sentence.
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

from closerthan.files.formats import hdf5, matlab_variables

__all__ = ["READERS", "hand_over", "read_arrays"]

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from closerthan.files.formats.second_process import hand_over
hand_over(sys.argv[2], sys.argv[3], sys.stdout.buffer)
"""
_PATIENCE = 60.0  # seconds, and one more per megabyte

READERS = {"MATLAB": matlab_variables.variables, "HDF5": hdf5.datasets}
"""Who reads a file of a format."""


def read_arrays(path: Path, format: str) -> Mapping[str, NDArray[Any]]:
    """The arrays of a MATLAB or HDF5 file that hold numbers or text.

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
    # -I: neither the current folder nor the environment decides what the other process imports.
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path), str(path), format]
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["creationflags"] = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    patience = _PATIENCE + path.stat().st_size / 1e6
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=patience, check=False, **quiet)
    except subprocess.TimeoutExpired:
        raise _damaged(path, format, f"reading it took longer than {patience:.0f} s") from None
    except OSError:  # there are systems on which no process can be started
        return READERS[format](path)
    return _taken_over(path, format, done.stdout, done.returncode)


def hand_over(path: str, format: str, pipe: IO[bytes]) -> None:
    """Write the arrays to a pipe: a line of JSON with their names, or with an error, and the arrays."""
    found: Mapping[str, NDArray[Any]] = {}
    try:
        found = READERS[format](Path(path))
        head: dict[str, Any] = {"names": list(found)}
    except (ValueError, ImportError, OSError, MemoryError) as error:
        head = {"error": str(error) or f"{path} cannot be read", "is_library": isinstance(error, ImportError)}
    pipe.write(json.dumps(head).encode() + b"\n")
    for array in found.values():
        np.lib.format.write_array(_Writer(pipe), array, allow_pickle=False)
    pipe.flush()


class _Writer:
    """A pipe that NumPy does not take for a file on disk."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.write = pipe.write


def _taken_over(path: Path, format: str, handed: bytes, code: int) -> Mapping[str, NDArray[Any]]:
    pipe = io.BytesIO(handed)
    try:
        head = json.loads(pipe.readline())
        if "error" in head:
            raise (ImportError if head["is_library"] else ValueError)(head["error"])
        found = {name: np.lib.format.read_array(pipe, allow_pickle=False) for name in head["names"]}
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise _damaged(path, format, f"the process that read it ended with code {code}") from None
    if code:
        raise _damaged(path, format, f"the process that read it ended with code {code}")
    return found


def _damaged(path: Path, format: str, how: str) -> ValueError:
    article = "an" if format == "HDF5" else "a"
    return ValueError(f"{path} cannot be read as {article} {format} file: {how}; it is damaged, so save it again")


def _is_interpreter(program: str | None) -> bool:
    """Whether a program is Python: where another program has Python inside, starting that would be no good.

    Examples
    --------
    >>> _is_interpreter("/usr/bin/python3.12"), _is_interpreter("/opt/blender/blender"), _is_interpreter(None)
    (True, False, False)
    """
    return bool(program) and not getattr(sys, "frozen", False) and "py" in Path(str(program)).stem.lower()[:4]
