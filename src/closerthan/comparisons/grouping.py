"""Grouping: which comparisons stay together when some are held out, and which groups are held out.

Held-out answers must not be predictable from training answers about the same question. The comparisons of one answer
are correlated, and so are the answers to one question, so both stay together. A question is the set of objects that
an answer mentions: two answers about the same objects belong to one group, and groups that merely share some objects
are not merged.

Where the trials of a person depend on each other beyond that, as when each screen replaces one of three objects, the
answers have blocks, and whole blocks are held out.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError
from closerthan.comparisons.questions import consecutive_numbers, keys_of_answers, object_set_keys
from closerthan.messages import Message

__all__ = ["AUTO", "BY", "check_by", "draw_groups", "groups", "none_can_be_held_out", "number_of_units", "split_unit"]

AUTO = "auto"
BY = (AUTO, "answers", "blocks", "people", "comparisons")
"""The split units: units that can be held out as a whole."""

Rows = NDArray[np.int32]


def check_by(by: str, people: Any, blocks: Any = ()) -> None:
    """Raise an error if ``by`` is unknown, or names people or blocks that the answers do not have."""
    if by not in BY:
        raise ParameterError(
            "by", by, 'it can be "auto", "answers", "blocks" or "people" (or "comparisons": single rows)'
        )
    if by == "people" and people is None:
        way_out = "pass people= with the comparisons or, for a file, name the column: {columns}"
        columns = {"participant": ...}
        raise ParameterError("by", by, "it is not known who gave the answers", way_out, columns=columns)
    if by == "blocks" and blocks is None:
        way_out = "pass blocks= with the comparisons or, for a file, name the column: {columns}"
        raise ParameterError("by", by, "the answers have no blocks", way_out, columns={"block": ...})


def split_unit(by: str, blocks: Any) -> str:
    """Return the split unit that ``by`` stands for: "auto" means blocks where there are some, otherwise answers.

    Examples
    --------
    >>> split_unit("auto", None), split_unit("auto", np.zeros(3, np.int32)), split_unit("people", None)
    ('answers', 'blocks', 'people')
    """
    if by != AUTO:
        return by
    return "answers" if blocks is None else "blocks"


def groups(
    rows: Rows, n_objects: int, answers: Rows | None, people: Rows | None, by: str, blocks: Rows | None = None
) -> NDArray[Any]:
    """Return the group number of each row, from 0 without gaps.

    Examples
    --------
    >>> rows = np.array([[0, 1, 2], [2, 0, 1], [0, 1, 3]], dtype=np.int32)
    >>> groups(rows, 4, None, None, "answers").tolist()
    [0, 0, 1]
    """
    check_by(by, people, blocks)
    by = split_unit(by, blocks)
    if by == "comparisons":
        return np.arange(len(rows))
    if by in ("blocks", "people"):
        unit = blocks if by == "blocks" else people
        assert unit is not None
        return (np.cumsum(np.bincount(unit) > 0) - 1)[unit]
    if answers is None:
        return consecutive_numbers(object_set_keys(rows, n_objects, None))
    is_present = np.bincount(answers) > 0  # some answers may have been left out
    number = consecutive_numbers(keys_of_answers(rows, n_objects, answers)[is_present])
    return number[answers if is_present.all() else (np.cumsum(is_present) - 1)[answers]]


def none_can_be_held_out(by: str) -> str:
    """Return a message that all answers are in one group; for people and blocks, it suggests holding out answers.

    Examples
    --------
    >>> none_can_be_held_out("answers")
    'all answers are about the same objects, so none can be held out'
    >>> none_can_be_held_out("people")
    'all answers are from one person, so none can be held out; pass by="answers"'
    """
    unit = {"people": "person", "blocks": "block"}.get(by)
    if unit is None:
        return "all answers are about the same objects, so none can be held out"
    return Message(f"all answers are from one {unit}, so none can be held out", "pass {by}", by="answers")


def number_of_units(fraction: float, total: int, by: str) -> int:
    """Return ``fraction`` of ``total`` units as a whole number; raise an error if either part would be empty.

    Examples
    --------
    >>> number_of_units(0.25, 8, "people")
    2
    """
    number = round(fraction * total) if 0 < fraction < 1 else 0
    if not 0 < number < total:
        raise ValueError(f"a fraction of {fraction} of {total} {by} leaves one part empty; choose another fraction")
    return number


def draw_groups(sizes: NDArray[np.int64], number: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw random groups whose sizes add up to about ``number``; return a mask of the groups.

    Examples
    --------
    >>> draw_groups(np.array([1, 1, 1, 1]), 2, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    order = rng.permutation(len(sizes))
    # A group larger than the target (a question that everybody was asked) is drawn only if there is no other.
    is_large = sizes > number
    if is_large.any():
        order = order[np.argsort(np.where(is_large, sizes, 0)[order], kind="stable")]
    total = np.cumsum(sizes[order])
    last = int(np.searchsorted(total, number))
    if last and total[last] - number > number - total[last - 1]:
        last -= 1
    is_drawn = np.zeros(len(sizes), dtype=bool)
    is_drawn[order[: min(last + 1, len(sizes) - 1)]] = True
    return is_drawn
