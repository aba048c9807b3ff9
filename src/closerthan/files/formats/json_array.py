"""JSON that is one value: a list of records, each an object (name: value) or a list of values, or something nested."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.formats.jsonlines import JsonLinesTable
from closerthan.files.formats.nested_json import NEXT, holds_records, records_in, screens_of
from closerthan.files.formats.opening import UNPACKING_ERRORS, open_bytes, unpacking_error

__all__ = ["JsonArrayTable", "is_array"]

_MARK = b"\xef\xbb\xbf"


def is_array(path: Path) -> bool:
    """Whether the whole file is one JSON value, or has a list of records on each line, and not one record."""
    try:
        with open_bytes(path) as file:
            lines = (line for line in file if line.strip())
            first, second = next(lines, b"").removeprefix(_MARK).strip(), next(lines, None)
    except UNPACKING_ERRORS as error:
        raise unpacking_error(path, error) from None
    if first[:1] not in (b"[", b"{"):
        return False
    try:
        found = json.loads(first)
        if isinstance(found, dict):
            return holds_records(found) if second is None else screens_of(found) is not None
    except (ValueError, RecursionError):
        begins = first[:1] == b"[" and first[1:].lstrip()[:1] in (b"[", b"{")
        return begins or first[-1:] in (b"[", b"{", b",")
    return bool(found) and all(isinstance(one, dict | list) for one in found)


class JsonArrayTable(JsonLinesTable):
    """A file that is one JSON array of records, or an object in which there are records somewhere."""

    kind, part = "JSON", "record"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.notes += self._found.notes
        if self._found.tool is not None:
            self.format = f"JSON, an export of {self._found.tool}"

    def _contents(self) -> Iterator[tuple[int, Any]]:
        try:
            with open_bytes(self.path) as file:
                text = file.read().removeprefix(_MARK)
        except UNPACKING_ERRORS as error:
            raise unpacking_error(self.path, error) from None
        try:
            content = _parsed(text)
            found = records_in(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path}: it is not JSON: {error}") from None
        if found is None:
            raise _no_records(self.path, content)
        self._found = found
        yield from enumerate(found.rows, 1)

    def _text(self, number: int) -> str:
        return json.dumps(self._found.rows[number - 1], ensure_ascii=False)

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Records have no lines."""
        return None


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError) or error.msg != "Extra data":
            raise
        try:  # a value on each line
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise error from None


def _no_records(path: Path, content: Any) -> ValueError:
    if not isinstance(content, dict):
        return ValueError(f"{path} is JSON, but no list of records")
    if NEXT in content:
        return ValueError(
            f"{path} is an export of NEXT without comparisons; of its experiments those are read that ask which of "
            "left and right is more like center, once somebody has answered"
        )
    names = ", ".join(repr(name) for name in list(content)[:10]) + ", ..." * (len(content) > 10)
    return ValueError(
        f"{path} is a JSON object with {names}; expected a list of records such as "
        '[{"anchor": "a", "near": "b", "far": "c"}, ...], or an object in which there is one such list'
    )
