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
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._busy = self._stopped = self._is_outdated = False
        self.problem = ""

    def answered(self) -> None:
        """Count an answer, and request a refit if one is due."""
        with self._lock:
            self._new += 1
        self.request()

    def renew(self) -> None:
        """Request a refit because other answers count now; if one is running, another one follows it."""
        with self._lock:
            self._is_outdated = True
        self.request()

    def request(self) -> None:
        """Start a refit if one is due and none is running. Failures are recorded in ``problem`` and never raised."""
        with self._lock:
            if self._busy or self._stopped or (self._new < self._due and not self._is_outdated):
                return
            self._new, self._is_outdated = 0, False
            try:
                if self._process is None or self._process.poll() is not None:
                    self._process = self._started()
                assert self._process.stdin is not None
                self._process.stdin.write("\n")
                self._process.stdin.flush()
                self._busy = True
            except (OSError, RuntimeError) as error:  # no more files, memory or threads, or Python was upgraded
                self.problem = f"the process that fits the map cannot be started ({error})"

    def _started(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        except RuntimeError:
            process.kill()
            process.wait()
            raise
        return process

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._lock:
                self._busy = False
                if line.startswith(FAILED):
                    self.problem = line.removeprefix(FAILED).strip()
                else:
                    self.problem = ""
                    self._due = answers_between_refits(self._every, int(line))
            self.request()
        status = process.wait()
        process.stdout.close()
        with self._lock:
            assert process.stdin is not None
            with contextlib.suppress(OSError):  # the process died before it read everything
                process.stdin.close()
            self._busy = False
            if not self._stopped:
                self.problem = f"the process that fits the map ended with status {status}; the server's log says why"

    def stop(self) -> None:
        """Stop the process."""
        with self._lock:
            self._stopped = True
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()  # a refit can be repeated at any time
                self._process.wait()
