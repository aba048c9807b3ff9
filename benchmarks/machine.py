"""A description of the machine that measurements were taken on, and its load."""

import os
import platform
import sys
from importlib import metadata

from reproduction.machine import processor

from closerthan.operating_system import n_cores

__all__ = ["described", "load", "n_cores"]


def described() -> dict[str, str]:
    packages = ("closerthan", "numpy", "numba", "scipy", "scikit-learn")
    return {
        "processor": processor(),
        "cores": str(n_cores()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: _version(package) for package in packages},
    }


def load() -> float | None:
    """Return the average number of runnable processes during the last minute; a high load makes timings unreliable."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _memory() -> str:
    if sys.platform == "win32":
        return "unknown"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
