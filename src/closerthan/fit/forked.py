"""Forked processes, in which independent fits run without waiting for Python's global interpreter lock.

A fit makes many short calls of compiled kernels. In threads, every return from a kernel waits for the interpreter's
lock, so that more than four threads gain little. A forked process has its own lock and shares the answers and the
compiled kernels with its parent, so it starts within milliseconds.

Forking a process that has threads is safe here. Children run kernels in a single thread and never use a thread pool of
their parent, BLAS is limited to one thread, and they neither print nor write files. They leave by ``os._exit``, which
runs no exit handlers and flushes no buffers of the parent.
"""

import contextlib
import multiprocessing
import os
import pickle
import selectors
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from closerthan.arrays import one_blas_thread
from closerthan.fit.ctrl_c import CancelFlag, CtrlC
from closerthan.messages import Message
from closerthan.operating_system import can_fork

__all__ = ["processes_for", "run_forked"]

FEWEST_PROCESSES = 4  # fewer processes are not faster than threads
WORTH_FORKING = 20_000  # comparisons per process: fitting them takes about as long as forking (15 ms)


def processes_for(n_jobs: int, n_comparisons: int, n_cores: int) -> int:
    """Return the number of processes for jobs that fit ``n_comparisons`` each; 0 if there should be none.

    Examples
    --------
    >>> processes_for(2, 20_000, 16), processes_for(200, 20_000, 2)
    (0, 0)
    """
    n_processes = min(n_cores, n_jobs, n_jobs * n_comparisons // WORTH_FORKING)
    is_safe = can_fork() and threading.current_thread() is threading.main_thread()
    return n_processes if is_safe and n_processes >= FEWEST_PROCESSES else 0


def run_forked(
    jobs: Sequence[Callable[[], Any]],
    n_processes: int,
    cancelled: CancelFlag,
    completed: Callable[[Any], None] = lambda _: None,
) -> tuple[list[Any], bool]:
    """Run jobs in forked processes; return their results (None if not completed) and whether they were interrupted.

    Results are pickled. ``completed`` is called with each of them, in this process. Ctrl-C and ``cancelled`` end all
    processes at once. An exception in a job is raised here, and so is an error if a process dies.

    Examples
    --------
    >>> run_forked([lambda: 1, lambda: 2], 2, CancelFlag())
    ([1, 2], False)
    """
    results: list[Any] = [None] * len(jobs)
    waiting, n_left = iter(range(len(jobs))), len(jobs)
    children: list[_Child] = []
    # Ctrl-C only sets a flag, so that no process is forgotten. The loop notices it at once, so a second Ctrl-C need not
    # raise.
    with CtrlC(CancelFlag(cancelled), insistent=False) as ctrl_c:
        try:
            with one_blas_thread(), selectors.DefaultSelector() as selector:
                for number in range(min(n_processes, len(jobs))):
                    children.append(_Child.fork(jobs, children))
                    selector.register(children[number].pipe, selectors.EVENT_READ, children[number])
                    children[number].begin(next(waiting))
                while n_left and not ctrl_c.pressed.is_set():
                    for key, _ in selector.select(timeout=0.1):
                        number, results[number] = key.data.end()
                        n_left -= 1
                        completed(results[number])
                        key.data.begin(next(waiting, None))
        except KeyboardInterrupt:  # raised by the program's own handler
            ctrl_c.pressed.set()
        finally:
            for child in children:
                child.kill()
            for child in children:  # so that none remains as a zombie
                child.reap()
    return results, ctrl_c.pressed.is_set()


@dataclass(frozen=True)
class _Child:
    """A forked process, which runs the jobs whose numbers it receives until it is killed."""

    pid: int
    pipe: Connection

    @classmethod
    def fork(cls, jobs: Sequence[Callable[[], Any]], siblings: "Sequence[_Child]") -> "_Child":
        """Fork a process. It closes the pipes of its siblings, so that a pipe ends when one of its two users ends."""
        ours, theirs = multiprocessing.Pipe()
        with warnings.catch_warnings():
            # From version 3.12 Python warns if there are other threads; the docstring above says why this is safe.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _serve(jobs, theirs, [ours, *(sibling.pipe for sibling in siblings)])
        theirs.close()
        return cls(pid, ours)

    def begin(self, number: int | None) -> None:
        """Begin a job; None does nothing."""
        if number is not None:
            with contextlib.suppress(ConnectionError):  # the process was killed: end() will notice
                self.pipe.send(number)

    def end(self) -> tuple[int, Any]:
        """Return the number and the result of the job that has ended; raise its exception, if any."""
        try:
            reply = self.pipe.recv_bytes()
        except (EOFError, OSError):
            problem = f"a process that fits maps ended {self._how()}, perhaps because memory is exhausted"
            raise RuntimeError(Message(problem, "pass {n_threads} to fit in one process", n_threads=1)) from None
        number, result, error = pickle.loads(reply)
        if error is not None:
            raise error
        return number, result

    def _how(self) -> str:
        with contextlib.suppress(ChildProcessError):
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)  # WNOWAIT leaves the process to reap()
            if ended is not None and ended.si_code == os.CLD_KILLED:
                return f"by signal {ended.si_status}"
        return "unexpectedly"

    def kill(self) -> None:
        self.pipe.close()
        with contextlib.suppress(ProcessLookupError):  # a program that ignores SIGCHLD leaves nothing to kill or reap
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _serve(jobs: Sequence[Callable[[], Any]], pipe: Connection, others: Sequence[Connection]) -> NoReturn:
    """Run jobs in a child until it is killed or its parent has ended."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches children too; the parent ends them
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for other in others:
            other.close()
        while True:
            number = pipe.recv()
            try:
                reply = pickle.dumps((number, jobs[number](), None))
            except BaseException as error:
                reply = _pickled_error(number, error)
            pipe.send_bytes(reply)
    finally:
        os._exit(1)


def _pickled_error(number: int, error: BaseException) -> bytes:
    error.add_note(traceback.format_exc())
    try:
        reply = pickle.dumps((number, None, error))
        pickle.loads(reply)  # some exceptions can be pickled, but not unpickled
    except Exception:
        reply = pickle.dumps((number, None, RuntimeError(f"{type(error).__name__}: {error}")))
    return reply
