"""Person: statistics of one person's answers, the verdict based on them, and its reasons in words."""

import math
from typing import NamedTuple

import numpy as np

from closerthan.arrays import Array
from closerthan.comparisons import Comparisons
from closerthan.messages import value_error
from closerthan.metrics import error_interval
from closerthan.registry import JsonObject
from closerthan.wording import percent, percentage_points

__all__ = ["Person", "check_people", "failed_checks", "fraction_of_fast_sets", "one_sided", "signs_of_carelessness"]

# Thresholds are set by judgement unless a reason is stated; docs/measured/people.md shows how often verdicts are right.
FEW = 20  # people with fewer answers are not judged
CARELESS = 0.3  # lower confidence limit of the lapse rate above which a person may be called careless
UNLIKE = 0.15  # lower confidence limit of the lapse rate above which answers count as different from others
FAST = 0.3  # a time in seconds that is too short to read a question
MANY_FAST = 0.2  # fraction of the answers, or of sets of them, above which they count as hasty
SET = 20  # consecutive answers from which haste is judged
FIFTH, TENTH = 0.8, 1.1  # limits in seconds for the fifth and the tenth fastest answer of a hasty set
ONE_SIDE = 0.75  # fraction of the answers on one side
FEW_CHECKS = 3  # with fewer, a failed check may be a slip
MOST_FAILED = 0.2  # lower confidence limit of the fraction of failed checks above which they count as failed
CONSISTENT = 0.75  # fraction of equal answers to repeated questions above which a person is consistent
ENOUGH = 5  # smallest informative number of repeats
# Binomial standard errors by which another map must predict better. Cross-validated errors of random answers spread 1.1
# to 1.6 times as widely, since all maps share most of the answers; about 3 % and 10 % of careless people exceed these.
BETTER, MAYBE_BETTER = 3.0, 2.0
PER_COORDINATE = 3  # answers per coordinate that a person's own map needs to predict clearly better than chance

VERDICTS = {
    "reversed": "answers the other way round: check whether near and far are swapped",
    "careless": "looks careless: no map predicts the answers as well as it should; look at them before you decide",
    "unlike": "answers differently from the others, for an unknown reason: look at the answers",
    "own view": "careful, but with a different view from the others: keep, and see whose maps predict the answers",
    "unclear": "cannot be judged, as the map of the others is not clearly better than chance on the answers: keep",
    "few": "too few answers to tell: keep",
    "fine": "keep",
}
"""Meaning of each verdict, and advice; the most serious come first."""

DOUBTFUL = ("reversed", "careless", "unlike")
"""Verdicts on people whose answers may get smaller weights."""


