"""Raw results: one JSON object per line, written as they are measured, so that an interrupted run can resume."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
FOLDER = Path(__file__).parent.parent / "build" / "benchmarks"  # outside version control


class Results:
    """The file of raw results. A measurement whose key is already in the file is not repeated."""

    def __init__(self, path: Path, keep: Callable[[Record], bool]) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._records = [record for record in map(_parsed, lines) if record is not None and keep(record)]
        path.write_text("".join(json.dumps(record) + "\n" for record in self._records), encoding="utf-8")

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def where(self, **values: Any) -> list[Record]:
        """Return the records with these values."""
        return [record for record in self if all(record.get(name) == value for name, value in values.items())]

    def add(self, **record: Any) -> Record:
        """Append a record to the file."""
        record["at"] = time.strftime("%Y-%m-%d %H:%M:%S")
        self._records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record

    def once(self, measure: Callable[[], Record], **key: Any) -> Record:
        """Return the record with this key, which is measured now if there is none."""
        records = self.where(**key)
        return records[-1] if records else self.add(**key, **measure())


def _parsed(line: str) -> Record | None:
    try:
        record: Record = json.loads(line)
    except json.JSONDecodeError:  # the last line of an interrupted run
        return None
    return record
