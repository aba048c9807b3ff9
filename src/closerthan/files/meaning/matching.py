"""Read answers about the objects of a map; file and map must use the same names or numbers."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from closerthan.files.formats.tables import abbreviated
from closerthan.files.meaning.answers import Answers, read_answers
from closerthan.files.meaning.reading import ReadingOptions
from closerthan.messages import value_error

__all__ = ["about", "read_about"]


def read_about(path: Path, n_objects: int, names: tuple[str, ...] | None, reading: Mapping[str, Any]) -> Answers:
    """Read the answers in a file, with objects numbered as in a map.

    If the objects of the map have names, the file must use them too: numbers in the file refer to positions in the map
    only if the caller passes ``numbering`` or ``names``.
    """
    with warnings.catch_warnings():
        # Objects that do not occur in these answers are still on the map, so they need no warning.
        warnings.filterwarnings("ignore", ".*occur in no comparison")
        answers = read_answers(path, **{**about(path, n_objects, names), **reading})
        if names is not None and answers.summary.numbering != "names" and not {"names", "numbering"} & set(reading):
            own_names = read_answers(path, **{**reading, "numbering": "names"}).comparisons.names or ()
            unknown = [name for name in own_names if name not in set(names)]
            raise value_error(
                f"{path} is about {_first_names(unknown)}, the map about {_first_names(names)}: these are not the same "
                "objects",
                "if the numbers are positions in the map, pass {numbering}",
                numbering=("0-based", "1-based"),
            )
    return answers


def about(path: Path, n_objects: int, names: Sequence[str] | None) -> ReadingOptions:
    """Return the options with which :func:`read_answers` reads a file about the objects of a map."""
    if names is not None:
        return {"names": names}
    # The objects of a map without names are numbered from 0. A file in which 0 happens not to occur would otherwise be
    # read as counting from 1. (.mat files declare their numbering.)
    if path.suffix.lower() == ".mat":
        return {"n_objects": n_objects}
    return {"n_objects": n_objects, "numbering": "0-based"}


def _first_names(names: Sequence[str]) -> str:
    return abbreviated([repr(name) for name in names[:4]], 3)
