"""Repeated questions, answered by the same person or by several, and the noise ceiling that follows from them.

Even the best possible map cannot predict every answer, since people disagree with each other and with themselves. If a
question with k possible answers is answered in way r with probability p_r, the best prediction is right with
probability ``max p``. Averaged over questions, this accuracy is bounded by three quantities that repeated questions
measure without any map:

- *agreement*: two answers are equal with probability ``c = sum p_r^2 <= max p``. Moreover
  ``max p <= (1 + sqrt((k - 1) (k c - 1))) / k``, which for k = 2 is ``(1 + sqrt(2 c - 1)) / 2``.
- *majority of the others*: how often an answer agrees with the majority of the other answers to its question (ties are
  split). The majority is a prediction, so it cannot be better than the best one: a lower bound.
- *majority*: how often an answer agrees with the majority of all answers, itself included. Each answer helps its own
  majority, so this is an upper bound.
"""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from closerthan.accuracy import chance_levels
from closerthan.arrays import Array
from closerthan.comparisons import Choices, Comparisons, pair_questions
from closerthan.comparisons.questions import consecutive_numbers, splitmix64
from closerthan.comparisons.rows import pair_numbers
from closerthan.metrics import Interval, error_interval, ratio_number
from closerthan.wording import counted, percent, percent_interval

TOO_WIDE = 0.1  # width of the interval of the least error above which it is not informative; set by judgement

__all__ = ["Fraction", "NoiseCeiling", "PersonRepeats", "answer_ceilings", "noise_ceilings", "repeats_of_people"]


