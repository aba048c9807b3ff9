"""Violated answers: those that contradict the map most."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.comparisons import Comparisons, pair_questions
from closerthan.geometry import matrix_of
from closerthan.metrics import distances, margins

__all__ = ["Violation", "most_violated"]

ROUNDING = 1e-9  # fraction of the squared diameter of the map; an answer with a larger margin is not violated


class Violation(NamedTuple):
    """An answer that contradicts the map."""

    objects: tuple[int, ...]  # a triplet or a quadruplet
    near: float  # distance on the map that is smaller according to the answer
    far: float  # distance on the map that is larger according to the answer
    times: int  # number of times that the answer was given
    people: tuple[str, ...] = ()  # people who gave it; empty if they are unknown
    lines: tuple[int, ...] = ()  # lines of the file that contain it; empty if they are unknown


def most_violated(answers: Comparisons | ArrayLike, embedding: ArrayLike, most: int = 100) -> list[Violation]:
    """Return the answers whose near pair is farther apart on the map than their far pair, the worst first.

    Parameters
    ----------
    answers, embedding
        The answers and the map.
    most
        Largest number of answers to return; repeated answers count once.

    Examples
    --------
    >>> most_violated([[0, 1, 2], [0, 2, 1], [0, 2, 1]], [[0.0], [1.0], [3.0]])
    [Violation(objects=(0, 2, 1), near=3.0, far=1.0, times=2, people=(), lines=())]
    """
    comparisons, x = Comparisons.of(answers), matrix_of("embedding", embedding)
    # The margin is a quick test; its rounding errors are far smaller than the limit, so no violated answer is missed.
    limit = ROUNDING * float(np.sum(np.square(np.ptp(x, axis=0))))
    # Weights do not matter here, and comparisons whose weights are all zero cannot be taken.
    comparisons = comparisons.replace(weights=None).take(~(margins(comparisons, x) > limit))
    near, far = distances(comparisons, x)
    excess = near - far
    wrong = np.flatnonzero(excess >= 0)
    if not len(wrong):
        return []
    n_candidates = most
    while True:
        # Repeated answers count once, so the number of candidates doubles until enough of them are distinct.
        n_candidates = min(2 * n_candidates, len(wrong))
        limit = np.partition(excess[wrong], len(wrong) - n_candidates)[len(wrong) - n_candidates]
        candidates = wrong[excess[wrong] >= limit]
        question, way = pair_questions(comparisons.take(candidates))
        _, first, which, times = np.unique(
            2 * question + way, return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) >= most or len(candidates) == len(wrong):
            break
    first_rows = candidates[first]
    order = np.argsort(-excess[first_rows], kind="stable")[:most]
    return [
        Violation(
            tuple(comparisons.rows[first_rows[at]].tolist()),
            float(near[first_rows[at]]),
            float(far[first_rows[at]]),
            int(times[at]),
            *_sources(comparisons, candidates[which.reshape(-1) == at]),
        )
        for at in order
    ]


def _sources(answers: Comparisons, rows: NDArray[np.intp]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the people who gave these answers, each once, and the lines of the file that contain them."""
    people: tuple[str, ...] = ()
    if answers.people is not None and answers.person_names is not None:
        people = tuple(answers.person_names[number] for number in dict.fromkeys(answers.people[rows].tolist()))
    lines = getattr(answers, "lines", None)
    return people, () if lines is None else tuple(lines[rows].tolist())
