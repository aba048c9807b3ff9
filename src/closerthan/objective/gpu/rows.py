"""Maps on a GPU as kernels read them: tensors with one padded row per object."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.objective.gpu import kernels

__all__ = ["DeviceMap", "block_and_width", "or_placeholder", "rows_on", "stride_of"]

TILE = 1024  # coordinates that a Triton program handles at a time
WIDE = 64  # row width from which the 128 threads of a program can no longer hold one comparison each
VECTOR = 4  # rows are padded to a multiple of this many coordinates


class DeviceMap:
    """A map on the device with padded rows, which NumPy can convert to an array.

    Solvers pass it on without reading it, so that a large map is not copied between GPU and host.
    """

    def __init__(self, rows: torch.Tensor, n_dims: int) -> None:
        self.rows = rows
        self.shape = len(rows), n_dims

    def copy(self) -> "DeviceMap":
        return DeviceMap(self.rows.clone(), self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        plain: NDArray[Any] = self.rows[:, : self.shape[1]].double().cpu().numpy().astype(dtype or np.float64)
        return plain


def rows_on(where: torch.device, x: Array | DeviceMap, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return a map as kernels read it, with padded rows; one that is on the device keeps its precision."""
    if isinstance(x, DeviceMap):
        return x.rows
    array = np.ascontiguousarray(x, np.float64)
    padded = torch.zeros(len(array), stride_of(array.shape[1]), dtype=dtype, device=where)
    padded[:, : array.shape[1]] = torch.from_numpy(array.copy()).to(where)
    return padded


def stride_of(n_dims: int) -> int:
    """Return the number of coordinates in a padded row."""
    return -(-n_dims // VECTOR) * VECTOR


def block_and_width(stride: int, *, one_per_thread: bool = False) -> tuple[int, int]:
    """Return how many comparisons a program handles at a time, and the power of two that its rows fit in."""
    width = 1 << (stride - 1).bit_length()
    return kernels.THREADS.value if one_per_thread and width < WIDE else max(TILE // width, 4), width


def or_placeholder(tensor: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """Return the tensor or, if it is None, a placeholder: kernels need an argument even if they do not read it."""
    return other if tensor is None else tensor
