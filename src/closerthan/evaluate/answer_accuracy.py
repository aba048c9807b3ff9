"""Accuracy of whole answers on a map, with its interval, chance level, bits per answer and noise ceiling."""

import dataclasses
import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closerthan.accuracy import chance_levels, correct_choices, pair_scores, pair_similarities
from closerthan.arrays import Array
from closerthan.calibration import ChoiceCalibration
from closerthan.checks import checked
from closerthan.comparisons import Choices, Comparisons
from closerthan.comparisons.grouping import AUTO
from closerthan.comparisons.questions import consecutive_numbers
from closerthan.evaluate.repeats import NoiseCeiling, answer_ceilings
from closerthan.metrics import clustered_number, error_interval, log_odds
from closerthan.result import Result
from closerthan.wording import counted, html_table, percent, percent_interval

__all__ = [
    "AnswerAccuracy",
    "HeldOutAnswers",
    "answer_accuracy",
    "chance_level",
    "comparison_accuracy",
    "imply_several_comparisons",
]

MOST_ROWS = 2_000_000  # maximum number of comparisons from a large file in which whole answers are identified


@dataclasses.dataclass(frozen=True, repr=False)
class AnswerAccuracy:
    """The fraction of whole answers in which a map makes the choice that people made.

    Attributes
    ----------
    accuracy, low, high
        The fraction and its 95 % interval; ties are split.
    n_answers
        Number of whole answers.
    n_effective
        Number of independent answers that would measure the accuracy as precisely.
    chance
        The accuracy of random choices.
    bits
        Mean of ``-log2 P`` over the answers, where P is the probability that the map gives to an answer; NaN if the map
        has no probabilities.
    guessing_bits
        The same for random choices.
    ceilings
        Noise ceilings of whole answers; empty if no question was repeated, or if they were not requested.
    has_several_comparisons
        False if each answer is a single comparison; the accuracy is then 1 minus the error of comparisons.

    Examples
    --------
    >>> rows = [[0, 1, 2], [1, 0, 2], [0, 1, 3], [1, 0, 3], [0, 3, 2], [3, 0, 2]]
    >>> answers = Comparisons.from_triplets(rows, answers=[0, 0, 1, 1, 2, 2])
    >>> answer_accuracy(answers, [[0.0], [1.0], [5.0], [9.0]])
    AnswerAccuracy(66.7 % (95 % interval 4.4 % to 98.9 %) of 3 whole answers; chance is 33.3 %; 1.54 bits per answer)
    """

    accuracy: float
    low: float
    high: float
    n_answers: int
    n_effective: float
    chance: float
    bits: float = math.nan
    guessing_bits: float = math.nan
    ceilings: tuple[NoiseCeiling, ...] = ()
    has_several_comparisons: bool = True

    @classmethod
    def measured(
        cls,
        choices: Choices,
        right: Array,
        units: NDArray[Any],
        log_probability: Array | None = None,
        *,
        overlap: float = 1.0,
        ceilings: tuple[NoiseCeiling, ...] = (),
    ) -> Self:
        """Return the accuracy, given which answers are right and the independent unit of each.

        Parameters
        ----------
        choices
            The answers.
        right
            1 for each answer that is predicted correctly, 0 if it is not, a fraction for a tie.
        units
            Number of the independent unit (a question, a person) that each answer belongs to.
        log_probability
            Logarithm of the probability of each answer, or None.
        overlap
            Factor by which the variance exceeds that of independent units.
        ceilings
            Noise ceilings of the answers.
        """
        accuracy = float(np.average(right, weights=choices.weights))
        number = clustered_number(1.0 - right, units, choices.weights) / overlap
        chance = chance_levels(choices)
        bits = math.nan
        if log_probability is not None:
            bits = float(np.average(-log_probability, weights=choices.weights)) / math.log(2)
        return cls(
            accuracy,
            *error_interval(min(max(accuracy, 0.0), 1.0), number),
            choices.n_answers,
            number,
            float(np.average(chance, weights=choices.weights)),
            bits,
            float(np.average(-np.log2(chance), weights=choices.weights)),
            ceilings,
            has_several_comparisons=bool((choices.sizes > 2).any() or choices.n_choices > choices.n_answers),
        )

    @classmethod
    def calibrated(
        cls,
        choices: Choices,
        right: Array,
        units: NDArray[Any],
        similarities: Array,
        *,
        overlap: float = 1.0,
        ceilings: tuple[NoiseCeiling, ...] = (),
    ) -> Self:
        """Return the accuracy, and bits per answer from a slope and a lapse rate that are fitted to the same answers.

        ``similarities`` has the similarity of each pair; the other parameters are those of :meth:`measured`.
        """
        logs = ChoiceCalibration.fitted(choices, similarities).log_probability(choices, similarities)
        return cls.measured(choices, right, units, logs, overlap=overlap, ceilings=ceilings)

    def __str__(self) -> str:
        parts = [f"{self.interval} of {counted(self.n_answers, self.noun)}", f"chance is {percent(self.chance)}"]
        if not math.isnan(self.bits):
            parts.append(f"{self.bits:.2f} bits per answer")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"AnswerAccuracy({self})"

    def _repr_html_(self) -> str:
        return html_table(f"Accuracy of {self.noun}s", ("", ""), self.table())

    def table(self) -> list[tuple[str, str]]:
        """Return everything as rows of a name and a value."""
        rows = [
            ("accuracy", f"{self.interval} of {counted(self.n_answers, self.noun)}"),
            ("effective number", counted(round(self.n_effective), "independent answer")),
            ("chance level", percent(self.chance)),
        ]
        if not math.isnan(self.bits):
            rows.append(("information", self.bits_in_words))
        return [*rows, *(("noise ceiling", ceiling.in_words) for ceiling in self.ceilings if ceiling.is_known)]

    @property
    def noun(self) -> str:
        """The unit that the accuracy counts: "whole answer", or "comparison" if each answer is one."""
        return "whole answer" if self.has_several_comparisons else "comparison"

    @property
    def interval(self) -> str:
        """The accuracy with its interval, in words."""
        return percent_interval(self.accuracy, self.low, self.high)

    @property
    def accuracy_and_interval(self) -> tuple[float, float, float]:
        """The accuracy and the two limits of its interval."""
        return self.accuracy, self.low, self.high

    @property
    def bits_in_words(self) -> str:
        """The bits per answer, compared with those of guessing."""
        return f"{self.bits:.2f} bits per answer (guessing: {self.guessing_bits:.2f})"


