"""Which questions tell most about the map, and so are asked next.

Of some random pairs for each anchor, that one is taken whose answer is expected to tell most
about which of several maps is right. Anchors take turns: the best questions of all, whatever their anchor, would be
about the same few objects.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.arrays import Array
from closerthan.checks import ParameterError, checked, number, whole
from closerthan.collect.choosing.belief import FEWEST, LOSS, Belief, believed, fitted_map
from closerthan.collect.choosing.newcomers import others_of, possible_maps
from closerthan.comparisons import Comparisons
from closerthan.losses import Loss, loss_named
from closerthan.objective.information import KINDS

__all__ = ["Chosen", "Questions", "choose", "choose_questions"]

PAIRS = 60  # tried for each question; with 20, 90 objects on a line need up to an eighth more answers; 200 gain nothing
RANDOM_SHARE = 0.15
_IN_MEMORY = 200_000  # candidates at a time


@checked
def choose_questions(
    answers: Comparisons | ArrayLike | None,
    count: int = 1,
    *,
    n_dims: int = 2,
    seed: int | None = None,
    loss: str | Loss = LOSS,
    random_share: float = RANDOM_SHARE,
    exclude: Iterable[Sequence[int]] = (),
    kind: str = "closer",
    n_objects: int | None = None,
    maps: ArrayLike | None = None,
    about: Sequence[int] | None = None,
) -> NDArray[np.int64]:
    """The questions to ask next: those whose answers are expected to tell most about the map.

    Parameters
    ----------
    answers
        What was answered so far; None: nothing, then ``n_objects`` is needed. Objects without answers come first.
    count
        How many questions.
    n_dims, loss
        Of the maps; ``loss`` is a name from ``LOSSES`` or a :class:`Loss`.
    seed
        The same seed, answers and ``exclude`` give the same questions.
    random_share
        The share of questions drawn at random. Only these tell how often the map is right about any question.
    exclude
        Questions that are not to be asked, such as those that wait for an answer: three object numbers each.
    kind
        "closer": which of two options is closer to the anchor? "odd": which of three is the odd one?
    n_objects
        How many objects there are, if some have no answers yet.
    maps
        Replicates that are there already, (n_maps, n_objects, n_dims), as of :func:`closerthan.replicate`: nothing is
        fitted then, and a question takes a few milliseconds.
    about
        Numbers of objects: ask only questions with one of these as the anchor, such as new objects that are to find
        their places on a map of the others, which is left as it is. None: about all.

    Returns
    -------
    (count, 3) array
        Rows (anchor, option, option), or the three objects; the most urgent first. No question comes twice; one that
        was answered before comes again only when all others are used up.

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
    known, n_objects = _known(answers, n_objects)
    new = _numbers(about, n_objects)
    questions = Questions(kind, n_objects, new)
    whole("count", count)
    whole("n_dims", n_dims)
    number("random_share", random_share, lambda share: 0 <= share <= 1, "lie between 0 and 1")
    used = loss_named(loss).in_dims(n_dims)
    out = questions.keys(_rows(exclude, n_objects))
    left = questions.number - len(np.unique(out))
    if count > left:
        raise ParameterError(
            "count",
            count,
            f"{n_objects} objects make {questions.number:,} questions, and {questions.number - left:,} are excluded",
            f"pass {{count={left}}} or less",
        )
    n_answers = 0 if known is None else known.n_answers
    rng = np.random.default_rng(None if seed is None else [whole("seed", seed, 0), n_answers, len(out)])
    belief = None
    if maps is not None:
        belief = Belief(_checked_maps(maps, n_objects), used)
    elif known is not None and new is not None:
        others, numbers = others_of(known, new)
        if others.n_answers >= FEWEST * len(numbers) * n_dims:
            found = fitted_map(others, n_dims, used, rng)
            belief = Belief(possible_maps(known, new, found, used, rng), used)
    elif known is not None and n_answers >= FEWEST * n_objects * n_dims:
        belief = believed(known, fitted_map(known, n_dims, used, rng), used, rng)
    return choose(questions, known, count, rng, out, belief, random_share).rows


class Chosen(NamedTuple):
    """Questions, one row each, and what their answers are expected to tell, in nats; 0 for random ones."""

    rows: NDArray[np.int64]
    scores: Array


