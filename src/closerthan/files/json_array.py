"""JSON arrays: a list of records, each an object (name: value) or a list of values, over any number of lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.files.jsonlines import JsonLinesTable
from closerthan.files.opening import UNPACKING_ERRORS, open_bytes, unpacking_error

__all__ = ["JsonArrayTable", "is_array"]


def is_array(path: Path) -> bool:
    """Whether the whole file is one JSON value, and not one on each line."""
    try:
        with open_bytes(path) as file:
            lines = (line for line in file if line.strip())
            first, second = next(lines, b"").removeprefix(b"\xef\xbb\xbf").strip(), next(lines, None)
    except UNPACKING_ERRORS as error:
        raise unpacking_error(path, error) from None
    if first[:1] not in (b"[", b"{"):
        return False
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        return first in (b"[", b"{") or (first[:1] == b"[" and first[1:].lstrip()[:1] in (b"[", b"{"))
    if isinstance(found, dict):
        return second is None and any(_is_table(value) for value in found.values())
    return bool(found) and all(isinstance(one, dict | list) for one in found)


class JsonArrayTable(JsonLinesTable):
    """A file that is one JSON array of records, or an object in which one such array is."""

    kind, part = "JSON", "record"

    def _contents(self) -> Iterator[tuple[int, Any]]:
        try:
            with open_bytes(self.path) as file:
                content = json.loads(file.read().removeprefix(b"\xef\xbb\xbf"))
        except UNPACKING_ERRORS as error:
            raise unpacking_error(self.path, error) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path}: it is not JSON: {error}") from None
        self._records = _records(self.path, content)
        yield from enumerate(self._records, 1)

    def _text(self, number: int) -> str:
        return json.dumps(self._records[number - 1], ensure_ascii=False)

    @property
    def lines(self) -> NDArray[np.int32] | None:
        """Records have no lines."""
        return None


def _records(path: Path, content: Any) -> list[Any]:
    if isinstance(content, dict):
        arrays = {name: value for name, value in content.items() if _is_table(value)}
        if len(arrays) == 1:
            return next(iter(arrays.values()))
        names = ", ".join(repr(name) for name in list(content)[:10]) + ", ..." * (len(content) > 10)
        raise ValueError(
            f"{path} is a JSON object with {names}; expected a list of records such as "
            '[{"anchor": "a", "near": "b", "far": "c"}, ...], or an object in which there is one such list'
        )
    if not isinstance(content, list):
        raise ValueError(f"{path} is JSON, but no list of records")
    return content


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
