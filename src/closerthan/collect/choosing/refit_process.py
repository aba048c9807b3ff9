"""The server's handle on the process that refits the map."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["RefitProcess"]


class RefitProcess:
    """Requests a refit after every ``every`` answers, one at a time, without waiting for the result.

    A process that dies is restarted for the next refit; participants get random questions in the meantime.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self._folder, self._every = folder, every
        # Number of answers since the last refit. The first refit is due immediately, because it fills the queue.
        self._new = every
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._busy = self._stopped = False

    def answered(self) -> None:
        """Count an answer, and request a refit if one is due."""
        with self._lock:
            self._new += 1
        self.request()

    def request(self) -> None:
        """Start a refit if one is due and none is running."""
        with self._lock:
            if self._busy or self._stopped or self._new < self._every:
                return
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._busy, self._new = True, 0
            process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # the process has just died; the next refit restarts it
            process.stdin.write("\n")
            process.stdin.flush()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "closerthan.collect.choosing.refit", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for _ in process.stdout:
            with self._lock:
                self._busy = False
            self.request()
        process.wait()
        with self._lock:
            self._busy = False

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
