"""Expected information of questions about a map whose uncertainty is represented by replicates."""

import functools
import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.compiled import compiling
from closerthan.compiled.kernels import information
from closerthan.losses import Loss

__all__ = ["KINDS", "expected_information", "uncertainty"]

KINDS = ("closer", "odd", "nearest", "rank")
"""Kinds of questions: which of two is closer to the first, which of three is the odd one out, which several options are
the closest to the first, and the same in order."""

MOST_ANSWERS = 1000  # if a question has more possible answers, only the first picks are considered


def expected_information(kind: str, questions: NDArray[Any], maps: Array, loss: Loss, n_picks: int = 1) -> Array:
    """Return the mutual information, in nats, between the answer to each question and the choice among the maps.

    A question is a row of objects. The information is the entropy of the mean probability minus the mean entropy over
    the maps, which are taken as equally likely. If ``n_picks`` options can be picked in more than a thousand ways, the
    information is that of fewer picks, which for rankings is a lower bound.

    Examples
    --------
    >>> from closerthan.losses import STE
    >>> maps = np.array([[[0.0], [1.0], [2.0]], [[0.0], [2.0], [1.0]]])
    >>> expected_information("closer", np.array([[0, 1, 2], [1, 0, 2]]), maps, STE()).round(2)
    array([0.5 , 0.14])
    """
    entropy_of_mean, mean_entropy = _entropies(kind, questions, maps, loss, n_picks)
    return np.maximum(entropy_of_mean - mean_entropy, 0.0)


def uncertainty(kind: str, questions: NDArray[Any], maps: Array, loss: Loss, n_picks: int = 1) -> Array:
    """Return the entropy of the answer to each question, which is also high where all maps agree that it is a tie."""
    return _entropies(kind, questions, maps, loss, n_picks)[0]


def _entropies(kind: str, questions: NDArray[Any], maps: Array, loss: Loss, n_picks: int) -> tuple[Array, Array]:
    entropies = np.empty(len(questions)), np.empty(len(questions))
    rows, maps = np.ascontiguousarray(questions, np.int64), np.ascontiguousarray(maps)
    in_kernels = compiling.argument(loss.in_kernels())
    if kind == "closer":
        information.closer_entropies(in_kernels, rows, maps, *entropies)
    elif kind == "odd":
        information.odd_entropies(in_kernels, rows, maps, *entropies)
    else:
        picks = _possible_picks(rows.shape[1] - 1, n_picks, kind == "rank")
        information.picks_entropies(in_kernels, rows, picks, kind == "rank", maps, *entropies)
    return entropies


@functools.lru_cache(maxsize=16)
def _possible_picks(n_options: int, n_picks: int, is_ordered: bool) -> NDArray[np.int64]:
    """Return all ways to pick ``n_picks`` of the options, one per row; fewer picks if there are too many ways.

    Examples
    --------
    >>> _possible_picks(3, 2, False).tolist(), len(_possible_picks(8, 7, True))
    ([[0, 1], [0, 2], [1, 2]], 336)
    """
    number = math.perm if is_ordered else math.comb
    while n_picks > 1 and number(n_options, n_picks) > MOST_ANSWERS:
        n_picks -= 1
    ways = (itertools.permutations if is_ordered else itertools.combinations)(range(n_options), n_picks)
    return np.array(list(ways), np.int64)
