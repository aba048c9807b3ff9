"""Active selection of questions by expected information.

For each anchor, random pairs of options are compared. The selected pair is the one whose answer is expected to carry
the most information about which of several maps is right. Anchors take turns, because the best questions over all
anchors would concern the same few objects. If a question has more than two options, the best random set of options is
then improved by exchanging one option at a time.

The information is the mutual information of answer and map, ``H(mean_m p_m) - mean_m H(p_m)``: ``p_m`` are the
probabilities of the answers on map ``m``, and ``H`` is the entropy. It is large where each map is certain of the
answer but the maps disagree (Tamuz, Liu, Belongie, Shamir & Kalai, 2011, "Adaptively learning the crowd kernel";
Houlsby, Huszár, Ghahramani & Lengyel, 2011, "Bayesian active learning for classification and preference learning").
"""

import dataclasses
import functools
import itertools
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
from closerthan.comparisons.questions import splitmix64
from closerthan.comparisons.screen import KINDS, Screen
from closerthan.losses import Loss, loss_named
from closerthan.messages import value_error
from closerthan.signatures import lists_keywords

__all__ = ["ChosenQuestions", "Questions", "choose", "choose_questions"]

# Candidates per question. With only 20, a map of 90 objects on a line needs up to an eighth more answers; 200 are no
# better.
PAIRS = 60
# Candidates for the exchange of an option. If 2 of 8 or 3 of 12 options are picked, maps make a fifth more errors
# without exchanges, and a sixth more with twice as many random sets instead. If 1 of 4 is picked, or options are
# ranked, exchanges gain nothing. 30 candidates take twice as long.
EXCHANGES = 10
RANDOM_FRACTION = 0.15
N_OPTIONS, N_PICKS = 8, 2
# Defaults of :class:`QuestionOptions`.
DEFAULTS = {
    "kind": "closer",
    "n_options": N_OPTIONS,
    "n_picks": N_PICKS,
    "exclude": (),
    "random_fraction": RANDOM_FRACTION,
}
_MORE_SETS = 50  # factor by which the number of candidates grows if no question is left among them
_IN_MEMORY = 200_000  # number of candidates that are scored at a time


class QuestionOptions(TypedDict, total=False):
    """Keyword arguments of :func:`choose_questions` that say which questions may be asked."""

    kind: str
    n_options: int
    n_picks: int
    n_objects: int | None
    about: Sequence[int] | None
    exclude: Iterable[Sequence[int]]
    random_fraction: float