@checked
def answer_accuracy(
    answers: Comparisons | ArrayLike,
    embedding: ArrayLike,
    *,
    similarity: str = "euclidean",
    by: str = AUTO,
) -> AnswerAccuracy:
    """Measure how many whole answers a map predicts, such as "c is the odd one of a, b and c".

    A map chooses the most similar of the pairs that a question shows: the odd one out is the object that is not in this
    pair. Papers about odd-one-out data such as THINGS report this accuracy, for which chance is 1/3;
    :func:`triplet_error` counts the comparisons that follow from the answers, for which chance is 1/2.

    Parameters
    ----------
    answers
        The answers. Comparisons with the same number in :attr:`Comparisons.answers` are one answer.
    embedding
        The map, one row per object; for example a published embedding.
    similarity
        "euclidean" (near is similar), or the "dot" product or "cosine" of two rows.
    by
        The independent unit for the interval, as in :meth:`Comparisons.groups`.

    Returns
    -------
    AnswerAccuracy
        The bits per answer are those of Luce's choice rule with a slope and a lapse rate fitted to the same answers,
        which is negligibly optimistic if there are hundreds of them.

    Examples
    --------
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> answer_accuracy(odd_one_out, [[0.0], [1.0], [5.0]]).accuracy
    1.0
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    if not comparisons.cheap_to_enumerate and len(comparisons) > MOST_ROWS:
        comparisons = comparisons.take(np.arange(MOST_ROWS))  # the rows of an answer are contiguous
    choices = Choices.of(comparisons)
    similarities = pair_similarities(choices, embedding, similarity)
    return AnswerAccuracy.calibrated(
        choices,
        correct_choices(choices, similarities),
        comparisons.groups(by)[choices.rows],
        similarities,
        ceilings=tuple(answer_ceilings(comparisons, choices)),
    )


@checked
def comparison_accuracy(
    answers: Comparisons | ArrayLike, embedding: ArrayLike, *, similarity: str = "euclidean", by: str = AUTO
) -> AnswerAccuracy:
    """Measure how many comparisons a map predicts; parameters and result are those of :func:`answer_accuracy`.

    Examples
    --------
    >>> odd_one_out = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])
    >>> comparison_accuracy(odd_one_out, [[0.0], [1.0], [1.5]]).accuracy
    0.5
    """
    comparisons = Comparisons.of(answers, unmentioned="ignore")
    choices = Choices.of(comparisons.replace(answers=None))
    right = correct_choices(choices, pair_similarities(choices, embedding, similarity))
    return AnswerAccuracy.measured(choices, right, comparisons.groups(by))


def chance_level(answers: Comparisons) -> float:
    """Return the expected fraction of whole answers that random choices get right.

    Examples
    --------
    >>> round(chance_level(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0])), 3)
    0.333
    """
    choices = Choices.of(answers)
    return float(np.average(chance_levels(choices), weights=choices.weights))


def imply_several_comparisons(answers: Comparisons) -> bool:
    """Return whether some answers imply several comparisons, so that whole answers differ from comparisons.

    Examples
    --------
    >>> imply_several_comparisons(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]], answers=[0, 0]))
    True
    """
    return answers.answers is not None and answers.n_answers < len(answers)


class HeldOutAnswers:
    """Whole answers, and how maps that were fitted without them predict them.

    Attributes
    ----------
    choices
        The answers.
    right
        Fraction of the predictions of each answer that were correct.
    scores
        The log similarity that a map gives to each pair of the choices.

    Examples
    --------
    >>> import closerthan as ct
    >>> answers = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]], answers=[0, 0, 1, 1])
    >>> held_out = HeldOutAnswers(answers)
    >>> held_out.predict(ct.embed(answers, 1, loss="ste", seed=0, epochs=5))
    >>> held_out.right.sum()
    np.float64(1.0)
    """

    def __init__(self, comparisons: Comparisons) -> None:
        self._comparisons = comparisons
        self.choices = Choices.of(comparisons)
        self.right = np.zeros(self.choices.n_answers)
        self.scores = np.zeros(len(self.choices.pairs))

    @classmethod
    def of(cls, comparisons: Comparisons, by: str) -> "HeldOutAnswers | None":
        """Return the answers that comparisons come from, before any prediction.

        None is returned if each answer is a single comparison, if single comparisons are held out, or if the
        comparisons are too many for the memory.
        """
        if by == "comparisons" or not comparisons.cheap_to_enumerate or not imply_several_comparisons(comparisons):
            return None
        return cls(comparisons)

    def predict(self, result: Result, rows: NDArray[np.bool_] | None = None, weight: float = 1.0) -> None:
        """Predict the answers in ``rows`` (None for all) by a fit.

        If answers are predicted several times, ``weight`` is the weight of this prediction, and the scores are those of
        the last one.
        """
        x, loss = result.embedding, result.loss
        numbers, part = self._part(rows)
        self.record(
            numbers,
            correct_choices(part, pair_similarities(part, x)),
            pair_scores(part, lambda rows: log_odds(rows, x, loss)),
            weight,
        )

    def predict_by(self, x: Array, similarity: str, rows: NDArray[np.bool_], weight: float | Array = 1.0) -> None:
        """Predict the answers in ``rows`` from positions ``x``; ``weight`` may differ between answers."""
        numbers, part = self._part(rows)
        similarities = pair_similarities(part, x, similarity)
        weight = weight if isinstance(weight, float) else weight[numbers]
        self.record(numbers, correct_choices(part, similarities), similarities, weight)

    def record(self, numbers: NDArray[np.intp], right: Array, scores: Array, weight: float | Array) -> None:
        """Add predictions of some answers, given which are right and the scores of their pairs."""
        self.right[numbers] += weight * right
        self.scores[self.choices.pairs_of_answers(numbers)] = scores

    def _part(self, rows: NDArray[np.bool_] | None) -> tuple[NDArray[np.intp], Choices]:
        """Return the numbers of the answers in some rows (None for all), and their choices."""
        if rows is None:
            return np.arange(len(self.choices)), self.choices
        numbers = np.flatnonzero(rows[self.choices.rows])
        return numbers, self.choices.take(numbers)

    def measured(
        self, by: str, *, rows: NDArray[np.bool_] | None = None, overlap: float = 1.0
    ) -> tuple[AnswerAccuracy, ChoiceCalibration]:
        """Return the accuracy of the predictions, and a calibration of the scores on the same answers.

        Parameters
        ----------
        by
            The independent unit, as in :meth:`Comparisons.groups`.
        rows
            The comparisons whose answers are counted; None means all.
        overlap
            The factor by which the variance exceeds that of independent units.
        """
        choices, right, scores = self.choices, self.right, self.scores
        if rows is not None:
            numbers = np.flatnonzero(rows[choices.rows])
            scores, right = scores[choices.pairs_of_answers(numbers)], right[numbers]
            choices = choices.take(numbers)
        calibration = ChoiceCalibration.fitted(choices, scores)
        logs = calibration.log_probability(choices, scores)
        units = consecutive_numbers(self._comparisons.groups(by)[choices.rows])
        ceilings = tuple(answer_ceilings(self._comparisons, choices))
        return AnswerAccuracy.measured(choices, right, units, logs, overlap=overlap, ceilings=ceilings), calibration
