"""Read arrays of HDF5 files with h5py; links to other files and implausibly large arrays are refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons import text_of
from closerthan.files.formats.extras import extra
from closerthan.files.formats.sizes import too_large

__all__ = ["RefusedError", "check_inside", "datasets", "inside"]


class RefusedError(ValueError):
    """The file refers to the content of other files, or needs an implausible amount of memory."""


def datasets(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of numbers or text at the root of an HDF5 file and in its top-level groups.

    Examples
    --------
    >>> import h5py, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with h5py.File(Path(folder) / "a.hdf5", "w") as file:
    ...         file["n_select"] = [1, 2]
    ...     datasets(Path(folder) / "a.hdf5")
    {'n_select': array([1, 2])}
    """
    h5py = extra("h5py", "reading an HDF5 file")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with h5py.File(path, "r") as file:
            inner = [f"{name}/{part}" for name in file if inside(path, file, name) is None for part in file[name]]
            for name in (*file, *inner):
                value = inside(path, file, name)
                if value is None:
                    continue
                if value.dtype.kind in "biuf":
                    arrays[name] = np.asarray(value[()])
                elif value.dtype.kind in "OS" and h5py.check_string_dtype(value.dtype) is not None:
                    cells = np.asarray(value[()])
                    text = [text_of(cell) for cell in cells.reshape(-1).tolist()]
                    arrays[name] = np.array(text, dtype=str).reshape(cells.shape)
    except RefusedError:
        raise
    except Exception as error:  # h5py raises many types of exceptions for a damaged file
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as an HDF5 file: {reason}") from None
    return arrays


def inside(path: Path, file: Any, name: str) -> Any:
    """Return the dataset of this name; None if it is a group."""
    h5py = extra("h5py", "reading an HDF5 file")
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise _external(path, name)
    value = file[name]
    if not isinstance(value, h5py.Dataset):
        return None
    check_inside(path, name, value)
    return value


def check_inside(path: Path, name: str, dataset: Any) -> None:
    """Raise an error unless the data are stored in this file and have a plausible size.

    HDF5 can assemble a dataset from any file that the user may read, and a dataset that was never written takes no
    space in the file but may have any size.
    """
    if dataset.external or dataset.is_virtual:
        raise _external(path, name)
    problem = too_large(int(dataset.size or 0) * dataset.dtype.itemsize, path.stat().st_size)
    if problem:
        raise RefusedError(f"{path}, {name!r}: {problem}")


def _external(path: Path, name: str) -> RefusedError:
    return RefusedError(
        f"{path}: {name!r} is a link or is stored in another file, and other files are not read; copy the data into "
        "this file"
    )
