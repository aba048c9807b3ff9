"""Choices: predictions of a map for questions with several candidates, such as "which of these three is the odd one?".

Each candidate of a question has a log similarity: that of the anchor and the candidate, that of the two other objects
if the odd one of three is asked for, and its negative if the most central one is. If a map gives probabilities to
comparisons, the log similarity of candidate o is the mean over all candidates q of the log odds that o is chosen rather
than q. If there are more than three objects, of which one is odd, it is the mean over the pairs of the other objects.

The candidates with the largest log similarities are chosen, with the probability of Luce's choice rule
(:mod:`closerthan.accuracy`).

References
----------
R. D. Luce, Individual Choice Behavior, Wiley 1959.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from closerthan.accuracy import log_probability_of_sets
from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.metrics import distances

__all__ = ["KINDS", "PredictedChoice", "predicted_choices"]

KINDS = ("odd-one-out", "most-central", "nearest", "rank")
"""Kinds of questions whose answers imply several comparisons."""

Probability = Callable[[Any], Array]
"""Returns the probability of each row: of triplets as an array, or of Comparisons."""

Pairs = dict[tuple[int, int], float]


class PredictedChoice(NamedTuple):
    """The prediction for one question."""

    row: int  # row of its first comparison
    objects: tuple[int, ...]  # the anchor first, where the question has one
    chosen: tuple[int, ...]  # the choice of the map; for a ranking, the nearest first
    as_written: bool  # True if the answer in the file is the same
    margin: float  # smallest far minus near distance: positive if the map agrees with the whole answer
    probability: float  # probability that the choice is right; NaN if the map has none


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
    choices = []
    for (rows, question), scores in zip(
        questions, _scores(kind, [question for _, question in questions], embedding, probability), strict=True
    ):
        order = np.argsort(-scores, kind="stable")
        number, is_ordered = len(question.written), kind == "rank"
        chosen = tuple(question.candidates[place] for place in order[:number])
        same = chosen == question.written if is_ordered else set(chosen) == set(question.written)
        objects = (*(() if question.anchor is None else (question.anchor,)), *question.candidates)
        margin = float((far[rows] - near[rows]).min())
        confidence = math.nan if probability is None else _probability(scores[order], number, is_ordered)
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
            yield rows, _Question(None, tuple(sorted({one for row in part for one in row})), (far,))
        elif kind == "most-central":
            yield rows, _Question(None, tuple(sorted(part[0])), (near,))
        else:
            wins = {candidate: 0 for row in part for candidate in row[1:]}
            for row in part:
                wins[row[1]] += 1
            ranked = sorted(wins, key=lambda candidate: -wins[candidate])
            number = sum(win > 0 for win in wins.values())
            # If all but one are ranked, the ranking is complete.
            number += kind == "rank" and number == len(ranked) - 1
            yield rows, _Question(anchor, tuple(sorted(ranked)), tuple(ranked[:number]))


def _scores(
    kind: str, questions: list[_Question], embedding: Array, probability: Probability | None
) -> Iterator[Array]:
    """Yield the log similarity of each candidate of each question, up to a constant."""
    if probability is None:
        for question in questions:
            yield _by_distance(kind, question, embedding)
        return
    is_small = [question.anchor is not None or len(question.candidates) == 3 for question in questions]
    triplets = [
        _beats(kind, question, one, other)
        for question, small in zip(questions, is_small, strict=True)
        if small
        for one, other in itertools.combinations(question.candidates, 2)
    ]
    against_first = [
        (*pair, *question.candidates[:2])
        for question, small in zip(questions, is_small, strict=True)
        if not small
        for pair in itertools.islice(itertools.combinations(question.candidates, 2), 1, None)
    ]
    odds: Iterator[float] = iter(())
    odds_of_pairs: Iterator[float] = iter(())
    if triplets:
        odds = iter(_log_odds(probability(np.array(triplets, dtype=np.int32))))
    if against_first:
        rows = Comparisons.from_quadruplets(against_first, n_objects=len(embedding), unmentioned="ignore")
        odds_of_pairs = iter(_log_odds(probability(rows)))
    for question, small in zip(questions, is_small, strict=True):
        m = len(question.candidates)
        if not small:
            first, *others = itertools.combinations(question.candidates, 2)
            yield _of_groups(question, {first: 0.0, **{pair: next(odds_of_pairs) for pair in others}})
            continue
        scores = np.zeros(m)
        for one, other in itertools.combinations(range(m), 2):
            log_odds = next(odds) / m
            scores[one] += log_odds
            scores[other] -= log_odds
        yield scores


def _log_odds(probability: Array) -> list[float]:
    odds: list[float] = logit(np.clip(probability, 1e-12, 1 - 1e-12)).tolist()
    return odds


def _beats(kind: str, question: _Question, one: int, other: int) -> tuple[int, int, int]:
    """Return the triplet which states that one candidate, rather than another, is the answer."""
    if question.anchor is not None:
        return question.anchor, one, other
    third = next(number for number in question.candidates if number not in (one, other))
    return (third, other, one) if kind == "odd-one-out" else (third, one, other)


def _by_distance(kind: str, question: _Question, embedding: Array) -> Array:
    """Return minus the squared distance that decides about each candidate, or its mean."""
    if question.anchor is not None:
        moves = embedding[list(question.candidates)] - embedding[question.anchor]
        return np.asarray(-np.einsum("cd,cd->c", moves, moves))
    pairs: Pairs = {}
    for one, other in itertools.combinations(question.candidates, 2):
        pairs[one, other] = -float(np.sum((embedding[one] - embedding[other]) ** 2))
    of_others = _of_groups(question, pairs)
    return of_others if kind == "odd-one-out" else -of_others


def _of_groups(question: _Question, pairs: Pairs) -> Array:
    """Return the mean over the pairs of the other candidates, for each candidate."""
    return np.array(
        [
            np.mean([value for pair, value in pairs.items() if candidate not in pair])
            for candidate in question.candidates
        ]
    )


def _probability(scores: Array, number: int, is_ordered: bool) -> float:
    """Return the probability that the first candidates are chosen; they are in the order of their log similarities."""
    log_sum = np.logaddexp.reduce
    if is_ordered or number == 1:
        return math.exp(sum(scores[place] - log_sum(scores[place:]) for place in range(number)))
    if number == len(scores) - 1:  # the answer names the least similar one
        return math.exp(-scores[-1] - log_sum(-scores))
    return math.exp(log_probability_of_sets(scores[None, :number], log_sum(scores[number:], keepdims=True))[0])
