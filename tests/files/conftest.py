"""Fixtures that several tests of files use."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from closerthan.files import Answers
from closerthan.files.meaning.answers import read
from closerthan.files.meaning.reading import Reading

ARROW_FROM = {"pyarrow": 0, "standard library": sys.maxsize}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes text or bytes to a file and returns its path."""

    def write(content: str | bytes, name: str = "answers.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(params=ARROW_FROM)
def read_text(request: pytest.FixtureRequest) -> Callable[..., Answers]:
    """A function like ``read_answers`` that reads text by pyarrow or by the standard library, whatever its size."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    return partial(_read, ARROW_FROM[request.param])


def _read(arrow_from: int, path: Path, **options: Any) -> Answers:
    return read(path, Reading.of(options), arrow_from=arrow_from)
