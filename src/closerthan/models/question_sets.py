"""Question sets: questions of one kind as choices among pairs, for a model that knows how similar each pair is.

All kinds of questions are special cases of one: of the pairs shown, choose the r most similar ones (or the least
similar one), in order or as a set.

====================  ===================================  =  =================
question              pairs shown                          r  chosen
====================  ===================================  =  =================
triplet               anchor with each of two objects      1  most similar
quadruplet            two pairs                            1  most similar
odd-one-out           the three pairs of three objects     1  most similar
most-central          the three pairs of three objects     1  *least* similar
nearest r of k        anchor with each of k objects        r  most similar, as a set
rank r of k           anchor with each of k objects        r  most similar, in order
====================  ===================================  =  =================
"""

import dataclasses
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from closerthan.checks import ParameterError
from closerthan.comparisons import Choices

__all__ = ["QUESTIONS", "QuestionSet", "chosen_and_shown", "draw_questions", "question_sets", "triangle"]

QUESTIONS = ("triplet", "quadruplet", "odd-one-out", "most-central", "nearest [r] of k", "rank [r] of k")
"""The kinds of questions; r and k are numbers, as in "nearest 2 of 8"."""

_SEVERAL = re.compile(r"(nearest|rank)(?: (\d+))? of (\d+)")


@dataclasses.dataclass(frozen=True)
class QuestionSet:
    """Questions with the same number of pairs.

    Attributes
    ----------
    pairs
        (n_questions, n_pairs, 2): the objects of each pair.
    n_chosen
        Number of pairs to choose.
    ordered
        Whether the chosen pairs are ranked.
    least
        Whether the least similar pair is to be chosen.
    numbers
        Position of each question among all questions.
    """

    pairs: NDArray[np.int64]
    n_chosen: int
    ordered: bool
    least: bool
    numbers: NDArray[np.int64]

    def take(self, selection: NDArray[np.bool_]) -> "QuestionSet":
        """Return some of the questions."""
        return dataclasses.replace(self, pairs=self.pairs[selection], numbers=self.numbers[selection])


def draw_questions(question: str, n_questions: int, n_objects: int, rng: np.random.Generator) -> QuestionSet:
    """Draw random questions of one kind; the objects of a question are distinct.

    Examples
    --------
    >>> draw_questions("rank 2 of 4", 10, 20, np.random.default_rng(0)).pairs.shape
    (10, 4, 2)
    """
    if _SEVERAL.fullmatch(question):
        n_chosen, n_shown, ordered = chosen_and_shown(question)
        objects = _distinct_objects(question, n_questions, n_objects, n_shown + 1, rng)
        anchor = np.broadcast_to(objects[:, :1], (n_questions, n_shown))
        return _all(np.stack([anchor, objects[:, 1:]], axis=2), n_chosen, ordered=ordered)
    if question == "triplet":
        objects = _distinct_objects(question, n_questions, n_objects, 3, rng)
        return _all(objects[:, [[0, 1], [0, 2]]], 1)
    if question == "quadruplet":
        objects = _distinct_objects(question, n_questions, n_objects, 4, rng)
        return _all(objects[:, [[0, 1], [2, 3]]], 1)
    if question in ("odd-one-out", "most-central"):
        objects = _distinct_objects(question, n_questions, n_objects, 3, rng)
        return _all(triangle(objects), 1, least=question == "most-central")
    raise ParameterError("question", question, f"choose from: {', '.join(QUESTIONS)}")


def chosen_and_shown(question: str) -> tuple[int, int, bool]:
    """Return how many objects are chosen and shown, and whether the chosen ones are ranked.

    Examples
    --------
    >>> chosen_and_shown("rank 2 of 8"), chosen_and_shown("nearest of 3")
    ((2, 8, True), (1, 3, False))
    """
    match = _SEVERAL.fullmatch(question)
    if match is None:
        raise ParameterError("question", question, f"choose from: {', '.join(QUESTIONS)}")
    n_shown, ordered = int(match[3]), match[1] == "rank"
    n_chosen = int(match[2]) if match[2] else n_shown - 1 if ordered else 1
    # Choosing all of them says nothing; ranking all of them says as much as ranking all but the last.
    n_chosen = min(n_chosen, n_shown - 1) if ordered else n_chosen
    if n_shown < 2 or not 1 <= n_chosen < n_shown:
        raise ParameterError("question", question, "fewer objects must be chosen than shown, as in nearest 2 of 8")
    return n_chosen, n_shown, ordered


