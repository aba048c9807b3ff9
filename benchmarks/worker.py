"""Worker: a separate process that fits on request, within a time limit."""

import json
import os
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

PEERS = Path(__file__).parent / "peers"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_STARTUP = 120.0  # seconds for imports and warming up, which are not measured


class Worker:
    """Sends requests to a script in ``peers/`` and waits for its answers; restarts it after a timeout."""

    def __init__(self, python: str | Path, script: str, n_threads: int) -> None:
        self._command = [str(python), str(PEERS / script)]
        self._environment = os.environ | {name: str(n_threads) for name in _THREADS}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, limit: float, **request: Any) -> dict[str, Any]:
        """Return the script's answer: ``{"over_limit": limit}`` after a timeout, ``{"failed": reason}`` on failure."""
        if self._process is None:
            self._begin()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        wait = _STARTUP
        while True:
            try:
                line = self._lines.get(timeout=wait)
            except queue.Empty:
                self._end()
                return {"over_limit": limit}
            if line is None:
                self._end()
                return {"failed": "the process ended (out of memory?)"}
            answer: dict[str, Any] = json.loads(line)
            if "started" not in answer:
                return answer
            wait = limit

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _read(process: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):  # a peer may print other lines
            lines.put(line)
    lines.put(None)
