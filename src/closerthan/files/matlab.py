"""MATLAB files, read in a process of their own.

SciPy's reader trusts what a file says of itself: a damaged file can end the process, and with it a notebook. So a
second Python process reads the file and hands back plain arrays; if it dies, that is an error of one sentence.
"""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.matlab_variables import variables

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from closerthan.files.matlab_variables import hand_over
hand_over(sys.argv[2], sys.stdout.buffer)
"""
_PATIENCE = 60.0  # seconds, and one more per megabyte


def read_mat(path: Path) -> Mapping[str, NDArray[Any]]:
    """The variables of a .mat file that are arrays of numbers, text, or cells with text.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder) / "a.mat", {"triplets": [[1, 2, 3]]})
    ...     read_mat(Path(folder) / "a.mat")
    {'triplets': array([[1, 2, 3]])}
    """
    if not _is_interpreter(sys.executable):
        return variables(path)
    # -I: neither the current folder nor the environment decides what the other process imports.
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path), str(path)]
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["creationflags"] = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    patience = _PATIENCE + path.stat().st_size / 1e6
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=patience, check=False, **quiet)
    except subprocess.TimeoutExpired:
        raise _damaged(path, f"reading it took longer than {patience:.0f} s") from None
    except OSError:  # there are systems on which no process can be started
        return variables(path)
    return _taken_over(path, done.stdout, done.returncode)


def _taken_over(path: Path, handed: bytes, code: int) -> Mapping[str, NDArray[Any]]:
    pipe = io.BytesIO(handed)
    try:
        head = json.loads(pipe.readline())
        if "error" in head:
            raise (ImportError if head["is_library"] else ValueError)(head["error"])
        found = {name: np.lib.format.read_array(pipe, allow_pickle=False) for name in head["names"]}
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise _damaged(path, f"the process that read it ended with code {code}") from None
    if code:
        raise _damaged(path, f"the process that read it ended with code {code}")
    return found


def _damaged(path: Path, how: str) -> ValueError:
    return ValueError(f"{path} cannot be read as a MATLAB file: {how}; it is damaged, so save it again")


def _is_interpreter(program: str | None) -> bool:
    """Whether a program is Python: where another program has Python inside, starting that would be no good.

    Examples
    --------
    >>> _is_interpreter("/usr/bin/python3.12"), _is_interpreter("/opt/blender/blender"), _is_interpreter(None)
    (True, False, False)
    """
    return bool(program) and not getattr(sys, "frozen", False) and "py" in Path(str(program)).stem.lower()[:4]