class Fraction(NamedTuple):
    """A fraction of the answers to repeated questions, with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return percent_interval(*self)


@dataclasses.dataclass(frozen=True)
class NoiseCeiling:
    """Agreement of answers to the same question, and what it says about the best possible map.

    Attributes
    ----------
    of
        "a person" (asked again) or "different people"; "answers" if people are not known.
    agreement, low, high
        Fraction of the pairs of answers that agree, and its 95 % interval.
    n_questions
        Number of repeated questions.
    majority
        How often an answer agrees with the majority of all answers to its question; None if unknown.
    others_majority
        How often it agrees with the majority of the other answers; None if unknown.
    n_options
        Number of possible answers to a question (the largest, if it varies).
    unit
        What the fractions count: "comparisons" or "whole answers".
    """

    of: str
    agreement: float
    low: float
    high: float
    n_questions: int
    majority: Fraction | None = None
    others_majority: Fraction | None = None
    n_options: int = 2
    unit: str = "comparisons"

    @property
    def least_error(self) -> float:
        """A lower bound of the error of the best possible map.

        Examples
        --------
        >>> round(NoiseCeiling("a person", 0.82, 0.8, 0.84, 100).least_error, 3)
        0.1
        """
        return self._least_error(self.agreement, None if self.majority is None else self.majority.mean)

    @property
    def least_error_interval(self) -> Interval:
        """95 % interval of :attr:`least_error`.

        Examples
        --------
        >>> low, high = NoiseCeiling("a person", 0.82, 0.68, 0.92, 18).least_error_interval
        >>> round(low, 2), round(high, 2)
        (0.04, 0.2)
        """
        majority = self.majority
        return Interval(
            self._least_error(self.high, None if majority is None else majority.high),
            self._least_error(self.low, None if majority is None else majority.low),
        )

    @property
    def most_error(self) -> float:
        """An upper bound of the error of the best possible map."""
        return 1 - self._attained.mean

    @property
    def best_accuracy(self) -> Interval:
        """Lower and upper bound of the accuracy of the best possible map; both bounds have sampling errors.

        Examples
        --------
        >>> tuple(round(end, 3) for end in NoiseCeiling("a person", 0.82, 0.8, 0.84, 100).best_accuracy)
        (0.82, 0.9)
        """
        return Interval(self._attained.mean, max(1 - self.least_error, self._attained.mean))

    @property
    def _attained(self) -> Fraction:
        """The accuracy of a prediction without a map: the majority of the others, or one other answer."""
        return self.others_majority or Fraction(self.agreement, self.low, self.high)

    def _least_error(self, agreement: float, majority: float | None) -> float:
        k = self.n_options
        most = (1 + math.sqrt((k - 1) * max(k * agreement - 1, 0.0))) / k
        return 1 - (most if majority is None else min(most, majority))

    @property
    def noise(self) -> str:
        """Name of the disagreement in figures, such as "noise within people"."""
        return {"a person": "noise within people", "different people": "noise between people"}.get(self.of, "noise")

    @property
    def is_known(self) -> bool:
        """True if the interval of :attr:`least_error` is narrow enough to tell how much of an error is noise."""
        low, high = self.least_error_interval
        return high - low <= TOO_WIDE

    @property
    def in_words(self) -> str:
        """The bracket of the best possible accuracy, in a few words.

        Examples
        --------
        >>> NoiseCeiling("different people", 0.6, 0.59, 0.61, 900, n_options=3, unit="whole answers").in_words
        'the best possible map of all people would predict 60.0 % to 75.5 % of whole answers'
        """
        return f"{self._best_map} would predict {self.bracket_in_words} of {self.unit}"

    @property
    def bracket_in_words(self) -> str:
        """The two ends of :attr:`best_accuracy`; "unknown" if there are too few repeated questions."""
        if not self.is_known:
            return "unknown"
        low, high = percent(self.best_accuracy.low), percent(self.best_accuracy.high)
        return low if low == high else f"{low} to {high}"

    @property
    def _best_map(self) -> str:
        whose = {"a person": " of a single person", "different people": " of all people"}
        return f"the best possible map{whose.get(self.of, '')}"

    def __str__(self) -> str:
        is_whole = self.unit == "whole answers"
        same = "the same whole answer" if is_whole else "the same answer to a comparison"
        agree = {"a person": f"a person asked again gives {same}", "different people": f"two people give {same}"}
        either = f"two {'whole answers to the same question' if is_whole else 'answers to the same comparison'} agree"
        low, high = self.least_error_interval
        measured = (
            f"{agree.get(self.of, either)} in {percent(self.agreement)} of the cases (95 % interval "
            f"{percent(self.low)} to {percent(self.high)}; {counted(self.n_questions, 'repeated question')}): "
        )
        most = 1 - self._attained.low
        if not self.is_known:
            few = f"{measured}too few repeated questions to tell how much of the error is noise; "
            if is_whole:
                least = min(1 - high, self._attained.low)
                bracket = f"from {percent(least)} to {percent(1 - low)} of whole answers"
                return f"{few}{self._best_map} may predict anything {bracket}"
            bracket = f"from {percent(low)} to {percent(max(high, most))} of comparisons"
            return f"{few}the error of {self._best_map} may be anything {bracket}"
        if is_whole:
            return (
                f"{measured}{self._best_map} would predict at least {percent(self.best_accuracy.low)} (95 % interval "
                f"from {percent(self._attained.low)}) and at most {percent(self.best_accuracy.high)} (95 % interval "
                f"{percent(1 - high)} to {percent(1 - low)}) of whole answers"
            )
        return (
            f"{measured}the error of {self._best_map} is at least {percent(self.least_error)} (95 % interval "
            f"{percent(low)} to {percent(high)}) and at most {percent(self.most_error)} (95 % interval up to "
            f"{percent(most)}) of comparisons"
        )


class _Votes(NamedTuple):
    """Answers as votes on questions.

    Attributes
    ----------
    question, response
        Number of each vote's question, and a number that is equal for equal responses to a question.
    people
        Number of the person who gave each vote, or None.
    n_options
        Number of possible responses to each vote's question.
    unit
        What a vote is: "comparisons" or "whole answers".
    """

    question: NDArray[np.int32]
    response: NDArray[np.int64]
    people: NDArray[np.int32] | None
    n_options: NDArray[np.int64]
    unit: str

    @classmethod
    def of_comparisons(cls, comparisons: Comparisons) -> Self:
        keys, one_way = pair_questions(comparisons)
        n_options = np.full(len(keys), 2)
        return cls(consecutive_numbers(keys), one_way.astype(np.int64), comparisons.people, n_options, "comparisons")

    @classmethod
    def of_answers(cls, comparisons: Comparisons, choices: Choices | None = None) -> Self:
        """Return whole answers; two answers are to the same question if they choose in the same way among equal pairs.

        Keys are sums of hashes, since the order of the pairs does not matter. The rank of a pair in an answer is the
        number of pairs that it was chosen from.
        """
        choices = choices or Choices.of(comparisons)
        n_objects = choices.n_objects
        numbers = pair_numbers(choices.pairs[:, 0], choices.pairs[:, 1], n_objects)
        answer_of_pair = choices.answers[choices.choice_of_pair].astype(np.int64)
        order = np.lexsort((numbers, answer_of_pair))
        pair, owner = numbers[order], answer_of_pair[order]
        once = np.concatenate([[True], (pair[1:] != pair[:-1]) | (owner[1:] != owner[:-1])])
        kind = 4 * choices.n_choices_of_answers + 2 * choices.is_set + (choices.signs[choices.first_choices] < 0)
        keys = _sums(owner[once], splitmix64(pair[once].astype(np.uint64))) + splitmix64(kind.astype(np.uint64))
        chosen = splitmix64(numbers[choices.starts[:-1]].astype(np.uint64))
        response = _sums(choices.answers, splitmix64(chosen + choices.sizes.astype(np.uint64)))
        people = None if comparisons.people is None else comparisons.people[choices.rows]
        n_options = np.rint(1 / chance_levels(choices)).astype(np.int64)
        return cls(
            consecutive_numbers(keys),
            consecutive_numbers(response).astype(np.int64),
            people,
            n_options,
            "whole answers",
        )

    def take(self, rows: NDArray[np.intp]) -> Self:
        people = None if self.people is None else self.people[rows]
        return self._replace(
            question=self.question[rows], response=self.response[rows], people=people, n_options=self.n_options[rows]
        )


def _sums(group: NDArray[Any], hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sums of hashes (modulo 2^64) over groups, which are in ascending order."""
    return np.add.reduceat(hashes, np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]])))


