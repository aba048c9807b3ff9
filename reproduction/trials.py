"""Trials: run one after another, written down whole, and never run twice.

Each trial is one line of JSON: what identifies it (its settings), what came out, when and on what machine. A run that
was interrupted goes on where it stopped, because a trial whose settings are in the file already is not run again.
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
    """A trial to run: the settings that identify it (plain values, solvers and step rules), and the work."""

    settings: Mapping[str, Any]
    work: Callable[[], Mapping[str, Any]]


class Trials:
    """The trials of one experiment, in a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     job = Job({"trial": 0}, lambda: {"error": 0.25})
    ...     first = Trials(Path(folder)).run("demo", [job])
    ...     again = Trials(Path(folder)).run("demo", [Job({"trial": 0}, lambda: {"error": 1 / 0})])
    >>> again[0]["error"]
    0.25
    """

    def __init__(self, folder: Path, progress: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._progress = progress
        self._path = folder / "trials.jsonl"
        self._done = _read(self._path)

    def run(self, label: str, jobs: Sequence[Job]) -> list[Row]:
        """The rows of all jobs, in their order; those not yet in the file are run and added to it."""
        keys = [_key(_as_data(job.settings)) for job in jobs]
        finished = sum(key in self._done for key in keys)
        with trials_bar(self._progress and finished < len(jobs), label, len(jobs), finished) as advance:
            for key, job in zip(keys, jobs, strict=True):
                if key not in self._done:
                    self._done[key] = self._written(job, job.work())
                    advance()
        return [self._done[key] for key in keys]

    def _written(self, job: Job, outcome: Mapping[str, Any]) -> Row:
        settings = _as_data(job.settings)
        about = {"version": __version__, "machine": machine(), "date": datetime.date.today().isoformat()}
        row: Row = {**about, **settings, **outcome}
        line = json.dumps({"settings": settings, "row": row}) + "\n"
        # One write of a whole line: an interruption leaves all of it or, at worst, a tail that the next run cuts off.
        with open(self._path, "ab") as file:
            file.write(line.encode())
        return row

    def rows(self) -> list[Row]:
        """All trials in the file."""
        return list(self._done.values())

    def write_csv(self, rows: Sequence[Row], name: str = "trials.csv") -> None:
        """The rows' plain values (no lists) as a table; solvers as JSON."""
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
