"""Calls to the operating system work where it lacks them: on simulated systems without them."""

import errno
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from closerthan import operating_system
from closerthan.operating_system import (
    allow_many_files,
    allow_restart,
    can_fork,
    lower_priority,
    make_private,
    n_cores,
    open_to_read,
    read_at,
    sync,
    try_lock,
    write_at,
)

WINDOWS = SimpleNamespace(
    name="nt", O_RDONLY=os.O_RDONLY, O_RDWR=os.O_RDWR, O_BINARY=0, cpu_count=os.cpu_count,
    open=os.open, close=os.close, lseek=os.lseek, read=os.read, write=os.write, fsync=os.fsync,
)  # fmt: skip
SYSTEMS = pytest.mark.parametrize("system", [os, WINDOWS], ids=["this system", "Windows"])


@pytest.fixture
def file(tmp_path):
    with open(tmp_path / "file", "w+b") as file:
        yield file


@SYSTEMS
def test_bytes_are_read_where_they_were_written(system, file):
    data = np.arange(1000, dtype=np.uint8).data
    assert write_at(file.fileno(), data[500:], 500, system) == 500
    assert write_at(file.fileno(), data[:500], 0, system) == 500
    buffer = bytearray(300)
    assert read_at(file.fileno(), memoryview(buffer), 400, system) == 300
    assert buffer == bytes(data[400:700])


@SYSTEMS
def test_nothing_is_read_beyond_the_end(system, file):
    assert read_at(file.fileno(), memoryview(bytearray(3)), 10, system) == 0


@SYSTEMS
def test_threads_that_share_a_descriptor_do_not_disturb_each_other(system, file):
    content = np.random.default_rng(0).integers(256, size=50_000, dtype=np.uint8)
    write_at(file.fileno(), content.data, 0, system)
    wrong = []

    def read(offset):
        for _ in range(200):
            buffer = bytearray(100)
            read_at(file.fileno(), memoryview(buffer), offset, system)
            if buffer != content[offset : offset + 100].tobytes():
                wrong.append(offset)

    threads = [threading.Thread(target=read, args=(offset,)) for offset in range(0, 40_000, 10_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("name", ["preadv", "pwrite"])
def test_no_call_is_asked_for_more_than_a_system_accepts(name, monkeypatch):
    sizes = []
    system = SimpleNamespace(
        preadv=lambda _, buffers, __: sizes.append(len(buffers[0])) or 5,
        pwrite=lambda _, data, __: sizes.append(len(data)) or 5,
    )
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (3 << 30,), (0,))
    call = {"preadv": read_at, "pwrite": write_at}[name]
    assert call(0, _Sized(huge), 0, system) == 5
    assert sizes == [operating_system.MOST_BYTES]


class _Sized:
    """As much of a memory view as the functions use, without the memory."""

    def __init__(self, array):
        self._array = array

    def __getitem__(self, part):
        return _Sized(self._array[part])

    def __len__(self):
        return len(self._array)


def test_a_lock_is_held_by_one_descriptor_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    first, second = open_to_read(tmp_path), open_to_read(tmp_path)
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)


def test_without_locks_nothing_is_locked(file):
    assert not try_lock(file.fileno(), fcntl=None)


@SYSTEMS
def test_a_file_is_synced(system, file):
    sync(file.name, system)


def test_a_folder_that_cannot_be_opened_or_synced_is_left_to_the_system(tmp_path):
    def refuse(code):
        def call(*_):
            raise OSError(code, os.strerror(code))

        return call

    sync(tmp_path, SimpleNamespace(**{**vars(WINDOWS), "open": refuse(errno.EACCES)}))
    sync(tmp_path, SimpleNamespace(**{**vars(WINDOWS), "open": os.open, "O_RDWR": 0, "fsync": refuse(errno.EINVAL)}))
    with pytest.raises(OSError, match="space"):
        sync(tmp_path, SimpleNamespace(**{**vars(WINDOWS), "O_RDWR": 0, "fsync": refuse(errno.ENOSPC)}))


def test_permissions_are_changed_where_there_are_some(file):
    make_private(file.name, WINDOWS)
    if os.name == "posix":
        make_private(file.name)
        assert os.stat(file.name).st_mode & 0o777 == 0o600


def test_priority_is_lowered_where_that_is_possible():
    calls = []
    lower_priority(SimpleNamespace(nice=calls.append))
    lower_priority(WINDOWS)
    assert calls == [10]


def test_no_port_is_taken_from_another_server_on_windows():
    windows = SimpleNamespace(SOL_SOCKET=1, SO_REUSEADDR=4, SO_EXCLUSIVEADDRUSE=-5)
    options = []
    listening = SimpleNamespace(setsockopt=lambda *option: options.append(option))
    allow_restart(listening, windows)
    allow_restart(listening, SimpleNamespace(SOL_SOCKET=1, SO_REUSEADDR=2))
    assert options == [(1, -5, 1), (1, 2, 1)]


def test_cores_are_those_of_the_computer_where_a_process_cannot_be_bound_to_some():
    assert n_cores(SimpleNamespace(cpu_count=lambda: 6)) == 6
    assert n_cores(SimpleNamespace(cpu_count=lambda: None)) == 1
    assert n_cores(SimpleNamespace(sched_getaffinity=lambda _: {0, 3}, cpu_count=lambda: 6)) == 2


def test_only_linux_processes_with_threads_are_forked():
    assert can_fork(os, "linux") == hasattr(os, "fork")
    assert not can_fork(os, "darwin")
    assert not can_fork(WINDOWS, "win32")


class Limits:
    """A stand-in for the module resource."""

    RLIMIT_NOFILE, RLIM_INFINITY = 7, -1

    def __init__(self, soft, hard):
        self.now = (soft, hard)

    def getrlimit(self, _):
        return self.now

    def setrlimit(self, _, limits):
        self.now = limits


@pytest.mark.parametrize(
    ("soft", "hard", "after"),
    [(1024, 4096, 4096), (1024, -1, 8000), (1024, 9000, 8000), (9000, 9000, 9000), (-1, -1, -1)],
)
def test_the_limit_of_open_files_is_raised_as_far_as_the_system_permits(soft, hard, after):
    limits = Limits(soft, hard)
    assert allow_many_files(8000, limits) == (8000 if after == -1 else after)
    assert limits.now == (after, hard)
    assert allow_many_files(8000, None) is None