def noise_ceilings(comparisons: Comparisons) -> list[NoiseCeiling]:
    """Return the noise ceilings of comparisons, within and between people (or of all answers if people are unknown).

    Between people, the first answer of each person to a question counts. The list is empty if no question was repeated.

    Examples
    --------
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1]], people=["ann", "bob", "bob"])
    >>> [(ceiling.of, ceiling.agreement) for ceiling in noise_ceilings(answers)]
    [('a person', 0.0), ('different people', 1.0)]
    """
    return _ceilings(_Votes.of_comparisons(comparisons))


def answer_ceilings(comparisons: Comparisons, choices: Choices | None = None) -> list[NoiseCeiling]:
    """Return the noise ceilings of whole answers; pass ``choices`` if they exist already.

    Examples
    --------
    >>> rows = [[0, 1, 2], [1, 0, 2], [0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 0, 1]]
    >>> (ceiling,) = answer_ceilings(Comparisons.from_triplets(rows, answers=[0, 0, 1, 1, 2, 2]))
    >>> round(ceiling.agreement, 2), round(ceiling.majority.mean, 2), ceiling.n_options
    (0.33, 0.67, 3)
    """
    return _ceilings(_Votes.of_answers(comparisons, choices))


def _ceilings(votes: _Votes) -> list[NoiseCeiling]:
    if votes.people is None:
        return _ceiling("answers", votes, votes.question)
    cell = _cells(votes)
    first_votes = votes.take(np.unique(cell, return_index=True)[1])
    within = _ceiling("a person", votes, cell)
    return [*within, *_ceiling("different people", first_votes, first_votes.question)]


def _cells(votes: _Votes) -> NDArray[np.int32]:
    """Return a number for each combination of a person and a question."""
    assert votes.people is not None
    n_people = int(votes.people.max()) + 1
    cells: NDArray[np.int32] = consecutive_numbers(votes.question.astype(np.int64) * n_people + votes.people)
    return cells


