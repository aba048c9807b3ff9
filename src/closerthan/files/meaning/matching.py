"""Reading answers about the objects of a map, by the same names or numbers."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from closerthan.files.meaning.answers import Answers, read_answers

__all__ = ["about", "read_about"]


SHOWN = 3  # objects that an error names


def read_about(path: Path, n_objects: int, names: tuple[str, ...] | None, reading: Mapping[str, Any]) -> Answers:
    """The answers in a file, their objects numbered as those of a map.

    If the objects of the map have names, so have those in the file: that a number is an object's place in the map is
    for the caller to say, by ``numbering`` or ``names``.
    """
    with warnings.catch_warnings():
        # That these answers do not speak of all objects says nothing about the map.
        warnings.filterwarnings("ignore", ".*occur in no comparison")
        answers = read_answers(path, **{**about(path, n_objects, names), **reading})
        if names is not None and answers.summary.numbering != "names" and not {"names", "numbering"} & set(reading):
            called = read_answers(path, **{**reading, "numbering": "names"}).comparisons.names or ()
            strange = [name for name in called if name not in set(names)]
            raise ValueError(
                f"{path} is about {_some(strange)}, the map about {_some(names)}: these are not the same objects; "
                'if the numbers are their places in the map, pass numbering="0-based" (or "1-based")'
            )
    return answers


def about(path: Path, n_objects: int, names: Sequence[str] | None) -> dict[str, Any]:
    """The options of :func:`read_answers` that say which objects a file is about: those of a map."""
    if names is not None:
        return {"names": names}
    # A map without names is one of objects that are numbered from 0. A file in which 0 happens not to occur would be
    # taken for one that counts from 1. (.mat files say themselves from where they count.)
    return {"n_objects": n_objects, **({} if path.suffix.lower() == ".mat" else {"numbering": "0-based"})}


def _some(names: Sequence[str]) -> str:
    return ", ".join([*map(repr, names[:SHOWN]), *["..."] * (len(names) > SHOWN)])
