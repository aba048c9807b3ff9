"""A description of the machine that measurements were taken on."""

import platform
from pathlib import Path

from closerthan.operating_system import n_cores
from closerthan.wording import counted

__all__ = ["machine", "processor"]


def processor() -> str:
    """Return the name of the processor."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """Return the processor, number of cores, operating system and Python version of this machine."""
    return f"{processor()}, {counted(n_cores(), 'core')}, {platform.system()}, Python {platform.python_version()}"