class Person(NamedTuple):
    """One row of the table of people; unknown numbers are NaN, and unknown counts are 0.

    Attributes
    ----------
    name, answers
        Name, and number of answers.
    lapse_rate, lapse_low, lapse_high
        Fraction of the answers that are guesses, with its 95 % interval.
    others_error
        Fraction of this person's answers that the map of the others gets wrong.
    group_error
        The cross-validated error of a map fitted to people who answer alike; measured where the others' map is poor.
    own_error
        The cross-validated error of a map fitted to this person's own answers; measured where both other maps are poor.
    consistency, repeats
        Fraction of the pairs of own answers to the same question that agree, and the number of such pairs.
    agreement, shared
        The same for pairs of an own answer and another person's answer.
    checks_passed, checks
        Number of check questions passed, and asked.
    left, sides
        Fraction of the chosen objects that were shown on the left, and the number of answers whose side is known.
    median_seconds, fast
        Median response time, and the fraction of the answers that took less than 0.3 seconds per choice.
    fast_sets
        Fraction of the sets of 20 answers that are very fast (:func:`fraction_of_fast_sets`), by the time per choice.
    weight
        Mean probability that an answer is not a guess.
    typical_rate
        Median lapse rate of all people; a person who lapses no more often does not count as unlike the others.
    lapse_determined
        False if the answers say nothing about the lapse rate, which is then that of the prior and not shown.
    confidence
        Confidence with which the others' error must lie below chance for the verdict "fine". It is that of all people
        together if the maps are no better than chance over all of them, since they then predict somebody by accident.
    """

    name: str
    answers: int
    lapse_rate: float
    lapse_low: float
    lapse_high: float
    others_error: float
    group_error: float
    own_error: float
    consistency: float
    repeats: int
    agreement: float
    shared: int
    checks_passed: int
    checks: int
    left: float
    sides: int
    median_seconds: float
    fast: float
    fast_sets: float
    weight: float
    typical_rate: float = 0.0
    lapse_determined: bool = True
    confidence: float = 0.95

    @property
    def verdict(self) -> str:
        """A key of ``VERDICTS``: "fine", "few", "unclear", "own view", "unlike", "careless" or "reversed"."""
        if self.answers < FEW:
            return "few"
        if self.is_suspect and self.predicted_by:
            return "own view"
        if self._is_reversed:
            return "reversed"
        if self.lapse_low <= max(UNLIKE, self.typical_rate):
            interval = error_interval(self.others_error, self.answers, confidence=self.confidence)
            return "fine" if interval.high < 0.5 else "unclear"
        if not self._signs and self._is_consistent:
            return "own view"
        if self._signs:
            return "careless"
        # Speed alone is weak evidence: a practised person answers quickly and well.
        doubt = self._passed_checks or self._predicted_by(MAYBE_BETTER)
        return "careless" if (self.in_a_hurry or self.lapse_low > CARELESS) and not doubt else "unlike"

    @property
    def is_suspect(self) -> bool:
        """True if the map of the others predicts the answers badly, so that other maps should be tried."""
        return self.answers >= FEW and (self.lapse_low > UNLIKE or self._is_reversed)

    @property
    def predicted_by(self) -> str:
        """The map that predicts the answers clearly better than that of the others: "group", "own" or "" for none."""
        return self._predicted_by(BETTER)

    @property
    def advice(self) -> str:
        """Advice in words."""
        return VERDICTS[self.verdict]

    @property
    def lapses(self) -> str:
        """The lapse rate and its 95 % interval in short, such as ``12 % (3-25)``; empty if it is not determined."""
        if not self.lapse_determined:
            return ""
        return (
            f"{percent(self.lapse_rate, 0)} ({percentage_points(self.lapse_low, 0)}-"
            f"{percentage_points(self.lapse_high, 0)})"
        )

    @property
    def reasons(self) -> str:
        """Reasons for the verdict in words; empty if there are none."""
        if self.verdict in ("fine", "few"):
            return ", ".join(self._signs)
        texts = []
        if self.lapse_determined:
            texts.append(
                f"lapses in {percent(self.lapse_rate, 0)} of {self.answers:,} answers "
                f"({percent(self.lapse_low, 0)} to {percent(self.lapse_high, 0)})"
            )
        if self.repeats >= ENOUGH:
            texts.append(f"same answer in {percent(self.consistency, 0)} of the repeats")
        errors = [("the others' map", self.others_error)]
        errors += [("a map of people who answer alike", self.group_error), ("the person's own map", self.own_error)]
        error_texts = [f"{percent(error, 0)} with {owner}" for owner, error in errors if not math.isnan(error)]
        if len(error_texts) > 1 or self.verdict == "unclear":
            texts.append(f"error {', '.join(error_texts)}")
        if self.in_a_hurry:
            texts.append(f"very fast in {percent(self.fast_sets, 0)} of the sets of {SET} answers")
        return ", ".join([*texts, *self._signs])

    @property
    def severity(self) -> tuple[int, float]:
        """Sort key that puts the most serious verdicts first."""
        return list(VERDICTS).index(self.verdict), -self.lapse_rate

    @property
    def failed_checks(self) -> bool:
        """True if the person fails significantly more than a fifth of the check questions."""
        return failed_checks(self.checks, self.checks_passed)

    @property
    def _passed_checks(self) -> bool:
        """True if fewer checks were failed than the lapse rate implies, since half of the guesses would fail."""
        if not self.checks:
            return False
        return error_interval(1 - self.checks_passed / self.checks, self.checks).high < self.lapse_low / 2

    @property
    def _is_reversed(self) -> bool:
        return error_interval(self.others_error, self.answers, confidence=0.99).low > 0.5

    def _predicted_by(self, standard_errors: float) -> str:
        """Return the map, "group" or "own", that beats the map of the others by this many standard errors.

        If the map of the others does not differ significantly from chance, chance takes its place; if it is worse than
        chance, its reverse does.
        """
        low, high = error_interval(self.others_error, self.answers)
        others = 0.5 if low <= 0.5 <= high else min(self.others_error, 1 - self.others_error)
        for owner, error in (("group", self.group_error), ("own", self.own_error)):
            variance = others * (1 - others) + (error * (1 - error) if others < 0.5 else 0.0)
            if others - error > standard_errors * math.sqrt(variance / self.answers):  # False for NaN
                return owner
        return ""

    @property
    def _is_consistent(self) -> bool:
        if self.repeats < ENOUGH or self.consistency < CONSISTENT:
            return False
        return error_interval(1 - self.consistency, self.repeats).high < 0.5  # significantly better than guessing

    @property
    def _signs(self) -> list[str]:
        return signs_of_carelessness((self.checks, self.checks_passed), (self.left, self.sides), self.fast)

    @property
    def has_signs(self) -> bool:
        """True if checks, sides or times, which do not depend on a map, are signs of carelessness."""
        return bool(self._signs) or self.in_a_hurry

    @property
    def in_a_hurry(self) -> bool:
        """True if more than a fifth of the person's sets of 20 answers, and at least two sets, are very fast."""
        n_sets = self.answers // SET
        return self.fast_sets > MANY_FAST and round(self.fast_sets * n_sets) > 1

    def to_row(self) -> JsonObject:
        """Return all statistics with verdict, advice and reasons, as columns of a table by name.

        A lapse rate that is not determined is NaN.
        """
        row = self._asdict()
        del row["confidence"]
        if not row.pop("lapse_determined"):
            row.update(dict.fromkeys(("lapse_rate", "lapse_low", "lapse_high"), math.nan))
        return {**row, "verdict": self.verdict, "advice": self.advice, "reasons": self.reasons}


