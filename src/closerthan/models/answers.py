"""Answers of a model that knows how similar objects are: features, or a matrix of (dis)similarities."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.accuracy import similarities_of_pairs, without_rounding_errors
from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, positive, whole
from closerthan.comparisons import Choices, Comparisons
from closerthan.models.question_sets import QuestionSet, draw_questions, question_sets
from closerthan.models.tables import feature_table, names_of_rows, numbers_of
from closerthan.wording import counted, counts_in_words, first_few

__all__ = [
    "MEASURES",
    "ImpliedComparisons",
    "Measure",
    "answers_from",
    "implied_comparisons",
    "joined_answers",
    "model_similarities",
    "rows_of_objects",
]

Measure = Literal["cosine", "dot", "euclidean", "similarities", "dissimilarities"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
PER_OBJECT = 100  # random questions per object, unless the caller says how many
ROUNDS = 20  # attempts to replace questions that the model cannot answer
ASYMMETRY = 1e-6  # relative difference of the halves of a matrix up to which it is attributed to rounding


@checked
def answers_from(
    model: ArrayLike,
    questions: Comparisons | int | None = None,
    *,
    similarity: str = "cosine",
    question: str = "triplet",
    temperature: float | None = None,
    names: Sequence[str] | None = None,
    seed: int | None = 0,
) -> Comparisons:
    """Let a model answer questions about similarity, so that a map can be fitted to its answers as to those of people.

    Parameters
    ----------
    model
        Features of the objects, one row per object; or a square matrix of similarities or dissimilarities, in which NaN
        is a gap.
    questions
        People's answers, whose questions the model answers; or the number of random questions. By default 100 per
        object.
    similarity
        How similar two objects are: "cosine", "dot" (product) or "euclidean" (distance) of their features; for a matrix
        "similarities" or "dissimilarities".
    question
        Kind of the random questions: "triplet", "quadruplet", "odd-one-out", "most-central", "nearest 2 of 8" or "rank
        2 of 8" (with any numbers).
    temperature
        By default the model always chooses the most similar pair, and questions with a tie are left out. With a
        temperature, pairs are drawn with probabilities proportional to ``exp(similarity / temperature)``; for
        "euclidean", the similarity is minus the squared distance, and for "dissimilarities" it is minus the
        dissimilarity.
    names
        Names of the objects. If people's answers have names as well, objects are matched by name.
    seed
        The same seed gives the same questions and answers; None draws a new one.

    Returns
    -------
    Comparisons
        The answers of the model, in the order of the questions. ``dropped`` counts the questions that the model could
        not answer, because of ties or gaps. Random questions that cannot be answered are replaced by others.

    Examples
    --------
    >>> import closerthan as ct
    >>> features = np.random.default_rng(0).normal(size=(20, 5))
    >>> ct.answers_from(features, 500, similarity="euclidean")
    Comparisons(500 triplets of 20 objects)
    >>> cities = ct.datasets.eurodist()
    >>> answers = ct.answers_from(cities.table, 300, similarity="dissimilarities", question="odd-one-out")
    >>> answers.n_answers, answers.dropped
    (300, {})
    """
    matrix = _matrix(model, similarity)
    positive(temperature=temperature)
    labels = names_of_rows(names, len(matrix))
    rng = np.random.default_rng(seed)
    if isinstance(questions, Comparisons):
        rows_of = rows_of_objects(questions, labels, len(matrix), "model")
        sets: Iterable[QuestionSet] = question_sets(Choices.of(questions))
        parts = [_answer(one, matrix, similarity, temperature, rng, rows_of) for one in sets]
        return joined_answers(parts, questions.n_objects, questions.names, 4 if questions.rows.shape[1] == 4 else 3)
    number = PER_OBJECT * len(matrix) if questions is None else whole("questions", questions)
    parts, n_asked = [], 0
    while number and len(parts) < ROUNDS:
        random_questions = draw_questions(question, number, len(matrix), rng)
        part = _answer(random_questions, matrix, similarity, temperature, rng)
        parts.append(part._replace(numbers=part.numbers + n_asked))
        n_asked += len(random_questions.numbers)
        number -= part.n_answered
    # Questions without an answer were replaced by others, except in the last round.
    parts = [*(part._replace(n_ties=0, n_gaps=0) for part in parts[:-1]), parts[-1]]
    return joined_answers(parts, len(matrix), labels, 4 if question == "quadruplet" else 3)


def model_similarities(model: ArrayLike, pairs: NDArray[np.int64], similarity: str) -> Array:
    """Return the similarity of each pair of objects; NaN for a gap, and for a pair with a negative object number.

    Examples
    --------
    >>> matrix = [[0, 2, 3], [2, 0, 4], [3, 4, 0]]
    >>> model_similarities(matrix, np.array([[0, 1], [0, -1]]), "dissimilarities")
    array([-2., nan])
    """
    matrix = _matrix(model, similarity)
    flat = pairs.reshape(-1, 2)
    exists = (flat >= 0).all(axis=1)
    values = np.full(len(flat), np.nan)
    if similarity in ("similarities", "dissimilarities"):
        entries = without_rounding_errors(matrix[tuple(flat[exists].T)])
        values[exists] = entries if similarity == "similarities" else -entries
    else:
        values[exists] = similarities_of_pairs(flat[exists], matrix, similarity)
    return values.reshape(pairs.shape[:-1])


def _matrix(model: ArrayLike, similarity: str) -> Array:
    """Return the features or the matrix as an array, after checks; the halves of a matrix fill each other's gaps."""
    if similarity not in MEASURES:
        raise ParameterError("similarity", similarity, f"choose from: {', '.join(MEASURES)}")
    if similarity in ("cosine", "dot", "euclidean"):
        return feature_table("model", model)
    matrix = numbers_of("model", model)
    if matrix.shape[0] != matrix.shape[1]:
        rule = "a matrix of (dis)similarities is square; for features choose cosine, dot or euclidean"
        raise ParameterError("model", model, rule, problem=f"has shape {matrix.shape}")
    if np.isinf(matrix).any():
        raise ParameterError("model", model, "gaps are NaN", problem="has infinite entries")
    filled = np.where(np.isnan(matrix), matrix.T, matrix)
    difference = np.abs(filled - filled.T)
    largest = float(np.nanmax(np.abs(filled), initial=0.0))
    if (difference > ASYMMETRY * largest).any():
        i, j = np.unravel_index(int(np.nanargmax(difference)), matrix.shape)
        rule = "it must be symmetric; average both halves: (m + m.T) / 2"
        problem = f"has {filled[i, j]:g} for objects {i} and {j}, but {filled[j, i]:g} for {j} and {i}"
        raise ParameterError("model", model, rule, problem=problem)
    return filled