@dataclasses.dataclass(frozen=True)
class PersonRepeats:
    """For each person, the numbers of pairs of answers to the same question, and of those that agree.

    Own pairs consist of two answers of the person, shared pairs of one answer of the person and one of somebody else.
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
    votes = _Votes.of_comparisons(comparisons)
    cell = _cells(votes)
    tally, overall = _Tally.of(cell, votes.response), _Tally.of(votes.question, votes.response)
    person, question = np.zeros((2, len(tally.number)), dtype=np.int64)
    person[cell], question[cell] = comparisons.people, votes.question
    option = np.zeros(len(tally.votes), dtype=np.int64)
    option[tally.option] = overall.option
    others = overall.votes[option] - tally.votes  # the same response by other people
    agreeing = np.bincount(tally.group, tally.votes * others, minlength=len(tally.number))
    pairs = tally.number * (overall.number[question] - tally.number)
    sums = [
        np.bincount(person, one, minlength=len(comparisons.person_names or ())).astype(np.float64)
        for one in (tally.pairs, tally.agreeing, pairs, agreeing)
    ]
    return PersonRepeats(*sums)


class _Tally(NamedTuple):
    """Counts of the responses in groups of votes, such as all votes on one question.

    Attributes
    ----------
    option
        For each vote, the number of its option: a combination of a group and a response.
    votes, group
        For each option, its number of votes and its group.
    number
        For each group, its number of votes.
    """

    option: NDArray[np.int32]
    votes: Array
    group: NDArray[np.int64]
    number: Array

    @classmethod
    def of(cls, group: NDArray[np.int32], response: NDArray[np.int64]) -> Self:
        option = consecutive_numbers(group.astype(np.int64) * (int(response.max()) + 1) + response)
        count = np.bincount(option).astype(np.float64)
        group_of = np.zeros(len(count), dtype=np.int64)
        group_of[option] = group
        return cls(option, count, group_of, np.bincount(group).astype(np.float64))

    @property
    def pairs(self) -> Array:
        """Number of pairs of votes in each group."""
        return self.number * (self.number - 1) / 2

    @property
    def agreeing(self) -> Array:
        """Number of pairs of equal votes in each group."""
        return np.bincount(self.group, self.votes * (self.votes - 1) / 2).astype(np.float64)

    @property
    def largest(self) -> Array:
        """Number of votes for the most frequent response in each group."""
        largest = np.zeros(len(self.number))
        np.maximum.at(largest, self.group, self.votes)
        return largest

    @property
    def with_others(self) -> Array:
        """Number of votes in each group that agree with the majority of the other votes; ties are split.

        Without one vote of the most frequent response, this response is still the most frequent one unless another
        response has as many votes. A vote for any other response never agrees.
        """
        largest = self.largest
        is_largest = self.votes == largest[self.group]
        second = np.zeros(len(self.number))
        np.maximum.at(second, self.group, np.where(is_largest, 0.0, self.votes))
        n_second = np.bincount(self.group, self.votes == second[self.group], minlength=len(self.number))
        is_single = np.bincount(self.group, is_largest, minlength=len(self.number)) == 1
        agreement = np.where(largest - 1 > second, 1.0, 1.0 / (1 + n_second))
        return np.where(is_single, largest * agreement, 0.0)


def _ceiling(of: str, votes: _Votes, group: NDArray[np.int32]) -> list[NoiseCeiling]:
    tally = _Tally.of(group, votes.response)
    repeated = tally.number > 1
    if not repeated.any():
        return []
    # A question is weighted by its number of answers, not of pairs: a hundred answers make thousands of pairs.
    weight = tally.number[repeated]

    def fraction(sums: Array) -> Fraction:
        mean = min(float(sums.sum() / weight.sum()), 1.0)  # rounding errors may raise it above 1
        return Fraction(mean, *error_interval(mean, ratio_number(sums, weight)))

    agreement = fraction(weight * (tally.agreeing[repeated] / tally.pairs[repeated]))
    majority, others = fraction(tally.largest[repeated]), fraction(tally.with_others[repeated])
    n_options = int(votes.n_options[repeated[group]].max())
    n_questions = int(repeated.sum())
    return [NoiseCeiling(of, *agreement, n_questions, majority, others, n_options, votes.unit)]
