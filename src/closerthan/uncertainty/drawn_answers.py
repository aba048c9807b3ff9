"""Simulated whole answers to the same questions, by Luce's choice rule.

The comparisons of an answer depend on each other, so they are drawn together: a choice among the pairs that were shown,
successive choices for a ranking or a set, or a choice among groups for the odd one of more than three objects.
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.accuracy import pair_scores
from closerthan.arrays import Array, frozen
from closerthan.comparisons import Choices, Comparisons, pair_numbers
from closerthan.metrics import log_odds
from closerthan.result import Result

__all__ = ["AnswersToDraw"]

Numbers = NDArray[np.int64]


class _Kind(NamedTuple):
    """The properties that answers must share to be drawn together."""

    n_pairs: int
    n_picks: int
    is_set: bool
    is_least: bool  # the least similar pair is chosen
    is_odd_of_many: bool


@dataclasses.dataclass(frozen=True)
class AnswersToDraw:
    """Questions whose answers are drawn, and how similar a map considers the pairs that they show.

    Attributes
    ----------
    answers
        The answers of people to these questions.
    choices
        The same as choices.
    questions
        For each answer, all pairs that were shown, as one choice.
    scores
        The log similarity of each of these pairs.
    lapse
        The probability that an answer does not depend on the objects.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]] * 50, answers=np.repeat(np.arange(50), 2))
    >>> questions = AnswersToDraw.on_map(ct.embed(answers, 1, loss="ste", seed=0), answers, slope=1.0, lapse=1.0)
    >>> odd = questions.drawn(np.random.default_rng(0)).rows[::2, 2]
    >>> [bool(10 < count < 24) for count in np.bincount(odd)]
    [True, True, True]
    """

    answers: Comparisons
    choices: Choices
    questions: Choices
    scores: Array
    lapse: float

    @classmethod
    def on_map(cls, result: Result, answers: Comparisons, *, slope: float, lapse: float) -> "AnswersToDraw":
        """Return the questions of some answers, with the log similarities of a fitted map times ``slope``.

        ``lapse`` is the lapse rate of a calibration: half of this fraction of all comparisons are wrong, however clear
        they are. It is also the probability that an answer is random, since a random answer of any kind implies as many
        wrong comparisons as right ones on average.
        """
        choices = Choices.of(answers)
        n_objects = answers.n_objects
        owner = choices.answers[choices.choice_of_pair].astype(np.int64)
        number = pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], n_objects)
        once = np.unique(owner * np.int64(n_objects) ** 2 + number, return_index=True)[1]
        of_each = np.zeros(len(choices), dtype=bool)
        questions = dataclasses.replace(
            choices,
            pairs=choices.pairs[once],
            starts=np.concatenate([[0], np.cumsum(np.bincount(owner[once]))]),
            signs=choices.signs[choices.first_choices],
            answers=np.arange(len(choices), dtype=np.int32),
            is_set=of_each,
            is_odd_of_many=of_each,
        )
        x, loss = result.embedding, result.loss
        scores = slope * pair_scores(questions, lambda rows: log_odds(rows, x, loss))
        return cls(answers, choices, questions, scores, lapse)

    def drawn(self, rng: np.random.Generator) -> Comparisons:
        """Return new answers to all questions."""
        is_lapse = rng.random(len(self.questions)) < self.lapse
        scores = np.where(is_lapse[self.questions.choice_of_pair], 0.0, self.scores)
        parts, owners = [], []
        for kind, numbers in self._kinds():
            places = self.questions.starts[numbers][:, None] + np.arange(kind.n_pairs)
            draw = _drawn_odd if kind.is_odd_of_many else _drawn_order
            rows = draw(kind, self.questions.pairs[places], scores[places], rng)
            parts.append(rows.reshape(-1, 4))
            owners.append(np.repeat(numbers, rows.shape[1]))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        pairs, source = np.concatenate(parts)[order], self.questions.rows[owner[order]]
        rows = pairs if self.answers.rows.shape[1] == 4 else _triplets(pairs)
        return self.answers.take(source).replace(rows=frozen(np.ascontiguousarray(rows, dtype=np.int32)))

    def _kinds(self) -> Iterator[tuple[_Kind, Numbers]]:
        """Yield the numbers of the answers of each kind."""
        choices, sizes = self.choices, self.questions.sizes
        n_objects = np.rint(np.sqrt(2 * sizes + 0.25) + 0.5).astype(np.int64)
        is_odd = choices.is_odd_of_many & (n_objects * (n_objects - 1) == 2 * sizes)
        columns = (sizes, choices.n_choices_of_answers, choices.is_set, self.questions.signs < 0, is_odd)
        kinds, kind_of = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0, return_inverse=True)
        for number, (n_pairs, n_picks, *flags) in enumerate(kinds.tolist()):
            yield _Kind(n_pairs, n_picks, *map(bool, flags)), np.flatnonzero(kind_of.ravel() == number)


def _drawn_order(kind: _Kind, pairs: NDArray[np.int32], scores: Array, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw successive choices; return the near and the far pair of each comparison, (n_answers, n_comparisons, 4).

    The largest scores plus Gumbel noise, in their order, are successive choices by Luce's rule (Yellott 1977).
    """
    noisy = (-scores if kind.is_least else scores) + rng.gumbel(size=scores.shape)
    order = np.argsort(-noisy, axis=1)
    ranked = np.take_along_axis(pairs, order[:, :, None], axis=1)
    near, far = np.array(
        [
            (pick, other)
            for pick in range(kind.n_picks)
            for other in range(kind.n_picks if kind.is_set else pick + 1, kind.n_pairs)
        ]
    ).T
    if kind.is_least:
        near, far = far, near
    return np.concatenate([ranked[:, near], ranked[:, far]], axis=2)


def _drawn_odd(kind: _Kind, pairs: NDArray[np.int32], scores: Array, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw the odd one of several objects, whose pairs are in ascending order; return pairs as in _drawn_order.

    The similarity of a group is the geometric mean over its pairs, as in :func:`closerthan.accuracy.log_probabilities`.
    """
    n = round((1 + (1 + 8 * kind.n_pairs) ** 0.5) / 2)
    objects = np.column_stack([pairs[:, 0, 0], pairs[:, : n - 1, 1]])
    is_inside = np.array([[z not in pair for z in range(n)] for pair in zip(*np.triu_indices(n, 1), strict=True)])
    of_groups = scores @ (is_inside / is_inside.sum(axis=0))
    odd = (of_groups + rng.gumbel(size=of_groups.shape)).argmax(axis=1)
    places = np.argsort(np.arange(n) == odd[:, None], axis=1, kind="stable")  # the odd one last
    objects = np.take_along_axis(objects, places, axis=1)
    one, other = np.array([(a, b) for a in range(n - 1) for b in range(n - 1) if a != b]).T
    return np.stack([objects[:, one], objects[:, other], objects[:, one], objects[:, np.full_like(one, n - 1)]], axis=2)


def _triplets(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return rows (i, j, l, k) of pairs that share an object as rows (shared object, near, far).

    Examples
    --------
    >>> _triplets(np.array([[0, 1, 2, 1], [3, 1, 3, 2]])).tolist()
    [[1, 0, 2], [3, 1, 2]]
    """
    near, far = rows[:, :2], rows[:, 2:]
    anchor = np.where((near[:, :1] == far).any(axis=1), near[:, 0], near[:, 1])
    return np.column_stack([anchor, near.sum(axis=1) - anchor, far.sum(axis=1) - anchor])
