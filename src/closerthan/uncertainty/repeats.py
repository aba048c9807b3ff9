"""Repeated questions, answered by the same person or by several, and the noise ceiling that follows from them.

If a question is answered one way with probability p, two answers to it agree with probability
``c = p^2 + (1 - p)^2``. The best possible map is right with probability ``max(p, 1 - p)``. Averaged over questions,
this lies between c and ``(1 + sqrt(2 c - 1)) / 2``: the noise ceiling.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pair_questions
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.metrics import Interval, error_interval, ratio_number
from closerthan.wording import counted, percent

TOO_WIDE = 0.1  # width of the interval of the least error above which it is not informative; set by judgement

__all__ = ["NoiseCeiling", "PersonRepeats", "noise_ceilings", "repeats_of_people"]


@dataclasses.dataclass(frozen=True)
class NoiseCeiling:
    """Agreement of two answers to the same question, and the error of the best possible map that follows from it.

    Attributes
    ----------
    of
        "a person" (asked again) or "different people"; "answers" if people are not known.
    agreement, low, high
        Fraction of the pairs of answers that agree, and its 95 % interval.
    n_questions
        Number of repeated questions.
    """

    of: str
    agreement: float
    low: float
    high: float
    n_questions: int

    @property
    def least_error(self) -> float:
        """The error of the best possible map if all questions are equally hard, and a lower bound if they are not.

        Examples
        --------
        >>> round(NoiseCeiling("a person", 0.82, 0.8, 0.84, 100).least_error, 3)
        0.1
        """
        return _least_error(self.agreement)

    @property
    def least_error_interval(self) -> Interval:
        """95 % interval of :attr:`least_error`.

        Examples
        --------
        >>> low, high = NoiseCeiling("a person", 0.82, 0.68, 0.92, 18).least_error_interval
        >>> round(low, 2), round(high, 2)
        (0.04, 0.2)
        """
        return Interval(_least_error(self.high), _least_error(self.low))

    @property
    def most_error(self) -> float:
        """The error of the best possible map if some questions are clear to all and the others are coin tosses."""
        return 1 - self.agreement

    @property
    def noise(self) -> str:
        """Name of the disagreement in figures, such as "noise within people"."""
        return {"a person": "noise within people", "different people": "noise between people"}.get(self.of, "noise")

    @property
    def is_known(self) -> bool:
        """True if the interval of :attr:`least_error` is narrow enough to tell how much of an error is noise."""
        low, high = self.least_error_interval
        return high - low <= TOO_WIDE

    def __str__(self) -> str:
        agree = {"a person": "a person asked again gives the same answer", "different people": "two people agree"}
        low, high = self.least_error_interval
        measured = (
            f"{agree.get(self.of, 'two answers agree')} in {percent(self.agreement)} of the cases "
            f"(95 % interval {percent(self.low)} to {percent(self.high)}; "
            f"{counted(self.n_questions, 'repeated question')}): "
        )
        if not self.is_known:
            return (
                f"{measured}too few repeated questions to tell how much of the error is noise; the error of the "
                f"best possible map may be anything from {percent(low)} to {percent(max(high, 1 - self.low))}"
            )
        return (
            f"{measured}the best possible map would have an error of {percent(self.least_error)} (95 % interval "
            f"{percent(low)} to {percent(high)}) if all questions were equally hard, and of up to "
            f"{percent(self.most_error)} (95 % interval up to {percent(1 - self.low)}) otherwise"
        )


def noise_ceilings(comparisons: Comparisons) -> list[NoiseCeiling]:
    """Return the noise ceilings within people and between people, or among answers whose people are unknown.

    The list is empty if no question was repeated.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]], people=["ann", "bob", "bob"])
    >>> [(ceiling.of, ceiling.agreement) for ceiling in noise_ceilings(answers)]
    [('a person', 0.0), ('different people', 0.5)]
    """
    keys, one_way = pair_questions(comparisons)
    question = consecutive_numbers(keys)
    if comparisons.people is None:
        return _ceiling("answers", *_agreement(question, one_way))
    cells = _Cells.of(question, one_way, comparisons)
    within = _agreement(cells.cell, one_way)
    between = tuple(
        np.asarray(one, dtype=np.float64)
        for one in (
            np.bincount(cells.question, cells.agreeing),
            np.bincount(cells.question, cells.pairs),
            np.bincount(question),
        )
    )
    return [*_ceiling("a person", *within), *_ceiling("different people", *between)]


@dataclasses.dataclass(frozen=True)
class PersonRepeats:
    """For each person, the numbers of pairs of answers to the same question, and of those that agree.

    Own pairs are two answers of the person; shared pairs are one of the person and one of somebody else.
    """

    own_pairs: Array
    own_agreeing: Array
    shared_pairs: Array
    shared_agreeing: Array


def repeats_of_people(comparisons: Comparisons) -> PersonRepeats:
    """Count how often each person's answers agree with each other and with those of other people.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]], people=["ann", "bob", "bob"])
    >>> repeats = repeats_of_people(answers)
    >>> repeats.own_pairs.tolist(), repeats.shared_agreeing.tolist(), repeats.shared_pairs.tolist()
    ([0.0, 1.0], [1.0, 1.0], [2.0, 2.0])
    """
    assert comparisons.people is not None
    assert comparisons.person_names is not None
    keys, one_way = pair_questions(comparisons)
    cells = _Cells.of(consecutive_numbers(keys), one_way, comparisons)
    own_agreeing, own_pairs, _ = _agreement(cells.cell, one_way)
    person = np.zeros(len(own_pairs), dtype=np.int64)
    person[cells.cell] = comparisons.people
    sums = [
        np.bincount(person, one, minlength=len(comparisons.person_names)).astype(np.float64)
        for one in (own_pairs, own_agreeing, cells.pairs, cells.agreeing)
    ]
    return PersonRepeats(*sums)


class _Cells(NamedTuple):
    """Answers by person and question, and how they agree with those of other people to the same question.

    Attributes
    ----------
    cell
        The cell (person and question) of each comparison.
    question, pairs, agreeing
        For each cell: its question, the number of pairs of one of its answers and one of another person, and the number
        of those pairs that agree.
    """

    cell: NDArray[np.int32]
    question: NDArray[np.int64]
    pairs: Array
    agreeing: Array

    @classmethod
    def of(cls, question: NDArray[np.int32], one_way: NDArray[np.bool_], comparisons: Comparisons) -> "_Cells":
        assert comparisons.people is not None
        n_people = len(comparisons.person_names or ())
        cell = consecutive_numbers(question.astype(np.int64) * n_people + comparisons.people)
        ones, others = (np.bincount(cell, kind) for kind in (one_way, ~one_way))
        question_of = np.zeros(len(ones), dtype=np.int64)
        question_of[cell] = question
        all_ones, all_others = (np.bincount(question, kind)[question_of] for kind in (one_way, ~one_way))
        pairs = (ones + others) * (all_ones + all_others - ones - others)
        return cls(cell, question_of, pairs, ones * (all_ones - ones) + others * (all_others - others))


def _agreement(group: NDArray[np.int32], one_way: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """Return, for each group of answers, the numbers of agreeing pairs, of pairs, and of answers."""
    ones, others = (np.bincount(group, kind) for kind in (one_way, ~one_way))
    number = (ones + others).astype(np.float64)
    return ones * (ones - 1) / 2 + others * (others - 1) / 2, number * (number - 1) / 2, number


def _ceiling(of: str, agreeing: Array, pairs: Array, number: Array) -> list[NoiseCeiling]:
    repeated = pairs > 0
    if not repeated.any():
        return []
    # A question is weighted by its number of answers, not of pairs: a hundred answers make thousands of pairs.
    weight = number[repeated]
    agreed = weight * (agreeing[repeated] / pairs[repeated])
    mean = min(float(agreed.sum() / weight.sum()), 1.0)  # rounding errors may raise it above 1
    low, high = error_interval(mean, ratio_number(agreed, weight))
    return [NoiseCeiling(of, mean, low, high, int(repeated.sum()))]


def _least_error(agreement: float) -> float:
    return (1 - math.sqrt(max(2 * agreement - 1, 0.0))) / 2
