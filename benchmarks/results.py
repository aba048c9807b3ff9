"""Raw results: one JSON object per line, written as they come, so that a broken run can be taken up again."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
FOLDER = Path(__file__).parent.parent / "build" / "benchmarks"  # outside version control


class Results:
    """The file of raw results. What was measured under the same key is not measured again."""

    def __init__(self, path: Path, keep: Callable[[Record], bool]) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._records = [record for record in map(_parsed, lines) if record is not None and keep(record)]
        path.write_text("".join(json.dumps(record) + "\n" for record in self._records), encoding="utf-8")

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def where(self, **wanted: Any) -> list[Record]:
        """The records with these values."""
        return [record for record in self if all(record.get(name) == value for name, value in wanted.items())]

    def add(self, **record: Any) -> Record:
        """Keep one more record."""
        record["at"] = time.strftime("%Y-%m-%d %H:%M:%S")
        self._records.append(record)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record

    def once(self, measure: Callable[[], Record], **key: Any) -> Record:
        """The record under ``key``; measured now if there is none."""
        found = self.where(**key)
        return found[-1] if found else self.add(**key, **measure())


def _parsed(line: str) -> Record | None:
    try:
        record: Record = json.loads(line)
    except json.JSONDecodeError:  # the last line of a run that was broken off
        return None
    return record
