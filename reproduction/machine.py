"""The machine that numbers were measured on, in words."""

import platform
from pathlib import Path

from closerthan.operating_system import n_cores

__all__ = ["machine", "processor"]


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
