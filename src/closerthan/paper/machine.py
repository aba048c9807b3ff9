"""The machine that numbers were measured on, in words."""

import os
import platform
from pathlib import Path

__all__ = ["machine", "n_cores", "processor"]


def n_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """This machine in a few words: processor, cores, operating system, Python."""
    return f"{processor()}, {n_cores()} cores, {platform.system()}, Python {platform.python_version()}"
