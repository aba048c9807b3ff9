"""Labels of answers, blocks and people, turned into numbers."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowSources", "encode", "number_by_appearance", "sort_names", "sources_of_rows", "text_of"]

PANDAS_MISSING = frozenset({"NAType", "NaTType"})  # missing values of pandas, by type name so as not to import it


class RowSources(NamedTuple):
    """The answer, block and person of each row as numbers, and the people's names; None where there are no labels."""

    answers: NDArray[np.int64] | None
    blocks: NDArray[np.int64] | None
    people: NDArray[np.int32] | None
    person_names: tuple[str, ...] | None


def sources_of_rows(answers: Any, blocks: Any, people: Any, n_rows: int) -> RowSources:
    """Check labels of answers, blocks and people, and turn them into numbers.

    Equal labels of answers or blocks from different people get different numbers.
    """
    person = names = None
    if people is not None:
        code, labels = encode(people, n_rows, "people", "the person")
        texts = [text_of(label) for label in labels]
        names = tuple(sort_names(set(texts)))
        position = {name: number for number, name in enumerate(names)}
        person = np.array([position[text] for text in texts], dtype=np.int32)[code]

    def within_person(labels: Any, plural: str, singular: str) -> NDArray[np.int64] | None:
        if labels is None:
            return None
        code, _ = encode(labels, n_rows, plural, singular)
        return code if person is None or names is None else code * len(names) + person

    answer = within_person(answers, "answers", "the answer")
    block = within_person(blocks, "blocks", "the block")
    return RowSources(answer, block, person, names)


def encode(labels: Any, n_rows: int, plural: str, singular: str) -> tuple[NDArray[Any], list[Any]]:
    """Return a code per row and the list of distinct labels that the codes index.

    ``plural`` and ``singular`` name the labels in error messages.
    """
    # np.asarray would turn numbers among names into text, and a list of tuples into a table.
    cells = np.asarray(labels) if hasattr(labels, "dtype") else np.fromiter(labels, dtype=object, count=len(labels))
    if cells.shape != (n_rows,):
        raise ValueError(
            f"{plural} have shape {cells.shape}, but there are {n_rows} comparisons; one per row is needed"
        )
    if cells.dtype.kind in "iuf":
        missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(0, dtype=bool)
        if missing.any():
            raise ValueError(f"row {int(np.argmax(missing))}: {singular} is missing; label every row of {plural}")
        if len(cells) > 1 and (cells[1:] >= cells[:-1]).all():  # already sorted, which is common in files
            is_new = np.concatenate([[True], cells[1:] != cells[:-1]])
            return np.cumsum(is_new) - 1, cells[is_new].tolist()
        lowest, highest = (int(cells.min()), int(cells.max())) if cells.dtype.kind in "iu" else (0, len(cells))
        if highest - lowest < len(cells):  # counting is faster than sorting
            offset = cells.astype(np.int64) - lowest
            occurs = np.bincount(offset) > 0
            return (np.cumsum(occurs) - 1)[offset], (np.flatnonzero(occurs) + lowest).tolist()
        distinct, code = np.unique(cells, return_inverse=True)
        return code.reshape(-1).astype(np.int64), distinct.tolist()
    code_of: dict[Any, int] = {}
    code = np.empty(n_rows, dtype=np.int64)
    for row, cell in enumerate(cells.tolist()):
        if cell is None or type(cell).__name__ in PANDAS_MISSING or (isinstance(cell, float) and cell != cell):
            raise ValueError(f"row {row}: {singular} is missing; label every row of {plural}")
        try:
            code[row] = code_of.setdefault(cell, len(code_of))
        except TypeError:
            raise ValueError(f"row {row}: {singular} is {cell!r}; labels are names or numbers") from None
    return code, list(code_of)


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort names: numerically if all of them are whole numbers, otherwise alphabetically.

    Examples
    --------
    >>> sort_names(["10", "9"]), sort_names(["w10", "w9"])
    (['9', '10'], ['w10', 'w9'])
    """
    numeric = all(name.isdecimal() for name in names if name)
    return sorted(names, key=(lambda name: (int(name or -1), name)) if numeric else None)


def text_of(label: Any) -> str:
    """Return a label as text: 3.0 becomes "3", and bytes are decoded as UTF-8.

    Examples
    --------
    >>> text_of(3.0), text_of(b"ant"), text_of("bee")
    ('3', 'ant', 'bee')
    """
    if isinstance(label, bytes):
        try:
            return label.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{label!r} is bytes that are not text in UTF-8; decode names first") from None
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def number_by_appearance(labels: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number the labels from 0 in the order in which they first occur.

    Examples
    --------
    >>> number_by_appearance(np.array([7, 2, 7])).tolist()
    [0, 1, 0]
    """
    if (labels[1:] >= labels[:-1]).all():
        number = np.concatenate([[0], np.cumsum(labels[1:] != labels[:-1])])
    else:
        _, first, code = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        number = rank[code.reshape(-1)]
    return number.astype(np.int32)
