"""The server's handle on the process that refits the map."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FAILED", "RefitProcess", "answers_between_refits"]

FAILED = "failed: "
"""The beginning of the line that the process prints if a refit fails; the reason follows."""

MORE = 0.02  # fraction of the answers that must be new before the next refit, if that is more than one per object


def answers_between_refits(every: int, n_answers: int) -> int:
    """Return the number of new answers after which a refit is due: ``every``, or a fiftieth of all if that is more."""
    return max(every, int(MORE * n_answers))


class RefitProcess:
    """Requests refits, one at a time, without waiting for the result.

    A refit is due after ``every`` answers, or after a fiftieth of all answers if that is more. A process that dies or
    cannot be started is started again when the next refit is due; participants get random questions in the meantime,
    and ``problem`` says why.

    A thread of its own starts the process and reads its replies: starting a process or a thread takes memory, and can
    fail or block when there is little, which must not keep answers from being acknowledged.

    Parameters
    ----------
    folder
        The folder of the study.
    every
        Number of answers between two refits.
    command
        The command line of the process, without the folder.

    Attributes
    ----------
    problem
        Why the latest refit failed; empty if it succeeded.
    """

    def __init__(
        self,
        folder: Path,
        every: int,
        command: Sequence[str] = (sys.executable, "-m", "closerthan.collect.choosing.refit"),
    ) -> None:
        self._command, self._every, self._due = [*command, str(folder)], every, every
        # Number of answers since the last refit. The first refit is due immediately, because it fills the queue.
        self._new = every
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._stopped = self._is_outdated = False
        self.problem = ""

    def start(self) -> None:
        """Start the first refit, and wait for answers."""
        self._thread = threading.Thread(target=self._work, name="refits", daemon=True)
        self._thread.start()

    def answered(self) -> None:
        """Count an answer. A refit follows if one is due."""
        with self._changed:
            self._new += 1
            self._changed.notify()

    def renew(self) -> None:
        """Request a refit because other answers count now; if one is running, another one follows it."""
        with self._changed:
            self._is_outdated = True
            self._changed.notify()

    def stop(self) -> None:
        """Stop the process."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is None:
            return
        self._thread.join(0.5)  # an idle process ends at once
        while self._thread.is_alive():
            if self._process is not None:
                self._process.kill()  # a refit can be repeated at any time
            self._thread.join(0.1)

    def _work(self) -> None:
        while self._wait_until_due():
            try:
                self._refit()
            except (OSError, MemoryError) as error:  # no more files or memory, or Python was upgraded
                self.problem = f"the process that fits the map cannot be started ({str(error) or 'no memory'})"
        self._end_process()

    def _wait_until_due(self) -> bool:
        """Wait until a refit is due, and return True; return False when there are no more refits."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._new >= self._due or self._is_outdated)
            self._new, self._is_outdated = 0, False
            return not self._stopped

    def _refit(self) -> None:
        """Let the process refit the map, and wait for its reply."""
        if self._process is not None and self._process.poll() is not None:  # it died after the latest refit
            self._end_process()
        if self._process is None:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the process has just died
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        reply = self._process.stdout.readline()
        if not reply:
            status = self._end_process()
            if not self._stopped:
                self.problem = f"the process that fits the map ended with status {status}; the server's log says why"
        elif reply.strip().isdecimal():
            self.problem = ""
            self._due = answers_between_refits(self._every, int(reply))
        else:
            self.problem = reply.removeprefix(FAILED).strip()

    def _end_process(self) -> int | None:
        """Wait until the process has ended, and return its status; None if there is no process."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(BrokenPipeError), process:  # closing the pipes ends the process
            pass
        return process.returncode
