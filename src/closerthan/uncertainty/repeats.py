"""Repeats: questions that were asked more than once, by the same person or by several, and what they say of noise.

Two answers to the same question agree or not. If a question is answered one way with probability p, two answers agree
with probability ``c = p^2 + (1 - p)^2``, and the best of maps is right with probability ``max(p, 1 - p)``, which lies
between c and ``(1 + sqrt(2 c - 1)) / 2``: the noise ceiling.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons, pair_questions
from closerthan.comparisons.grouping import numbered
from closerthan.metrics import Interval, error_interval, ratio_number
from closerthan.wording import counted, percent

TOO_WIDE = 0.1  # width of the interval of the least error above which, by judgement, it tells next to nothing

__all__ = ["NoiseCeiling", "PersonRepeats", "noise_ceilings", "repeats_of_people"]


@dataclasses.dataclass(frozen=True)
class NoiseCeiling:
    """How often two answers to the same question agree, and what error that leaves to the best of maps.

    Attributes
    ----------
    of
        "a person" (asked again) or "different people"; "answers" where people are not known.
    agreement, low, high
        The share of pairs of answers that agree, and its 95 % interval.
    n_questions
        Number of questions that were repeated.
    """

    of: str
    agreement: float
    low: float
    high: float
    n_questions: int

    @property
    def least_error(self) -> float:
        """The error of the best possible map, if all questions were equally hard; no map can do better.

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
        """The error of the best possible map, if some questions were clear to everybody and others a coin toss."""
        return 1 - self.agreement

    @property
    def noise(self) -> str:
        """Name of the disagreement in figures, such as "noise within people"."""
        return {"a person": "noise within people", "different people": "noise between people"}.get(self.of, "noise")

    @property
    def is_known(self) -> bool:
        """Whether the interval of :attr:`least_error` is narrow enough to say how much of an error is noise."""
        low, high = self.least_error_interval
        return high - low <= TOO_WIDE

    def __str__(self) -> str:
        who = {"a person": "a person asked again", "different people": "two people"}.get(self.of, "two answers")
        low, high = self.least_error_interval
        measured = (
            f"{who} agree{'s' * (self.of == 'a person')} in {percent(self.agreement)} of the cases "
            f"(95 % interval {percent(self.low)} to {percent(self.high)}; "
            f"{counted(self.n_questions, 'repeated question')}): "
        )
        if not self.is_known:
            return (
                f"{measured}too few repeated questions to tell how much of the error is noise; that of the best "
                f"possible map may be anything from {percent(low)} to {percent(max(high, 1 - self.low))}"
            )
        return (
            f"{measured}the best possible map would have an error of {percent(self.least_error)} (95 % interval "
            f"{percent(low)} to {percent(high)}) if all questions were equally hard, and of up to "
            f"{percent(self.most_error)} (95 % interval to {percent(1 - self.low)}) otherwise"
        )


def noise_ceilings(comparisons: Comparisons) -> list[NoiseCeiling]:
    """The ceilings that the answers allow: within people, between people, or among answers whose people are unknown.

    Nothing is returned where no question was repeated.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]], people=["ann", "bob", "bob"])
    >>> [(ceiling.of, ceiling.agreement) for ceiling in noise_ceilings(answers)]
    [('a person', 0.0), ('different people', 0.5)]
    """
    question, one_way = pair_questions(comparisons)
    asked = numbered(question)
    if comparisons.people is None:
        return _ceiling("answers", *_agreement(asked, one_way))
    both = numbered(asked.astype(np.int64) * len(comparisons.person_names or ()) + comparisons.people)
    within = _agreement(both, one_way)
    ones, others = (np.bincount(both, kind) for kind in (one_way, ~one_way))
    question_of = np.zeros(len(ones), dtype=np.int64)
    question_of[both] = asked
    all_ones, all_others = (np.bincount(asked, kind)[question_of] for kind in (one_way, ~one_way))
    agree = ones * (all_ones - ones) + others * (all_others - others)
    pairs = (ones + others) * (all_ones + all_others - ones - others)
    between = tuple(
        np.asarray(one, dtype=np.float64)
        for one in (np.bincount(question_of, agree), np.bincount(question_of, pairs), np.bincount(asked))
    )
    return [*_ceiling("a person", *within), *_ceiling("different people", *between)]


@dataclasses.dataclass(frozen=True)
class PersonRepeats:
    """For each person: pairs of answers to the same question, and how many of them agree; own pairs and with others."""

    own_pairs: Array
    own_agreeing: Array
    shared_pairs: Array
    shared_agreeing: Array


def repeats_of_people(comparisons: Comparisons) -> PersonRepeats:
    """How each person's answers agree with each other and with those of other people.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]], people=["ann", "bob", "bob"])
    >>> found = repeats_of_people(answers)
    >>> found.own_pairs.tolist(), found.shared_agreeing.tolist(), found.shared_pairs.tolist()
    ([0.0, 1.0], [1.0, 1.0], [2.0, 2.0])
    """
    assert comparisons.people is not None
    assert comparisons.person_names is not None
    question, one_way = pair_questions(comparisons)
    asked, n_people = numbered(question), len(comparisons.person_names)
    both = numbered(asked.astype(np.int64) * n_people + comparisons.people)
    own_agreeing, own_pairs, _ = _agreement(both, one_way)
    person, question_of = np.zeros((2, len(own_pairs)), dtype=np.int64)
    person[both], question_of[both] = comparisons.people, asked
    ones, others = (np.bincount(both, kind) for kind in (one_way, ~one_way))
    all_ones, all_others = (np.bincount(asked, kind)[question_of] for kind in (one_way, ~one_way))
    shared = (ones + others) * (all_ones + all_others - ones - others)
    agreeing = ones * (all_ones - ones) + others * (all_others - others)
    sums = [
        np.bincount(person, one, minlength=n_people).astype(np.float64)
        for one in (own_pairs, own_agreeing, shared, agreeing)
    ]
    return PersonRepeats(*sums)


def _agreement(group: NDArray[np.int32], one_way: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """For each group of answers: pairs that agree, pairs, and answers."""
    ones, others = (np.bincount(group, kind) for kind in (one_way, ~one_way))
    number = (ones + others).astype(np.float64)
    return ones * (ones - 1) / 2 + others * (others - 1) / 2, number * (number - 1) / 2, number


def _ceiling(of: str, agreeing: Array, pairs: Array, number: Array) -> list[NoiseCeiling]:
    repeated = pairs > 0
    if not repeated.any():
        return []
    # A question counts by its answers, not by its pairs: one that was asked a hundred times has thousands.
    weight = number[repeated]
    agreed = weight * (agreeing[repeated] / pairs[repeated])
    mean = min(float(agreed.sum() / weight.sum()), 1.0)  # rounding may raise it above 1
    low, high = error_interval(mean, ratio_number(agreed, weight))
    return [NoiseCeiling(of, mean, low, high, int(repeated.sum()))]


def _least_error(agreement: float) -> float:
    return (1 - math.sqrt(max(2 * agreement - 1, 0.0))) / 2
