"""Variables of MATLAB files, read by SciPy up to version 7 and by h5py in version 7.3 (which is HDF5)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.binary.hdf5 import RefusedError, check_inside, inside
from closerthan.files.formats.extras import extra

__all__ = ["variables"]


def variables(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the variables of a .mat file that are arrays of numbers, text, or cells with text.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder) / "a.mat", {"triplets": [[1, 2, 3]]})
    ...     variables(Path(folder) / "a.mat")
    {'triplets': array([[1, 2, 3]])}
    """
    with open(path, "rb") as file:
        beginning = file.read(520)
    # MATLAB writes a header of 512 bytes before the HDF5 signature.
    if b"\x89HDF\r\n" in (beginning[:6], beginning[512:518]):
        return _version_7_3(path)
    return _version_5(path)


def _version_5(path: Path) -> Mapping[str, NDArray[Any]]:
    from scipy import io

    try:
        content = io.loadmat(path, chars_as_strings=True)
    except Exception as error:  # loadmat raises many types of exceptions for a damaged file
        raise ValueError(f"{path} cannot be read as a MATLAB file: {error}") from None
    return {name: _plain(value) for name, value in content.items() if not name.startswith("__") and _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.names:
        return False
    return value.dtype.kind in "biufU" or (value.dtype == object and all(_is_text(cell) for cell in value.flat))


def _is_text(cell: Any) -> bool:
    return isinstance(cell, np.ndarray) and (cell.dtype.kind == "U" or cell.size <= 1) and cell.dtype != object


def _plain(value: NDArray[Any]) -> NDArray[Any]:
    if value.dtype != object:
        return value
    cells = ["".join(map(str, cell.ravel().tolist())) for cell in value.flat]
    return np.array(cells, dtype=str).reshape(value.shape)


def _version_7_3(path: Path) -> Mapping[str, NDArray[Any]]:
    h5py = extra("h5py", "reading a MATLAB file of version 7.3")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with h5py.File(path, "r") as file:
            for name in file:
                value = inside(path, file, name)
                if value is None:
                    continue
                if h5py.check_ref_dtype(value.dtype) is not None:
                    cells = value[()]
                    targets = [file[reference] for reference in cells.flat]
                    for target in targets:
                        check_inside(path, name, target)
                    text = [_text(target) for target in targets]
                    arrays[name] = np.array(text, dtype=str).reshape(cells.shape).T
                elif value.attrs.get("MATLAB_class") == b"char":
                    arrays[name] = np.array(_text(value))
                elif value.dtype.kind in "biuf":
                    arrays[name] = np.asarray(value[()]).T  # MATLAB stores arrays in column-major order
    except RefusedError:
        raise
    except Exception as error:  # h5py raises many types of exceptions for a damaged file
        raise ValueError(f"{path} cannot be read as a MATLAB file of version 7.3: {error}") from None
    return arrays


def _text(dataset: Any) -> str:
    """Return a MATLAB string, or numbers as text; characters are stored as UTF-16 code units."""
    if "MATLAB_empty" in dataset.attrs:
        return ""
    values = np.ravel(dataset[()])
    if dataset.attrs.get("MATLAB_class") == b"char":
        return values.astype("<u2").tobytes().decode("utf-16-le")
    return ", ".join(f"{value:g}" for value in values.tolist())
