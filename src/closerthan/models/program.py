"""A program that answers questions: one line of JSON in, one line of JSON out."""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Self

from closerthan.operating_system import end_process

__all__ = ["Program", "ProgramError"]

PATIENCE = 5.0  # seconds that a program has to end after its input was closed


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
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(gently=True)

    def ask(self, message: str, is_reply: Callable[[str], bool], timeout: float) -> tuple[str, list[str]]:
        """Send a line and return the reply, and the lines before it that were no reply.

        Raise a :class:`ProgramError` if there is none within ``timeout`` seconds; the program is then ended.
        """
        process = self._started()
        others: list[str] = []
        deadline = time.monotonic() + timeout
        try:
            assert process.stdin is not None
            process.stdin.write(f"{message}\n")
            process.stdin.flush()
            while True:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.0))
                if line is None:
                    raise ProgramError(f"the program ended{_exit_code(process)} without a reply")
                if is_reply(line):
                    return line, others
                others.append(line)
        except queue.Empty:
            self._end()
            hint = "; it must write each reply on one line and flush its output" if not others else ""
            raise ProgramError(f"no reply within {timeout:g} s{hint}") from None
        except (OSError, ValueError) as error:  # the program closed its input, or was ended by stop()
            self._end()
            raise ProgramError(f"the program does not read questions{_exit_code(process)} ({error})") from None
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
            self._process, self._lines = process, queue.SimpleQueue()
            threading.Thread(target=_read_lines, args=(process, self._lines), daemon=True).start()
            return process

    def _end(self, gently: bool = False) -> None:
        with self._lock:
            process, self._process = self._process, None
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


def _read_lines(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str | None]") -> None:
    """Put the lines that a program writes into a queue, and None at the end."""
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError), process.stdout:
        for line in process.stdout:
            lines.put(line.rstrip("\r\n"))
    lines.put(None)


def _exit_code(process: "subprocess.Popen[str]") -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        return f" with exit code {process.wait(0.5)}"
    return ""
