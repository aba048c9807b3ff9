"""Grouping: which comparisons stay together when some are held out.

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

__all__ = ["AUTO", "BY", "check_by", "groups", "numbered", "questions", "split_unit"]

AUTO = "auto"
BY = (AUTO, "answers", "blocks", "people", "comparisons")
"""The split units: what can be held out whole."""

_CHUNK = 1 << 18  # rows whose keys are made together

Rows = NDArray[np.int32]
Keys = NDArray[np.uint64]


def check_by(by: str, people: Any, blocks: Any = ()) -> None:
    """Raise an error if ``by`` is unknown, or names people or blocks that the answers do not have."""
    if by not in BY:
        raise ParameterError(
            "by", by, 'it can be "auto", "answers", "blocks" or "people" (or "comparisons", single ones)'
        )
    if by == "people" and people is None:
        raise ValueError(
            'by="people" is asked for, but nothing says who gave the answers; pass people= with the comparisons or, '
            'for a file, say which column it is: columns={"participant": ...}'
        )
    if by == "blocks" and blocks is None:
        raise ValueError(
            'by="blocks" is asked for, but the answers have no blocks; pass blocks= with the comparisons or, '
            'for a file, say which column it is: columns={"block": ...}'
        )


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
    """The number of each row's group, from 0 without gaps.

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
        return numbered(_keys_of_rows(rows, n_objects))
    return numbered(_keys_of_answers(rows, n_objects, answers))[answers]


def questions(rows: Rows, n_objects: int, answers: Rows | None) -> Keys:
    """A key for each row, the same for all comparisons from answers about the same set of objects.

    Examples
    --------
    >>> rows = np.array([[0, 1, 2], [0, 1, 3], [3, 0, 2], [3, 0, 1]], dtype=np.int32)
    >>> one, same, other, too = questions(rows, 4, np.array([0, 0, 1, 1], dtype=np.int32)).tolist()
    >>> one == same == other == too
    True
    """
    return _keys_of_rows(rows, n_objects) if answers is None else _keys_of_answers(rows, n_objects, answers)[answers]


def numbered(keys: NDArray[Any]) -> NDArray[Any]:
    """Equal keys get equal numbers, from 0 without gaps, in the order of the keys.

    Examples
    --------
    >>> numbered(np.array([30, 10, 30])).tolist()
    [1, 0, 1]
    """
    if not len(keys):
        return np.empty(0, dtype=np.int32)
    bits = np.uint64(len(keys).bit_length())
    if int(keys.max()) >> (64 - int(bits)):
        order = np.argsort(keys)
        ordered = keys[order]
    else:
        # Key and position in one number: sorting is twice as fast as argsort.
        ordered = keys.astype(np.uint64) << bits
        ordered |= np.arange(len(keys), dtype=np.uint64)
        ordered.sort()
        order = (ordered & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
        ordered >>= bits
    run = np.zeros(len(keys), dtype=np.int32 if len(keys) < 1 << 31 else np.int64)
    run[1:] = ordered[1:] != ordered[:-1]
    np.cumsum(run, out=run)
    number = np.empty_like(run)
    number[order] = run
    return number


def _keys_of_rows(rows: Rows, n_objects: int) -> Keys:
    keys = np.empty(len(rows), dtype=np.uint64)
    packed = n_objects ** rows.shape[1] < 1 << 63
    for start in range(0, len(rows), _CHUNK):
        columns = _sorted(rows[start : start + _CHUNK].astype(np.uint64).T)
        key = np.zeros(len(columns[0]), dtype=np.uint64)
        for column in columns:
            key = key * np.uint64(n_objects) + column if packed else mixed(key + column)
        keys[start : start + _CHUNK] = key
    return keys


def _sorted(columns: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], ...]:
    """The objects of each row in ascending order; if only three of the four differ, the last is repeated."""
    least, most = np.minimum, np.maximum
    if len(columns) == 3:
        a, b, c = columns
        a, b = least(a, b), most(a, b)
        b, c = least(b, c), most(b, c)
        return least(a, b), most(a, b), c
    a, b, c, d = columns
    a, b, c, d = least(a, b), most(a, b), least(c, d), most(c, d)
    a, c, b, d = least(a, c), most(a, c), least(b, d), most(b, d)
    b, c = least(b, c), most(b, c)
    b, c = np.where(a == b, c, b), np.where((a == b) | (b == c), d, c)
    return a, b, c, d


def _keys_of_answers(rows: Rows, n_objects: int, answers: Rows) -> Keys:
    """One key for each number of an answer: the sum of the mixed numbers of its objects, each counted once.

    A sum does not depend on their order. By chance two questions may have the same key (once in 2^64 pairs); then they
    stay together, which is harmless.
    """
    pairs = []
    for column in rows.T:
        pair = answers.astype(np.int64) * n_objects + column
        # Runs of the same object, such as an answer's anchor, are sorted once.
        pairs.append(pair[np.concatenate([[True], pair[1:] != pair[:-1]])])
    together = np.concatenate(pairs)
    together.sort()
    together = together[np.concatenate([[True], together[1:] != together[:-1]])]
    answer, objects = np.divmod(together, n_objects)
    starts = np.flatnonzero(np.concatenate([[True], answer[1:] != answer[:-1]]))
    keys = np.zeros(int(answers.max()) + 1, dtype=np.uint64)
    keys[answer[starts]] = np.add.reduceat(mixed(objects.astype(np.uint64)), starts)
    return keys


def mixed(keys: Keys) -> Keys:
    """A hash of each number, always the same (the finaliser of SplitMix64, Steele et al. 2014).

    Examples
    --------
    >>> hex(mixed(np.array([1], dtype=np.uint64))[0])
    '0x910a2dec89025cc1'
    """
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
