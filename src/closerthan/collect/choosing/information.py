"""Active selection of questions by expected information.

For each anchor, random pairs of options are compared. The selected pair is the one whose answer is expected to carry
the most information about which of several maps is right. Anchors take turns, because the best questions over all
anchors would concern the same few objects.

The information is the mutual information of answer and map, ``H(mean_m p_m) - mean_m H(p_m)``: ``p_m`` are the
probabilities of the answers on map ``m``, and ``H`` is the entropy. It is large where each map is certain of the
answer but the maps disagree (Tamuz, Liu, Belongie, Shamir & Kalai, 2011, "Adaptively learning the crowd kernel";
Houlsby, Huszár, Ghahramani & Lengyel, 2011, "Bayesian active learning for classification and preference learning").
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, number, whole
from closerthan.collect.choosing.belief import FEWEST, LOSS, Belief, fit_belief, fit_maps
from closerthan.collect.choosing.newcomers import others_of, possible_maps
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss, loss_named
from closerthan.messages import value_error
from closerthan.objective.information import KINDS

__all__ = ["Chosen", "Questions", "choose", "choose_questions"]

# Candidates per question. With 20, 90 objects on a line need up to an eighth more answers; 200 bring no further gain.
PAIRS = 60
RANDOM_FRACTION = 0.15
_IN_MEMORY = 200_000  # number of candidates that are scored at a time


class QuestionOptions(TypedDict, total=False):
    """Keyword arguments of :func:`choose_questions` that say which questions may be asked."""

    kind: str
    n_objects: int | None
    about: Sequence[int] | None
    exclude: Iterable[Sequence[int]]
    random_fraction: float


@checked
def choose_questions(
    answers: Comparisons | ArrayLike | None,
    count: int = 1,
    *,
    n_dims: int = 2,
    seed: int | None = 0,
    loss: str | Loss = LOSS,
    maps: ArrayLike | None = None,
    **options: Unpack[QuestionOptions],
) -> NDArray[np.int64]:
    """Choose the next questions: those whose answers are expected to be the most informative about the map.

    Parameters
    ----------
    answers
        The answers so far. If there are none, pass None and ``n_objects``. Objects without answers are asked about
        first.
    count
        The number of questions.
    n_dims, loss
        The dimension and the loss of the maps; ``loss`` is a name from ``LOSSES`` or a :class:`Loss`.
    seed
        The same seed, answers and ``exclude`` give the same questions.
    maps
        Existing replicates of shape (n_maps, n_objects, n_dims), such as those of :func:`closerthan.replicate`. With
        these, nothing is fitted, and choosing a question takes a few milliseconds.
    kind
        "closer" (the default): which of two options is closer to the anchor? "odd": which of three objects is the odd
        one out?
    n_objects
        The number of objects, if some have no answers yet.
    about
        Numbers of the objects that may be anchors, such as new objects to be placed on a map of the others, which is
        kept fixed. By default, all objects may be anchors.
    exclude
        Questions not to ask, such as those that are waiting for an answer, as three object numbers each.
    random_fraction
        The fraction of questions that are drawn at random, 0.15 by default. Only these allow an unbiased estimate of
        the accuracy of the map on arbitrary questions.

    Returns
    -------
    (count, 3) array
        Rows (anchor, option, option), or the three objects, in the order in which to ask them. No question occurs
        twice. A question that has been answered is chosen again only if no others are left.

    Examples
    --------
    >>> import closerthan as ct
    >>> sorted(ct.choose_questions(None, 4, n_objects=4, seed=0)[:, 0].tolist())
    [0, 1, 2, 3]
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> answers = ct.datasets.simulated(points, 200, noise="ste", seed=0)
    >>> ct.choose_questions(answers, 5, seed=0).shape
    (5, 3)
    >>> ct.choose_questions(answers, 5, n_objects=21, about=[20], seed=0)[:, 0].tolist()
    [20, 20, 20, 20, 20]
    """
    comparisons, n_objects = _comparisons(answers, options.get("n_objects"))
    new = _object_numbers(options.get("about"), n_objects)
    questions = Questions(options.get("kind", "closer"), n_objects, new)
    whole("count", count)
    whole("n_dims", n_dims)
    random_fraction = options.get("random_fraction", RANDOM_FRACTION)
    number("random_fraction", random_fraction, lambda fraction: 0 <= fraction <= 1, "lie between 0 and 1")
    map_loss = loss_named(loss).in_dims(n_dims)
    excluded = questions.keys(_question_rows(options.get("exclude", ()), n_objects))
    remaining = questions.number - len(np.unique(excluded))
    if count > remaining:
        n_excluded = questions.number - remaining
        raise ParameterError(
            "count",
            count,
            f"{n_objects} objects make {questions.number:,} questions, and {n_excluded:,} are excluded",
            "pass {count} or less",
            count=remaining,
        )
    n_answers = 0 if comparisons is None else comparisons.n_answers
    rng = np.random.default_rng(None if seed is None else [whole("seed", seed, 0), n_answers, len(excluded)])
    belief = None
    if maps is not None:
        belief = Belief(_checked_maps(maps, n_objects), map_loss)
    elif comparisons is not None and new is not None:
        others, numbers = others_of(comparisons, new)
        if others.n_answers >= FEWEST * len(numbers) * n_dims:
            embedding = fit_maps(others, n_dims, rng, map_loss)[0].embedding
            belief = Belief(possible_maps(comparisons, new, embedding, map_loss, rng), map_loss)
    elif comparisons is not None and n_answers >= FEWEST * n_objects * n_dims:
        belief = fit_belief(comparisons, fit_maps(comparisons, n_dims, rng, map_loss), rng)
    return choose(questions, comparisons, count, rng, excluded, belief, random_fraction).rows


class Chosen(NamedTuple):
    """Questions, one per row, and the expected information of their answers in nats (0 for random questions)."""

    rows: NDArray[np.int64]
    scores: Array


@dataclasses.dataclass(frozen=True)
class Questions:
    """The set of all questions of a kind about ``n_objects`` objects.

    Examples
    --------
    >>> Questions("closer", 5).number, Questions("odd", 5).number
    (30, 10)
    >>> Questions("closer", 5).keys(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2]])).tolist()
    [7, 7, 27]
    """

    kind: str
    n_objects: int
    anchors: tuple[int, ...] | None = None  # for kind "odd", at least one of the three objects is among these

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f'kind is {self.kind!r}; it can be "closer" or "odd"')
        if not 3 <= self.n_objects <= 2_000_000:  # keys are 64-bit numbers
            raise ValueError(f"there are {self.n_objects} objects; questions require 3 to 2,000,000")

    @property
    def number(self) -> int:
        """The number of questions."""
        n, n_anchors = self.n_objects, self.n_objects if self.anchors is None else len(self.anchors)
        if self.kind == "closer":
            return n_anchors * math.comb(n - 1, 2)
        return math.comb(n, 3) - math.comb(n - n_anchors, 3)

    def keys(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return a number that identifies each question, whatever the order of its options."""
        rows = np.asarray(rows, np.int64).reshape(-1, 3)
        options = np.sort(rows[:, 1:] if self.kind == "closer" else rows, axis=1)
        ordered = np.concatenate([rows[:, :1], options], axis=1) if self.kind == "closer" else options
        keys: NDArray[np.int64] = (ordered[:, 0] * self.n_objects + ordered[:, 1]) * self.n_objects + ordered[:, 2]
        return keys

    def draw(self, anchors: NDArray[np.int64], n_pairs: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ``n_pairs`` random pairs of options for each anchor, or all pairs in random order if there are fewer."""
        n, n_all = self.n_objects, math.comb(self.n_objects - 1, 2)
        if n_all <= n_pairs:
            first, second = np.triu_indices(n - 1, 1)
            shuffled = rng.permuted(np.tile(np.arange(n_all), (len(anchors), 1)), axis=1)
            first, second = first[shuffled], second[shuffled]
        else:
            first = rng.integers(n - 1, size=(len(anchors), n_pairs))
            second = rng.integers(n - 2, size=first.shape)
            second += second >= first
        anchor = np.broadcast_to(anchors[:, np.newaxis], first.shape)
        return np.stack([anchor, first + (first >= anchor), second + (second >= anchor)], axis=2)


def choose(
    questions: Questions,
    answers: Comparisons | None,
    count: int,
    rng: np.random.Generator,
    excluded: NDArray[np.int64],
    belief: Belief | None = None,
    random_fraction: float = 0.0,
) -> Chosen:
    """Choose questions as :func:`choose_questions` does, with their scores; ``excluded`` holds keys of questions.

    Fewer than ``count`` questions are returned if no more are left.
    """
    answered_rows = np.zeros((0, 3), np.int64) if answers is None else _questions_of(answers)
    order = _anchor_order(questions, answered_rows, excluded, rng)
    # The position of an object without answers is arbitrary, unless it is one of the anchors that the user chose.
    unplaced = np.full(questions.n_objects, questions.anchors is None)
    if answers is not None:
        unplaced[answers.rows.ravel()] = False
    used = set(excluded.tolist())
    answered = questions.keys(answered_rows)
    rows: list[NDArray[np.int64]] = []
    scores: list[float] = []
    may_repeat, n_pairs = False, PAIRS
    while len(rows) < count:
        n_before, n_anchors = len(rows), max(_IN_MEMORY // n_pairs, 1)
        for first in range(0, len(order), n_anchors):
            anchors = order[first : first + min(n_anchors, count - len(rows))]
            if not len(anchors):
                break
            pairs = questions.draw(anchors, n_pairs, rng)
            value = np.zeros(pairs.shape[:2])
            scored = np.flatnonzero((rng.random(len(anchors)) >= random_fraction) & ~unplaced[anchors])
            if belief is not None and len(scored):
                flat = pairs[scored].reshape(-1, 3)
                value[scored] = belief.information(questions.kind, flat).reshape(len(scored), -1)
            keys = questions.keys(pairs).reshape(value.shape)
            if not may_repeat:
                value[np.isin(keys, answered)] = -1.0
            for place, best_first in enumerate(np.argsort(-value, axis=1, kind="stable")):
                free = (pair for pair in best_first.tolist() if int(keys[place, pair]) not in used)
                best = next(free, None)
                if best is not None and value[place, best] >= 0:
                    used.add(int(keys[place, best]))
                    rows.append(pairs[place, best])
                    scores.append(float(value[place, best]))
        if len(rows) == n_before:
            if n_pairs < math.comb(questions.n_objects - 1, 2):
                n_pairs = math.comb(questions.n_objects - 1, 2)  # few questions are left: consider all of them
            elif not may_repeat:
                may_repeat = True
            else:
                break
    return Chosen(np.array(rows, np.int64).reshape(-1, 3), np.array(scores))


def _anchor_order(
    questions: Questions, answered: NDArray[np.int64], excluded: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Order the anchors: first objects that occur in no answer, then those that have been an anchor least often."""
    n = questions.n_objects
    anchors = excluded // n**2
    if questions.kind == "closer":
        times = np.bincount(answered[:, 0], minlength=n) + np.bincount(anchors, minlength=n)
    else:
        times = np.bincount(answered.ravel(), minlength=n)
        for part in (anchors, excluded // n % n, excluded % n):
            times += np.bincount(part, minlength=n)
    is_new = np.bincount(answered.ravel(), minlength=n) == 0
    order = np.lexsort((rng.random(n), times, ~is_new))
    return order if questions.anchors is None else order[np.isin(order, questions.anchors)]


def _questions_of(answers: Comparisons) -> NDArray[np.int64]:
    """Return the answered questions (anchor, option, option), without quadruplets whose pairs share no object."""
    rows = answers.rows.astype(np.int64)
    if rows.shape[1] == 3:
        return rows
    i, j, l, k = rows.T  # noqa: E741
    shared = ((i == l, i, j, k), (i == k, i, j, l), (j == l, j, i, k), (j == k, j, i, l))
    return np.concatenate([np.stack(question, axis=1)[same] for same, *question in shared])


# ---- Validation of arguments ----------------------------------------------------------------------------------------


def _comparisons(answers: Any, n_objects: int | None) -> tuple[Comparisons | None, int]:
    """Return the answers as comparisons of all objects, or None if there are none, and the number of objects."""
    if answers is None or (not isinstance(answers, Comparisons) and np.size(answers) == 0):
        if n_objects is None:
            raise value_error("there are no answers yet", "pass {n_objects}, the number of objects")
        return None, whole("n_objects", n_objects, 3)
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    if n_objects is None or n_objects == comparisons.n_objects:
        return comparisons, comparisons.n_objects
    if whole("n_objects", n_objects, 3) < comparisons.n_objects or comparisons.names is not None:
        raise ParameterError("n_objects", n_objects, f"the answers are about {comparisons.n_objects}; leave it out")
    return comparisons.replace(n_objects=n_objects), n_objects


def _object_numbers(about: Sequence[int] | None, n_objects: int) -> tuple[int, ...] | None:
    """Check the numbers of the objects to ask about."""
    if about is None:
        return None
    numbers = tuple(dict.fromkeys(whole("an object of about", number, 0) for number in about))
    if not numbers or max(numbers) >= n_objects or len(numbers) > n_objects - 2:
        rule = f"it must contain numbers from 0 to {n_objects - 1} and leave at least two other objects"
        raise ParameterError("about", list(about), rule, "pass {n_objects} if some have no answers yet")
    return numbers


def _question_rows(exclude: Iterable[Sequence[int]], n_objects: int) -> NDArray[np.int64]:
    """Check the excluded questions and return them as an array."""
    listed = exclude if isinstance(exclude, np.ndarray) else list(exclude)
    if not len(listed):
        return np.zeros((0, 3), np.int64)
    try:
        rows = np.array(listed)
    except ValueError:
        rows = np.zeros(0)
    if rows.ndim != 2 or rows.shape[1] != 3 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"exclude is {exclude!r:.60}; it must contain questions of three object numbers each")
    for place in np.flatnonzero(((rows < 0) | (rows >= n_objects)).any(axis=1))[:1].tolist():
        raise ValueError(
            f"row {place} of exclude is {rows[place].tolist()}; objects have numbers from 0 to {n_objects - 1}"
        )
    for place in np.flatnonzero((np.diff(np.sort(rows, axis=1), axis=1) == 0).any(axis=1))[:1].tolist():
        raise ValueError(f"row {place} of exclude is {rows[place].tolist()}; the objects of a question must differ")
    return rows.astype(np.int64)


def _checked_maps(maps: ArrayLike, n_objects: int) -> Array:
    stacked = np.ascontiguousarray(maps, dtype=np.float64)
    if stacked.ndim != 3 or len(stacked) < 2 or stacked.shape[1] != n_objects:
        raise ValueError(
            f"maps has shape {stacked.shape}; expected (n_maps, {n_objects}, n_dims) with at least two maps, "
            "as in ct.replicate(answers).maps"
        )
    if not np.isfinite(stacked).all():
        raise ValueError("maps contains numbers that are not finite; fit the maps again")
    return stacked
