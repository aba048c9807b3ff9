"""Results of JATOS: text files with JSON, and archives of such files (.jrzip, .zip)."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from closerthan.files.formats import sizes
from closerthan.files.formats.json.json_array import JsonArrayTable
from closerthan.files.formats.json.nested_json import records_in
from closerthan.files.formats.opening import DECOMPRESSION_ERRORS, NoAnswerError, decompression_error, open_bytes
from closerthan.wording import counted

__all__ = ["JatosArchive", "is_jatos_archive", "is_json_text"]


def is_jatos_archive(path: Path) -> bool:
    """Return whether a file is an archive with results of JATOS."""
    if path.suffix.lower() == ".jrzip":
        return True
    if path.suffix.lower() != ".zip":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(_is_result(PurePosixPath(name)) for name in archive.namelist())
    except DECOMPRESSION_ERRORS:  # the reader of other archives reports the damage
        return False


def _is_result(path: PurePosixPath) -> bool:
    return path.name == "data.txt" and path.parts[0].startswith("study_result")


def is_json_text(path: Path) -> bool:
    """Return whether the first line of a text file is or begins a JSON record or list, as in results of JATOS.

    For a damaged compressed file the answer is False: reading it as text then reports the damage.
    """
    try:
        with open_bytes(path) as file:
            line = file.readline(sizes.LONGEST_LINE).strip()
    except DECOMPRESSION_ERRORS:
        return False
    if line in (b"[", b"{"):
        return True
    if line[:1] not in (b"[", b"{"):
        return False
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) or (bool(content) and all(isinstance(record, dict) for record in content))


class JatosArchive(JsonArrayTable):
    """An archive of results, with a file for each component of each person's study result."""

    def _contents(self) -> Iterator[tuple[int, Any]]:
        people: dict[str, list[Any]] = {}
        others: list[str] = []
        try:
            with zipfile.ZipFile(self.path) as archive:
                for member in archive.infolist():
                    path = PurePosixPath(member.filename)
                    if not _is_result(path):
                        continue
                    if member.file_size > sizes.TEXT:
                        raise ValueError(f"{self.path}: {path} is too large to be the answers of one person")
                    text = archive.read(member).decode(errors="replace").strip("\ufeff \t\r\n")
                    if text and text[0] not in "[{":
                        results = _rows_of_csv(text)
                        others += [] if results else [str(path)]
                    else:
                        results = self._records_of(path, text)
                    people.setdefault(path.parts[0], []).extend(results)
        except DECOMPRESSION_ERRORS as error:
            raise decompression_error(self.path, error) from None
        people = {name: records for name, records in people.items() if records}
        if not people and others:
            raise ValueError(
                f"{self.path}: {others[0]} has neither records in JSON nor a table; let the component submit records"
            )
        if not people:
            raise NoAnswerError(f"{self.path} is empty: none of its study results has a file data.txt with answers")
        are_records = all(isinstance(record, dict) for records in people.values() for record in records)
        records = records_in(people) if are_records else None
        if records is None:
            raise ValueError(f"{self.path}: the results are not lists of records, as jsPsych writes them")
        if others:
            left_out = counted(len(others), "result")
            note = f"left out: {left_out} with neither records in JSON nor a table, such as {others[0]}"
            records = records._replace(notes=(*records.notes, note))
        self._records = records
        yield from enumerate(records.rows, 1)

    def _records_of(self, path: PurePosixPath, rest: str) -> list[Any]:
        """Return the records in the result of a component, which may have submitted several lists."""
        records: list[Any] = []
        decoder = json.JSONDecoder()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{self.path}: {path} is not JSON: {error}; export the results again, or correct the file"
                ) from None
            records += value if isinstance(value, list) else [value]
            rest = rest[end:].lstrip()
        return records


def _rows_of_csv(text: str) -> list[dict[str, Any]]:
    """Return the rows of a table, as jsPsych writes it, with lists in JSON; no rows if it is not a table.

    Examples
    --------
    >>> _rows_of_csv('choices,response\\n"[""bee"", ""cat""]",1\\n,\\n')
    [{'choices': ['bee', 'cat'], 'response': '1'}, {}]
    >>> _rows_of_csv("I agree")
    []
    """
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except csv.Error:  # a very long text
        return []
    if len(header) < 2 or any(len(row) != len(header) for row in rows):
        return []
    return [{name: _value(cell) for name, cell in zip(header, row, strict=True) if cell} for row in rows]


def _value(cell: str) -> Any:
    try:
        return json.loads(cell) if cell[0] in "[{" else cell
    except (ValueError, RecursionError):
        return cell