def triangle(objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the three pairs of each row of three objects.

    Examples
    --------
    >>> triangle(np.array([[4, 7, 9]])).tolist()
    [[[4, 7], [4, 9], [7, 9]]]
    """
    pairs: NDArray[np.int64] = objects[:, [[0, 1], [0, 2], [1, 2]]]
    return pairs


def _all(pairs: NDArray[np.int64], n_chosen: int, *, ordered: bool = False, least: bool = False) -> QuestionSet:
    return QuestionSet(pairs, n_chosen, ordered, least, np.arange(len(pairs)))


def _distinct_objects(
    question: str, n_questions: int, n_objects: int, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw rows of distinct objects; rows with a repeated object are drawn again."""
    if n_objects < size:
        raise ParameterError("question", question, f"it is about {size} objects, but there are {n_objects}")
    if 4 * size * size > n_objects:  # repeats would be frequent
        return rng.permuted(np.tile(np.arange(n_objects), (n_questions, 1)), axis=1)[:, :size]
    objects = rng.integers(n_objects, size=(n_questions, size))
    repeats = np.arange(n_questions)
    while len(repeats):
        ordered = np.sort(objects[repeats], axis=1)
        repeats = repeats[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        objects[repeats] = rng.integers(n_objects, size=(len(repeats), size))
    return objects


def question_sets(choices: Choices) -> Iterator[QuestionSet]:
    """Yield the questions that people answered, grouped by their number of pairs.

    Examples
    --------
    >>> from closerthan import Comparisons
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [3, 0, 1]], answers=[0, 0, 1])
    >>> [one.pairs.shape for one in question_sets(Choices.of(answers))]
    [(1, 2, 2), (1, 3, 2)]
    """
    answers = choices.answers
    first_choice = np.searchsorted(answers, np.arange(choices.n_answers))
    n_chosen = np.bincount(answers, minlength=choices.n_answers)
    # A set shows its members, the first pair of each choice, and the pairs that were not chosen. The choices of a
    # ranking are among ever fewer pairs; the largest choice shows all of them.
    largest = np.zeros(choices.n_answers, dtype=np.int64)
    np.maximum.at(largest, answers, choices.sizes)
    n_shown = np.where(choices.is_set, n_chosen + largest - 1, largest)
    kinds = np.column_stack([n_shown, n_chosen, choices.is_set, choices.signs[first_choice]])
    distinct_kinds, kind_of = np.unique(kinds, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    for number, (most_pairs, n_choices, is_set, sign) in enumerate(distinct_kinds.tolist()):
        numbers = np.flatnonzero(kind_of == number)
        places = _shown_places(choices, numbers, first_choice, n_choices, most_pairs, bool(is_set))
        pairs = choices.pairs[places].astype(np.int64)
        yield QuestionSet(pairs, n_choices, not is_set and n_choices > 1, sign < 0, numbers)


def _shown_places(
    choices: Choices, numbers: NDArray[np.int64], first: NDArray[np.int64], n_chosen: int, n_shown: int, is_set: bool
) -> NDArray[np.int64]:
    """Return the positions in ``choices.pairs`` of all pairs that each question shows."""
    own = first[numbers, None] + np.arange(n_chosen)  # the choices of each answer
    if is_set:
        members = choices.starts[own]
        others = choices.starts[own[:, :1]] + 1 + np.arange(n_shown - n_chosen)
        return np.concatenate([members, others], axis=1)
    largest = own[np.arange(len(own)), np.argmax(choices.sizes[own], axis=1)]
    places: NDArray[np.int64] = choices.starts[largest][:, None] + np.arange(n_shown)
    return places
