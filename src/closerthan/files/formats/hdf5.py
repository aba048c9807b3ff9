"""HDF5 files, by h5py: their arrays, as long as these are inside the file and no larger than answers are."""

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
    """A file that asks for the content of others, or for more memory than any answers need."""


def datasets(path: Path) -> Mapping[str, NDArray[Any]]:
    """The arrays of numbers or text at the top of an HDF5 file, and in the groups there (``content/n_select``).

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
    found: dict[str, NDArray[Any]] = {}
    try:
        with h5py.File(path, "r") as file:
            inner = [f"{name}/{part}" for name in file if inside(path, file, name) is None for part in file[name]]
            for name in (*file, *inner):
                value = inside(path, file, name)
                if value is None:
                    continue
                if value.dtype.kind in "biuf":
                    found[name] = np.asarray(value[()])
                elif value.dtype.kind in "OS" and h5py.check_string_dtype(value.dtype) is not None:
                    cells = np.asarray(value[()])
                    text = [text_of(cell) for cell in cells.reshape(-1).tolist()]
                    found[name] = np.array(text, dtype=str).reshape(cells.shape)
    except RefusedError:
        raise
    except Exception as error:  # h5py raises many kinds for a damaged file
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as an HDF5 file: {reason}") from None
    return found


def inside(path: Path, file: Any, name: str) -> Any:
    """The dataset of this name; None if it is a group."""
    h5py = extra("h5py", "reading an HDF5 file")
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise _elsewhere(path, name)
    value = file[name]
    if not isinstance(value, h5py.Dataset):
        return None
    check_inside(path, name, value)
    return value


def check_inside(path: Path, name: str, dataset: Any) -> None:
    """The numbers are in this file: HDF5 can put together a variable from any files that the reader may read.

    What was never written needs no byte in the file, and may be of any size.
    """
    if dataset.external or dataset.is_virtual:
        raise _elsewhere(path, name)
    bomb = too_large(int(dataset.size or 0) * dataset.dtype.itemsize, path.stat().st_size)
    if bomb:
        raise RefusedError(f"{path}, {name!r}: {bomb}")


def _elsewhere(path: Path, name: str) -> RefusedError:
    return RefusedError(f"{path}: {name!r} is a link or lies in another file, and no other file is read; copy it in")
