"""Files that hold a single JSON value: a list of records (objects, or lists of values), or nested records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.json.jsonlines import JsonLinesTable
from closerthan.files.formats.json.nested_json import NEXT, holds_records, list_of_records, records_in
from closerthan.files.formats.opening import DECOMPRESSION_ERRORS, decompression_error, open_bytes
from closerthan.files.formats.tables import abbreviated

__all__ = ["JsonArrayTable", "is_array"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def is_array(path: Path) -> bool:
    """Return whether the file is a single JSON value or has several records per line, unlike JSON lines."""
    try:
        with open_bytes(path) as file:
            lines = (line for line in file if line.strip())
            first, second = next(lines, b"").removeprefix(_BYTE_ORDER_MARK).strip(), next(lines, None)
    except DECOMPRESSION_ERRORS as error:
        raise decompression_error(path, error) from None
    if first[:1] not in (b"[", b"{"):
        return False
    try:
        content = json.loads(first)
        if isinstance(content, dict):
            return holds_records(content) if second is None else list_of_records(content) is not None
    except (ValueError, RecursionError):
        starts_list = first[:1] == b"[" and first[1:].lstrip()[:1] in (b"[", b"{")
        return starts_list or first[-1:] in (b"[", b"{", b",")
    return bool(content) and all(isinstance(value, dict | list) for value in content)


class JsonArrayTable(JsonLinesTable):
    """A file with one JSON array of records, or with an object that contains records at some level."""

    kind, part = "JSON", "record"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.notes += self._records.notes
        if self._records.tool is not None:
            self.format = f"JSON, an export of {self._records.tool}"

    def _contents(self) -> Iterator[tuple[int, Any]]:
        try:
            with open_bytes(self.path) as file:
                text = file.read().removeprefix(_BYTE_ORDER_MARK)
        except DECOMPRESSION_ERRORS as error:
            raise decompression_error(self.path, error) from None
        try:
            content = _parsed(text)
            records = records_in(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path}: it is not JSON: {error}") from None
        if records is None:
            raise _no_records(self.path, content)
        self._records = records
        yield from enumerate(records.rows, 1)

    def _text(self, number: int) -> str:
        return json.dumps(self._records.rows[number - 1], ensure_ascii=False)

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """None, because records have no line numbers."""
        return None


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError) or error.msg != "Extra data":
            raise
        try:  # one value per line
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise error from None


def _no_records(path: Path, content: Any) -> ValueError:
    if not isinstance(content, dict):
        return ValueError(f"{path} is JSON, but not a list of records")
    if NEXT in content:
        return ValueError(
            f"{path} is an export of NEXT without comparisons; only experiments that ask which of left and right is "
            "more like center can be read, and only after somebody has answered"
        )
    names = abbreviated([repr(name) for name in content])
    return ValueError(
        f"{path} is a JSON object with {names}; expected a list of records such as "
        '[{"anchor": "a", "near": "b", "far": "c"}, ...], or an object that contains one such list'
    )
