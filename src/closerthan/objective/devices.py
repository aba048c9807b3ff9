"""Devices by name: where an objective is evaluated."""

import dataclasses
import importlib.util
from typing import TYPE_CHECKING

from closerthan.checks import ParameterError
from closerthan.objective.cpu.objective import CPU
from closerthan.objective.protocol import Device
from closerthan.objective.several.processes import Launch

if TYPE_CHECKING:
    from closerthan.objective.several.objective import Distributed

__all__ = ["DEVICES", "device_named", "joined"]

DEVICES = ("cpu", "cuda", "auto")
WORTH_A_GPU = 2_000_000  # comparisons: with fewer, a fit on two cores is over before a GPU has begun


def device_named(device: str | Device, n_threads: int | None, n_comparisons: int = 0) -> Device:
    """A device from its name or itself, with so many threads; None leaves their number to the device.

    "auto" is the GPU where there is one and the comparisons are many enough to gain from it.

    Examples
    --------
    >>> device_named("cpu", 2)
    CPU(n_threads=2, least_part=16384, share_kernels=False, ...)
    >>> device_named("auto", 2, n_comparisons=1000)
    CPU(n_threads=2, least_part=16384, share_kernels=False, ...)
    """
    if not isinstance(device, str):
        if isinstance(device, type) or not all(
            hasattr(device, name) for name in ("objective", "name", "threads", "kind")
        ):
            raise ParameterError(
                "device", device, f"it must be a device such as CPU(), or one of: {', '.join(DEVICES)}"
            )
        if n_threads is None or not isinstance(device, CPU):
            return device
        return dataclasses.replace(device, n_threads=n_threads)
    name, _, number = device.partition(":")
    if name not in DEVICES or (number and not (name == "cuda" and number.isdecimal())):
        raise ValueError(f"unknown device {device!r}; known are: {', '.join(DEVICES)}, and cuda:1 for a second GPU")
    if name == "cpu" or (name == "auto" and not (n_comparisons >= WORTH_A_GPU and _has_gpu())):
        return CPU(n_threads)
    if not _has_torch():
        raise ValueError('device="cuda" needs PyTorch, which is not installed; run: pip install "closerthan[torch]"')
    from closerthan.objective.gpu.objective import GPU

    gpu = GPU("cuda" if name == "auto" else device)
    gpu.checked()
    return gpu


def joined(device: str, n_threads: int | None, launch: Launch) -> "Distributed":
    """The device of a fit by several processes, of which this is one."""
    if importlib.util.find_spec("torch") is None:
        raise ValueError(
            f"this is process {launch.rank + 1} of {launch.n}, and a fit by several needs PyTorch, which is not "
            'installed; run: pip install "closerthan[torch]", or start one process'
        )
    import torch

    from closerthan.objective.several.objective import Distributed, Group

    on_gpu = device.startswith("cuda") or (device == "auto" and _has_gpu())
    if on_gpu and torch.cuda.is_available():
        torch.cuda.set_device(launch.local_rank % torch.cuda.device_count())
    torch.set_num_threads(1)  # of PyTorch: it adds maps up; the threads that walk are ours
    return Distributed(device_named("cuda" if on_gpu else "cpu", n_threads), Group(launch, on_gpu=on_gpu))


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None and importlib.util.find_spec("triton") is not None


def _has_gpu() -> bool:
    if not _has_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())
