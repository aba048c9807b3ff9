"""The server's hold on its refit process."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["Refits"]


class Refits:
    """Asks for a refit after every so many answers, one at a time; never waits for it.

    A process that dies is started again with the next round: participants get random questions in the meantime.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self._folder, self._every = folder, every
        self._new = every  # the first round is due at once: it fills the queue
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._busy = self._stopped = False

    def answered(self) -> None:
        """Count an answer."""
        with self._lock:
            self._new += 1
        self.ask()

    def ask(self) -> None:
        """Start a round if one is due."""
        with self._lock:
            if self._busy or self._stopped or self._new < self._every:
                return
            if self._process is None or self._process.poll() is not None:
                self._start()
            self._busy, self._new = True, 0
            process = self._process
        assert process is not None
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has just died: the next round starts it again
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
            self.ask()
        process.wait()
        with self._lock:
            self._busy = False

    def stop(self) -> None:
        """End the process."""
        with self._lock:
            self._stopped = True
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            try:
                self._process.wait(2)
            except subprocess.TimeoutExpired:
                self._process.kill()  # whatever it was computing can be computed again
                self._process.wait()
