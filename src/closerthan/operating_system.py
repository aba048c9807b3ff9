"""Calls to the operating system that differ between Linux, macOS and Windows, each with a fallback.

All other modules use these functions instead of the calls themselves. A function takes the module that provides a call
(``os``, ``fcntl``) as an argument, so that tests can simulate a system that lacks it.
"""

import contextlib
import errno
import os
import platform
import signal
import sys
import threading
from types import ModuleType
from typing import Any

try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None  # type: ignore[assignment]
try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]

__all__ = [
    "allow_many_files",
    "allow_restart",
    "can_fork",
    "end_process",
    "has_pause",
    "lower_priority",
    "make_private",
    "n_cores",
    "open_private",
    "open_to_read",
    "read_at",
    "sync",
    "try_lock",
    "write_at",
]

MOST_BYTES = 1 << 30  # per call: macOS refuses to read or write 2 GiB at once
_POSITION = threading.Lock()  # held while the shared position of a descriptor is set and used


def open_to_read(path: str | os.PathLike[str], system: Any = os) -> int:
    """Open a file, or a folder where the system can open one, and return its descriptor.

    The flags keep Windows from translating line endings, and keep other systems from blocking on a named pipe.
    """
    flags = system.O_RDONLY | getattr(system, "O_BINARY", 0) | getattr(system, "O_NONBLOCK", 0)
    descriptor: int = system.open(path, flags)
    return descriptor


def read_at(descriptor: int, buffer: memoryview, offset: int, system: Any = os) -> int:
    """Read bytes at an offset into a buffer; return how many were read, 0 at the end of the file.

    Several threads may read at once. Where no single call reads at an offset (Windows), a lock protects the position.
    """
    buffer = buffer[:MOST_BYTES]
    if hasattr(system, "preadv"):
        return int(system.preadv(descriptor, [buffer], offset))
    with _POSITION:
        system.lseek(descriptor, offset, os.SEEK_SET)
        data = system.read(descriptor, min(len(buffer), 1 << 26))
    buffer[: len(data)] = data
    return len(data)


def write_at(descriptor: int, data: memoryview, offset: int, system: Any = os) -> int:
    """Write bytes at an offset; return how many were written, which may be fewer than there are."""
    data = data[:MOST_BYTES]
    if hasattr(system, "pwrite"):
        return int(system.pwrite(descriptor, data, offset))
    with _POSITION:
        system.lseek(descriptor, offset, os.SEEK_SET)
        return int(system.write(descriptor, data))


def try_lock(descriptor: int, fcntl: ModuleType | Any | None = _fcntl) -> bool:
    """Lock an open file or folder against other processes; return False if it is locked or there are no locks.

    The lock is released when the descriptor is closed or the process ends.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync(path: str | os.PathLike[str], system: Any = os) -> None:
    """Flush a file, or the list of names in a folder, from the system's memory to the disk.

    Windows can neither open folders nor sync a file that is open for reading only, and some file systems cannot sync
    folders. Folders are then left to the system.
    """
    on_windows = system.name == "nt"
    with contextlib.suppress(PermissionError):
        descriptor = system.open(path, system.O_RDWR if on_windows else system.O_RDONLY)
        try:
            system.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            system.close(descriptor)


def open_private(path: str, flags: int, system: Any = os) -> int:
    """Open a file that only its owner may read, as an ``opener`` of :func:`open`; Windows has no such permissions."""
    return int(system.open(path, flags, 0o600))


def make_private(path: str | os.PathLike[str], system: Any = os) -> None:
    """Let only the owner read and write a file; nothing is done on Windows, where files inherit these rights."""
    if system.name == "posix":
        system.chmod(path, 0o600)


def lower_priority(system: Any = os) -> None:
    """Lower the priority of this process; nothing is done where the system does not support it (Windows)."""
    if hasattr(system, "nice"):
        with contextlib.suppress(OSError):
            system.nice(10)


def allow_restart(listening: Any, constants: Any) -> None:
    """Let a restarted server use its port again at once, but not a port that another server is using.

    ``constants`` is the module :mod:`socket`. On Windows ``SO_REUSEADDR`` would also allow the latter; there, a port is
    free at once in any case.
    """
    option = getattr(constants, "SO_EXCLUSIVEADDRUSE", constants.SO_REUSEADDR)
    listening.setsockopt(constants.SOL_SOCKET, option, 1)


def allow_many_files(number: int, limits: Any = _resource) -> int | None:
    """Let this process open up to ``number`` files if the system permits it; return the limit, None if unknown.

    ``limits`` is the module :mod:`resource`, which Windows lacks; its limit is high enough.
    """
    if limits is None:
        return None
    soft, hard = limits.getrlimit(limits.RLIMIT_NOFILE)
    if soft != limits.RLIM_INFINITY and soft < number:
        soft = number if hard == limits.RLIM_INFINITY else min(number, hard)
        limits.setrlimit(limits.RLIMIT_NOFILE, (soft, hard))
    return number if soft == limits.RLIM_INFINITY else int(soft)


def n_cores(system: Any = os) -> int:
    """Return the number of cores that this process may use, or that the computer has where that is unknown."""
    if hasattr(system, "sched_getaffinity"):
        return len(system.sched_getaffinity(0))
    return system.cpu_count() or 1


def can_fork(system: Any = os, name: str = sys.platform) -> bool:
    """Return whether a process with threads can be forked: not on Windows, and not safely on macOS.

    Examples
    --------
    >>> can_fork(name="darwin")
    False
    """
    return name == "linux" and hasattr(system, "fork")


def has_pause(machine: str | None = None) -> bool:
    """Return whether the processor has the x86 instruction ``pause``, which lets the core's other thread proceed.

    Examples
    --------
    >>> has_pause("x86_64"), has_pause("AMD64"), has_pause("arm64")
    (True, True, False)
    """
    return (machine or platform.machine()).lower() in ("x86_64", "amd64")


def end_process(process: Any, system: Any = os) -> None:
    """End a process and its children; it must have been started with ``start_new_session=True``."""
    if hasattr(system, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            system.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
