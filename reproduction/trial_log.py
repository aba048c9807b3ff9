"""TrialLog: a file of finished trials, so that an interrupted experiment resumes where it stopped.

Each trial is one line of JSON: its settings, which identify it, its outcome, the date and the machine. A trial whose
settings are already in the file is not run again.
"""

import csv
import dataclasses
import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from closerthan import __version__
from closerthan.fit.progress import trials_bar
from closerthan.registry import as_data
from closerthan.solvers import SOLVERS
from reproduction.machine import machine

Row = dict[str, Any]


class Job(NamedTuple):
    """A trial to run: the settings that identify it (plain values, solvers and step rules), and its function."""

    settings: Mapping[str, Any]
    work: Callable[[], Mapping[str, Any]]


class TrialLog:
    """The log of one experiment's trials, in a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     job = Job({"trial": 0}, lambda: {"error": 0.25})
    ...     first = TrialLog(Path(folder)).run("demo", [job])
    ...     again = TrialLog(Path(folder)).run("demo", [Job({"trial": 0}, lambda: {"error": 1 / 0})])
    >>> again[0]["error"]
    0.25
    """

    def __init__(self, folder: Path, progress: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._progress = progress
        self._path = folder / "trials.jsonl"
        self._finished = _read(self._path)

    def run(self, label: str, jobs: Sequence[Job]) -> list[Row]:
        """Return the rows of all jobs, in order; jobs that are not in the file yet are run and added to it."""
        keys = [_key(_as_data(job.settings)) for job in jobs]
        n_finished = sum(key in self._finished for key in keys)
        with trials_bar(self._progress and n_finished < len(jobs), label, len(jobs), n_finished) as advance:
            for key, job in zip(keys, jobs, strict=True):
                if key not in self._finished:
                    self._finished[key] = self._write(job, job.work())
                    advance()
        return [self._finished[key] for key in keys]

    def _write(self, job: Job, outcome: Mapping[str, Any]) -> Row:
        """Append a trial to the file and return its row."""
        settings = _as_data(job.settings)
        about = {"version": __version__, "machine": machine(), "date": datetime.date.today().isoformat()}
        row: Row = {**about, **settings, **outcome}
        line = json.dumps({"settings": settings, "row": row}) + "\n"
        # The line is written at once: an interruption leaves all of it or, at worst, a part that the next run removes.
        with open(self._path, "ab") as file:
            file.write(line.encode())
        return row

    def rows(self) -> list[Row]:
        """Return all trials in the file."""
        return list(self._finished.values())

    def write_csv(self, rows: Sequence[Row], name: str = "trials.csv") -> None:
        """Write the rows as a table, without columns that hold lists; solvers are written as JSON."""
        columns = list(dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, list)))
        with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows({column: _cell(value) for column, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _as_data(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: as_data(value, SOLVERS) if dataclasses.is_dataclass(value) else value for name, value in settings.items()
    }


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps({"version": __version__, **settings}, sort_keys=True)


def _read(path: Path) -> dict[str, Row]:
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with open(path, "r+b") as file:
            file.truncate(len(whole))
    entries = [json.loads(line) for line in whole.splitlines()]
    return {_key({**entry["settings"], "version": entry["row"]["version"]}): entry["row"] for entry in entries}
