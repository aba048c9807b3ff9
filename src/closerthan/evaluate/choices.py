"""Choices: predictions of a map for questions with several candidates, such as "which of these three is the odd one?".

A question with candidates o = 1, ..., m asks for the one that wins all comparisons with the others. If the map gives
each of these comparisons a probability p(o, q), Luce's choice axiom gives each candidate one, too::

    P(o) proportional to exp(mean over q of log(p(o, q) / (1 - p(o, q)))),    with log odds 0 for q = o

With two candidates this is p(o, q) itself. Rankings and sets of several objects are predicted from distances and
have no probability.

References
----------
R. D. Luce, Individual Choice Behavior, Wiley 1959.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.metrics import distances

__all__ = ["KINDS", "PredictedChoice", "predicted_choices"]

KINDS = ("odd-one-out", "most-central", "nearest", "rank")
"""Kinds of questions whose answers imply several comparisons."""

Probability = Callable[[NDArray[np.int32]], Array]


class PredictedChoice(NamedTuple):
    """The prediction for one question."""

    row: int  # row of its first comparison
    objects: tuple[int, ...]  # the anchor first, where the question has one
    chosen: tuple[int, ...]  # the choice of the map; for a ranking, the nearest first
    as_written: bool  # True if the answer in the file is the same
    margin: float  # smallest far minus near distance: positive if the map agrees with the whole answer
    probability: float  # probability that the choice is right; NaN if unknown


class _Question(NamedTuple):
    """A question and the answer in the file."""

    anchor: int | None
    candidates: tuple[int, ...]
    written: tuple[int, ...]


def predicted_choices(
    kind: str, comparisons: Comparisons, embedding: Array, probability: Probability | None = None
) -> list[PredictedChoice]:
    """Predict the choice of each answer.

    Parameters
    ----------
    kind
        Kind of the questions, one of :data:`KINDS`.
    comparisons
        The comparisons of each answer.
    embedding
        The map.
    probability
        Function that returns the probability of each triplet; None if the map has none.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> predicted_choices("odd-one-out", answers, np.array([[0.0], [1.0], [5.0]]))[0].chosen
    (2,)
    """
    near, far = distances(comparisons, embedding)
    questions = list(_questions(kind, comparisons))
    probabilities = _probabilities(kind, [question for _, question in questions], probability)
    choices = []
    for (rows, question), by_candidate in zip(questions, probabilities, strict=True):
        if by_candidate is None:
            chosen, confidence = _by_distance(kind, question, embedding), math.nan
        else:
            best = int(np.argmax(by_candidate))
            chosen, confidence = (question.candidates[best],), float(by_candidate[best])
        is_ordered = kind == "rank"
        same = chosen == question.written if is_ordered else set(chosen) == set(question.written)
        objects = (*(() if question.anchor is None else (question.anchor,)), *question.candidates)
        margin = float((far[rows] - near[rows]).min())
        choices.append(PredictedChoice(int(rows[0]), objects, chosen, same, margin, confidence))
    return choices


def _questions(kind: str, comparisons: Comparisons) -> Iterator[tuple[NDArray[np.intp], _Question]]:
    """Yield the rows of each answer, in the order of the file, and the question that they answer."""
    source = np.arange(len(comparisons)) if comparisons.answers is None else np.asarray(comparisons.answers)
    order = np.argsort(source, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(source[order])) + 1)
    for rows in sorted(parts, key=lambda part: int(part[0])):
        part = comparisons.rows[rows].tolist()
        anchor, near, far = part[0]
        if kind == "odd-one-out":
            yield rows, _Question(None, tuple(sorted(part[0])), (far,))
        elif kind == "most-central":
            yield rows, _Question(None, tuple(sorted(part[0])), (near,))
        else:
            wins = {candidate: 0 for row in part for candidate in row[1:]}
            for row in part:
                wins[row[1]] += 1
            ranked = sorted(wins, key=lambda candidate: -wins[candidate])
            number = len(ranked) if kind == "rank" else len({row[1] for row in part})
            yield rows, _Question(anchor, tuple(sorted(ranked)), tuple(ranked[:number]))


def _beats(kind: str, question: _Question, one: int, other: int) -> tuple[int, int, int]:
    """Return the triplet which states that one candidate, rather than another, is the answer."""
    if question.anchor is not None:
        return question.anchor, one, other
    third = next(number for number in question.candidates if number not in (one, other))
    return (third, other, one) if kind == "odd-one-out" else (third, one, other)


def _probabilities(kind: str, questions: list[_Question], probability: Probability | None) -> list[Array | None]:
    """Return the probability of each candidate of each question; None where only distances can decide."""
    single = [probability is not None and kind != "rank" and len(question.written) == 1 for question in questions]
    triplets = [
        _beats(kind, question, one, other)
        for question, is_single in zip(questions, single, strict=True)
        if is_single
        for place, one in enumerate(question.candidates)
        for other in question.candidates[place + 1 :]
    ]
    if probability is None or not triplets:
        return [None] * len(questions)
    wins = np.clip(probability(np.array(triplets, dtype=np.int32)), 1e-12, 1 - 1e-12)
    odds = np.log(wins / (1 - wins))
    by_question: list[Array | None] = []
    at = 0
    for question, is_single in zip(questions, single, strict=True):
        if not is_single:
            by_question.append(None)
            continue
        m = len(question.candidates)
        scores = np.zeros(m)
        for place in range(m):
            part = odds[at : at + m - place - 1]
            scores[place] += part.sum() / m
            scores[place + 1 :] -= part / m
            at += m - place - 1
        weights = np.exp(scores - scores.max())
        by_question.append(weights / weights.sum())
    return by_question


def _by_distance(kind: str, question: _Question, embedding: Array) -> tuple[int, ...]:
    places = embedding[list(question.candidates)]
    if question.anchor is not None:
        far = np.linalg.norm(places - embedding[question.anchor], axis=1)
        order = np.argsort(far, kind="stable")[: len(question.written)]
        return tuple(question.candidates[place] for place in order)
    # Distance between the other two candidates; it is smallest for the odd one.
    opposite = [np.linalg.norm(places[(at + 1) % 3] - places[(at + 2) % 3]) for at in range(3)]
    best = int(np.argmin(opposite) if kind == "odd-one-out" else np.argmax(opposite))
    return (question.candidates[best],)
