"""Devices by name: where an objective is evaluated."""

import contextlib
import dataclasses
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

from closerthan.checks import ParameterError
from closerthan.compiled.threads import WorkerPool
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.protocol import Device

if TYPE_CHECKING:
    from closerthan.objective.dot_products import PairLikelihood, ShownPairs
    from closerthan.objective.wrapped import LocalDevice

__all__ = ["DEVICES", "device_named", "dot_products_on", "has_gpu", "local_device"]

DEVICES = ("cpu", "cuda", "auto")
WORTH_A_GPU = 2_000_000  # with fewer comparisons, a fit on two cores finishes before a GPU has started


def device_named(device: str | Device, n_threads: int | None, n_comparisons: int = 0) -> Device:
    """Return the device with a given name, or the device itself; ``n_threads=None`` keeps its number of threads.

    "auto" is a GPU if there is one and there are enough comparisons to benefit from it.

    Examples
    --------
    >>> device_named("cpu", 2)
    CPU(n_threads=2, least_part=16384, share_kernels=False, ...)
    >>> device_named("auto", 2, n_comparisons=1000)
    CPU(n_threads=2, least_part=16384, share_kernels=False, ...)
    """
    if isinstance(device, str):
        return local_device(device, n_threads, n_comparisons)
    if isinstance(device, type) or not isinstance(device, Device):
        raise ParameterError("device", device, f"it must be a device such as CPU(), or one of: {', '.join(DEVICES)}")
    if n_threads is None or not isinstance(device, CPU):
        return device
    return dataclasses.replace(device, n_threads=n_threads)


def local_device(name: str, n_threads: int | None, n_comparisons: int = 0) -> "LocalDevice":
    """Return the device with this name, for one process."""
    kind, _, number = name.partition(":")
    if kind not in DEVICES or (number and not (kind == "cuda" and number.isdecimal())):
        raise ValueError(f"unknown device {name!r}; choose from: {', '.join(DEVICES)}, and cuda:1 for a second GPU")
    if kind == "cpu" or (kind == "auto" and not (n_comparisons >= WORTH_A_GPU and has_gpu())):
        return CPU(n_threads)
    if not _has_torch():
        raise ValueError('device="cuda" needs PyTorch, which is not installed; run: pip install "closerthan[torch]"')
    from closerthan.objective.gpu.objective import GPU

    gpu = GPU("cuda" if kind == "auto" else name)
    gpu.checked()
    return gpu


def has_gpu() -> bool:
    """Return whether PyTorch and Triton are installed and find a GPU."""
    if not _has_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None and importlib.util.find_spec("triton") is not None


@contextlib.contextmanager
def dot_products_on(name: str, pairs: "ShownPairs", n_threads: int | None) -> "Iterator[PairLikelihood]":
    """Yield the likelihood of choices by dot products on the device with this name."""
    device = local_device(name, n_threads, n_comparisons=len(pairs.answers))
    if isinstance(device, CPU):
        from closerthan.objective.dot_products import DotProducts

        with WorkerPool(device.threads - 1) as pool:
            yield DotProducts(pairs, pool)
    else:
        from closerthan.objective.gpu.dot_products import DotProductsOnGPU

        yield DotProductsOnGPU(pairs, device.name)
