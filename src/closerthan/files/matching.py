"""Reading answers about the objects of a map, by the same names or numbers."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from closerthan.files.answers import Answers, read_answers

__all__ = ["read_about"]


def read_about(path: Path, n_objects: int, names: tuple[str, ...] | None, reading: Mapping[str, Any]) -> Answers:
    """The answers in a file, their objects numbered as those of a map."""
    about: dict[str, Any] = {"names": names}
    if names is None:
        about = {"n_objects": n_objects}
        if path.suffix.lower() != ".mat":
            # A map without names is one of objects that are numbered from 0. A file in which 0 happens not to occur
            # would be taken for one that counts from 1. (.mat files say themselves from where they count.)
            about["numbering"] = "0-based"
    with warnings.catch_warnings():
        # That these answers do not speak of all objects says nothing about the map.
        warnings.filterwarnings("ignore", ".*occur in no comparison")
        return read_answers(path, **{**about, **reading})