def check_people(answers: Comparisons, purpose: str) -> None:
    """Raise an error that names the purpose unless the answers are from at least two known people."""
    if answers.people is None:
        raise value_error(
            f"{purpose} needs at least two people, but it is not known who gave the answers",
            "pass people= or, for a file, name its column: {columns}",
            columns={"participant": ...},
        )
    if (answers.n_people or 0) < 2:
        raise ValueError(f"all answers are from one person; {purpose} needs at least two")


def failed_checks(n_checks: int, n_passed: int) -> bool:
    """Return True if the 95 % interval of the fraction of failed checks lies above a fifth.

    Nothing is concluded from fewer than three checks.

    Examples
    --------
    >>> failed_checks(1, 0), failed_checks(5, 3), failed_checks(5, 2), failed_checks(50, 40)
    (False, False, True, False)
    """
    return n_checks >= FEW_CHECKS and error_interval(1 - n_passed / n_checks, n_checks).low > MOST_FAILED


def one_sided(fraction: float, n_answers: int, expected: float = 0.5) -> bool:
    """Return True if nearly all answers are on one side.

    Parameters
    ----------
    fraction, n_answers
        Fraction of the answers on the left (or in the first position), and their number.
    expected
        The same fraction for random answers: one half with two positions, a third with three.

    Examples
    --------
    >>> one_sided(0.8, 100), one_sided(0.8, 10), one_sided(0.1, 100, 1 / 3), one_sided(0.6, 100, 1 / 3)
    (True, False, True, False)
    """
    least, most = expected * 2 * (1 - ONE_SIDE), 1 - (1 - expected) * 2 * (1 - ONE_SIDE)
    return n_answers >= FEW and not least <= fraction <= most


def signs_of_carelessness(checks: tuple[int, int], sides: tuple[float, int], fast: float) -> list[str]:
    """Return the signs of carelessness that do not depend on a map, in words.

    Parameters
    ----------
    checks
        Number of check questions asked, and how many of them were passed.
    sides
        Fraction of the chosen objects that were shown on the left, and the number of answers whose side is known.
    fast
        Fraction of the answers that took less than 0.3 seconds per choice; NaN if unknown.

    Examples
    --------
    >>> signs_of_carelessness((5, 1), (0.9, 50), 0.1)
    ['4 of 5 checks failed', '90 % on the left']
    """
    signs = []
    if failed_checks(*checks):
        signs.append(f"{checks[0] - checks[1]} of {checks[0]} checks failed")
    if one_sided(*sides):
        on_left = sides[0]
        signs.append(f"{percent(max(on_left, 1 - on_left), 0)} on the {'left' if on_left > 0.5 else 'right'}")
    if fast > MANY_FAST:
        signs.append(f"{percent(fast, 0)} faster than {FAST:g} s per choice")
    return signs


def fraction_of_fast_sets(seconds: Array) -> float:
    """Return the fraction of sets of 20 answers in a row that are very fast; NaN without a whole set.

    A set is very fast if its fifth fastest answer took less than 0.8 seconds and its tenth fastest less than 1.1
    seconds: the rule by which Hebart et al. (2020) excluded workers of the THINGS similarity study.

    Examples
    --------
    >>> slow, fast = np.full(20, 2.0), np.full(20, 0.7)
    >>> fraction_of_fast_sets(np.concatenate([slow, fast])), fraction_of_fast_sets(slow[:19])
    (0.5, nan)
    """
    n_sets = len(seconds) // SET
    if not n_sets:
        return math.nan
    sets = np.sort(seconds[: n_sets * SET].reshape(n_sets, SET), axis=1)
    return float(np.mean((sets[:, 4] < FIFTH) & (sets[:, 9] < TENTH)))
