"""Choices: whole answers, each a choice among the pairs of objects that were shown.

A comparison keeps only a part of an answer. "Of these three objects, c is the odd one out" means that the participant
chose the most similar of three pairs; two comparisons follow from it, but they are not independent. This module puts
the comparisons of an answer together again:

====================  ==============================================================================================
question              choice
====================  ==============================================================================================
two alternatives      one of two pairs is the more similar one
odd one out of three  the pair without the odd one is the most similar of three
nearest of k          one of k pairs, which share the anchor, is the most similar
most central          the pair without the central object is the *least* similar of three
rank r of k           r successive choices, each among the pairs that are left
nearest r of k        r pairs are more similar than the k - r others, in no particular order
odd one out of k > 3  the objects without the odd one are the most similar group of k - 1
====================  ==============================================================================================

The kind of question need not be known, since it follows from the comparisons: if all comparisons of an answer have the
same near pair, that pair was chosen as the most similar one; if they have the same far pair, that pair was chosen as
the least similar one; if all far pairs share an object that is in no near pair, it was the odd one of more than three;
otherwise there was a choice for each near pair. A file may contain all kinds at once.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.comparisons.rows import pair_numbers, pairs_of

if TYPE_CHECKING:
    from closerthan.comparisons.container import Comparisons

__all__ = ["Choices"]

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Choices:
    """Whole answers as choices among pairs of objects.

    An answer consists of one choice or, if it is a ranking or a set, of several consecutive ones.

    Attributes
    ----------
    pairs
        (n_pairs, 2) object numbers of all pairs shown, choice after choice; the first pair of a choice was chosen.
    starts
        Position of the first pair of each choice in ``pairs``, and at the end the number of pairs.
    signs
        1 if the most similar pair was to be chosen, -1 if the least similar one.
    answers
        The answer that each choice belongs to, counted from 0, in ascending order.
    is_set
        Whether the choices of each answer name a set of pairs in no particular order.
    is_odd_of_many
        Whether each answer names the odd one of more than three objects. Such an answer is one choice among groups of
        objects; ``pairs`` holds a choice for each pair of the objects that belong together.
    rows
        The first row of each answer in the comparisons, where its person, time and line of the file are found.
    n_objects
        Number of objects.
    weights
        Weight of each answer, the mean over its comparisons; None if all are equal.

    Examples
    --------
    >>> from closerthan import Comparisons
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [3, 1, 0], [1, 3, 0]], answers=[0, 0, 1, 1])
    >>> choices = Choices.of(odd_one_out)
    >>> choices
    Choices(2 answers, 2 choices among 3 pairs each)
    >>> choices.pairs[:3].tolist()
    [[0, 1], [0, 2], [1, 2]]
    """

    pairs: NDArray[np.int32]
    starts: Numbers
    signs: NDArray[np.int8]
    answers: NDArray[np.int32]
    is_set: NDArray[np.bool_]
    is_odd_of_many: NDArray[np.bool_]
    rows: Numbers
    n_objects: int
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, comparisons: "Comparisons") -> "Choices":
        """Return the whole answers from which the comparisons come.

        Examples
        --------
        >>> from closerthan import Comparisons
        >>> ranking = Comparisons.from_triplets([[0, 1, 2], [0, 1, 3], [0, 2, 3]], answers=[0, 0, 0])
        >>> choices = Choices.of(ranking)
        >>> [choices.pairs[begin:end].tolist() for begin, end in zip(choices.starts, choices.starts[1:])]
        [[[0, 1], [0, 2], [0, 3]], [[0, 2], [0, 3]]]
        """
        n_objects = comparisons.n_objects
        near, far = (pair_numbers(*pair, n_objects) for pair in pairs_of(np.asarray(comparisons.rows)))
        numbers = np.arange(len(near)) if comparisons.answers is None else comparisons.answers
        _, rows, answer = np.unique(numbers, return_index=True, return_inverse=True)
        weights = comparisons.weights
        if weights is not None:
            weights = np.bincount(answer, weights) / np.bincount(answer)
        n_near, n_far = _distinct(answer, near), _distinct(answer, far)
        several = (n_near > 1) & (n_far > 1)
        _check_consistent(answer, near, far, several, rows, comparisons.lines)
        least = ((n_far == 1) & (n_near > 1))[answer]
        chosen, other = np.where(least, far, near), np.where(least, near, far)

        order = np.lexsort((other, chosen, answer))
        answer, chosen, other, least = answer[order], chosen[order], other[order], least[order]
        is_new_choice = _changes(answer) | _changes(chosen)
        is_new_row = is_new_choice | _changes(other)
        answer, chosen, other, least = (column[is_new_row] for column in (answer, chosen, other, least))
        is_new_choice = is_new_choice[is_new_row]

        choice = np.cumsum(is_new_choice) - 1
        starts = np.concatenate([[0], np.cumsum(np.bincount(choice) + 1)]).astype(np.int64)
        keys = np.empty(starts[-1], dtype=np.int64)
        keys[starts[:-1]] = chosen[is_new_choice]
        keys[np.arange(len(other)) + choice + 1] = other
        is_set = several & (np.bincount(answer, minlength=len(rows)) == n_near * n_far)
        return cls(
            np.stack(np.divmod(keys, n_objects), axis=1).astype(np.int32),
            starts,
            np.where(least[is_new_choice], -1, 1).astype(np.int8),
            answer[is_new_choice].astype(np.int32),
            is_set,
            several & ~is_set & _have_an_odd_object(answer, chosen, other, n_objects, len(rows)),
            rows.astype(np.int64),
            n_objects,
            weights,
        )

    @property
    def n_answers(self) -> int:
        """Number of answers."""
        return len(self.rows)

    @property
    def n_choices(self) -> int:
        """Number of choices; an answer that is a ranking has several."""
        return len(self.signs)

    @property
    def sizes(self) -> Numbers:
        """Number of pairs in each choice."""
        return np.diff(self.starts)

    def pairs_of_answers(self, answers: Numbers) -> Numbers:
        """Return the positions in ``pairs`` of the pairs of some answers, which are in ascending order."""
        return np.flatnonzero(np.isin(self.answers, answers)[self.choice_of_pair])

    def take(self, answers: Numbers) -> Self:
        """Return some of the answers by their numbers, which are in ascending order.

        Examples
        --------
        >>> from closerthan import Comparisons
        >>> choices = Choices.of(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0]]))
        >>> choices.take(np.array([0, 2])).rows.tolist()
        [0, 2]
        """
        inside = np.isin(self.answers, answers)
        starts = np.concatenate([[0], np.cumsum(self.sizes[inside])]).astype(np.int64)
        return dataclasses.replace(
            self,
            pairs=self.pairs[self.pairs_of_answers(answers)],
            starts=starts,
            signs=self.signs[inside],
            answers=np.searchsorted(answers, self.answers[inside]).astype(np.int32),
            is_set=self.is_set[answers],
            is_odd_of_many=self.is_odd_of_many[answers],
            rows=self.rows[answers],
            weights=None if self.weights is None else self.weights[answers],
        )

    @property
    def first_choices(self) -> Numbers:
        """Position of the first choice of each answer."""
        return np.searchsorted(self.answers, np.arange(self.n_answers))

    @property
    def n_choices_of_answers(self) -> Numbers:
        """Number of choices of each answer."""
        return np.bincount(self.answers, minlength=self.n_answers)

    @property
    def choice_weights(self) -> NDArray[np.float64] | None:
        """Weight of each choice, with a mean of 1; None if all are equal."""
        if self.weights is None or not len(self) or not np.ptp(self.weights) > 0.0:
            return None
        weights = self.weights[self.answers]
        total = weights.sum()
        return weights * (len(weights) / total) if total > 0.0 else np.zeros(len(weights))

    @property
    def mean_weight(self) -> float:
        """Mean weight of a choice, by which :attr:`choice_weights` were divided."""
        return 1.0 if self.weights is None or not len(self) else float(self.weights[self.answers].mean())

    @property
    def choice_of_pair(self) -> Numbers:
        """The choice that each pair belongs to."""
        return np.repeat(np.arange(self.n_choices), self.sizes)

    def __len__(self) -> int:
        return self.n_answers

    def __repr__(self) -> str:
        sizes = self.sizes
        least, most = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
        number = f"{least}" if least == most else f"{least} to {most}"
        return f"Choices({self.n_answers:,} answers, {self.n_choices:,} choices among {number} pairs each)"


def _check_consistent(
    answer: Numbers,
    near: Numbers,
    far: Numbers,
    several: NDArray[np.bool_],
    rows: NDArray[np.intp],
    lines: NDArray[np.int32] | None,
) -> None:
    """Raise an error if the comparisons of an answer contradict each other, so that they cannot be from one choice.

    Only answers with ``several`` near and far pairs can do so. Pairs that are farther than no other one are taken away,
    with their comparisons, until nothing is left; in a contradiction, each pair is farther than another one.
    """
    inside = np.flatnonzero(several[answer])
    owner = answer[inside]
    order = np.lexsort((np.concatenate([near[inside], far[inside]]), np.tile(owner, 2)))
    owners, pairs = np.tile(owner, 2)[order], np.concatenate([near[inside], far[inside]])[order]
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.cumsum(_changes(owners) | _changes(pairs))
    nearer, farther = np.split(code, 2)
    while len(owner):
        is_far = np.zeros(len(order) + 1, dtype=bool)
        is_far[farther] = True
        remaining = is_far[nearer]
        if remaining.all():
            row = int(rows[owner[0]])
            place = f"row {row}" if lines is None else f"line {lines[row]} of the file"
            raise ValueError(
                f"the comparisons of the answer in {place} contradict each other: they say that one pair "
                "is closer than another one and, directly or through other pairs, the opposite; an answer is one "
                "choice or ranking, so give comparisons of different answers different numbers"
            )
        owner, nearer, farther = owner[remaining], nearer[remaining], farther[remaining]


def _have_an_odd_object(answer: Numbers, near: Numbers, far: Numbers, n_objects: int, n_answers: int) -> Any:
    """Return whether all far pairs of each answer share an object that is in none of its near pairs."""
    first = np.flatnonzero(_changes(answer))
    has_odd = np.zeros(n_answers, dtype=bool)
    for candidate in np.divmod(far[first], n_objects):  # the odd object is in every far pair, so in the first
        of_row = np.repeat(candidate, np.diff(np.append(first, len(answer))))
        in_near, in_far = (
            np.any([part == of_row for part in np.divmod(pair, n_objects)], axis=0) for pair in (near, far)
        )
        has_odd[answer[first]] |= np.logical_and.reduceat(in_far & ~in_near, first)
    return has_odd


def _changes(column: Numbers) -> NDArray[np.bool_]:
    """Return a mask of the entries that differ from the previous one; the first entry counts as different."""
    return np.concatenate([[True], column[1:] != column[:-1]])[: len(column)]


def _distinct(group: Numbers, keys: Numbers) -> Numbers:
    """Return the number of distinct keys in each group."""
    order = np.lexsort((keys, group))
    group, keys = group[order], keys[order]
    return np.bincount(group[_changes(group) | _changes(keys)])
