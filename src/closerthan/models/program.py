"""A program that answers questions: one line of JSON in, one line of JSON out."""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Self

from closerthan.operating_system import end_process
from closerthan.wording import counted

__all__ = ["Program", "ProgramError"]

PATIENCE = 5.0  # seconds that a program has to end after its input was closed
LONGEST_LINE = 1 << 20  # characters; a longer line is read as several
MOST_UNREAD = 1000  # lines that are read ahead
MOST_OTHER = 100  # lines besides the reply that are kept for the record
LONGEST_OTHER = 1000  # characters of each of them


class ProgramError(Exception):
    """The program ended, or did not reply in time."""


class Program:
    """A running program; it is started for the first question and again after it ended.

    Parameters
    ----------
    command
        The program and its arguments. No shell interprets them.
    errors
        An open file for what the program writes to its standard error stream.
    """

    def __init__(self, command: Sequence[str], errors: IO[bytes]) -> None:
        self._command, self._errors = list(command), errors
        self._process: subprocess.Popen[str] | None = None
        self._lines = _Lines()
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(gently=True)

    def ask(self, message: str, is_reply: Callable[[str], bool], timeout: float) -> tuple[str, list[str]]:
        """Send a line and return the reply, with any other lines that came before it (the first ones, shortened).

        Raise a :class:`ProgramError` if there is none within ``timeout`` seconds; the program is then ended.
        """
        process = self._started()
        others: list[str] = []
        n_others = 0
        deadline = time.monotonic() + timeout
        try:
            assert process.stdin is not None
            process.stdin.write(f"{message}\n")
            process.stdin.flush()
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:  # a program that writes without end leaves the queue never empty
                    raise queue.Empty
                line = self._lines.get(min(remaining, threading.TIMEOUT_MAX))
                if line is None:
                    raise ProgramError(f"the program ended{_exit_code(process)} without a reply")
                if is_reply(line):
                    return line, others
                n_others += 1
                if n_others <= MOST_OTHER:
                    others.append(line[:LONGEST_OTHER])
        except queue.Empty:
            self._end()
            hint = (
                f"; it wrote {counted(n_others, 'line')}, but none with the id of the question"
                if n_others
                else "; it must write each reply on one line and flush its output"
            )
            raise ProgramError(f"no reply within {timeout:g} s{hint}") from None
        except (OSError, ValueError):  # the program ended or closed its input, or was ended by stop()
            exit_code = _exit_code(process)
            self._end()
            problem = f"the program ended{exit_code} without a reply" if exit_code else "the program closed its input"
            raise ProgramError(problem) from None
        except ProgramError:
            self._end()
            raise

    def stop(self) -> None:
        """End the program at once and for good; it may be called from another thread."""
        self._is_closed = True
        self._end()

    def _started(self) -> "subprocess.Popen[str]":
        with self._lock:
            if self._is_closed:
                raise ProgramError("the program was stopped")
            if self._process is not None:
                return self._process
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,  # so that its children can be ended, too
                )
            except OSError as error:
                raise ValueError(f"{self._command[0]} cannot be started: {error.strerror or error}") from None
            self._process, self._lines = process, _Lines()
            threading.Thread(target=self._lines.read, args=(process,), daemon=True).start()
            return process

    def _end(self, gently: bool = False) -> None:
        with self._lock:
            process, self._process = self._process, None
            self._lines.discard()
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        if gently:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        end_process(process)
        process.wait()


class _Lines:
    """The lines that a program writes, read ahead by a thread; at most ``MOST_UNREAD`` wait."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str | None] = queue.Queue(MOST_UNREAD)
        self._is_discarded = False

    def get(self, timeout: float) -> str | None:
        """Return the next line, or None at the end of the output; raise queue.Empty if there is none in time."""
        return self._queue.get(timeout=timeout)

    def discard(self) -> None:
        """Let the thread end; its lines are no longer needed."""
        self._is_discarded = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()

    def read(self, process: "subprocess.Popen[str]") -> None:
        """Read all lines of a program."""
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError), process.stdout:
            while not self._is_discarded and (line := process.stdout.readline(LONGEST_LINE)):
                self._queue.put(line.rstrip("\r\n"))
        self._queue.put(None)  # this cannot block: discard() empties the queue


def _exit_code(process: "subprocess.Popen[str]") -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return f" with exit code {process.wait(0.5)}"
    return ""
