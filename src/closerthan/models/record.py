"""The record of a run of questions: every line sent and received, so that a run can be resumed and checked."""

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from closerthan.models.prompts import Prompt

__all__ = ["ANSWERED", "FAILED", "UNCLEAR", "Attempt", "AttemptLog"]

ANSWERED, UNCLEAR, FAILED = "answered", "unclear", "failed"


class Attempt(NamedTuple):
    """One attempt to get an answer: what was sent and received, its status, and the positions that were chosen."""

    question: int
    attempt: int
    status: str
    chosen: tuple[int, ...]
    problem: str
    sent: str
    received: str | None
    other_output: Sequence[str]
    seconds: float


class AttemptLog:
    """An append-only file of attempts, one per line, after a line that identifies the questions.

    Attributes
    ----------
    outcomes
        The last attempt for each question that was answered or unclear; these are not asked again.
    tried
        Numbers of all questions that have been asked.
    """

    def __init__(self, path: Path, prompts: Sequence[Prompt], command: Sequence[str]) -> None:
        self._path, self._lock = path, threading.Lock()
        text = "\n".join(prompt.message() for prompt in prompts)
        self._header = {"questions": hashlib.sha256(text.encode()).hexdigest(), "n_questions": len(prompts)}
        self._command = list(command)
        self.outcomes: dict[int, Attempt] = {}
        self.tried: set[int] = set()
        self.n_attempts = 0
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        is_new = not self._path.exists()
        if not is_new:
            self._read()
            is_new = not self._path.exists()
        self._file = open(self._path, "a", encoding="utf-8", newline="\n")
        if is_new:
            self._write({**self._header, "command": self._command})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, attempt: Attempt) -> None:
        """Append an attempt; it is in the file when this returns, even if closerthan is killed."""
        with self._lock:
            self._keep(attempt)
            self._write({**attempt._asdict(), "time": datetime.now(UTC).isoformat(timespec="milliseconds")})

    def _keep(self, attempt: Attempt) -> None:
        self.n_attempts += 1
        self.tried.add(attempt.question)
        if attempt.status in (ANSWERED, UNCLEAR):
            self.outcomes[attempt.question] = attempt

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(content, ensure_ascii=False) + "\n")
        self._file.flush()

    def _read(self) -> None:
        """Read an earlier run; a last line that was cut off by a crash is removed."""
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.decode("utf-8").splitlines()]
            header = {name: lines[0].get(name) for name in self._header} if lines else self._header
            attempts = [Attempt(**{name: line[name] for name in Attempt._fields}) for line in lines[1:]]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{self._path} is damaged; choose another folder with --out") from None
        if header != self._header:
            raise ValueError(
                f"{self._path} belongs to other questions; choose another folder with --out, or pass --force to begin "
                "again"
            )
        is_same_command = bool(lines) and lines[0].get("command") == self._command
        if not is_same_command and any(attempt.status != FAILED for attempt in attempts):
            raise ValueError(
                f"{self._path} has replies of another command; choose another folder with --out, or pass --force to "
                "begin again"
            )
        if len(whole) < len(content):
            with open(self._path, "r+b") as file:
                file.truncate(len(whole))
        if not is_same_command:  # the earlier command never replied, so it may have been misspelt
            self._path.unlink()
            return
        for attempt in attempts:
            self._keep(attempt._replace(chosen=tuple(attempt.chosen)))