def rows_of_objects(
    answers: Comparisons, names: Sequence[str] | None, n_rows: int, parameter: str = "features"
) -> NDArray[np.int64]:
    """Return the row of the model for each object of people's answers; -1 if there is none.

    Examples
    --------
    >>> rows_of_objects(Comparisons.from_triplets([["ant", "bee", "cat"]]), ["cat", "ant"], 2).tolist()
    [1, -1, 0]
    """
    if names is None or answers.names is None:
        if answers.n_objects > n_rows:
            rule = f"the answers are about {answers.n_objects:,} objects; pass one row for each, or names for both"
            raise ParameterError(parameter, n_rows, rule, problem=f"has {counted(n_rows, 'row')}")
        return np.arange(answers.n_objects)
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.array([row_of.get(name, -1) for name in answers.names])
    if (rows < 0).all():
        raise ValueError(
            f"no object of the answers has features: the answers are about {first_few(answers.names, 3)}, and the "
            f"features about {first_few(names, 3)}; use the same names"
        )
    return rows


class ImpliedComparisons(NamedTuple):
    """Comparisons of the model as pairs, the question of each, and numbers of questions."""

    near: NDArray[np.int64]
    far: NDArray[np.int64]
    numbers: NDArray[np.int64]
    n_answered: int
    n_ties: int
    n_gaps: int


