"""Questions: keys that are equal for rows that ask the same question.

There are two notions of "the same question", and every part of the package takes them from here:

- :func:`pair_questions`: "which of these two pairs is closer?" Rows with equal keys are answers to exactly the same
  question, so they agree or contradict each other. Use it to count repeats, contradictions and distinct questions.
- :func:`object_set_keys`: the set of objects that an answer mentions. Answers about the same objects are correlated,
  so they are held out together; see :mod:`closerthan.comparisons.grouping`.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.rows import pair_numbers, pairs_of

if TYPE_CHECKING:
    from closerthan.comparisons.container import Comparisons

__all__ = ["consecutive_numbers", "keys_of_answers", "object_set_keys", "pair_questions", "splitmix64"]

_CHUNK = 1 << 18  # rows whose keys are computed at a time

Rows = NDArray[np.int32]
Keys = NDArray[np.uint64]


def pair_questions(comparisons: "Comparisons") -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a key for each row's question, "which of these two pairs is closer?", and which way it was answered.

    Rows with equal keys and different answers contradict each other. (i, j) and (j, i) are the same pair.

    Examples
    --------
    >>> from closerthan import Comparisons
    >>> question, answer = pair_questions(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [1, 0, 2]]))
    >>> bool(question[0] == question[1] != question[2]), answer.tolist()
    (True, [False, True, False])
    """
    n_objects = comparisons.n_objects
    if comparisons.rows.shape[1] == 3 and n_objects < 1 << 20:  # three object numbers fit in 60 bits
        i, j, k = comparisons.rows.T
        question: NDArray[np.int64] = i.astype(np.int64)
        question *= n_objects**2
        question += pair_numbers(j, k, n_objects)
        return question, j > k
    near, far = (pair_numbers(*pair, n_objects) for pair in pairs_of(comparisons.rows))
    # Where the product of two pair numbers would overflow 64 bits, pairs are first renumbered without gaps.
    if max(int(near.max()), int(far.max())) >= 1 << 30:
        both = consecutive_numbers(np.concatenate([near, far])).astype(np.int64)
        near, far = both[: len(near)], both[len(near) :]
    return pair_numbers(near, far, max(int(near.max()), int(far.max())) + 1), near > far


def object_set_keys(rows: Rows, n_objects: int, answers: Rows | None) -> Keys:
    """Return a key per row that is equal for all comparisons from answers about the same set of objects.

    Examples
    --------
    >>> rows = np.array([[0, 1, 2], [0, 1, 3], [3, 0, 2], [3, 0, 1]], dtype=np.int32)
    >>> len(set(object_set_keys(rows, 4, np.array([0, 0, 1, 1], dtype=np.int32)).tolist()))
    1
    """
    return _keys_of_rows(rows, n_objects) if answers is None else keys_of_answers(rows, n_objects, answers)[answers]


def keys_of_answers(rows: Rows, n_objects: int, answers: Rows) -> Keys:
    """Return a key per answer: the sum of the hashes of its objects, each counted once.

    A sum does not depend on the order of the objects. Two questions have the same key by chance once in 2^64 pairs;
    they are then held out together, which is harmless.
    """
    columns = []
    for column in rows.T:
        pair = answers.astype(np.int64) * n_objects + column
        # Of a run of the same object, such as the anchor of an answer, only the first entry is kept and sorted.
        columns.append(pair[np.concatenate([[True], pair[1:] != pair[:-1]])])
    pairs = np.concatenate(columns)  # pairs of an answer and an object
    pairs.sort()
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]
    answer, objects = np.divmod(pairs, n_objects)
    starts = np.flatnonzero(np.concatenate([[True], answer[1:] != answer[:-1]]))
    keys = np.zeros(int(answers.max()) + 1, dtype=np.uint64)
    keys[answer[starts]] = np.add.reduceat(splitmix64(objects.astype(np.uint64)), starts)
    return keys


def _keys_of_rows(rows: Rows, n_objects: int) -> Keys:
    keys = np.empty(len(rows), dtype=np.uint64)
    fits_in_64_bits = n_objects ** rows.shape[1] < 1 << 63
    for start in range(0, len(rows), _CHUNK):
        columns = _sorted_within_rows(rows[start : start + _CHUNK].astype(np.uint64).T)
        key = np.zeros(len(columns[0]), dtype=np.uint64)
        for column in columns:
            key = key * np.uint64(n_objects) + column if fits_in_64_bits else splitmix64(key + column)
        keys[start : start + _CHUNK] = key
    return keys


def _sorted_within_rows(columns: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], ...]:
    """Sort the objects of each row; where only three of four are distinct, the last one is repeated."""
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


def consecutive_numbers(keys: NDArray[Any]) -> NDArray[Any]:
    """Replace keys by consecutive numbers from 0, in the order of the keys; equal keys get equal numbers.

    Examples
    --------
    >>> consecutive_numbers(np.array([30, 10, 30])).tolist()
    [1, 0, 1]
    """
    if not len(keys):
        return np.empty(0, dtype=np.int32)
    # A key and its position are sorted as one number, which is faster than argsort. If both do not fit into 64 bits,
    # the last bits of the key are left out, and the few keys that differ only there are sorted separately.
    bits = len(keys).bit_length()
    omitted = max(int(keys.max()).bit_length() + bits - 64, 0)
    ordered = keys.astype(np.uint64)
    ordered >>= np.uint64(omitted)
    ordered <<= np.uint64(bits)
    ordered |= np.arange(len(keys), dtype=np.uint64)
    ordered.sort()
    order = (ordered & np.uint64((1 << bits) - 1)).view(np.int64)
    ordered >>= np.uint64(bits)
    is_new = np.ones(len(keys), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    del ordered
    if omitted and not is_new.all():
        tied = ~is_new
        tied[:-1] |= tied[1:]
        places = np.flatnonzero(tied)
        whole = keys[order[places]]
        rank = np.argsort(whole)
        order[places], whole = order[places][rank], whole[rank]
        is_new[places[1:]] = whole[1:] != whole[:-1]
    number = np.empty(len(keys), dtype=np.int32 if len(keys) < 1 << 31 else np.int64)
    number[order] = np.cumsum(is_new, dtype=number.dtype) - 1
    return number


def splitmix64(keys: Keys) -> Keys:
    """Return a fixed hash of each number: the finaliser of SplitMix64 (Steele et al. 2014).

    Examples
    --------
    >>> hex(splitmix64(np.array([1], dtype=np.uint64))[0])
    '0x910a2dec89025cc1'
    """
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