@lists_keywords(QuestionOptions, DEFAULTS)
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
        one out? "nearest": which options are the closest to the anchor? "rank": the same in order.
    n_options, n_picks
        The number of options, and how many of them are picked, for the kinds "nearest" and "rank": 8 and 2 by default.
    n_objects
        The number of objects, if some have no answers yet.
    about
        Numbers of the objects that may be anchors, such as new objects to be placed on a map of the others, which is
        kept fixed. By default, all objects may be anchors.
    exclude
        Questions not to ask, such as those that are waiting for an answer, as the numbers of their objects.
    random_fraction
        The fraction of questions that are drawn at random, 0.15 by default. Only these allow an unbiased estimate of
        the accuracy of the map on arbitrary questions.

    Returns
    -------
    (count, 3) array, or a wider one for more options
        Rows (anchor, option, option, ...), or the three objects of an odd one out, in the order in which to ask them.
        No question occurs twice. A question that has been answered is chosen again only if no others are left.

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
    >>> ct.choose_questions(answers, 5, kind="nearest", n_options=8, n_picks=2, seed=0).shape
    (5, 9)
    """
    comparisons, n_objects = _comparisons(answers, options.get("n_objects"))
    new = _object_numbers(options.get("about"), n_objects)
    numbers_of = {name: whole(name, options[name], 1) for name in ("n_options", "n_picks") if name in options}
    questions = Questions(options.get("kind", "closer"), n_objects, new, **numbers_of)
    whole("count", count)
    whole("n_dims", n_dims)
    random_fraction = options.get("random_fraction", RANDOM_FRACTION)
    number("random_fraction", random_fraction, lambda fraction: 0 <= fraction <= 1, "lie between 0 and 1")
    map_loss = loss_named(loss).in_dims(n_dims)
    excluded = _question_rows(options.get("exclude", ()), n_objects, questions.screen.n_objects)
    remaining = questions.number - len(np.unique(questions.keys(excluded)))
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


class ChosenQuestions(NamedTuple):
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
    n_options: int = N_OPTIONS
    n_picks: int = N_PICKS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("kind", self.kind, f"it can be {', '.join(KINDS)}")
        if not self.screen.n_picks < self.screen.n_options < self.n_objects + (not self.screen.has_anchor):
            raise ParameterError(
                "n_options",
                self.n_options,
                f"it must be larger than the number of picks ({self.n_picks}) and smaller than the number of objects "
                f"({self.n_objects})",
            )
        if not 3 <= self.n_objects <= 2_000_000:  # keys are 64-bit numbers
            raise ValueError(f"there are {self.n_objects} objects; questions require 3 to 2,000,000")

    @property
    def number(self) -> int:
        """The number of questions."""
        return self.screen.number(self.n_objects, None if self.anchors is None else len(self.anchors))

    @property
    def n_sets(self) -> int:
        """The number of sets of further objects that can be shown with an object."""
        return math.comb(self.n_objects - 1, self.screen.n_objects - 1)

    @functools.cached_property
    def screen(self) -> Screen:
        """The screen on which a question is shown."""
        return Screen.of(self.kind, self.n_options, self.n_picks)

    def keys(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Return a number that identifies each question, whatever the order of its options."""
        rows = np.asarray(rows, np.int64).reshape(-1, self.screen.n_objects)
        n_fixed = int(self.screen.has_anchor)
        ordered = np.concatenate([rows[:, :n_fixed], np.sort(rows[:, n_fixed:], axis=1)], axis=1)
        keys = np.zeros(len(rows), np.int64)
        fits_in_64_bits = self.n_objects**self.screen.n_objects < 1 << 63
        for column in ordered.T:
            keys = keys * self.n_objects + column
            if not fits_in_64_bits:  # a hash: two questions have the same one by chance once in 2^64 pairs
                keys = splitmix64(keys.view(np.uint64)).view(np.int64)
        return keys

    def rows_of(self, answers: Comparisons | None) -> NDArray[np.int64]:
        """Return the questions of this kind that have been answered."""
        if answers is None:
            return np.zeros((0, self.screen.n_objects), np.int64)
        return _questions_of(answers) if self.screen.n_objects == 3 else _sets_of(answers, self.screen.n_options)

    def draw(self, anchors: NDArray[np.int64], n_sets: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ``n_sets`` random sets of options for each anchor, or all sets in random order if there are fewer."""
        n, n_others = self.n_objects, self.screen.n_objects - 1
        if self.n_sets <= n_sets:
            every = np.array(list(itertools.combinations(range(n - 1), n_others)))
            sets = every[rng.permuted(np.tile(np.arange(self.n_sets), (len(anchors), 1)), axis=1)]
        else:
            sets = np.empty((len(anchors), n_sets, 0), np.int64)
            for place in range(n_others):
                new = rng.integers(n - 1 - place, size=sets.shape[:2])
                for earlier in np.moveaxis(np.sort(sets, axis=2), 2, 0):
                    new += new >= earlier
                sets = np.concatenate([sets, new[:, :, np.newaxis]], axis=2)
        anchor = np.broadcast_to(anchors[:, np.newaxis, np.newaxis], (*sets.shape[:2], 1))
        return np.concatenate([anchor, sets + (sets >= anchor)], axis=2)


def choose(
    questions: Questions,
    answers: Comparisons | None,
    count: int,
    rng: np.random.Generator,
    excluded: NDArray[np.int64],
    belief: Belief | None = None,
    random_fraction: float = 0.0,
) -> ChosenQuestions:
    """Choose questions as :func:`choose_questions` does, with their scores; ``excluded`` holds questions not to ask.

    Fewer than ``count`` questions are returned if no more are left.
    """
    answered_rows = questions.rows_of(answers)
    order = _anchor_order(questions, answered_rows, excluded, rng)
    # The position of an object without answers is arbitrary, unless it is one of the anchors that the user chose.
    unplaced = np.full(questions.n_objects, questions.anchors is None)
    if answers is not None:
        unplaced[answers.rows.ravel()] = False
    used = set(questions.keys(excluded).tolist())
    answered = np.unique(questions.keys(answered_rows))
    rows: list[NDArray[np.int64]] = []
    scores: list[float] = []
    may_repeat, n_sets = False, PAIRS
    while len(rows) < count:
        n_before, n_anchors = len(rows), min(max(_IN_MEMORY // n_sets, 1), count - len(rows))
        for first in range(0, len(order), n_anchors):
            anchors = order[first : first + min(n_anchors, count - len(rows))]
            if not len(anchors):
                break
            sets = questions.draw(anchors, n_sets, rng)
            is_scored = (rng.random(len(anchors)) >= random_fraction) & ~unplaced[anchors]
            if belief is not None:
                sets, value = _score_options(questions, sets, np.flatnonzero(is_scored), belief, rng)
            else:
                value = np.zeros(sets.shape[:2])
            keys = questions.keys(sets).reshape(value.shape)
            if not may_repeat:
                value[_is_among(keys, answered)] = -1.0
            for place, best_first in enumerate(np.argsort(-value, axis=1, kind="stable")):
                free = (one for one in best_first.tolist() if int(keys[place, one]) not in used)
                best = next(free, None)
                if best is not None and value[place, best] >= 0:
                    used.add(int(keys[place, best]))
                    rows.append(sets[place, best])
                    scores.append(float(value[place, best]))
        if len(rows) == n_before:
            if n_sets < questions.n_sets:
                n_sets = min(_MORE_SETS * n_sets, questions.n_sets)  # few questions are left: consider more of them
            elif not may_repeat:
                may_repeat = True
            else:
                break
    return ChosenQuestions(np.array(rows, np.int64).reshape(-1, questions.screen.n_objects), np.array(scores))


def _score_options(
    questions: Questions, sets: NDArray[np.int64], scored: NDArray[np.intp], belief: Belief, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Return sets of options for each anchor and their expected information: 0 for the anchors that are not scored.

    If there are more than two options, an improved set is added to those that were drawn.
    """
    value = np.zeros(sets.shape[:2])
    if not len(scored):
        return sets, value
    value[scored] = _information(questions, sets[scored], belief)
    if questions.screen.n_objects == 3:
        return sets, value
    best, best_value = sets[:, 0].copy(), np.zeros(len(sets))
    best[scored], best_value[scored] = _exchange_options(questions, sets[scored], value[scored], belief, rng)
    return np.concatenate([best[:, np.newaxis], sets], axis=1), np.column_stack([best_value, value])


def _exchange_options(
    questions: Questions, sets: NDArray[np.int64], value: Array, belief: Belief, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array]:
    """Return the best set of options of each anchor after exchanging one option at a time, and its information."""
    each = np.arange(len(sets))
    first = value.argmax(axis=1)
    best, best_value = sets[each, first], value[each, first]
    for place in range(1, questions.screen.n_objects):
        candidates = np.repeat(best[:, np.newaxis], EXCHANGES, axis=1)
        candidates[:, :, place] = rng.integers(questions.n_objects, size=candidates.shape[:2])
        new = _information(questions, candidates, belief)
        new[(np.diff(np.sort(candidates, axis=2), axis=2) == 0).any(axis=2)] = -1.0  # an object occurs twice
        chosen = new.argmax(axis=1)
        is_better = new[each, chosen] > best_value
        best[is_better] = candidates[each, chosen][is_better]
        best_value = np.maximum(best_value, new[each, chosen])
    return best, best_value


def _information(questions: Questions, sets: NDArray[np.int64], belief: Belief) -> Array:
    screen = questions.screen
    flat = belief.information(questions.kind, sets.reshape(-1, screen.n_objects), screen.n_picks)
    return flat.reshape(sets.shape[:2])


def _is_among(keys: NDArray[np.int64], answered: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which keys are among those in a sorted array, in a time that hardly depends on its length."""
    places = np.searchsorted(answered, keys)
    is_among: NDArray[np.bool_] = (places < len(answered)) & (np.append(answered, 0)[places] == keys)
    return is_among


def _anchor_order(
    questions: Questions, answered: NDArray[np.int64], excluded: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Order the anchors: first objects that occur in no answer, then those that have been an anchor least often."""
    n = questions.n_objects
    columns = slice(0, 1) if questions.screen.has_anchor else slice(None)
    times = np.bincount(answered[:, columns].ravel(), minlength=n)
    times += np.bincount(excluded[:, columns].ravel(), minlength=n)
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


def _sets_of(answers: Comparisons, n_options: int) -> NDArray[np.int64]:
    """Return the answered questions (anchor, option, ..., option) with a number of options."""
    rows = _questions_of(answers)
    if answers.answers is None or len(rows) < len(answers):
        return np.zeros((0, 1 + n_options), np.int64)
    n = answers.n_objects
    key = answers.answers.astype(np.int64) * n
    pairs = np.unique(np.concatenate([key + rows[:, 1], key + rows[:, 2]]))  # one key for each answer and option
    answer, option = np.divmod(pairs, n)
    numbers, start, size = np.unique(answer, return_index=True, return_counts=True)
    fits = size == n_options
    options = option[start[fits][:, np.newaxis] + np.arange(n_options)]
    anchors = np.zeros(int(numbers.max()) + 1, np.int64)
    anchors[answers.answers] = rows[:, 0]
    return np.column_stack([anchors[numbers[fits]], options])


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


def _question_rows(exclude: Iterable[Sequence[int]], n_objects: int, width: int) -> NDArray[np.int64]:
    """Check the excluded questions and return them as an array."""
    listed = exclude if isinstance(exclude, np.ndarray) else list(exclude)
    if not len(listed):
        return np.zeros((0, width), np.int64)
    try:
        rows = np.array(listed)
    except ValueError:
        rows = np.zeros(0)
    if rows.ndim != 2 or rows.shape[1] != width or not np.issubdtype(rows.dtype, np.integer):
        number = {3: "three"}.get(width, str(width))
        raise ValueError(f"exclude is {exclude!r:.60}; it must contain questions of {number} object numbers each")
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