def _answer(
    questions: QuestionSet,
    matrix: Array,
    similarity: str,
    temperature: float | None,
    rng: np.random.Generator,
    rows_of: NDArray[np.int64] | None = None,
) -> ImpliedComparisons:
    """Let the model answer questions with the same number of pairs."""
    pairs = questions.pairs if rows_of is None else rows_of[questions.pairs]
    scores = model_similarities(matrix, pairs, similarity)
    has_values = np.asarray(~np.isnan(scores).any(axis=1))
    n_gaps = int((~has_values).sum())
    questions, scores = questions.take(has_values), scores[has_values]
    if questions.least:
        scores = -scores
    if temperature is not None:  # the largest sums with Gumbel noise are successive choices by Luce's rule
        scores = scores / temperature + rng.gumbel(size=scores.shape)
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    r = questions.n_chosen
    if temperature is None:
        is_tie = ranked[:, :r] == ranked[:, 1 : r + 1]
        tied = is_tie.any(axis=1) if questions.ordered else is_tie[:, r - 1]
        questions, order = questions.take(~tied), order[~tied]
    part = implied_comparisons(questions, order)
    return part._replace(n_ties=len(has_values) - n_gaps - part.n_answered, n_gaps=n_gaps)


def implied_comparisons(questions: QuestionSet, order: NDArray[np.int64]) -> ImpliedComparisons:
    """Return the comparisons of pairs that follow from answers.

    Parameters
    ----------
    questions
        The questions.
    order
        The pairs of each question in the order of the answer: the chosen ones first.
    """
    pairs = np.take_along_axis(questions.pairs, order[:, :, None], axis=1)
    chosen, other = _implied_ranks(questions.n_chosen, pairs.shape[1], questions.ordered)
    first, second = pairs[:, chosen].reshape(-1, 2), pairs[:, other].reshape(-1, 2)
    near, far = (second, first) if questions.least else (first, second)
    return ImpliedComparisons(near, far, np.repeat(questions.numbers, len(chosen)), len(questions.numbers), 0, 0)


def _implied_ranks(n_chosen: int, n_shown: int, ordered: bool) -> tuple[list[int], list[int]]:
    """Return the ranks of two pairs for each implied comparison: the first is chosen before the second."""
    statements = [(one, other) for one in range(n_chosen) for other in range(one + 1 if ordered else n_chosen, n_shown)]
    return [one for one, _ in statements], [other for _, other in statements]


def joined_answers(
    parts: Sequence[ImpliedComparisons], n_objects: int, names: tuple[str, ...] | None, width: int
) -> Comparisons:
    """Return the comparisons of all parts, in the order of the questions."""
    dropped = {"ties": sum(part.n_ties for part in parts), "gaps": sum(part.n_gaps for part in parts)}
    dropped = {reason: count for reason, count in dropped.items() if count}
    numbers = np.concatenate([part.numbers for part in parts])
    if not len(numbers):
        reasons = f" ({counts_in_words(dropped)})" if dropped else ""
        raise ValueError(f"the model can answer none of the questions{reasons}; check the model")
    order = np.argsort(numbers, kind="stable")
    near, far = (np.concatenate([getattr(part, side) for part in parts])[order] for side in ("near", "far"))
    rows = np.hstack([near, far]) if width == 4 else _triplets(near, far)
    answers = numbers[order]
    several = len(np.unique(answers)) < len(answers)
    make = Comparisons.from_quadruplets if width == 4 else Comparisons.from_triplets
    comparisons = make(
        rows, n_objects=n_objects, names=names, answers=answers if several else None, unmentioned="ignore"
    )
    return comparisons.replace(dropped=dropped)


def _triplets(near: NDArray[np.int64], far: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return triplets from pairs that share an object."""
    first_is_shared = (near[:, :1] == far).any(axis=1)
    anchor = np.where(first_is_shared, near[:, 0], near[:, 1])
    others = [np.where(pair[:, 0] == anchor, pair[:, 1], pair[:, 0]) for pair in (near, far)]
    return np.column_stack([anchor, *others])
