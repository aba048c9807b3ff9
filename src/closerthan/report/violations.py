"""The most violated answers: those that the map contradicts most."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.comparisons import Comparisons, pair_questions
from closerthan.metrics import distances

__all__ = ["Violation", "most_violated"]


class Violation(NamedTuple):
    """An answer against the map."""

    objects: tuple[int, ...]  # a triplet or a quadruplet
    near: float  # the distance on the map that the answer says is the smaller one
    far: float
    times: int  # how often it was given
    people: tuple[str, ...] = ()  # who gave it, where that is known
    lines: tuple[int, ...] = ()  # in the file, where that is known


def most_violated(comparisons: Comparisons | ArrayLike, embedding: ArrayLike, most: int = 100) -> list[Violation]:
    """The answers whose near pair is farther apart on the map than their far pair, the largest difference first.

    Examples
    --------
    >>> most_violated([[0, 1, 2], [0, 2, 1], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    [Violation(objects=(0, 2, 1), near=3.0, far=1.0, times=2, people=(), lines=())]
    """
    answers = Comparisons.of(comparisons)
    near, far = distances(answers, embedding)
    excess = near - far
    wrong = np.flatnonzero(excess >= 0)
    if not len(wrong):
        return []
    question, way = pair_questions(answers)
    same_answer = 2 * question + way
    n_candidates = most
    while True:
        # Repeated answers count once: take more candidates until enough of them differ, or none is left.
        n_candidates = min(2 * n_candidates, len(wrong))
        limit = np.partition(excess[wrong], len(wrong) - n_candidates)[len(wrong) - n_candidates]
        picked = wrong[excess[wrong] >= limit]
        _, first, which, times = np.unique(
            same_answer[picked], return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) >= most or len(picked) == len(wrong):
            break
    places = picked[first]
    order = np.argsort(-excess[places], kind="stable")[:most]
    return [
        Violation(
            tuple(answers.rows[places[at]].tolist()),
            float(near[places[at]]),
            float(far[places[at]]),
            int(times[at]),
            *_sources(answers, picked[which.reshape(-1) == at]),
        )
        for at in order
    ]


def _sources(answers: Comparisons, same: NDArray[np.intp]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Who gave these answers, each person once, and in which lines of the file."""
    people: tuple[str, ...] = ()
    if answers.people is not None and answers.person_names is not None:
        people = tuple(answers.person_names[number] for number in dict.fromkeys(answers.people[same].tolist()))
    found = getattr(answers, "lines", None)
    return people, () if found is None else tuple(found[same].tolist())