@dataclasses.dataclass(frozen=True)
class Questions:
    """All questions of a kind about so many objects.

    Examples
    --------
    >>> Questions("closer", 5).number, Questions("odd", 5).number
    (30, 10)
    >>> Questions("closer", 5).keys(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2]])).tolist()
    [7, 7, 27]
    """

    kind: str
    n_objects: int
    anchors: tuple[int, ...] | None = None  # of closer ones; of odd ones, one of these is among the three

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f'kind is {self.kind!r}; it can be "closer" or "odd"')
        if not 3 <= self.n_objects <= 2_000_000:  # keys are 64-bit numbers
            raise ValueError(f"there are {self.n_objects} objects; questions need 3 to 2,000,000")

    @property
    def number(self) -> int:
        """How many there are."""
        n, n_anchors = self.n_objects, self.n_objects if self.anchors is None else len(self.anchors)
        if self.kind == "closer":
            return n_anchors * math.comb(n - 1, 2)
        return math.comb(n, 3) - math.comb(n - n_anchors, 3)

    def keys(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """One number for each question, the same in whatever order its options are."""
        rows = np.asarray(rows, np.int64).reshape(-1, 3)
        options = np.sort(rows[:, 1:] if self.kind == "closer" else rows, axis=1)
        ordered = np.concatenate([rows[:, :1], options], axis=1) if self.kind == "closer" else options
        keys: NDArray[np.int64] = (ordered[:, 0] * self.n_objects + ordered[:, 1]) * self.n_objects + ordered[:, 2]
        return keys

    def draw(self, anchors: NDArray[np.int64], n_pairs: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """For each anchor so many random pairs of other objects; all of them, shuffled, if there are no more."""
        n, every = self.n_objects, math.comb(self.n_objects - 1, 2)
        if every <= n_pairs:
            one, other = np.triu_indices(n - 1, 1)
            shuffled = rng.permuted(np.tile(np.arange(every), (len(anchors), 1)), axis=1)
            one, other = one[shuffled], other[shuffled]
        else:
            one = rng.integers(n - 1, size=(len(anchors), n_pairs))
            other = rng.integers(n - 2, size=one.shape)
            other += other >= one
        anchor = np.broadcast_to(anchors[:, np.newaxis], one.shape)
        return np.stack([anchor, one + (one >= anchor), other + (other >= anchor)], axis=2)


def choose(
    questions: Questions,
    answers: Comparisons | None,
    count: int,
    rng: np.random.Generator,
    out: NDArray[np.int64],
    belief: Belief | None = None,
    random_share: float = 0.0,
) -> Chosen:
    """What :func:`choose_questions` returns, with scores; fewer if there are no more. ``out`` are keys."""
    asked = np.zeros((0, 3), np.int64) if answers is None else _questions_of(answers)
    order = _turns(questions, asked, out, rng)
    silent = np.full(questions.n_objects, questions.anchors is None)  # whoever is asked about by name has a place
    if answers is not None:
        silent[answers.rows.ravel()] = False
    taken = set(out.tolist())
    answered = np.unique(questions.keys(asked))
    rows: list[NDArray[np.int64]] = []
    scores: list[float] = []
    again, n_pairs = False, PAIRS  # whether answered questions may come again
    while len(rows) < count:
        found, together = len(rows), max(_IN_MEMORY // n_pairs, 1)
        for first in range(0, len(order), together):
            anchors = order[first : first + min(together, count - len(rows))]
            if not len(anchors):
                break
            pairs = questions.draw(anchors, n_pairs, rng)
            value = np.zeros(pairs.shape[:2])
            scored = np.flatnonzero((rng.random(len(anchors)) >= random_share) & ~silent[anchors])
            if belief is not None and len(scored):
                flat = pairs[scored].reshape(-1, 3)
                value[scored] = belief.worth(questions.kind, flat).reshape(len(scored), -1)
            keys = questions.keys(pairs).reshape(value.shape)
            if not again:
                value[_within(keys, answered)] = -1.0
            for place, best in enumerate(np.argsort(-value, axis=1, kind="stable")):
                free = (one for one in best.tolist() if int(keys[place, one]) not in taken)
                one = next(free, None)
                if one is not None and value[place, one] >= 0:
                    taken.add(int(keys[place, one]))
                    rows.append(pairs[place, one])
                    scores.append(float(value[place, one]))
        if len(rows) == found:
            if n_pairs < math.comb(questions.n_objects - 1, 2):
                n_pairs = math.comb(questions.n_objects - 1, 2)  # few are left: look at all
            elif not again:
                again = True
            else:
                break
    return Chosen(np.array(rows, np.int64).reshape(-1, 3), np.array(scores))


def _turns(
    questions: Questions, asked: NDArray[np.int64], out: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """All anchors, those that were an anchor least often first, and before them those that nobody was asked about."""
    n = questions.n_objects
    waiting = out // n**2
    if questions.kind == "closer":
        times = np.bincount(asked[:, 0], minlength=n) + np.bincount(waiting, minlength=n)
    else:
        times = np.bincount(asked.ravel(), minlength=n)
        for part in (waiting, out // n % n, out % n):
            times += np.bincount(part, minlength=n)
    silent = np.bincount(asked.ravel(), minlength=n) == 0
    order = np.lexsort((rng.random(n), times, ~silent))
    return order if questions.anchors is None else order[np.isin(order, questions.anchors)]


def _questions_of(answers: Comparisons) -> NDArray[np.int64]:
    """The questions that were answered: anchor, option, option. Two pairs without a common object are none of ours."""
    rows = answers.rows.astype(np.int64)
    if rows.shape[1] == 3:
        return rows
    i, j, l, k = rows.T  # noqa: E741
    shared = ((i == l, i, j, k), (i == k, i, j, l), (j == l, j, i, k), (j == k, j, i, l))
    return np.concatenate([np.stack(question, axis=1)[same] for same, *question in shared])


def _within(keys: NDArray[np.int64], ordered: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the keys are among others that are in order."""
    if not len(ordered):
        return np.zeros(keys.shape, bool)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    within: NDArray[np.bool_] = ordered[places] == keys
    return within


# ---- what users give -------------------------------------------------------------------------------------------------


def _known(answers: Any, n_objects: int | None) -> tuple[Comparisons | None, int]:
    """The answers, about as many objects as there are, and that number."""
    if answers is None or (not isinstance(answers, Comparisons) and np.size(answers) == 0):
        if n_objects is None:
            raise ValueError("there are no answers yet; pass n_objects=, the number of objects")
        return None, whole("n_objects", n_objects, 3)
    known = Comparisons.of(answers, unmentioned="ignore")
    if n_objects is None or n_objects == known.n_objects:
        return known, known.n_objects
    if whole("n_objects", n_objects, 3) < known.n_objects or known.names is not None:
        raise ValueError(f"n_objects is {n_objects}, but the answers are about {known.n_objects}; leave it out")
    return dataclasses.replace(known, n_objects=n_objects), n_objects


def _numbers(about: Sequence[int] | None, n_objects: int) -> tuple[int, ...] | None:
    """Objects to be asked about, checked."""
    if about is None:
        return None
    numbers = tuple(dict.fromkeys(whole("an object of about", one, 0) for one in about))
    if not numbers or max(numbers) >= n_objects or len(numbers) > n_objects - 2:
        raise ValueError(
            f"about is {list(about)!r:.60}; it must be some of the numbers from 0 to {n_objects - 1}, and leave at "
            "least two other objects (pass n_objects= if some have no answers yet)"
        )
    return numbers


def _rows(exclude: Iterable[Sequence[int]], n_objects: int) -> NDArray[np.int64]:
    """Questions as an array, checked."""
    listed = exclude if isinstance(exclude, np.ndarray) else list(exclude)
    if not len(listed):
        return np.zeros((0, 3), np.int64)
    try:
        rows = np.array(listed)
    except ValueError:
        rows = np.zeros(0)
    if rows.ndim != 2 or rows.shape[1] != 3 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"exclude is {exclude!r:.60}; it must be questions of three object numbers each")
    for place in np.flatnonzero(((rows < 0) | (rows >= n_objects)).any(axis=1))[:1].tolist():
        raise ValueError(
            f"row {place} of exclude is {rows[place].tolist()}; objects have numbers from 0 to {n_objects - 1}"
        )
    for place in np.flatnonzero((np.diff(np.sort(rows, axis=1), axis=1) == 0).any(axis=1))[:1].tolist():
        raise ValueError(f"row {place} of exclude is {rows[place].tolist()}; the objects of a question must differ")
    return rows.astype(np.int64)


def _checked_maps(maps: ArrayLike, n_objects: int) -> Array:
    found = np.ascontiguousarray(maps, dtype=np.float64)
    if found.ndim != 3 or len(found) < 2 or found.shape[1] != n_objects:
        raise ValueError(
            f"maps has shape {found.shape}; expected (n_maps, {n_objects}, n_dims) with at least two maps, "
            "as in ct.replicate(answers).maps"
        )
    if not np.isfinite(found).all():
        raise ValueError("maps holds numbers that are not finite; fit them again")
    return found
