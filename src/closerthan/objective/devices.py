"""Devices by name: where an objective is evaluated."""

import dataclasses

from closerthan.objective.cpu import CPU

__all__ = ["DEVICES", "device_named"]

DEVICES = {"cpu": CPU}


def device_named(device: str | CPU, n_threads: int | None) -> CPU:
    """A device from its name or itself, with so many threads; None leaves their number to the device.

    Examples
    --------
    >>> device_named("cpu", 2)
    CPU(n_threads=2, least_part=16384, share_kernels=False)
    """
    if isinstance(device, str):
        if device not in DEVICES:
            raise ValueError(f"unknown device {device!r}; known are: {', '.join(DEVICES)}")
        return DEVICES[device](n_threads)
    if not isinstance(device, CPU):
        raise ValueError(f"device is {device!r}; it must be a device such as CPU(), or one of: {', '.join(DEVICES)}")
    return device if n_threads is None else dataclasses.replace(device, n_threads=n_threads)
